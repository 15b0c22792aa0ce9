import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseAddresses } from '../src/address.js'
import { FakeAssay, refused, valid } from '../src/fake.js'
import { AssayError } from '../src/index.js'
import { answers, client, failsWith, loses, serve, silent } from './peer.js'

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
  assert.equal(valid({ productId: 'gold' }).evidenceKey, undefined)
  assert.equal(
    valid({ bundleId: 'com.example.game', transactionId: '7', signedDate: 5n }).evidenceKey,
    'Production/com.example.game/transaction/7/5')
  assert.equal((await new FakeAssay().resolve([{ evidence: 'c' }])).items[0].isSuperseded, false)
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

test('the fake of a fetch by evidence', async () => {
  await assert.rejects(new FakeAssay().fetchByEvidence('token'), { status: 'FAILED_PRECONDITION' })
  await assert.rejects(new FakeAssay().fetchByEvidence(470001), TypeError)
  await assert.rejects(new FakeAssay().fetchByEvidence('token', { transactionId: '1' }), TypeError)
  const fake = new FakeAssay({
    onFetchByEvidence: (evidence, { lists }) => ({
      environment: 'Sandbox', items: [], entitlements: { apps: [], warnings: [] }, revision: `${evidence} ${lists[0]}`,
    }),
  })
  assert.equal((await fake.fetchByEvidence('token', { lists: ['HISTORY'] })).revision, 'token HISTORY')
  assert.deepEqual(fake.evidence, ['token'])
})
