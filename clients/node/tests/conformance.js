// Performs the cases of the conformance suite; see conformance/README.md.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

import { AssayClient, AssayError } from '../src/index.js'

const PAYLOADS = [
  'transaction', 'renewalInfo', 'appTransaction', 'notification', 'realtimeRequest', 'appReceipt',
  'transactionReceipt', 'serverAnswer', 'notificationV1', 'googlePurchase', 'huaweiPurchase',
  'harmonyPurchase', 'harmonySubscription', 'harmonyNotification', 'googleNotification',
  'huaweiNotification',
]

// What was read, because thousands of calls can send the same file.
const files = new Map()

console.log('{"ready": "node"}')
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await perform(JSON.parse(line))))
}

async function perform({ name, addresses, tls, options, steps }) {
  let client
  try {
    client = new AssayClient({ addresses, tls: tls && pem(tls), ...clientOptions(options ?? {}) })
  } catch (error) {
    if (error.code !== 'address') throw error
    return { name, error: 'address', message: error.message }
  }
  const outcomes = []
  for (const { calls = [], sleepMs, close } of steps) {
    if (close) client.close()
    if (sleepMs) await new Promise((resolve) => setTimeout(resolve, sleepMs))
    const started = calls.flatMap((call) =>
      Array.from({ length: call.count ?? 1 }, () => outcome(client, call)))
    outcomes.push(...await Promise.all(started))
  }
  client.close()
  return { name, outcomes }
}

function pem({ authority, certificate, key, serverName }) {
  const read = (path) => path && readFileSync(path)
  return { authority: read(authority), certificate: read(certificate), key: read(key), serverName }
}

function clientOptions(options) {
  return {
    timeout: options.timeoutMs, connectTimeout: options.connectTimeoutMs, retriesOnce: options.retriesOnce,
    inFlightLimit: options.inFlightLimit, longestWait: options.longestWaitMs,
    waitingLimit: options.waitingLimit,
    shortestPause: options.shortestPauseMs, longestPause: options.longestPauseMs,
    frameBytes: options.frameBytes,
  }
}

async function outcome(client, call) {
  const start = performance.now()
  const result = await answer(client, call).catch(failure)
  return { ...result, elapsedMs: performance.now() - start }
}

function failure(error) {
  if (error instanceof TypeError) return { error: 'argument', retryable: false, message: error.message }
  if (error.name === 'AbortError') return { error: 'cancelled', retryable: false }
  if (!(error instanceof AssayError)) throw error
  const { code, status, retryable, retryAfter, appStoreErrorCode, message } = error
  return {
    error: code, status: status && known(status), retryable, retryAfterMs: retryAfter,
    appStoreErrorCode: appStoreErrorCode?.toString(), message,
  }
}

function known(name) {
  return ['UNRECOGNIZED', 'UNSPECIFIED'].includes(name) ? 'UNKNOWN' : name
}

function bytes({ file, text, zeros = 0 } = {}) {
  if (!file) return text ?? new Uint8Array(zeros)
  if (!files.has(file)) files.set(file, readFileSync(file))
  return files.get(file)
}

function expectations(given) {
  if (!given) return undefined
  const { notOlderThan, appAppleId, deviceIdentifier, ...others } = given
  if (notOlderThan) others.notOlderThan = BigInt(notOlderThan)
  if (appAppleId) others.appAppleId = BigInt(appAppleId)
  if (deviceIdentifier !== undefined) others.deviceIdentifier = Buffer.from(deviceIdentifier, 'hex')
  return others
}

function policy(given) {
  if (!given) return undefined
  const { durations = {}, stackedProducts = [], ...others } = given
  for (const name of ['maxAgeMs', 'billingRetryLeniencyMs', 'renewalLeniencyMs', 'knownAt']) {
    if (others[name]) others[name] = BigInt(others[name])
  }
  return {
    ...others, durations: Object.entries(durations).map(([productId, duration]) => (
      { productId, durationMs: BigInt(duration), stacks: stackedProducts.includes(productId) })),
  }
}

async function answer(client, call) {
  const options = { timeout: call.timeoutMs }
  if (call.cancelAfterMs !== undefined) {
    const controller = new AbortController()
    options.signal = controller.signal
    setTimeout(() => controller.abort(), call.cancelAfterMs)
  }
  const appOptions = { ...options, app: call.app }
  const verifyOptions = { ...appOptions, mayWait: call.mayWait }
  const { kind, returnPayloadJson, omitTypedPayload, at } = call
  switch (call.call) {
    case 'verify':
      return verification(await client.verify(bytes(call.evidence), {
        kind, expectations: expectations(call.expectations), returnPayloadJson, omitTypedPayload,
      }, verifyOptions))
    case 'resolve':
      return resolution(await client.resolve(
        (call.items ?? []).map((item) => ({ ...item, evidence: bytes(item.evidence) })),
        {
          at: at && BigInt(at), policy: policy(call.policy), expectations: expectations(call.expectations),
          returnPayloadJson,
        }, verifyOptions))
    case 'fetch':
      return fetched(await fetch(client, call, {
        lists: call.lists, at: at && BigInt(at), policy: policy(call.policy),
        returnTypedPayloads: call.returnTypedPayloads,
      }, appOptions))
    case 'health': return { ok: 'health', serving: await client.health(options) }
    case 'info': return info(await client.info(options))
    case 'ping':
      await client.ping(options)
      return { ok: 'pong' }
  }
  throw new Error(`unknown call ${call.call}`)
}

function info({ version, kinds, limits, trustedRoots }) {
  return {
    ok: 'info', version, kinds: kinds.filter((kind) => known(kind) !== 'UNKNOWN'),
    frameBytes: limits?.frameBytes, resolveItems: limits?.resolveItems, roots: trustedRoots.length,
  }
}

function verification(answer) {
  const { verdict, kind, detail, environment, dedupKey, certificate, transaction, payloadJson } = answer
  return {
    ok: 'verification', valid: verdict === 'VALID', verdict: known(verdict), detail,
    kind: kind && known(kind) === 'UNKNOWN' ? undefined : kind, environment, dedupKey,
    serial: certificate?.serial, notAfter: certificate?.notAfter?.toString(),
    payload: PAYLOADS.find((name) => answer[name]), transactionId: transaction?.transactionId,
    productId: transaction?.productId, price: transaction?.price?.toString(),
    jsonBytes: payloadJson.length || undefined,
  }
}

function fetch(client, { evidence, transactionId = '' }, call, options) {
  return evidence
    ? client.fetchByEvidence(bytes(evidence), call, options)
    : client.fetch(transactionId, call, options)
}

function fetched({ environment, revision, ...answer }) {
  return { ...resolution(answer), ok: 'fetch', environment, revision }
}

function resolution({ items, entitlements }) {
  const groups = entitlements.apps.flatMap((app) => app.subscriptionGroups)
  const products = entitlements.apps.flatMap((app) => [...app.nonConsumables, ...app.nonRenewing])
  const first = entitlements.apps.flatMap((app) => app.subscriptionGroups.slice(0, 1))
  const owned = [...groups.map((group) => group.deciding), ...products].filter((entry) => entry)
  const some = (list) => list.some((entry) => entry !== '') ? list : undefined
  const named = (name) => some(items.map((item) => item[name] ?? ''))
  return {
    ok: 'resolution', items: items.map(({ verdict }) => known(verdict)),
    labels: items.map(({ label = '' }) => label),
    entitled: owned.filter(({ isEntitled }) => isEntitled).map(({ productId }) => productId).sort(),
    isStale: entitlements.isStale || undefined,
    decidedBy: first.map((group) => group.deciding?.decidedBy?.item ?? 0),
    superseded: some(items.flatMap(({ isSuperseded }, index) => isSuperseded ? [index] : [])),
    evidenceKeys: named('evidenceKey'), originals: named('originalTransactionId'),
    accounts: named('appAccountToken'), downloads: named('appTransactionId'),
    notifications: named('notificationType'), subtypes: named('subtype'),
    seats: some(owned.flatMap(({ seats }) => seats === undefined ? [] : [`${seats}`])),
    ofAnother: some(owned.filter((entry) => entry.belongsToAnotherAccount)
      .map(({ productId }) => productId).sort()),
    refresh: some((entitlements.refresh ?? []).map(
      ({ transactionId, at, reason }) => `${transactionId}:${at}:${reason}`)),
  }
}
