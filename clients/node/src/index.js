import { parseAddresses } from './address.js'
import { Channel } from './channel.js'
import { AssayError, protocolError } from './errors.js'
import { LARGEST_FRAME } from './frame.js'
import { withJSON } from './json.js'
import {
  checkCallOptions, checkClientOptions, checkFetch, checkFetchByEvidence, checkResolve, checkVerify,
} from './members.js'

export { AssayError } from './errors.js'
export { jsonReplacer } from './json.js'

// The longest timeout that a server accepts.
const LONGEST_TIMEOUT_MS = 30_000
// How much later than the server the client ends a call by itself. The server's answer, which shows
// that the server was slow, then arrives first.
const DEADLINE_GRACE_MS = 250
// setTimeout fires at once for a longer one.
const LONGEST_TIMER_MS = 2 ** 31 - 1

const DEFAULTS = {
  timeout: 5000, connectTimeout: 5000, retriesOnce: true, inFlightLimit: 256, longestWait: 1000,
  waitingLimit: 65_536, shortestPause: 50, longestPause: 2000, frameBytes: LARGEST_FRAME,
}

/** One call, and the caller that waits for it. */
class PendingCall {
  isAbandoned = false
  wasRepeated = false
  id = 0n
  // When it began to wait for a free slot on the connection.
  queuedAt = 0

  constructor(head, body, deadline, resolve, reject) {
    this.head = head
    this.body = body
    this.deadline = deadline
    this.resolve = resolve
    this.reject = reject
  }

  succeed(head, body) {
    if (this.isAbandoned) return
    this.isAbandoned = true
    this.resolve({ head, body })
  }

  fail(error) {
    if (this.isAbandoned) return
    this.isAbandoned = true
    this.reject(error)
  }
}

export class AssayClient {
  #channel
  #options

  constructor(options = {}) {
    checkClientOptions(options, DEFAULTS)
    const addresses = parseAddresses(options.addresses)
    this.#options = { ...DEFAULTS }
    for (const [name, value] of Object.entries(options)) {
      if (value === undefined || name === 'addresses') continue
      if (typeof DEFAULTS[name] === 'number' && !(value > 0)) {
        throw new RangeError(`${name} is not above 0: ${value}`)
      }
      this.#options[name] = value
    }
    this.#options.connectTimeout = Math.min(this.#options.connectTimeout, LONGEST_TIMER_MS)
    this.#options.longestWait = Math.min(this.#options.longestWait, LONGEST_TIMER_MS)
    this.#channel = new Channel(addresses, this.#options)
  }

  async verify(evidence, call, options = {}) {
    checkVerify(evidence, call, options)
    const { head, body } = await this.#perform({ verify: call }, bytesOf(evidence), options)
    const { verification } = head
    if (!verification) throw anotherCall()
    return withJSON({ verdict: 'UNSPECIFIED', ...verification, payloadJson: body })
  }

  async resolve(items, call = {}, options = {}) {
    checkResolve(items, call, options)
    const bodies = items.map(({ evidence }) => bytesOf(evidence))
    const described = items.map(({ kind, label }, index) => ({ kind, label, length: bodies[index].length }))
    const { head, body } = await this.#perform(
      { resolve: { ...call, items: described } }, Buffer.concat(bodies), options)
    if (!head.resolution) throw anotherCall()
    const answers = resolved(head.resolution.items, body)
    if (answers.length !== items.length) throw unfit()
    return withJSON({ items: answers, entitlements: head.resolution.entitlements ?? nothing() })
  }

  async fetch(transactionId, call = {}, options = {}) {
    checkFetch(transactionId, call, options)
    return this.#fetch({ ...call, transactionId }, undefined, options)
  }

  async fetchByEvidence(evidence, call = {}, options = {}) {
    checkFetchByEvidence(evidence, call, options)
    return this.#fetch(call, bytesOf(evidence), options)
  }

  async #fetch(call, evidence, options) {
    const { head: { fetched }, body } = await this.#perform(
      { fetch: call }, evidence, { ...options, timeout: options.timeout ?? LONGEST_TIMEOUT_MS })
    if (!fetched) throw anotherCall()
    const { environment = '', revision, entitlements = nothing() } = fetched
    return withJSON({ environment, revision, items: resolved(fetched.items, body), entitlements })
  }

  async health(options = {}) {
    checkCallOptions(options)
    const { head } = await this.#perform({ health: {} }, undefined, options)
    if (!head.health) throw anotherCall()
    return head.health.status === 'SERVING'
  }

  async info(options = {}) {
    checkCallOptions(options)
    const { head } = await this.#perform({ info: {} }, undefined, options)
    if (!head.info) throw anotherCall()
    return head.info
  }

  async ping(options = {}) {
    checkCallOptions(options)
    const { head } = await this.#perform({ ping: {} }, undefined, options)
    if (!head.pong) throw anotherCall()
  }

  close() {
    this.#channel.close()
  }

  #perform(call, body, { timeout = this.#options.timeout, signal, app, mayWait }) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      timeout = Math.min(Math.max(timeout, 0), LONGEST_TIMEOUT_MS)
      const head = { app: app || undefined, mayWait: mayWait || undefined, ...call }
      const pending = new PendingCall(head, body ?? new Uint8Array(0), performance.now() + timeout,
        (answer) => { finish(); resolve(answer) }, (error) => { finish(); reject(error) })
      const end = (error) => {
        pending.fail(error)
        this.#channel.abandon(pending)
      }
      const timer = setTimeout(() => end(new AssayError(
        'deadline', 'the deadline passed without an answer')), timeout + DEADLINE_GRACE_MS)
      const abort = () => end(signal.reason)
      const finish = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#channel.admit(pending)
    })
  }
}

function bytesOf(evidence) {
  return typeof evidence === 'string' ? Buffer.from(evidence) : evidence
}

function anotherCall() {
  return protocolError('an answer to another call')
}

/** Gives each item its part of the body. */
function resolved(items, body) {
  let start = 0
  const answers = items.map(({ label, verification, payloadJsonLength = 0, ...named }) => {
    const end = start + payloadJsonLength
    if (!verification || end > body.length) throw unfit()
    const item = {
      verdict: 'UNSPECIFIED', ...verification, label, isSuperseded: false, ...named,
      payloadJson: body.subarray(start, end),
    }
    start = end
    return withJSON(item)
  })
  if (start !== body.length) throw unfit()
  return answers
}

function nothing() {
  return withJSON({ apps: [], warnings: [] })
}

function unfit() {
  return protocolError('the answer does not fit its items')
}
