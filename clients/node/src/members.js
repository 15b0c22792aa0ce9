import { checkValue } from './codec.js'
import { EvidenceKind, EXPECTATIONS, FetchCall, ResolveCall, VerifyCall } from './messages.js'
import { described, nearest } from './names.js'

// What a caller passes is checked before it is used: a misspelt expectation that were ignored would
// make the evidence of any app VALID.

const CALL_OPTIONS = ['timeout', 'signal']
const APP_OPTIONS = [...CALL_OPTIONS, 'app']
const VERIFY_OPTIONS = [...APP_OPTIONS, 'mayWait']
const TLS_OPTIONS = ['authority', 'certificate', 'key', 'serverName']
const ITEM_MEMBERS = ['evidence', 'kind', 'label']

/** Checks the arguments of `verify`. The checks of this file throw a TypeError. */
export function checkVerify(evidence, call, options) {
  checkEvidence('evidence', evidence)
  if (typeof call === 'string' || call === undefined) {
    throw wrong('the call', call, 'an object', "write { kind: 'TRANSACTION' }")
  }
  checkMessage(VerifyCall, call, '', 'the call')
  checkOptions(VERIFY_OPTIONS, options)
}

export function checkResolve(items, call, options) {
  if (!Array.isArray(items)) throw wrong('items', items, 'an array', 'write [{ evidence }]')
  items.forEach((item, index) => checkItem(`items[${index}]`, item))
  // The client makes these members itself.
  checkMessage(ResolveCall, call, '', 'the call', ['items'])
  checkOptions(VERIFY_OPTIONS, options)
}

export function checkFetch(transactionId, call, options) {
  if (typeof transactionId !== 'string') throw wrong('transactionId', transactionId, 'a string')
  checkMessage(FetchCall, call, '', 'the call', ['transactionId'])
  checkOptions(APP_OPTIONS, options)
}

export function checkFetchByEvidence(evidence, call, options) {
  checkEvidence('evidence', evidence)
  checkMessage(FetchCall, call, '', 'the call', ['transactionId'])
  checkOptions(APP_OPTIONS, options)
}

export function checkCallOptions(options) {
  checkOptions(CALL_OPTIONS, options)
}

export function checkClientOptions(options, defaults) {
  if (typeof options === 'string' || Array.isArray(options)) {
    throw wrong('the options of the client', options, 'an object', 'write { addresses }')
  }
  checkNames([...Object.keys(defaults), 'addresses', 'tls'], options, '', 'the options of the client')
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || !(name in defaults)) continue
    const type = typeof defaults[name]
    if (typeof value !== type) throw wrong(name, value, type === 'number' ? 'a number' : 'true or false')
  }
  checkAddresses(options.addresses)
  if (isPresent(options.tls)) checkTLS(options.tls)
}

export function checkFunction(name, value) {
  if (value !== undefined && typeof value !== 'function') throw wrong(name, value, 'a function')
}

function checkAddresses(addresses) {
  if (addresses === undefined || typeof addresses === 'string') return
  if (!Array.isArray(addresses)) throw wrong('addresses', addresses, 'a string or an array of them')
  addresses.forEach((text, index) => {
    if (typeof text !== 'string') throw wrong(`addresses[${index}]`, text, 'a string')
  })
}

function checkTLS(tls) {
  checkNames(TLS_OPTIONS, tls, 'tls.', 'tls')
  const { serverName, ...texts } = tls
  if (isPresent(serverName) && typeof serverName !== 'string') throw wrong('tls.serverName', serverName, 'a string')
  for (const [name, value] of Object.entries(texts)) {
    if (!isPresent(value)) continue
    for (const text of Array.isArray(value) ? value : [value]) {
      if (typeof text !== 'string' && !(text instanceof Uint8Array)) {
        throw wrong(`tls.${name}`, text, 'PEM as a string or a Uint8Array')
      }
      if (typeof text === 'string' && !text.includes('-----BEGIN')) {
        throw wrong(`tls.${name}`, text, 'PEM', 'read the file if this is its path')
      }
    }
  }
}

function checkItem(location, item) {
  if (typeof item === 'string' || item instanceof Uint8Array) {
    throw wrong(location, item, 'an object', `write { evidence } with it, and a kind or a label if you like`)
  }
  checkNames(ITEM_MEMBERS, item, `${location}.`, location)
  checkEvidence(`${location}.evidence`, item.evidence)
  if (isPresent(item.kind)) checkValue(EvidenceKind, item.kind, `${location}.kind`)
  if (isPresent(item.label)) checkValue('string', item.label, `${location}.label`)
}

function checkEvidence(location, evidence) {
  if (typeof evidence === 'string' || evidence instanceof Uint8Array) return
  const hint = Object.prototype.toString.call(evidence) === '[object Object]'
    ? 'pass the member that the App Store signed, or the whole as JSON.stringify writes it'
    : undefined
  throw wrong(location, evidence, 'a string or a Uint8Array', hint)
}

function checkOptions(names, options) {
  checkNames(names, options, 'options.', 'the options')
  const { timeout, signal, app, mayWait } = options
  if (timeout !== undefined && (typeof timeout !== 'number' || Number.isNaN(timeout))) {
    throw wrong('options.timeout', timeout, 'a number of milliseconds')
  }
  if (isPresent(signal) && typeof signal.throwIfAborted !== 'function') {
    throw wrong('options.signal', signal, 'an AbortSignal',
      signal instanceof AbortController ? 'pass its member signal' : undefined)
  }
  if (isPresent(app) && typeof app !== 'string') throw wrong('options.app', app, 'a string')
  if (isPresent(mayWait) && typeof mayWait !== 'boolean') {
    throw wrong('options.mayWait', mayWait, 'true or false')
  }
}

/** Checks that an object has no other members than these. */
export function checkNames(names, value, path, what) {
  if (Object.prototype.toString.call(value) !== '[object Object]') throw wrong(what, value, 'an object')
  for (const name in value) if (!names.includes(name)) throw unknown(path, name, names)
}

function wrong(location, value, what, hint) {
  return new TypeError(`${location}: ${described(value)}, not ${what}${hint === undefined ? '' : `: ${hint}`}`)
}

/** Checks the members of a message and their values, and those of the messages in it. */
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
    const isExpectation = EXPECTATIONS.get(schema)?.includes(name) ?? false
    if (isExpectation && name in value) checkGiven(path + name, member)
    if (!isPresent(member)) continue
    if (isRepeated && (typeof member === 'string' || !(Symbol.iterator in Object(member)))) {
      throw wrong(path + name, member, 'an array')
    }
    const elements = isRepeated ? [...member] : [member]
    elements.forEach((element, index) => {
      const location = path + name + (isRepeated ? `[${index}]` : '')
      if (isExpectation) checkGiven(location, element)
      if (isMessage(type)) checkMessage(type, element, `${location}.`, location)
      else checkValue(type, element, location)
    })
  }
}

/**
 * Refuses an expectation that is given and empty: a user without an account token, or a list of which
 * nothing is left, would accept the purchases of all others.
 */
function checkGiven(location, value) {
  const isEmpty = ['string', 'object'].includes(typeof value) && (value?.length ?? value?.size) === 0
  if (isPresent(value) && !isEmpty) return
  throw new TypeError(`${location} is ${isEmpty ? 'empty' : value}: give a value, or leave it out to accept any`)
}

/** Returns the error of a member that belongs into a message within this one, such as `bundleId`. */
function misplaced(fields, value, path) {
  for (const [name, type, isRepeated] of fields) {
    if (isRepeated || !isMessage(type)) continue
    for (const inner of Object.values(type).map(([inner]) => inner)) {
      if (typeof value === 'object' && inner in (value ?? {}) && !fields.some(([own]) => own === inner)) {
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
