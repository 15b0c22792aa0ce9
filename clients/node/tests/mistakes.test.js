// Mistakes of callers: each is a TypeError that names the argument, and nothing is sent.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { encode } from '../src/codec.js'
import { FakeAssay, valid } from '../src/fake.js'
import { AssayClient, AssayError, jsonReplacer } from '../src/index.js'
import { EXPECTATIONS, Expectations, RequestHead } from '../src/messages.js'
import { client, serve } from './peer.js'

const kind = 'TRANSACTION'
const known = { bundleId: 'com.example.game' }
const KINDS = /there are 'TRANSACTION', 'RENEWAL_INFO', .*, 'HUAWEI_NOTIFICATION'$/

const verify = (call, options) => (service) => service.verify('a', call, options)
const verifies = (evidence) => (service) => service.verify(evidence, { kind })
const resolve = (items, call, options) => (service) => service.resolve(items, call, options)
const fetch = (id, call, options) => (service) => service.fetch(id, call, options)
const expecting = (expectations) => verify({ kind, expectations })
const ping = (options) => (service) => service.ping(options)

const NAMES = [
  [expecting({ bundleID: 'com.example.game' }), /^expectations\.bundleID: do you mean bundleId\?$/],
  [expecting({ bundle_id: 'com.example.game' }), /^expectations\.bundle_id: do you mean bundleId\?$/],
  [expecting({ ...known, environment: 'Production' }), /environment: do you mean environments\?$/],
  [expecting({ ...known, color: 1 }), /^expectations\.color: unknown; there are bundleId, /],
  [expecting(Object.create({ bundleID: 'com.example.game' })), /^expectations\.bundleID: do you mean/],
  [verify({ kind, expectation: known }), /^expectation: do you mean expectations\?$/],
  [verify({ kind, bundleId: 'com.example.game' }), /^bundleId: do you mean expectations\.bundleId\?$/],
  [verify({ kind }, { expectations: known }), /^options\.expectations: unknown; there are timeout, /],
  [verify({ kind }, { maywait: true }), /^options\.maywait: do you mean mayWait\?$/],
  [resolve([{ evidence: 'a', king: kind }]), /^items\[0\]\.king: do you mean kind\?$/],
  [resolve([], { policy: { durations: [{ productID: 'x' }] } }), /^policy\.durations\[0\]\.productID: do/],
  [resolve([], { expectations: { bundleID: 'x' } }), /^expectations\.bundleID: do you mean bundleId/],
  [resolve([], { maxAgeMs: 1n }), /^maxAgeMs: do you mean policy\.maxAgeMs\?$/],
  [resolve([], { items: [] }), /^items: unknown/],
  [fetch('1', { list: ['HISTORY'] }), /^list: do you mean lists\?$/],
  [fetch('1', {}, { mayWait: true }), /^options\.mayWait: unknown/],
  [ping({ timeOut: 1 }), /^options\.timeOut: do you mean timeout\?$/],
  [(service) => service.health({ app: 'game' }), /^options\.app: unknown/],
  [(service) => service.info({ abort: 1 }), /^options\.abort: unknown/],
]

const EVIDENCE = [
  [verifies(undefined), /^evidence: undefined, not a string or a Uint8Array$/],
  [verifies(null), /^evidence: null, not a string or a Uint8Array$/],
  [verifies(7), /^evidence: a number, not a string/],
  [verifies(['a']), /^evidence: an array, not a string or a Uint8Array$/],
  [verifies({ signedPayload: 'a' }), /^evidence: an object, not .*: pass the member that the App Store signed/],
  [verifies(new ArrayBuffer(4)), /^evidence: an ArrayBuffer, not a string or a Uint8Array$/],
  [verify(kind), /^the call: a string, not an object: write { kind: 'TRANSACTION' }$/],
  [verify(undefined), /^the call: undefined, not an object: write { kind: 'TRANSACTION' }$/],
  [verify(null), /^the call: null, not an object$/],
  [resolve(['a']), /^items\[0\]: a string, not an object: write { evidence } with it/],
  [resolve([{ evidence: 'a' }, new Uint8Array(1)]), /^items\[1\]: a Uint8Array, not an object: write { ev/],
  [resolve([undefined]), /^items\[0\]: undefined, not an object$/],
  [resolve([['a', kind]]), /^items\[0\]: an array, not an object$/],
  [resolve([{}]), /^items\[0\]\.evidence: undefined, not a string or a Uint8Array$/],
  [resolve([{ evidence: 'a', label: 7 }]), /^items\[0\]\.label: a number, not a string$/],
  [resolve([{ evidence: 'a', kind: 'transaction' }]), /^items\[0\]\.kind: 'transaction' is unknown; do you mean/],
  [resolve('a'), /^items: a string, not an array: write \[{ evidence }\]$/],
  [resolve({ evidence: 'a' }), /^items: an object, not an array/],
  [resolve(undefined), /^items: undefined, not an array/],
]

const KIND = [
  [verify({ kind: 'transaction' }), /^kind: 'transaction' is unknown; do you mean 'TRANSACTION'\? there are/],
  [verify({ kind: 'app-receipt' }), /^kind: 'app-receipt' is unknown; do you mean 'APP_RECEIPT'\? there are/],
  [verify({ kind: 'TRANSACTON' }), /^kind: 'TRANSACTON' is unknown; do you mean 'TRANSACTION'\? there are/],
  [verify({ kind: 'auto' }), /^kind: 'auto' is unknown; there are/],
  [verify({ kind: 'auto' }), KINDS],
  [verify({ kind: 1 }), /^kind: a number, not one of 'TRANSACTION', /],
  [verify({ kind, inApp: 'latest' }), /^inApp: 'latest' is unknown; do you mean 'LATEST'\? there are 'ALL', /],
  [fetch('1', { lists: ['history'] }), /^lists\[0\]: 'history' is unknown; do you mean 'HISTORY'\? there/],
  [fetch('1', { lists: 'HISTORY' }), /^lists: a string, not an array$/],
]

const VALUES = [
  [expecting('com.example.game'), /^expectations: a string, not an object$/],
  [expecting([known]), /^expectations: an array, not an object$/],
  [expecting(new Map(Object.entries(known))), /^expectations: a Map, not an object$/],
  [expecting({ ...known, productIds: 'gold' }), /^expectations\.productIds: a string, not an array$/],
  [expecting({ bundleId: 7 }), /^expectations\.bundleId: a number, not a string$/],
  [expecting({ bundleId: Buffer.from('a') }), /^expectations\.bundleId: a Buffer, not a string$/],
  [expecting({ environments: [7] }), /^expectations\.environments\[0\]: a number, not a string$/],
  [expecting({ appAppleId: '7' }), /^expectations\.appAppleId: a string, not a bigint$/],
  [expecting({ appAppleId: 1.5 }), /^expectations\.appAppleId: a number, not a bigint$/],
  [expecting({ appAppleId: 2 ** 60 }), /^expectations\.appAppleId: a number, not a bigint$/],
  [expecting({ appAppleId: 1n << 63n }), /^expectations\.appAppleId: more than 64 bits$/],
  [expecting({ notOlderThan: true }), /^expectations\.notOlderThan: true, not a bigint$/],
  [expecting({ notOlderThan: new Date(0) }), /^expectations\.notOlderThan: a Date, not a bigint: write BigInt/],
  [expecting({ deviceIdentifier: '7EB61F70' }), /^expectations\.deviceIdentifier: a string, not a Uint8Array$/],
  [verify({ kind, omitTypedPayload: 'no' }), /^omitTypedPayload: a string, not true or false$/],
  [resolve([], { at: NaN }), /^at: NaN, not a bigint$/],
  [resolve([], { policy: { maxAgeMs: '1' } }), /^policy\.maxAgeMs: a string, not a bigint$/],
  [fetch(1), /^transactionId: a number, not a string$/],
  [fetch(undefined), /^transactionId: undefined, not a string$/],
  [fetch(1n), /^transactionId: a bigint, not a string$/],
]

// An expectation that is given and empty: each member of the messages, with each such value.
const EMPTY = [...EXPECTATIONS].flatMap(([schema, names]) => names.flatMap((name) => {
  const [, type, isRepeated] = Object.values(schema).find(([known]) => known === name)
  const nothing = [undefined, null]
  const empty = { string: '', bytes: new Uint8Array() }[type]
  const values = [...nothing, ...isRepeated ? [[], new Set(), [empty], [undefined]] : empty === undefined ? [] : [empty]]
  return values.flatMap((value) => {
    const member = schema === Expectations ? 'expectations' : 'policy'
    const index = isRepeated && value?.length === 1 ? '\\[0\\]' : ''
    const what = nothing.includes(value) ? value : index && value[0] === undefined ? undefined : 'empty'
    const message = new RegExp(
      `^${member}\\.${name}${index} is ${what}: give a value, or leave it out to accept any$`)
    const call = { [member]: { [name]: value } }
    return [
      member === 'policy' ? [fetch('1', call), message] : [verify({ kind, ...call }), message],
      [resolve([{ evidence: 'a' }], call), message],
    ]
  })
}))

const OPTIONS = [
  [ping(null), /^the options: null, not an object$/],
  [ping(2000), /^the options: a number, not an object$/],
  [ping({ timeout: '2000' }), /^options\.timeout: a string, not a number of milliseconds$/],
  [ping({ timeout: NaN }), /^options\.timeout: NaN, not a number of milliseconds$/],
  [ping({ timeout: null }), /^options\.timeout: null, not a number of milliseconds$/],
  [ping({ signal: new AbortController() }), /^options\.signal: an AbortController, .*: pass its member signal$/],
  [ping({ signal: true }), /^options\.signal: true, not an AbortSignal$/],
  [verify({ kind }, { app: 7 }), /^options\.app: a number, not a string$/],
  [verify({ kind }, { mayWait: 'yes' }), /^options\.mayWait: a string, not true or false$/],
]

test('expectations that are empty are those of the contract', () => {
  assert.equal(EXPECTATIONS.get(Expectations).length, Object.keys(Expectations).length)
  // Lists, numbers, texts and bytes, and the account of the policy; each in two calls.
  assert.equal(EMPTY.length, 2 * (3 * 6 + 2 * 2 + 5 * 3 + 3))
})

test('arguments', async (context) => {
  const asked = []
  const address = await serve(context, (peer) => {
    peer.onRequest = (head) => {
      asked.push(head)
      peer.send({ id: head.id, verification: { verdict: 'VALID' } })
    }
  })
  const services = [client(context, address), new FakeAssay({ onVerify: () => valid({}) })]
  for (const [call, message] of [...NAMES, ...EVIDENCE, ...KIND, ...VALUES, ...EMPTY, ...OPTIONS]) {
    for (const service of services) {
      await assert.rejects(call(service), { name: 'TypeError', message }, String(message))
    }
  }
  assert.equal(asked.length, 0)
  // What it knows goes to the server as it is.
  const sent = { ...known, environments: ['Production'], appAppleId: 7 }
  await services[0].verify(
    'a', { kind, expectations: sent, omitTypedPayload: undefined },
    { timeout: Infinity, signal: undefined, app: null, mayWait: undefined })
  const { bundleId, environments, appAppleId } = asked.pop().verify.expectations
  assert.deepEqual({ bundleId, environments, appAppleId }, { ...sent, appAppleId: 7n })
})

test('options of a client', () => {
  const pem = '-----BEGIN CERTIFICATE-----'
  for (const [options, message] of [
    [{ adresses: 'unix:/a' }, /^adresses: do you mean addresses\?$/],
    [{ timeoutMs: 1 }, /^timeoutMs: do you mean timeout\?$/],
    [{ tls: { ca: 'PEM' } }, /^tls\.ca: unknown; there are authority, /],
    ['unix:/a', /^the options of the client: a string, not an object: write { addresses }$/],
    [['unix:/a'], /^the options of the client: an array, not an object: write { addresses }$/],
    [null, /^the options of the client: null, not an object$/],
    [{ addresses: 7 }, /^addresses: a number, not a string or an array of them$/],
    [{ addresses: null }, /^addresses: null, not a string/],
    [{ addresses: ['unix:/a', undefined] }, /^addresses\[1\]: undefined, not a string$/],
    [{ addresses: 'unix:/a', timeout: '5' }, /^timeout: a string, not a number$/],
    [{ addresses: 'unix:/a', timeout: null }, /^timeout: null, not a number$/],
    [{ addresses: 'unix:/a', retriesOnce: 'no' }, /^retriesOnce: a string, not true or false$/],
    [{ addresses: 'unix:/a', tls: true }, /^tls: true, not an object$/],
    [{ addresses: 'unix:/a', tls: { authority: 7 } }, /^tls\.authority: a number, not PEM as a string/],
    [{ addresses: 'unix:/a', tls: { authority: 'ca.pem' } }, /^tls\.authority: a string, not PEM: read the file/],
    [{ addresses: 'unix:/a', tls: { serverName: 7 } }, /^tls\.serverName: a number, not a string$/],
  ]) assert.throws(() => new AssayClient(options), { name: 'TypeError', message }, String(message))
  for (const timeout of [0, -1, NaN]) {
    assert.throws(() => new AssayClient({ addresses: 'unix:/a', timeout }), RangeError)
  }
  for (const options of [
    { timeout: undefined, longestWait: Infinity, tls: undefined },
    { tls: { authority: [pem, Buffer.from(pem)], key: undefined, serverName: 'assay.example' } },
  ]) new AssayClient({ addresses: ['unix:/a'], ...options }).close()
  assert.throws(() => new FakeAssay({ onverify: () => valid({}) }), TypeError)
  assert.throws(() => new FakeAssay({ onVerify: valid({}) }), { message: /^onVerify: an object, not a function$/ })
})

test('a peer of another protocol is named', async (context) => {
  const http = /^the peer is not an Assay server: this is HTTP: the port of --listen http:\/\/; a client needs/
  const tls = /^the peer is not an Assay server: this is TLS: write tls:\/\//
  for (const [bytes, message] of [
    ['HTTP/1.1 400 Bad Request\r\n\r\n', http], ['HTTP/1.0 400 Bad Request\r\n\r\n', http], ['HTTP', http],
    [Buffer.from('15030300020228', 'hex'), tls], [Buffer.from('16030100', 'hex'), tls],
    ['HTTQ', /a frame of 1213486161 bytes$/], ['SSH-2.0-x', /a frame of \d+ bytes$/],
  ]) {
    await assert.rejects(
      client(context, await serve(context, (peer) => peer.socket.write(bytes))).ping(),
      { code: 'protocol', message })
  }
})

const PURCHASE = { productId: 'gold', price: 1n << 60n, purchaseDate: 1_700_000_000_000n, quantity: 1 }
const WRITTEN = { productId: 'gold', price: '1152921504606846976', purchaseDate: '1700000000000', quantity: 1 }

test('answers in JSON', async (context) => {
  const verification = {
    verdict: 'VALID', kind, transaction: PURCHASE, certificate: { serial: '1f', notAfter: 7n },
  }
  const body = Buffer.from('{"payload":{"a":"ä"}}')
  const address = await serve(context, (peer) => {
    peer.onRequest = ({ id, verify, resolve }) => {
      if (verify) return peer.send({ id, verification }, body)
      if (resolve) {
        const items = [{ label: 'x', verification, payloadJsonLength: body.length }]
        return peer.send({ id, resolution: { items, entitlements: { at: 5n } } }, body)
      }
      return peer.send({ id, fetched: { environment: 'Production', items: [], entitlements: { at: 5n } } })
    }
  })
  const real = client(context, address)
  const fake = new FakeAssay({
    onVerify: () => ({ ...verification, payloadJson: body }),
    onResolve: async () => ({
      items: [{ ...verification, label: 'x', payloadJson: body }], entitlements: { apps: [], warnings: [], at: 5n },
    }),
    onFetch: () => Object.freeze({
      environment: 'Production', items: [], entitlements: { apps: [], warnings: [], at: 5n },
    }),
  })
  for (const service of [real, fake]) {
    const answer = await service.verify('a', { kind })
    const written = JSON.parse(JSON.stringify(answer))
    assert.equal(written.verdict, 'VALID')
    assert.equal(written.payloadJson, '{"payload":{"a":"ä"}}')
    assert.equal(written.certificate.notAfter, '7')
    for (const [name, value] of Object.entries(WRITTEN)) assert.equal(written.transaction[name], value, name)
    // A part of it, and an object with it.
    assert.equal(JSON.parse(JSON.stringify(answer.transaction)).price, WRITTEN.price)
    assert.equal(JSON.parse(JSON.stringify({ user: 1, answer }, null, 2)).answer.transaction.price, WRITTEN.price)
    // A copy has no method of its own.
    const copy = { ...answer.transaction, user: 1n, bytes: new Uint8Array([1, 2]) }
    assert.throws(() => JSON.stringify(copy), TypeError)
    const replaced = JSON.parse(JSON.stringify(copy, jsonReplacer))
    assert.deepEqual([replaced.price, replaced.user, replaced.bytes], [WRITTEN.price, '1', 'AQI='])
    // Nobody who looks at the answer finds the method.
    assert(!Object.keys(answer).includes('toJSON'))
    assert.deepEqual({ ...answer.certificate }, { serial: '1f', notAfter: 7n })
    assert.deepEqual(answer.certificate, { serial: '1f', notAfter: 7n })
    const resolved = JSON.parse(JSON.stringify(await service.resolve([{ evidence: 'a', label: 'x' }])))
    assert.equal(resolved.items[0].transaction.price, WRITTEN.price)
    assert.equal(resolved.items[0].payloadJson, '{"payload":{"a":"ä"}}')
    assert.equal(resolved.entitlements.at, '5')
    const fetched = await service.fetch('1')
    assert.equal(JSON.parse(JSON.stringify(fetched)).entitlements.at, '5')
    assert.equal(JSON.parse(JSON.stringify(fetched.entitlements)).at, '5')
  }
})

test('errors in JSON', () => {
  const error = new AssayError('status', 'unknown', {
    status: 'NOT_FOUND', appStoreErrorCode: 4040010n, retryAfter: 5,
  })
  assert.deepEqual(JSON.parse(JSON.stringify({ error })).error, {
    name: 'AssayError', message: 'unknown', code: 'status', status: 'NOT_FOUND', retryAfter: 5,
    retryable: true, appStoreErrorCode: '4040010',
  })
  assert.deepEqual(JSON.parse(JSON.stringify(new AssayError('lost', 'lost'))), {
    name: 'AssayError', message: 'lost', code: 'lost', retryable: true,
  })
})

test('the codec refuses what the checks do not see', () => {
  for (const [message, text] of [
    [{ timeoutMs: -1 }, /^timeoutMs: a number, not a number from 0 to 4294967295$/], [{ app: 7 }, /^app: a number/],
  ]) assert.throws(() => encode(RequestHead, message), { name: 'TypeError', message: text })
})
