import type {
  AssayService, EvidenceKind, FetchAnswer, FetchCall, Item, JWSTransactionDecodedPayload, ResolveAnswer,
  ResolveCall, Verdict, VerifyAnswer, VerifyCall,
} from './index.js'

/**
 * A client without a server, for the tests of programs that use one. Without functions it refuses all
 * evidence, as a server would that trusts nobody and has no key of Apple's.
 */
export class FakeAssay implements AssayService {
  constructor(functions?: {
    onVerify?: (evidence: string | Uint8Array, call: VerifyCall) => VerifyAnswer
    onResolve?: (items: Item[], call: Omit<ResolveCall, 'items'>) => ResolveAnswer
    onFetch?: (transactionId: string, call: Omit<FetchCall, 'transactionId'>) => FetchAnswer
    onFetchByEvidence?: (
      evidence: string | Uint8Array, call: Omit<FetchCall, 'transactionId'>,
    ) => FetchAnswer
  })
  /** What the calls so far have sent, item by item. */
  evidence: (string | Uint8Array)[]
  /** What `health` returns. */
  serving: boolean
  /** The error of every call, if there is one. */
  error: Error | undefined
  verify: AssayService['verify']
  resolve: AssayService['resolve']
  fetch: AssayService['fetch']
  fetchByEvidence: AssayService['fetchByEvidence']
  health: AssayService['health']
  info: AssayService['info']
  ping: AssayService['ping']
  close(): void
}

/** Returns the answer to a genuine transaction. */
export function valid(transaction: JWSTransactionDecodedPayload): VerifyAnswer

/** Returns the answer to refused evidence. */
export function refused(kind?: EvidenceKind, verdict?: Verdict): VerifyAnswer
