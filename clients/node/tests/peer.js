// A scripted server, for tests.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { after } from 'node:test'

import { decode, encode } from '../src/codec.js'
import { AssayClient, AssayError } from '../src/index.js'
import { RequestHead, ResponseHead } from '../src/messages.js'

const folder = mkdtempSync(`${tmpdir()}/assay-`)
after(() => rmSync(folder, { recursive: true }))
let servers = 0

/** A server whose connections, one after the other, are played by the functions. */
export async function serve(context, ...plays) {
  const path = `${folder}/${servers++}`
  const sockets = []
  const server = net.createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    const peer = new Peer(socket)
    socket.on('data', (chunk) => peer.receive(chunk))
    ;(plays.shift() ?? (() => socket.destroy()))(peer)
  })
  server.listen(path)
  await once(server, 'listening')
  context.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return `unix:${path}`
}

/** The server's side of one connection. */
export class Peer {
  constructor(socket) {
    this.socket = socket
    this.bytes = Buffer.alloc(0)
    this.onRequest = () => {}
  }

  receive(chunk) {
    this.bytes = Buffer.concat([this.bytes, chunk])
    while (this.bytes.length >= 8 && this.bytes.length >= 4 + this.bytes.readUInt32BE(0)) {
      const end = 4 + this.bytes.readUInt32BE(0)
      const head = decode(RequestHead, this.bytes.subarray(8, 8 + this.bytes.readUInt32BE(4)))
      this.bytes = this.bytes.subarray(end)
      this.onRequest(head)
    }
  }

  send(head, body = Buffer.alloc(0)) {
    const bytes = encode(ResponseHead, head)
    const prefix = Buffer.alloc(8)
    prefix.writeUInt32BE(4 + bytes.length + body.length, 0)
    prefix.writeUInt32BE(bytes.length, 4)
    this.socket.write(Buffer.concat([prefix, bytes, body]))
  }

  pong(id) {
    this.send({ id, pong: {} })
  }
}

export const answers = (peer) => { peer.onRequest = ({ id }) => peer.pong(id) }
export const silent = () => {}
export const loses = (peer) => { peer.onRequest = () => peer.socket.destroy() }

export function client(context, addresses, options) {
  const made = new AssayClient({ addresses, ...options })
  context.after(() => made.close())
  return made
}

export const failsWith = (code, retryable) => (error) =>
  error instanceof AssayError && error.code === code && error.retryable === retryable
