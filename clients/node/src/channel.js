import { Connection } from './connection.js'
import { AssayError } from './errors.js'

// How many times in the longest wait the channel looks for calls that have waited longer.
const LOOKS_PER_WAIT = 10

/** The calls that are on no connection, first in, first out. */
class Queue {
  // A Set keeps the order, and removes from the middle.
  #calls = new Set()

  get size() {
    return this.#calls.size
  }

  push(call) {
    call.queuedAt = performance.now()
    this.#calls.add(call)
  }

  /** Puts calls that were sent already before the others. */
  pushFront(calls) {
    for (const call of calls) call.queuedAt = performance.now()
    if (calls.length > 0) this.#calls = new Set([...calls, ...this.#calls])
  }

  [Symbol.iterator]() {
    return this.#calls.values()
  }

  shift() {
    const [call] = this.#calls
    this.#calls.delete(call)
    return call
  }

  delete(call) {
    return this.#calls.delete(call)
  }

  takeAll() {
    const calls = [...this.#calls]
    this.#calls.clear()
    return calls
  }
}

function tooMany() {
  return new AssayError('too-many', 'too many calls wait for the server')
}

/** The connection to one of the servers, its replacement after a loss, and the waiting calls. */
export class Channel {
  #addresses
  #waiting = new Queue()
  #connecting
  #current
  #draining = new Set()
  #isClosed = false
  #lastId = 0n
  // About the next connection: the index of its address, the failures since an answer or since all
  // addresses had failed, how often they all had, and when it may begin.
  #next = 0
  #failures = []
  #rounds = 0
  #notUntil = 0
  #timer
  // Since when there is a connection, and the timer of calls that wait for a free slot on it.
  #openedAt = 0
  #waitTimer

  constructor(addresses, options) {
    this.#addresses = addresses
    this.options = options
  }

  // ---- Calls

  /** Takes a call to the connection, or to the queue. */
  admit(call) {
    if (this.#isClosed) return call.fail(new AssayError('closed', 'the client is closed'))
    call.id = ++this.#lastId
    this.#waiting.push(call)
    this.pump()
    if (this.#waiting.size > this.options.waitingLimit && this.#waiting.delete(call)) {
      call.fail(tooMany())
    }
  }

  /** Forgets a call whose caller has gone. If it was sent, the server still answers it. */
  abandon(call) {
    call.body = new Uint8Array(0)
    if (this.#waiting.delete(call)) return
    for (const connection of this.#connections()) {
      if (connection.inFlight.get(call.id) === call) connection.watchOverdue()
    }
    this.closeDrained()
  }

  canRepeat(call) {
    return this.options.retriesOnce && !call.wasRepeated && !call.isAbandoned
  }

  repeat(call) {
    call.wasRepeated = true
    this.#waiting.push(call)
    this.pump()
  }

  /** Moves waiting calls to the connection, and connects if there is none. */
  pump() {
    if (this.#current) {
      while (this.#waiting.size > 0 && this.#current.canSend) {
        const call = this.#waiting.shift()
        if (this.#hasWaitedTooLong(call)) call.fail(tooMany())
        else this.#current.send(call)
      }
      if (this.#waiting.size > 0) this.#watchWaiting()
      return
    }
    if (this.#isClosed || this.#connecting || this.#timer || this.#waiting.size === 0) return
    const pause = this.#notUntil - performance.now()
    if (pause <= 0) return this.#connect()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#connect()
    }, pause)
  }

  /** Time without a connection does not count, and bulk work can wait until its deadline. */
  #hasWaitedTooLong(call) {
    if (call.head.mayWait) return false
    return performance.now() - Math.max(call.queuedAt, this.#openedAt) > this.options.longestWait
  }

  /** Ends calls that have waited too long, also while the server answers nothing. */
  #watchWaiting() {
    this.#waitTimer ??= setTimeout(() => {
      this.#waitTimer = undefined
      if (!this.#current) return
      for (const call of this.#waiting) {
        if (call.head.mayWait) continue
        if (!this.#hasWaitedTooLong(call)) break
        this.#waiting.delete(call)
        call.fail(tooMany())
      }
      this.pump()
    }, this.options.longestWait / LOOKS_PER_WAIT)
  }

  close() {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearTimeout(this.#waitTimer)
    const calls = this.#waiting.takeAll()
    for (const connection of this.#connections()) calls.push(...connection.end())
    for (const call of calls) call.fail(new AssayError('closed', 'the client is closed'))
  }

  // ---- Connections

  #connections() {
    return [this.#connecting, this.#current, ...this.#draining].filter((connection) => connection)
  }

  #connect() {
    this.#connecting = new Connection(this.#addresses[this.#next], this)
  }

  didOpen(connection) {
    this.#connecting = undefined
    this.#current = connection
    this.#openedAt = performance.now()
    this.pump()
  }

  /** Goes on with the next address. If all have failed, so do the calls that wait. */
  didFailToConnect(connection, error) {
    this.#connecting = undefined
    const failures = this.#failedAttempt(error)
    if (failures) {
      const failure = failures.find(({ code }) => code !== 'tls') ?? error
      const code = failures.every(({ code }) => code === 'tls') ? 'tls' : 'connect'
      const shown = new AssayError(code, `no connection: ${failure.message}`, { cause: failure.cause })
      for (const call of this.#waiting.takeAll()) call.fail(shown)
    }
    this.pump()
  }

  /** Returns the failures of all addresses if this was the last of them to fail. */
  #failedAttempt(error) {
    this.#next = (this.#next + 1) % this.#addresses.length
    this.#failures.push(error)
    if (this.#failures.length < this.#addresses.length) return undefined
    const { shortestPause, longestPause } = this.options
    // 2^16 times the shortest pause exceeds any reasonable longest one.
    const pause = Math.min(shortestPause * 2 ** Math.min(this.#rounds, 16), longestPause)
    this.#rounds++
    this.#notUntil = performance.now() + pause * (1 - Math.random() / 2)
    const failures = this.#failures
    this.#failures = []
    return failures
  }

  /** The server works, so the next attempt can start at once. */
  didAnswer() {
    this.#failures = []
    this.#rounds = 0
    this.#notUntil = 0
  }

  /** Replaces the current connection: the next call goes to the next address. */
  #leave(connection) {
    if (this.#current !== connection) return
    this.#current = undefined
    if (connection.hasAnswered) this.#next = (this.#next + 1) % this.#addresses.length
    else this.#failedAttempt(new AssayError('lost', 'the connection ended before an answer'))
  }

  /** The server takes no new calls on this connection. */
  didDrain(connection) {
    this.#leave(connection)
    this.#draining.add(connection)
    this.closeDrained()
    this.pump()
  }

  /** Closes drained connections that no caller waits for. */
  closeDrained() {
    for (const connection of this.#draining) {
      if (connection.isAwaited) continue
      this.#draining.delete(connection)
      connection.end()
    }
  }

  /** Decides about the calls of a connection that has ended. */
  didEnd(connection, error, calls) {
    calls = calls.filter((call) => !call.isAbandoned)
    if (error.code === 'tls' && this.#current === connection) {
      // The server refused the client's certificate: the attempt has failed only now.
      this.#current = undefined
      this.#waiting.pushFront(calls)
      this.didFailToConnect(connection, error)
      return
    }
    this.#leave(connection)
    this.#draining.delete(connection)
    if (error.retryAfter) {
      this.#notUntil = performance.now() + Math.min(error.retryAfter, this.options.longestPause)
    }
    const repeated = error.code === 'lost' ? calls.filter((call) => this.canRepeat(call)) : []
    for (const call of repeated) call.wasRepeated = true
    this.#waiting.pushFront(repeated)
    for (const call of calls) if (!repeated.includes(call)) call.fail(error)
    this.pump()
  }
}
