import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

import { decode, encode, MalformedError, MESSAGES_PER_HEAD } from '../src/codec.js'
import { FrameReader } from '../src/frame.js'
import * as messages from '../src/messages.js'

const folder = process.env.ASSAY_GOLDEN ??
  new URL('../../../conformance/golden', import.meta.url).pathname
const skip = !existsSync(folder) && 'the golden frames are missing'
const { RequestHead, ResponseHead, Resolution } = messages

function frames(file) {
  const lines = readFileSync(`${folder}/${file}`, 'utf8').trim().split('\n').map((line) => JSON.parse(line))
  assert(lines.length > 20, file)
  return lines.map((line) => ({ ...line, bytes: Buffer.from(line.frame, 'hex') }))
}

// The contract's prefixes of the enumerations' values.
const PREFIXES = new Map(['Verdict', 'Status', 'EvidenceKind', 'ServingStatus', 'InAppSelection', 'StoreList'].map(
  (name) => [messages[name], name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase() + '_']))

/** Compares a message with its form in protobuf's JSON. */
function same(schema, message, expected, path = '') {
  const names = Object.values(schema).map(([name]) => name)
  for (const name of Object.keys(message)) assert(names.includes(name), `${path}.${name}`)
  for (const [name, type, isRepeated] of Object.values(schema)) {
    const value = message[name]
    const wanted = expected[name]
    if (isRepeated) {
      assert.equal(value.length, (wanted ?? []).length, `${path}.${name}`)
      value.forEach((element, index) => sameValue(type, element, wanted[index], `${path}.${name}`))
    } else if (value === undefined || wanted === undefined) assert.equal(value, wanted, `${path}.${name}`)
    else sameValue(type, value, wanted, `${path}.${name}`)
  }
}

function sameValue(type, value, wanted, path) {
  if (Array.isArray(type)) {
    if (value === 'UNRECOGNIZED') assert.equal(typeof wanted, 'number', path)
    else assert.equal(PREFIXES.get(type) + value, wanted, path)
  } else if (typeof type === 'object') same(type, value, wanted, path)
  else if (type === 'bytes') assert.equal(Buffer.from(value).toString('base64'), wanted, path)
  else assert.equal(typeof value === 'bigint' ? value.toString() : value, wanted, path)
}

test('golden requests', { skip }, async (context) => {
  for (const { name, bytes, head, body, canonical } of frames('requests.jsonl')) {
    await context.test(name, () => {
      const encoded = bytes.subarray(8, bytes.length - body.length / 2)
      const message = decode(RequestHead, encoded)
      same(RequestHead, message, head)
      if (canonical) assert.deepEqual(Buffer.from(encode(RequestHead, message)), encoded)
    })
  }
})

test('golden responses, whole and byte by byte', { skip }, async (context) => {
  for (const { name, bytes, head, body } of frames('responses.jsonl')) {
    await context.test(name, () => {
      for (const step of [bytes.length, 1]) {
        const reader = new FrameReader()
        let found
        for (let start = 0; start < bytes.length; start += step) {
          assert.equal(found, undefined)
          reader.add(bytes.subarray(start, start + step))
          found = reader.next()
        }
        same(ResponseHead, found.head, head)
        assert.equal(Buffer.from(found.body).toString('hex'), body)
        assert.equal(reader.next(), undefined)
      }
    })
  }
})

test('changed frames are decoded or refused', { skip }, () => {
  for (const { name, bytes } of frames('responses.jsonl')) {
    // Long frames have more of the same fields.
    for (let index = 4; index < Math.min(bytes.length, 400); index++) {
      for (const change of [0x01, 0x80, 0xff]) {
        const changed = Buffer.from(bytes)
        changed[index] ^= change
        const reader = new FrameReader()
        reader.add(changed)
        try {
          reader.next()
        } catch (error) {
          assert(error instanceof MalformedError, `${name}, octet ${index}: ${error.stack}`)
        }
      }
    }
  }
})

test('broken frames', { skip }, async (context) => {
  for (const { name, bytes } of frames('broken.jsonl')) {
    await context.test(name, () => {
      const reader = new FrameReader()
      reader.add(bytes)
      assert.throws(() => reader.next(), MalformedError)
    })
  }
})

test('a head has a limited number of messages', () => {
  const items = new Uint8Array(2 * (MESSAGES_PER_HEAD + 1))
  for (let index = 0; index < items.length; index += 2) items[index] = 0x0a
  assert.equal(decode(Resolution, items.subarray(2)).items.length, MESSAGES_PER_HEAD)
  assert.throws(() => decode(Resolution, items), MalformedError)
})

test('values that do not fit their fields are refused', () => {
  for (const message of [
    { verify: { kind: 'TRANSACTON' } }, { timeoutMs: -1 }, { timeoutMs: 2 ** 32 }, { app: 7 },
    { verify: { expectations: { notOlderThan: 1.5 } } }, { verify: { expectations: { bundleId: 1n } } },
  ]) assert.throws(() => encode(RequestHead, message), /not a|is unknown/)
})
