import { Expectations, FetchCall, ResolveCall, VerifyCall } from './messages.js'

// What a caller passes is checked before it is used: a misspelt expectation that were ignored would
// make the evidence of any app VALID.

const CALL_OPTIONS = ['timeout', 'signal']
const APP_OPTIONS = [...CALL_OPTIONS, 'app']
const VERIFY_OPTIONS = [...APP_OPTIONS, 'mayWait']
const TLS_OPTIONS = ['authority', 'certificate', 'key', 'serverName']
const ITEM_MEMBERS = ['evidence', 'kind', 'label']

/** Checks the arguments of `verify`. The checks of this file throw a TypeError. */
export function checkVerify(call, options) {
  checkMessage(VerifyCall, call, '', 'the call')
  checkNames(VERIFY_OPTIONS, options, 'options.', 'the options')
}

export function checkResolve(items, call, options) {
  if (!Array.isArray(items)) throw new TypeError('the items are not an array')
  items.forEach((item, index) => checkNames(ITEM_MEMBERS, item, `items[${index}].`, `items[${index}]`))
  // The client makes these members itself.
  checkMessage(ResolveCall, call, '', 'the call', ['items'])
  checkNames(VERIFY_OPTIONS, options, 'options.', 'the options')
}

export function checkFetch(call, options) {
  checkMessage(FetchCall, call, '', 'the call', ['transactionId'])
  checkNames(APP_OPTIONS, options, 'options.', 'the options')
}

export function checkCallOptions(options) {
  checkNames(CALL_OPTIONS, options, 'options.', 'the options')
}

export function checkClientOptions(options, names) {
  checkNames([...names, 'addresses', 'tls'], options, '', 'the options of the client')
  if (isPresent(options.tls)) checkNames(TLS_OPTIONS, options.tls, 'tls.', 'tls')
}

/** Checks that an object has no other members than these. */
export function checkNames(names, value, path, what) {
  if (Object.prototype.toString.call(value) !== '[object Object]') {
    throw new TypeError(`${what}: not an object with members`)
  }
  for (const name in value) if (!names.includes(name)) throw unknown(path, name, names)
}

/** Checks the members of a message, and of the messages in it. The codec checks their values. */
function checkMessage(schema, value, path, what, excluded = []) {
  const fields = Object.values(schema).filter(([name]) => !excluded.includes(name))
  const names = fields.map(([name]) => name)
  try {
    checkNames(names, value, path, what)
  } catch (error) {
    throw misplaced(fields, value, path) ?? error
  }
  for (const [name, type, isRepeated] of fields) {
    const member = value[name]
    if (!isPresent(member)) {
      // A variable that is not set must not widen what is accepted.
      if (schema === Expectations && name in value) {
        throw new TypeError(`${path}${name}: ${member}; leave out what you do not expect`)
      }
      continue
    }
    if (isRepeated && (typeof member === 'string' || !(Symbol.iterator in Object(member)))) {
      throw new TypeError(`${path}${name}: not an array`)
    }
    if (!isMessage(type)) continue
    const elements = isRepeated ? [...member] : [member]
    elements.forEach((element, index) => {
      const place = path + name + (isRepeated ? `[${index}]` : '')
      checkMessage(type, element, `${place}.`, place)
    })
  }
}

/** Returns the error of a member that belongs into a message within this one, such as `bundleId`. */
function misplaced(fields, value, path) {
  for (const [name, type, isRepeated] of fields) {
    if (isRepeated || !isMessage(type)) continue
    for (const inner of Object.values(type).map(([inner]) => inner)) {
      if (typeof value === 'object' && inner in value && !fields.some(([own]) => own === inner)) {
        return new TypeError(`${path}${inner}: do you mean ${path}${name}.${inner}?`)
      }
    }
  }
  return undefined
}

function isPresent(value) {
  return value !== undefined && value !== null
}

function isMessage(type) {
  return typeof type === 'object' && !Array.isArray(type)
}

function unknown(path, name, names) {
  const near = nearest(name, names)
  return new TypeError(near
    ? `${path}${name}: do you mean ${near}?`
    : `${path}${name}: unknown; there are ${names.join(', ')}`)
}

/** Returns the name that a misspelt one is near to. */
function nearest(name, names) {
  const plain = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, '')
  const distances = names.map((known) => distance(plain(name), plain(known)))
  const least = Math.min(...distances)
  // A third of a name that differs is another name.
  return least <= Math.min(2, Math.floor(name.length / 3)) ? names[distances.indexOf(least)] : undefined
}

/** The number of letters to insert, delete or replace. */
function distance(one, other) {
  // A name from outside can have any length.
  if (Math.abs(one.length - other.length) > 2) return Infinity
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j++) {
      next.push(Math.min(next[j] + 1, row[j + 1] + 1, row[j] + (one[i] === other[j] ? 0 : 1)))
    }
    row = next
  }
  return row[other.length]
}
