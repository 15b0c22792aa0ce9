import { decode, encode, MalformedError } from './codec.js'
import { RequestHead, ResponseHead } from './messages.js'

// A frame begins with its length, which does not count itself, and the length of its head.
const LENGTH_BYTES = 4
const PREFIX_BYTES = 8
/** The server's limit for the head of a request. */
export const LARGEST_HEAD = 64 * 1024
/** The limit of a response, and the default limit of a request. */
export const LARGEST_FRAME = 32 * 1024 * 1024

/** Returns prefix and head of a request's frame, or undefined if it exceeds a limit. */
export function encodeFrame(head, bodyLength, limit) {
  const bytes = encode(RequestHead, head)
  const length = LENGTH_BYTES + bytes.length + bodyLength
  if (bytes.length > LARGEST_HEAD || length > limit) return undefined
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + bytes.length)
  frame.writeUInt32BE(length, 0)
  frame.writeUInt32BE(bytes.length, LENGTH_BYTES)
  frame.set(bytes, PREFIX_BYTES)
  return frame
}

/** Names another protocol by its first four bytes. Read as a length, they exceed the largest frame. */
function foreignProtocol(bytes, start) {
  if (bytes.toString('latin1', start, start + LENGTH_BYTES) === 'HTTP') {
    return 'this is HTTP: the port of --listen http://; a client needs that of --listen tcp://, tls:// or unix:'
  }
  // RFC 8446, section 5.1: an alert or a handshake, and the version 3.x.
  const isTLS = (bytes[start] === 0x15 || bytes[start] === 0x16) && bytes[start + 1] === 3
  return isTLS ? 'this is TLS: write tls://HOST:PORT as the address' : undefined
}

/** Finds the frames of responses in a stream of bytes. */
export class FrameReader {
  #buffer = Buffer.alloc(0)
  #start = 0
  #end = 0
  // Whether the buffer is this reader's, and has space behind its end.
  #isOwn = false

  add(chunk) {
    const size = this.#end - this.#start
    if (size === 0) {
      this.#buffer = chunk
      this.#isOwn = false
      this.#start = 0
      this.#end = chunk.length
      return
    }
    if (!this.#isOwn || this.#buffer.length - this.#end < chunk.length) {
      // Twice the size, so that each byte moves once on average however small the chunks are.
      const larger = Buffer.allocUnsafe(2 * (size + chunk.length))
      this.#buffer.copy(larger, 0, this.#start, this.#end)
      this.#buffer = larger
      this.#isOwn = true
      this.#start = 0
      this.#end = size
    }
    chunk.copy(this.#buffer, this.#end)
    this.#end += chunk.length
  }

  /** Returns {head, body}, or undefined if more bytes are needed. Throws MalformedError. */
  next() {
    const size = this.#end - this.#start
    if (size < LENGTH_BYTES) return undefined
    const length = this.#buffer.readUInt32BE(this.#start)
    if (length < LENGTH_BYTES || length > LARGEST_FRAME) {
      throw new MalformedError(foreignProtocol(this.#buffer, this.#start) ?? `a frame of ${length} bytes`)
    }
    if (size < PREFIX_BYTES) return undefined
    const headLength = this.#buffer.readUInt32BE(this.#start + LENGTH_BYTES)
    if (headLength > length - LENGTH_BYTES) throw new MalformedError('a head that is longer than its frame')
    if (size < LENGTH_BYTES + length) return undefined
    const head = this.#start + PREFIX_BYTES
    const body = head + headLength
    this.#start += LENGTH_BYTES + length
    return {
      head: decode(ResponseHead, this.#buffer.subarray(head, body)),
      // A copy, because the caller keeps it, and otherwise all bytes that arrived with it.
      body: new Uint8Array(this.#buffer.subarray(body, this.#start)),
    }
  }
}
