import type {
  Entitlements, EvidenceKind, FetchCall, ResolveCall, ServerInfo, Status, Verification, Verdict, VerifyCall,
} from './messages.js'

export * from './messages.js'

/** The settings of a client. In brackets the default. Times are in milliseconds. */
export interface ClientOptions {
  /**
   * Addresses of servers, each tcp://HOST:PORT, tls://HOST:PORT or unix:PATH [those in the
   * environment variable ASSAY_ADDRESS, separated by commas]. The client uses one, and the next when
   * that fails.
   */
  addresses?: string | string[]
  /** The authorities and the client certificate for tls:// [the system's authorities]. */
  tls?: TlsOptions
  /** Timeout of a call [5000]. The longest is 30 s. */
  timeout?: number
  /** Timeout of one attempt to connect, handshake included [5000]. */
  connectTimeout?: number
  /** Sends a call once more when its connection is lost [true]. */
  retriesOnce?: boolean
  /** The number of calls on the connection at once [256]. Others wait. */
  inFlightLimit?: number
  /**
   * How long a call waits at most for a free slot on an open connection [1000]. Then it fails with
   * `too-many`, and the server learns nothing of it: above a server's capacity some calls fail early
   * instead of all calls late. Calls with `mayWait` wait until their deadline; with `Infinity` all do.
   */
  longestWait?: number
  /** The number of calls that wait at once [65536]. Others fail. */
  waitingLimit?: number
  /**
   * The pause before the next attempt to connect, when all addresses have failed [50]. It doubles with
   * each such round.
   */
  shortestPause?: number
  /** The longest pause between attempts [2000]. */
  longestPause?: number
  /** The size limit of a request [32 MiB]. Match the server's if that is configured. */
  frameBytes?: number
}

/** PEM texts for tls:// addresses. */
export interface TlsOptions {
  /** The trusted authorities, instead of the system's. */
  authority?: string | Uint8Array
  /** The client's certificate, with its chain. */
  certificate?: string | Uint8Array
  /** The key of the client's certificate. */
  key?: string | Uint8Array
  /** The name in the server's certificate, if it is not the address's host. */
  serverName?: string
}

/** What concerns one call. */
export interface CallOptions {
  /** How long to wait for the answer, in milliseconds; the client's timeout, if absent. */
  timeout?: number
  /** Cancels the call; it is then rejected with the signal's reason. */
  signal?: AbortSignal
}

/** What concerns one call that is for an app. */
export interface AppOptions extends CallOptions {
  /** The name of the server's app entry, whose policy applies. */
  app?: string
}

/** What concerns one call that verifies. */
export interface VerifyOptions extends AppOptions {
  /**
   * Asks a busy server to queue the call instead of refusing it, for bulk work. The server serves such
   * calls after all others; use a long timeout.
   */
  mayWait?: boolean
}

/** The answer to `verify`. Trust the evidence only if the verdict is VALID. */
export interface VerifyAnswer extends Verification {
  verdict: Verdict
  /** The signed JSON if the call requested it and the verdict is VALID; otherwise empty. */
  payloadJson: Uint8Array
}

/** One item of evidence for `resolve`. */
export interface Item {
  /** The evidence as the app or Apple sent it. */
  evidence: string | Uint8Array
  /** The kind of the evidence; if absent, the server detects it. */
  kind?: EvidenceKind
  /** The caller's name for the item. */
  label?: string
}

/** The outcome of one item of `resolve` or `fetch`. */
export interface ResolvedAnswer extends VerifyAnswer {
  /** The label of the request. */
  label?: string
  /** Whether the answer is the same without the item: it can be deleted from a store. */
  isSuperseded: boolean
  /**
   * What to file the item under: the transaction identifier of the original purchase. Absent, as the
   * members below, where the item names none or several.
   */
  originalTransactionId?: string
  /** A UUID that the app supplied. */
  appAccountToken?: string
  /** Identifier of the app's download. */
  appTransactionId?: string
  /** Of a notification, in Apple's spelling. */
  notificationType?: string
  /** Of a notification, in Apple's spelling. */
  subtype?: string
}

/** The answer to `resolve`. */
export interface ResolveAnswer {
  /** The outcome of each item, in order. */
  items: ResolvedAnswer[]
  /** What the valid items say together. */
  entitlements: Entitlements
}

/** The answer to `fetch`. */
export interface FetchAnswer {
  /** The environment that knows the customer: Production or Sandbox. */
  environment: string
  /** The revision at the end of the history, if the call asked for it. */
  revision?: string
  /** The App Store's answers as evidence, all verified, in the order in which they came. */
  items: ResolvedAnswer[]
  /** What the answers say together. */
  entitlements: Entitlements
}

/** What a client does; `FakeAssay` does it without a server. */
export interface AssayService {
  /**
   * Verifies evidence: what the app or Apple sent. A refusal is an answer, not an error: check the
   * verdict.
   */
  verify(
    evidence: string | Uint8Array, call: Omit<VerifyCall, 'kind'> & { kind: EvidenceKind },
    options?: VerifyOptions,
  ): Promise<VerifyAnswer>
  /**
   * Verifies items of evidence, and returns what the customer owns. A refused item is an answer, not
   * an error: check its verdict.
   */
  resolve(
    items: Item[], call?: Omit<ResolveCall, 'items'>, options?: VerifyOptions,
  ): Promise<ResolveAnswer>
  /**
   * Asks the App Store for a customer's purchases, by any transaction of the customer, and returns what
   * the customer owns. The server needs a key of Apple's for this. An error has Apple's own reason as
   * `appStoreErrorCode`. Apple takes its time: the timeout is 30 s, if absent.
   */
  fetch(
    transactionId: string, call?: Omit<FetchCall, 'transactionId'>, options?: AppOptions,
  ): Promise<FetchAnswer>
  /**
   * As `fetch`, for the customer whom a token, a notification or a receipt names: the newest
   * transaction in it counts. It is at most 1 MiB. The server does not verify it, but each answer of
   * the App Store.
   */
  fetchByEvidence(
    evidence: string | Uint8Array, call?: Omit<FetchCall, 'transactionId'>, options?: AppOptions,
  ): Promise<FetchAnswer>
  /** Returns whether the server is serving. */
  health(options?: CallOptions): Promise<boolean>
  /** Returns the server's version, kinds, limits and roots. */
  info(options?: CallOptions): Promise<ServerInfo>
  /** Returns when the server has answered. */
  ping(options?: CallOptions): Promise<void>
  /** Ends the connections. Outstanding and later calls fail with code `closed`. */
  close(): void
}

/**
 * A client of one server, or of several that answer alike. Its calls share one connection, and answers
 * arrive in any order. It connects at the first call; an open connection keeps the process running.
 */
export class AssayClient implements AssayService {
  constructor(options?: ClientOptions)
  verify: AssayService['verify']
  resolve: AssayService['resolve']
  fetch: AssayService['fetch']
  fetchByEvidence: AssayService['fetchByEvidence']
  health: AssayService['health']
  info: AssayService['info']
  ping: AssayService['ping']
  close(): void
}

/**
 * - `address`: an address is not one.
 * - `connect`: no connection to any of the addresses.
 * - `tls`: the handshake failed at all addresses.
 * - `lost`: the connection ended before the answer, and so did that of the retry.
 * - `deadline`: the deadline passed.
 * - `status`: the server could not perform the call; the error has its status.
 * - `protocol`: the peer does not follow the protocol.
 * - `closed`: the client was closed.
 * - `too-large`: the request exceeds the limit of a frame or of a head.
 * - `too-many`: too many calls wait, or this one has waited for `longestWait`.
 */
export type ErrorCode =
  | 'address' | 'connect' | 'tls' | 'lost' | 'deadline' | 'status' | 'protocol' | 'closed' | 'too-large'
  | 'too-many'

/** Why a call has no answer. A refused purchase is an answer, not an error. */
export class AssayError extends Error {
  constructor(
    code: ErrorCode, message: string,
    details?: {
      status?: Status; retryAfter?: number; appStoreErrorCode?: bigint; cause?: unknown
    },
  )
  /** The kind of the error. */
  readonly code: ErrorCode
  /** The server's status, for the code `status`. */
  readonly status?: Status
  /** The delay before a retry that the server asks for, in milliseconds. */
  readonly retryAfter?: number
  /** Apple's errorCode, where the App Store refused a fetch: 4040010n for an unknown transaction. */
  readonly appStoreErrorCode?: bigint
  /** Whether the same call can succeed later without a change. All calls are safe to repeat. */
  get retryable(): boolean
  /** What JSON.stringify writes, the message included. */
  toJSON(): object
}

/**
 * The second argument of JSON.stringify for a copy of an answer, such as `{ ...answer, user }`. Answers
 * need it not: JSON.stringify writes their numbers of 64 bits as decimal text, bytes as base64, and
 * `payloadJson` as its text.
 */
export function jsonReplacer(name: string, value: unknown): unknown
