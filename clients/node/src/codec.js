// The encoding of protobuf messages, by the tables in messages.js.

import { withJSON } from './json.js'
import { described, nearest } from './names.js'

/** Bytes that are no message. */
export class MalformedError extends Error {}

// Limits the nested messages of one head. Each takes a hundred times the two bytes that an empty one
// takes on the wire, so a frame of 32 MiB could fill gigabytes. The receipts with the most records
// have some hundred thousand.
export const MESSAGES_PER_HEAD = 1 << 20

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

// Whether JSON.stringify needs help with the members of a schema.
const NEEDS_JSON = Symbol('a member is a bigint or bytes')

function needsJSON(schema) {
  return schema[NEEDS_JSON] ??= Object.values(schema)
    .some(([, type]) => ['int64', 'uint64', 'bytes'].includes(type))
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

class Reader {
  constructor(bytes) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.position = 0
    this.messages = 0
  }

  /** Reads a varint into the members low and high, 32 bits each. */
  varint(end) {
    let low = 0
    let high = 0
    for (let index = 0; index < 10; index++) {
      if (this.position >= end) throw new MalformedError('a number that is cut off')
      const octet = this.bytes[this.position++]
      const bits = octet & 0x7f
      if (index < 4) low |= bits << (7 * index)
      else if (index === 4) {
        low |= bits << 28
        high = bits >>> 4
      } else if (index < 9 || bits < 2) high |= bits << (7 * index - 32)
      else throw new MalformedError('a number above 64 bits')
      if (octet < 0x80) {
        this.low = low >>> 0
        this.high = high >>> 0
        return
      }
    }
    throw new MalformedError('a number of more than ten bytes')
  }

  /** Reads a length, and returns the end of what has it. */
  length(end) {
    this.varint(end)
    if (this.high !== 0 || this.low > end - this.position) {
      throw new MalformedError('a field longer than its message')
    }
    return this.position + this.low
  }

  skip(wire, end) {
    if (wire === VARINT) return this.varint(end)
    const size = { [FIXED64]: 8, [FIXED32]: 4 }[wire]
    if (wire !== BYTES && size === undefined) throw new MalformedError(`wire type ${wire}`)
    const after = wire === BYTES ? this.length(end) : this.position + size
    if (after > end) throw new MalformedError('a field longer than its message')
    this.position = after
  }

  message(schema, end) {
    const message = needsJSON(schema) ? withJSON({}) : {}
    for (const number in schema) if (schema[number][2]) message[schema[number][0]] = []
    while (this.position < end) {
      this.varint(end)
      const number = this.low >>> 3
      const wire = this.low & 7
      if (number === 0 || this.high !== 0) throw new MalformedError('a field number out of range')
      const field = schema[number]
      if (field === undefined) this.skip(wire, end)
      else this.field(message, schema, field, wire, end)
    }
    return message
  }

  field(message, schema, [name, type, isRepeated, others], wire, end) {
    if (isRepeated && wire === BYTES && Array.isArray(type)) {
      const after = this.length(end)
      while (this.position < after) message[name].push(this.value(type, VARINT, after))
      return
    }
    const value = this.value(type, wire, end)
    if (isRepeated) {
      message[name].push(value)
      return
    }
    // Of a oneof the last member counts.
    if (others) for (const number of others) delete message[schema[number][0]]
    message[name] = value
  }

  value(type, wire, end) {
    const isMessage = typeof type === 'object' && !Array.isArray(type)
    const isBytes = type === 'string' || type === 'bytes' || isMessage
    if (wire !== (isBytes ? BYTES : VARINT)) throw new MalformedError('a field of the wrong wire type')
    if (!isBytes) {
      this.varint(end)
      return this.number(type)
    }
    const after = this.length(end)
    const start = this.position
    if (type === 'string') {
      this.position = after
      return this.text(start, after)
    }
    if (type === 'bytes') {
      this.position = after
      // A copy: the slice of a Buffer keeps all bytes that arrived with it.
      return new Uint8Array(this.bytes.subarray(start, after))
    }
    if (++this.messages > MESSAGES_PER_HEAD) throw new MalformedError('too many messages in one head')
    return this.message(type, after)
  }

  text(start, end) {
    // Most texts are short ASCII, for which this is several times as fast.
    if (end - start < 64) {
      let text = ''
      for (let index = start; index < end; index++) {
        const octet = this.bytes[index]
        if (octet > 0x7f) return this.decode(start, end)
        text += String.fromCharCode(octet)
      }
      return text
    }
    return this.decode(start, end)
  }

  decode(start, end) {
    try {
      return utf8.decode(this.bytes.subarray(start, end))
    } catch {
      throw new MalformedError('text that is not UTF-8')
    }
  }

  number(type) {
    if (Array.isArray(type)) return this.high === 0 && type[this.low] || 'UNRECOGNIZED'
    switch (type) {
      case 'bool': return this.low !== 0 || this.high !== 0
      case 'int32': return this.low | 0
      case 'uint32': return this.low
    }
    const value = (BigInt(this.high) << 32n) | BigInt(this.low)
    return type === 'int64' ? BigInt.asIntN(64, value) : value
  }
}

/** Decodes a message. Throws MalformedError. */
export function decode(schema, bytes) {
  return new Reader(bytes).message(schema, bytes.length)
}

/** Encodes a message. Throws TypeError for a value that does not fit its field. */
export function encode(schema, message) {
  const output = []
  write(output, schema, message)
  return Uint8Array.from(output)
}

function write(output, schema, message) {
  for (const number in schema) {
    const [name, type, isRepeated] = schema[number]
    const value = message[name]
    if (value === undefined || value === null) continue
    if (!isRepeated) writeField(output, Number(number), type, value, name)
    else if (Array.isArray(type)) writePacked(output, Number(number), type, value, name)
    else for (const element of value) writeField(output, Number(number), type, element, name)
  }
}

function writePacked(output, number, type, values, name) {
  const packed = []
  for (const value of values) writeVarint(packed, numberOf(type, value, name))
  if (packed.length > 0) writeBytes(output, number, packed)
}

function writeField(output, number, type, value, name) {
  if (type === 'string') writeBytes(output, number, Buffer.from(expectText(value, name)))
  else if (type === 'bytes') writeBytes(output, number, expectBytes(value, name))
  else if (typeof type === 'object' && !Array.isArray(type)) {
    const nested = []
    write(nested, type, value)
    writeBytes(output, number, nested)
  } else {
    writeVarint(output, number * 8 + VARINT)
    writeVarint(output, numberOf(type, value, name))
  }
}

/** Throws a TypeError for a value that a field of this type cannot have; `name` begins its text. */
export function checkValue(type, value, name) {
  if (type === 'string') expectText(value, name)
  else if (type === 'bytes') expectBytes(value, name)
  else numberOf(type, value, name)
}

function expectText(value, name) {
  if (typeof value !== 'string') throw new TypeError(`${name}: ${described(value)}, not a string`)
  return value
}

function expectBytes(value, name) {
  if (!(value instanceof Uint8Array)) throw new TypeError(`${name}: ${described(value)}, not a Uint8Array`)
  return value
}

function numberOf(type, value, name) {
  if (Array.isArray(type)) {
    const number = type.indexOf(value)
    if (number < 0) throw noEnumerator(type, value, name)
    return number
  }
  if (type === 'bool') {
    if (typeof value !== 'boolean') throw new TypeError(`${name}: ${described(value)}, not true or false`)
    return value ? 1 : 0
  }
  if (type === 'uint32') {
    if (Number.isInteger(value) && value >= 0 && value < 2 ** 32) return value
    throw new TypeError(`${name}: ${described(value)}, not a number from 0 to ${2 ** 32 - 1}`)
  }
  // BigInt makes numbers of texts and of truth values, too. A larger number than a safe one has lost
  // digits already.
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) {
    const hint = value instanceof Date ? ': write BigInt(date.getTime())' : ''
    throw new TypeError(`${name}: ${described(value)}, not a bigint${hint}`)
  }
  const number = BigInt(value)
  const isUnsigned = type === 'uint64'
  if (number !== (isUnsigned ? BigInt.asUintN(64, number) : BigInt.asIntN(64, number))) {
    throw new TypeError(`${name}: more than 64 bits`)
  }
  // int32 counts as 64 bits on the wire.
  return BigInt.asUintN(64, number)
}

function noEnumerator(names, value, name) {
  const listed = names.filter((known) => known !== 'UNSPECIFIED').map((known) => `'${known}'`).join(', ')
  if (typeof value !== 'string') return new TypeError(`${name}: ${described(value)}, not one of ${listed}`)
  const near = nearest(value, names)
  const hint = near === undefined ? '' : `do you mean '${near}'? `
  return new TypeError(`${name}: '${value.slice(0, 40)}' is unknown; ${hint}there are ${listed}`)
}

function writeBytes(output, number, bytes) {
  writeVarint(output, number * 8 + BYTES)
  writeVarint(output, bytes.length)
  for (let index = 0; index < bytes.length; index++) output.push(bytes[index])
}

function writeVarint(output, value) {
  if (typeof value === 'bigint') {
    for (; value > 0x7fn; value >>= 7n) output.push(Number(value & 0x7fn) | 0x80)
    output.push(Number(value))
    return
  }
  for (; value > 0x7f; value = Math.floor(value / 128)) output.push((value % 128) | 0x80)
  output.push(value)
}
