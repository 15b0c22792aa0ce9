// Answers in JSON. JSON.stringify refuses a bigint, and writes a Uint8Array as an object of numbers.

const DESCRIPTOR = { value: membersForJSON }

/**
 * Gives a message the method that JSON.stringify calls. It is not enumerable, so that a comparison or
 * a copy of the message does not find it.
 */
export function withJSON(message) {
  return Object.defineProperty(message, 'toJSON', DESCRIPTOR)
}

/** Gives all objects of an answer that method: for answers that a test makes. */
export function withJSONThroughout(value) {
  if (Array.isArray(value)) for (const element of value) withJSONThroughout(element)
  else if (isPlain(value)) {
    for (const member of Object.values(value)) withJSONThroughout(member)
    if (Object.isExtensible(value) && value.toJSON === undefined) withJSON(value)
  }
  return value
}

/** The second argument of JSON.stringify, for a copy of an answer such as `{ ...answer, user }`. */
export function jsonReplacer(name, value) {
  return formOf(name, value)
}

/** Returns the members of a message. JSON.stringify writes the messages in them by their own method. */
function membersForJSON() {
  const members = {}
  for (const name of Object.keys(this)) members[name] = formOf(name, this[name])
  return members
}

/** As protobuf writes JSON: numbers of 64 bits as decimal text, bytes as base64. */
function formOf(name, value) {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Uint8Array) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    // The bytes of the signed JSON are text.
    return bytes.toString(name === 'payloadJson' ? 'utf8' : 'base64')
  }
  return Array.isArray(value) ? value.map((element) => formOf(name, element)) : value
}

function isPlain(value) {
  return Object.prototype.toString.call(value) === '[object Object]'
}
