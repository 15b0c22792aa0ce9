import net from 'node:net'
import tls from 'node:tls'

import { MalformedError } from './codec.js'
import { answerError, AssayError, protocolError, statusError } from './errors.js'
import { encodeFrame, FrameReader, LARGEST_HEAD } from './frame.js'
import { InFlightWindow } from './window.js'

// The limit of frames that the system has not taken. Above it, calls wait.
const UNWRITTEN_BYTES = 1024 * 1024
// How long after its deadline a missing answer means that the connection is lost. A server answers
// every request, even a late one.
const OVERDUE_MS = 10_000
// OpenSSL's reasons for bytes that are no record of TLS.
const NOT_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])
const NO_TLS = 'the peer does not speak TLS: write tcp://HOST:PORT, or the port of --listen tls://'

/**
 * One connection and its calls in flight. It reports to its channel: didOpen, didFailToConnect,
 * didAnswer, didDrain, didEnd.
 */
export class Connection {
  /** The calls in flight by their id. */
  inFlight = new Map()
  hasAnswered = false
  isDraining = false
  #state = 'connecting'
  #channel
  #socket
  #reader = new FrameReader()
  #output = []
  #outputBytes = 0
  #timer
  #watch
  #window

  constructor(address, channel) {
    this.#channel = channel
    this.#window = new InFlightWindow(channel.options.inFlightLimit)
    const { connectTimeout } = channel.options
    this.#timer = setTimeout(() => this.#fail(new AssayError(
      'connect', `${address.text}: no connection within ${connectTimeout} ms`)), connectTimeout)
    this.#socket = address.tls ? this.#secure(address) : net.connect(
      address.path === undefined ? { host: address.host, port: address.port } : { path: address.path })
    this.#socket.setNoDelay?.(true)
    this.#socket.on(address.tls ? 'secureConnect' : 'connect', () => this.#didConnect())
    this.#socket.on('data', (chunk) => this.#receive(chunk))
    this.#socket.on('drain', () => channel.pump())
    this.#socket.on('error', (error) => this.#didFail(error, address))
    this.#socket.on('close', () => this.#fail(new AssayError('lost', 'the connection was lost')))
  }

  #secure({ host, port }) {
    const { authority, certificate, key, serverName } = this.#channel.options.tls ?? {}
    const servername = serverName ?? (net.isIP(host) ? undefined : host)
    return tls.connect({
      host, port, ca: authority, cert: certificate, key, servername,
      // The default compares with the address that it connects to, not with the name it asked for.
      checkServerIdentity: (_, found) => tls.checkServerIdentity(serverName ?? host, found),
    })
  }

  #didConnect() {
    clearTimeout(this.#timer)
    this.#state = 'open'
    this.#channel.didOpen(this)
  }

  #didFail(error, { text, tls: isSecure }) {
    const isSystem = typeof error.syscall === 'string' || error.code === 'ECONNRESET'
    if (this.#state === 'connecting') {
      const code = isSecure && !isSystem ? 'tls' : 'connect'
      const reason = NOT_TLS.has(error.code) ? NO_TLS : error.message || error.code
      this.#fail(new AssayError(code, `${text}: ${reason}`, { cause: error }))
    } else if (isSecure && !isSystem && !this.hasAnswered) {
      // With TLS 1.3 a server rejects a client's certificate after the client's handshake.
      this.#fail(new AssayError('tls', `${text}: ${error.message}`, { cause: error }))
    } else {
      this.#fail(new AssayError('lost', `the connection was lost: ${error.message}`, { cause: error }))
    }
  }

  #fail(error) {
    if (this.#state === 'ended') return
    const wasConnecting = this.#state === 'connecting'
    if (wasConnecting && error.code === 'lost') error = new AssayError('connect', error.message)
    const calls = this.end()
    if (wasConnecting) this.#channel.didFailToConnect(this, error)
    else this.#channel.didEnd(this, error, calls)
  }

  /** Closes the connection and returns its calls, whose fate the channel decides. */
  end() {
    this.#state = 'ended'
    clearTimeout(this.#timer)
    clearTimeout(this.#watch)
    this.#socket.destroy()
    this.#output = []
    const calls = [...this.inFlight.values()]
    this.inFlight.clear()
    return calls
  }

  // ---- Sending

  get canSend() {
    return this.#state === 'open' && this.inFlight.size < this.#window.count &&
      this.#socket.writableLength + this.#outputBytes < UNWRITTEN_BYTES
  }

  /** Adds a call to the output of this turn. */
  send(call) {
    const { frameBytes } = this.#channel.options
    const left = Math.max(1, Math.ceil(call.deadline - performance.now()))
    let frame
    try {
      frame = encodeFrame({ ...call.head, id: call.id, timeoutMs: left }, call.body.length, frameBytes)
    } catch (error) {
      // The caller gave a value that its field cannot have.
      return call.fail(error)
    }
    if (frame === undefined) {
      call.fail(new AssayError('too-large',
        `the request exceeds a frame of ${frameBytes} bytes, or a head of ${LARGEST_HEAD}`))
      return
    }
    this.inFlight.set(call.id, call)
    if (this.#output.length === 0) queueMicrotask(() => this.#flush())
    this.#outputBytes += frame.length + call.body.length
    this.#output.push(frame)
    if (call.body.length > 0) this.#output.push(call.body)
  }

  /** Writes the output of this turn at once. */
  #flush() {
    if (this.#state === 'ended' || this.#output.length === 0) return
    const frames = this.#output.length === 1 ? this.#output[0] : Buffer.concat(this.#output)
    this.#output = []
    this.#outputBytes = 0
    // Above its limit the socket emits "drain" afterwards, so calls that wait for space go on.
    this.#socket.write(frames)
  }

  // ---- Receiving

  #receive(chunk) {
    this.#reader.add(chunk)
    try {
      for (;;) {
        if (this.#state === 'ended') return
        const frame = this.#reader.next()
        if (frame === undefined) break
        const failure = this.#take(frame)
        if (failure) return this.#fail(failure)
      }
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      return this.#fail(protocolError(error.message))
    }
    this.#channel.pump()
  }

  /** Handles one frame. Returns an error if the connection has to end. */
  #take({ head, body }) {
    const id = head.id ?? 0n
    if (id === 0n) return this.#takeNotice(head)
    const call = this.inFlight.get(id)
    if (call === undefined) return protocolError(`an answer to no request: id ${id}`)
    this.inFlight.delete(id)
    if (!this.hasAnswered) {
      this.hasAnswered = true
      this.#channel.didAnswer()
    }
    const status = head.status ?? 'OK'
    if (status === 'OK') this.#window.grow()
    // Without a pause, the status is about the call and not about the server's load.
    else if (status === 'RESOURCE_EXHAUSTED' && head.retryAfterMs > 0) this.#window.shrink(performance.now())
    if (status === 'OK') call.succeed(head, body)
    else if (status === 'UNAVAILABLE' && this.isDraining && this.#channel.canRepeat(call)) {
      this.#channel.repeat(call)
    } else call.fail(answerError(head))
    if (this.isDraining) this.#channel.closeDrained()
    return undefined
  }

  /** Handles a frame with id 0, which applies to the whole connection. */
  #takeNotice(head) {
    const status = head.status ?? 'OK'
    if (status === 'OK') return protocolError('a notice without a reason')
    if (status !== 'UNAVAILABLE') return statusError(head)
    if (!this.isDraining) {
      this.isDraining = true
      this.#channel.didDrain(this)
    }
    return undefined
  }

  get isAwaited() {
    for (const call of this.inFlight.values()) if (!call.isAbandoned) return true
    return false
  }

  /** Ends the connection when an answer is missing long after its deadline. */
  watchOverdue() {
    if (this.#watch !== undefined) return
    this.#watch = setTimeout(() => {
      this.#watch = undefined
      const now = performance.now()
      const calls = [...this.inFlight.values()]
      if (calls.some((call) => now - call.deadline > OVERDUE_MS)) {
        this.#fail(new AssayError('lost', 'the server does not answer'))
      } else if (calls.some((call) => call.isAbandoned)) this.watchOverdue()
    }, OVERDUE_MS)
    this.#watch.unref()
  }
}
