const RETRYABLE = new Set(['connect', 'lost', 'deadline', 'too-many'])

/** Why a call has no answer. A refused purchase is an answer, not an error. */
export class AssayError extends Error {
  constructor(code, message, { status, retryAfter, appStoreErrorCode, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'AssayError'
    this.code = code
    if (status !== undefined) this.status = status
    if (retryAfter) this.retryAfter = retryAfter
    if (appStoreErrorCode !== undefined) this.appStoreErrorCode = appStoreErrorCode
  }

  /** The members that say why, for a log in JSON: a bigint has none. */
  toJSON() {
    const { name, message, code, status, retryAfter, retryable, appStoreErrorCode } = this
    return {
      name, message, code, status, retryAfter, retryable, appStoreErrorCode: appStoreErrorCode?.toString(),
    }
  }

  get retryable() {
    if (this.code !== 'status') return RETRYABLE.has(this.code)
    return this.retryAfter > 0 || this.status === 'UNAVAILABLE'
  }
}

export function protocolError(problem) {
  return new AssayError('protocol', `the peer is not an Assay server: ${problem}`)
}

/** The error of a frame whose status is not OK. */
export function statusError({ status, message, retryAfterMs, appStoreErrorCode }) {
  const text = message || `the server answered ${status}`
  return new AssayError('status', text, { status, retryAfter: retryAfterMs, appStoreErrorCode })
}

/** The error of an answer whose status is not OK. */
export function answerError(head) {
  if (head.status !== 'DEADLINE_EXCEEDED') return statusError(head)
  return new AssayError('deadline', `the deadline passed: ${head.message ?? ''}`)
}
