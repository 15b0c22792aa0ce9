import { AssayError } from './errors.js'
import { withJSONThroughout } from './json.js'
import {
  checkCallOptions, checkFetch, checkFetchByEvidence, checkFunction, checkNames, checkResolve, checkVerify,
} from './members.js'

/** A client without a server, for the tests of programs that use one. */
export class FakeAssay {
  evidence = []
  serving = true
  error = undefined

  constructor(functions = {}) {
    checkNames(['onVerify', 'onResolve', 'onFetch', 'onFetchByEvidence'], functions, '', 'the functions')
    for (const [name, value] of Object.entries(functions)) checkFunction(name, value)
    const { onVerify, onResolve, onFetch, onFetchByEvidence } = functions
    this.onVerify = onVerify ?? ((_, call) => refused(call.kind))
    this.onResolve = onResolve ?? ((items) => ({
      items: items.map(({ kind, label }) => ({ ...refused(kind), label, isSuperseded: false })),
      entitlements: { apps: [], warnings: [] },
    }))
    const isNotConfigured = () => {
      throw new AssayError('status', 'fetch is not configured', { status: 'FAILED_PRECONDITION' })
    }
    this.onFetch = onFetch ?? isNotConfigured
    this.onFetchByEvidence = onFetchByEvidence ?? isNotConfigured
  }

  async verify(evidence, call, options = {}) {
    checkVerify(evidence, call, options)
    this.#record(options, evidence)
    return withJSONThroughout(await this.onVerify(evidence, call))
  }

  async resolve(items, call = {}, options = {}) {
    checkResolve(items, call, options)
    this.#record(options, ...items.map(({ evidence }) => evidence))
    return withJSONThroughout(await this.onResolve(items, call))
  }

  async fetch(transactionId, call = {}, options = {}) {
    checkFetch(transactionId, call, options)
    this.#record(options)
    return withJSONThroughout(await this.onFetch(transactionId, call))
  }

  async fetchByEvidence(evidence, call = {}, options = {}) {
    checkFetchByEvidence(evidence, call, options)
    this.#record(options, evidence)
    return withJSONThroughout(await this.onFetchByEvidence(evidence, call))
  }

  async health(options = {}) {
    checkCallOptions(options)
    this.#record(options)
    return this.serving
  }

  async info(options = {}) {
    checkCallOptions(options)
    this.#record(options)
    return withJSONThroughout({ kinds: [], trustedRoots: [] })
  }

  async ping(options = {}) {
    checkCallOptions(options)
    this.#record(options)
  }

  close() {}

  #record(options, ...evidence) {
    options.signal?.throwIfAborted()
    this.evidence.push(...evidence)
    if (this.error) throw this.error
  }
}

export function valid(transaction) {
  const { environment = 'Production', bundleId = '' } = transaction
  return {
    verdict: 'VALID', kind: 'TRANSACTION', environment, transaction,
    dedupKey: `${environment}/${bundleId}/${purchase(transaction)}`,
    evidenceKey: statement(environment, bundleId, transaction), payloadJson: new Uint8Array(0),
  }
}

/** Names a signed state of a transaction as a server does. */
function statement(environment, bundleId, { transactionId = '', signedDate }) {
  if (signedDate === undefined) return undefined
  return `${environment}/${bundleId}/transaction/${transactionId}/${signedDate}`
}

/** Names the purchase of a transaction as a server does. */
function purchase({ transactionId = '', originalTransactionId, type, webOrderLineItemId: item }) {
  const original = originalTransactionId ?? transactionId
  if (type === 'Non-Consumable') return original
  if (type === 'Auto-Renewable Subscription' && item && item !== '0') return `${original}/${item}`
  return transactionId
}

export function refused(kind, verdict = 'UNTRUSTED_CHAIN') {
  return { verdict, kind, detail: 'refused by the fake', payloadJson: new Uint8Array(0) }
}
