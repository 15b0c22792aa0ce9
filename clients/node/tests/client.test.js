import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { after, test } from 'node:test'

import { parseAddresses } from '../src/address.js'
import { decode, encode } from '../src/codec.js'
import { FakeAssay, refused, valid } from '../src/fake.js'
import { AssayClient, AssayError } from '../src/index.js'
import { RequestHead, ResponseHead } from '../src/messages.js'

const folder = mkdtempSync(`${tmpdir()}/assay-`)
after(() => rmSync(folder, { recursive: true }))
let servers = 0

/** A server whose connections, one after the other, are played by the functions. */
async function serve(context, ...plays) {
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
class Peer {
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

  send(head) {
    const bytes = encode(ResponseHead, head)
    const prefix = Buffer.alloc(8)
    prefix.writeUInt32BE(4 + bytes.length, 0)
    prefix.writeUInt32BE(bytes.length, 4)
    this.socket.write(Buffer.concat([prefix, bytes]))
  }

  pong(id) {
    this.send({ id, pong: {} })
  }
}

const answers = (peer) => { peer.onRequest = ({ id }) => peer.pong(id) }
const silent = () => {}
const loses = (peer) => { peer.onRequest = () => peer.socket.destroy() }

function client(context, addresses, options) {
  const made = new AssayClient({ addresses, ...options })
  context.after(() => made.close())
  return made
}

const failsWith = (code, retryable) => (error) =>
  error instanceof AssayError && error.code === code && error.retryable === retryable

test('answers in any order', async (context) => {
  const ids = []
  const address = await serve(context, (peer) => {
    peer.onRequest = ({ id }) => {
      if (ids.push(id) === 100) for (const last of ids.reverse()) peer.pong(last)
    }
  })
  const shared = client(context, address)
  await Promise.all(Array.from({ length: 100 }, () => shared.ping()))
})

test('peers that break the protocol', async (context) => {
  for (const [name, play] of Object.entries({
    'an id nobody asked for': (peer) => { peer.onRequest = ({ id }) => peer.pong(id + 7n) },
    'an id above 2 to the 53': (peer) => { peer.onRequest = ({ id }) => peer.pong(id + (1n << 60n)) },
    "another call's answer": (peer) => { peer.onRequest = ({ id }) => peer.send({ id, info: {} }) },
    'a notice without a reason': (peer) => peer.pong(0n),
    'HTTP': (peer) => peer.socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    'a frame above the limit': (peer) => peer.socket.write(Buffer.from([2, 0, 0, 1])),
  })) {
    await context.test(name, async (context) => {
      await assert.rejects(
        client(context, await serve(context, play)).ping(), failsWith('protocol', false))
    })
  }
})

test('a drain', async (context) => {
  let old
  const address = await serve(context, (peer) => {
    peer.onRequest = ({ id }) => {
      if (id === 1n) return peer.pong(id)
      old = () => peer.pong(id)
      peer.send({ id: 0n, status: 'UNAVAILABLE', message: 'draining' })
    }
  }, answers)
  const shared = client(context, address)
  await shared.ping()
  const inFlight = shared.ping()
  while (old === undefined) await new Promise(setImmediate)
  await new Promise((resolve) => setTimeout(resolve, 20))
  await shared.ping()
  old()
  await inFlight
})

test('lost connections', async (context) => {
  await client(context, await serve(context, loses, answers)).ping()
  await assert.rejects(
    client(context, await serve(context, loses, loses)).ping(), failsWith('lost', true))
  await assert.rejects(
    client(context, await serve(context, loses, answers), { retriesOnce: false }).ping(),
    failsWith('lost', true))
})

test('deadlines and cancelled calls', async (context) => {
  const shared = client(context, await serve(context, silent))
  const start = performance.now()
  await assert.rejects(shared.ping({ timeout: 10 }), failsWith('deadline', true))
  assert(performance.now() - start >= 250, 'the server had no time to answer')
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 10)
  await assert.rejects(shared.ping({ signal: controller.signal }), { name: 'AbortError' })
  await assert.rejects(shared.ping({ signal: AbortSignal.abort() }), { name: 'AbortError' })
  await assert.rejects(shared.ping({ signal: AbortSignal.timeout(5) }), { name: 'TimeoutError' })
})

test('failover', async (context) => {
  const good = await serve(context, answers)
  await client(context, ['unix:/nowhere/1', 'tcp://127.0.0.1:1', good]).ping()
  const lonely = client(context, ['unix:/nowhere/1', 'unix:/nowhere/2'])
  await assert.rejects(lonely.ping(), failsWith('connect', true))
})

test('limits', async (context) => {
  const shared = client(
    context, await serve(context, answers), { inFlightLimit: 1, waitingLimit: 2, frameBytes: 1000 })
  await assert.rejects(
    shared.verify(new Uint8Array(1000), { kind: 'TRANSACTION' }), failsWith('too-large', false))
  const results = await Promise.allSettled(Array.from({ length: 10 }, () => shared.ping()))
  const reasons = results.filter(({ reason }) => reason).map(({ reason }) => reason.code)
  // 1 is in flight, and 2 wait.
  assert.deepEqual(reasons, Array(7).fill('too-many'))
  await assert.rejects(shared.verify('a', { kind: 'NONSENSE' }), TypeError)
  await assert.rejects(shared.verify(7, { kind: 'TRANSACTION' }), TypeError)
  await shared.ping()
  shared.close()
  await assert.rejects(shared.ping(), failsWith('closed', false))
})

test('what the client does not know', async (context) => {
  const asked = []
  const answering = (peer) => {
    peer.onRequest = (head) => {
      asked.push(head)
      peer.send({ id: head.id, verification: { verdict: 'VALID' } })
    }
  }
  const address = await serve(context, answering)
  const services = [client(context, address), new FakeAssay({ onVerify: () => valid({}) })]
  const kind = 'TRANSACTION'
  const verify = (call, options) => (service) => service.verify('a', call, options)
  const resolve = (items, call, options) => (service) => service.resolve(items, call, options)
  const expecting = (expectations) => verify({ kind, expectations })
  const known = { bundleId: 'com.example.game' }
  for (const [call, message] of [
    [expecting({ bundleID: 'com.example.game' }), /^expectations\.bundleID: do you mean bundleId\?$/],
    [expecting({ bundle_id: 'com.example.game' }), /^expectations\.bundle_id: do you mean bundleId\?$/],
    [expecting({ ...known, environment: 'Production' }), /environment: do you mean environments\?$/],
    [expecting({ ...known, color: 1 }), /^expectations\.color: unknown; there are bundleId, /],
    [expecting({ bundleId: undefined }), /^expectations\.bundleId: undefined; leave out what/],
    [expecting({ ...known, appAccountToken: null }), /^expectations\.appAccountToken: null; leave/],
    [expecting('com.example.game'), /^expectations: not an object/],
    [expecting([known]), /^expectations: not an object/],
    [expecting(new Map(Object.entries(known))), /^expectations: not an object/],
    [expecting({ ...known, productIds: 'gold' }), /^expectations\.productIds: not an array$/],
    [expecting(Object.create({ bundleID: 'com.example.game' })), /^expectations\.bundleID: do you mean/],
    [verify({ kind, expectation: known }), /^expectation: do you mean expectations\?$/],
    [verify({ kind, bundleId: 'com.example.game' }), /^bundleId: do you mean expectations\.bundleId\?$/],
    [verify({ kind }, { expectations: known }), /^options\.expectations: unknown; there are timeout, /],
    [verify({ kind }, { maywait: true }), /^options\.maywait: do you mean mayWait\?$/],
    [verify(kind), /^the call: not an object/],
    [verify(undefined), /^the call: not an object/],
    [resolve([{ evidence: 'a', king: kind }]), /^items\[0\]\.king: do you mean kind\?$/],
    [resolve(['a']), /^items\[0\]: not an object/],
    [resolve('a'), /^the items are not an array$/],
    [resolve([], { policy: { durations: [{ productID: 'x' }] } }), /^policy\.durations\[0\]\.productID: do/],
    [resolve([], { expectations: { bundleID: 'x' } }), /^expectations\.bundleID: do you mean bundleId/],
    [resolve([], { maxAgeMs: 1n }), /^maxAgeMs: do you mean policy\.maxAgeMs\?$/],
    [resolve([], { items: [] }), /^items: unknown/],
    [(service) => service.fetch('1', { list: ['HISTORY'] }), /^list: do you mean lists\?$/],
    [(service) => service.fetch('1', {}, { mayWait: true }), /^options\.mayWait: unknown/],
    [(service) => service.ping({ timeOut: 1 }), /^options\.timeOut: do you mean timeout\?$/],
    [(service) => service.health({ app: 'game' }), /^options\.app: unknown/],
    [(service) => service.info({ abort: 1 }), /^options\.abort: unknown/],
  ]) {
    for (const service of services) {
      await assert.rejects(call(service), { name: 'TypeError', message }, String(message))
    }
  }
  assert.equal(asked.length, 0)
  for (const [options, message] of [
    [{ adresses: address }, /^adresses: do you mean addresses\?$/],
    [{ timeoutMs: 1 }, /^timeoutMs: do you mean timeout\?$/],
    [{ tls: { ca: 'PEM' } }, /^tls\.ca: unknown; there are authority, /],
    ['unix:/a', /^the options of the client: not/],
  ]) assert.throws(() => new AssayClient(options), { name: 'TypeError', message })
  assert.throws(() => new FakeAssay({ onverify: () => valid({}) }), TypeError)
  // What it knows goes to the server as it is.
  const sent = { ...known, environments: ['Production'] }
  await services[0].verify('a', { kind, expectations: sent, omitTypedPayload: undefined })
  assert.deepEqual(asked.pop().verify.expectations, { ...sent, productIds: [] })
})

test('values that their fields cannot have', async (context) => {
  const shared = client(context, await serve(context, answers))
  for (const [expectations, name] of [
    [{ bundleId: 7 }, 'bundleId'], [{ environments: [7] }, 'environments'],
    [{ appAppleId: '7' }, 'appAppleId'], [{ appAppleId: 1.5 }, 'appAppleId'],
    [{ appAppleId: 2 ** 60 }, 'appAppleId'], [{ appAppleId: 1n << 63n }, 'appAppleId'],
    [{ notOlderThan: true }, 'notOlderThan'], [{ deviceIdentifier: '7EB61F70' }, 'deviceIdentifier'],
  ]) {
    await assert.rejects(shared.verify('a', { kind: 'TRANSACTION', expectations }),
      (error) => error instanceof TypeError && error.message.startsWith(name), name)
  }
  await assert.rejects(
    shared.verify('a', { kind: 'TRANSACTION', omitTypedPayload: 'no' }), TypeError)
})

test('addresses', () => {
  for (const text of [
    'tcp://127.0.0.1:7443', 'tcp://[::1]:7443', 'tls://assay.example:1', 'unix:/run/assay.sock', 'unix:@a',
  ]) assert.equal(parseAddresses([text]).length, 1, text)
  for (const text of [
    '', '127.0.0.1:7443', 'http://a:1', 'tcp://::1:7443', 'tcp://a', 'tcp://:1', 'tcp://a:0', 'tcp://a:65536',
    'tcp://a:x', 'tcp://a/b:1', 'unix:', 'unix:@', 'unix:/' + 'a'.repeat(107),
  ]) assert.throws(() => parseAddresses([text]), { code: 'address' }, text)
  const before = process.env.ASSAY_ADDRESS
  process.env.ASSAY_ADDRESS = 'unix:/a, tcp://b:1'
  assert.equal(parseAddresses().length, 2)
  delete process.env.ASSAY_ADDRESS
  assert.throws(() => parseAddresses(), { code: 'address' })
  if (before !== undefined) process.env.ASSAY_ADDRESS = before
})

test('which errors are retryable', () => {
  for (const [code, details, retryable] of [
    ['status', { status: 'RESOURCE_EXHAUSTED', retryAfter: 1 }, true],
    ['status', { status: 'RESOURCE_EXHAUSTED' }, false], ['status', { status: 'UNAVAILABLE' }, true],
    ['connect', {}, true], ['tls', {}, false], ['lost', {}, true], ['protocol', {}, false],
    ['deadline', {}, true], ['too-many', {}, true], ['too-large', {}, false],
  ]) assert.equal(new AssayError(code, 'x', details).retryable, retryable, code)
})

test('the fake', async () => {
  const unlock = async (service, token) => {
    const answer = await service.verify(token, { kind: 'TRANSACTION' })
    return answer.verdict === 'VALID' ? answer.transaction.productId : undefined
  }
  const fake = new FakeAssay()
  assert.equal(await unlock(fake, 'a'), undefined)
  fake.onVerify = (evidence) => evidence === 'b' ? valid({ productId: 'gold' }) : refused('TRANSACTION')
  assert.equal(await unlock(fake, 'b'), 'gold')
  assert.equal(await unlock(fake, 'c'), undefined)
  fake.error = new AssayError('lost', 'lost')
  await assert.rejects(unlock(fake, 'd'), { code: 'lost' })
  assert.deepEqual(fake.evidence, ['a', 'b', 'c', 'd'])
  assert.equal((await new FakeAssay().resolve([{ evidence: 'a', label: 'x' }])).items[0].label, 'x')
})

test('the fake of a fetch', async () => {
  await assert.rejects(new FakeAssay().fetch('1'), { code: 'status', status: 'FAILED_PRECONDITION', retryable: false })
  const fake = new FakeAssay({
    onFetch: (transactionId, { lists }) => {
      if (transactionId !== '470001') {
        throw new AssayError('status', 'unknown', { status: 'NOT_FOUND', appStoreErrorCode: 4040010n })
      }
      return { environment: 'Sandbox', items: [], entitlements: { apps: [], warnings: [] }, revision: lists[0] }
    },
  })
  assert.equal((await fake.fetch('470001', { lists: ['HISTORY'] })).revision, 'HISTORY')
  await assert.rejects(fake.fetch('2'), { status: 'NOT_FOUND', appStoreErrorCode: 4040010n })
  fake.error = new AssayError('lost', 'lost')
  await assert.rejects(fake.fetch('470001'), { code: 'lost' })
})
