// A backend that sells subscriptions, products and coins. Assay verifies and decides.
import { execFile } from "node:child_process"
import fs from "node:fs"
import http from "node:http"
import { promisify } from "node:util"

const { env } = process, ASSAY_URL = env.ASSAY_URL ?? "http://127.0.0.1:7445"
if (!/^https?:\/\/[^/]+$/.test(ASSAY_URL)) {
  console.error(`ASSAY_URL is "${ASSAY_URL}": write http://HOST:PORT, an address at which assay serve listens`)
  process.exit(1)
}
const ASK = (env.ASK ?? "assay api statuses --bundle-id com.example.game").split(" ")
const TEST_USERS = (env.TEST_USERS ?? "").split(" ") // the Sandbox counts for these alone
const POLICY = JSON.parse(env.POLICY ?? '{"durationsMs": {"pass.summer": 7776000000}}')
const BUNDLE = "com.example.game", COINS = { "gold.100": 100 }
const FEATURES = { premium: ["premium.monthly", "premium.yearly", "pro.monthly"] }

// Tables of a key and a value in memory, with a journal on the disk: your database takes their place.
const DB = env.DB ?? "backend.jsonl"
const tables = { evidence: new Map(), owners: new Map(), ledger: new Map(), refresh: new Map() }
const apply = ([table, key, value]) => value == null ? tables[table].delete(key) : tables[table].set(key, value)
if (fs.existsSync(DB)) fs.readFileSync(DB, "utf8").split("\n").slice(0, -1).forEach(line => apply(JSON.parse(line)))
function put(table, key, value = null) {
  if (JSON.stringify(tables[table].get(key) ?? null) === JSON.stringify(value)) return
  fs.appendFileSync(DB, JSON.stringify([table, key, value]) + "\n", { flush: true })
  apply([table, key, value])
}

// Apple can stop sending after 400: that is for what Apple did not sign. You can mend all else.
const NOT_OF_APPLE = ["MALFORMED", "INVALID_SIGNATURE"]
const refusal = (status, reason) => Object.assign(new Error(reason), { status })
function named(user) { // the user of your session
  if (!user) throw refusal(401, "no user")
  return user.toLowerCase()
}

async function entitlements(items, policy) {
  if (!items.length) return { items: [], apps: [], refresh: [] }
  const body = JSON.stringify({ items, policy }), headers = { "Content-Type": "application/json" }
  const [status, text] = await fetch(ASSAY_URL + "/v1/entitlements",
    { method: "POST", body, headers, signal: AbortSignal.timeout(8000) })
    .then(async answer => [answer.status, await answer.text()]).catch(error => [503, String(error)])
  try { if (status === 200) return JSON.parse(text) } catch { /* cut off */ }
  throw refusal(503, `no verdict: ${text}`)
}

// Each entry of an app, with the names of the purchases that it is about.
const entries = app => [...app.subscriptionGroups.flatMap(group => group.subscriptions), ...app.nonConsumables,
  ...app.nonRenewing, ...app.consumables].map(entry => ({
  entry, names: [entry.originalTransactionId, entry.transactionId, entry.decidedBy.transactionId]
    .filter(Boolean).map(id => `${app.environment}/${app.bundleId}/${id}`) }))
const owners = names => new Set(names.flatMap(name => tables.owners.get(name) ?? []))

async function store(text, kind = "auto", user = null) { // all steps can be repeated: a retry completes what failed
  for (const body of text.match(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g) ?? [text]) {
    const answer = await entitlements([{ evidence: body, kind }], POLICY), item = answer.items[0]
    if (item.verdict !== "VALID")
      throw refusal(NOT_OF_APPLE.includes(item.verdict) ? 400 : 503, `${item.verdict}: ${item.detail}`)
    const names = new Set(answer.apps.flatMap(entries).flatMap(({ names }) => names))
    if (item.originalTransactionId)
      names.add([...item.evidenceKey.split("/").slice(0, 2), item.originalTransactionId].join("/"))
    const accounts = new Set(answer.apps.flatMap(app => app.customers.appAccountTokens))
    if (item.appAccountToken) accounts.add(item.appAccountToken.toLowerCase())
    if (user && accounts.size && !accounts.has(user)) throw refusal(403, "bought by another account")
    for (const name of names) { // none: a test, for example, concerns nobody
      const added = accounts.size ? accounts : user && !owners([name]).size ? [user] : [] // the first who sends it
      put("owners", name, [...new Set([...owners([name]), ...added])])
    }
    const found = owners([...names])
    if (user && names.size && !found.has(user)) throw refusal(409, "belongs to another account")
    if (names.size) put("evidence", item.evidenceKey, { body, names: [...names] })
    for (const owner of found) await update(owner)
  }
}

async function decide(user) { // the entries that count for a user, the whole answer, the keys of the evidence
  const rows = [...tables.evidence].filter(([, { names }]) => owners(names).has(user))
  const answer = await entitlements(rows.map(([, { body }]) => ({ evidence: body })),
    { ...POLICY, expectedAppAccountToken: user })
  const accepted = TEST_USERS.includes(user) ? ["Production", "Sandbox"] : ["Production"]
  const mine = answer.apps.filter(app => app.bundleId === BUNDLE && accepted.includes(app.environment))
    .flatMap(entries).filter(({ entry, names }) => !entry.belongsToAnotherAccount
      && (owners(names).has(user) || !owners(names).size)).map(({ entry }) => entry)
  return { mine, answer, keys: rows.map(([key]) => key) }
}

async function update(user) {
  const { mine, answer, keys } = await decide(user)
  const bought = mine.filter(({ dedupKey, productId }) => dedupKey && productId in COINS)
  for (const { productId, dedupKey, quantity, revokedPercentage, decidedBy } of bought) {
    const coins = Math.floor(COINS[productId] * quantity * (100000 - revokedPercentage) / 100000)
    const { signedDate } = decidedBy, was = tables.ledger.get(dedupKey) ?? { signedDate: -1 }
    if (signedDate > was.signedDate || signedDate === was.signedDate && coins < was.coins)
      put("ledger", dedupKey, { user, coins, signedDate })
  }
  for (const item of answer.items) if (item.superseded) put("evidence", keys[item.index])
  put("refresh", user, answer.refresh.map(({ transactionId, at }) => ({ transactionId, at })))
}

async function refresh(now) { // asks the App Store about what is due
  for (const { transactionId } of [...tables.refresh.values()].flat().filter(({ at }) => at <= now)) {
    const folder = fs.mkdtempSync("/tmp/backend-")
    await promisify(execFile)(ASK[0], [...ASK.slice(1), "--save", folder, transactionId]).catch(() => {})
    for (const file of fs.readdirSync(folder)) await store(fs.readFileSync(`${folder}/${file}`, "utf8")).catch(() => {})
    fs.rmSync(folder, { recursive: true })
  }
}

const server = http.createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost"), query = name => url.searchParams.get(name)
  let status = 200, answer = {}
  try {
    let body = ""
    for await (const chunk of request) body += chunk
    if (url.pathname === "/notifications") await store(JSON.parse(body).signedPayload, "notification")
    else if (url.pathname === "/purchases") // the header stands for the user of your session
      await store(JSON.parse(body).evidence, "auto", named(request.headers["x-user"]))
    else if (url.pathname === "/may-use") {
      const products = FEATURES[query("product")] ?? [query("product")], { mine } = await decide(named(query("user")))
      answer = { mayUse: mine.some(one => one.entitled && products.includes(one.productId)) }
    } else if (url.pathname === "/balance") {
      const user = named(query("user")), mine = [...tables.ledger.values()].filter(one => one.user === user)
      answer = { coins: mine.reduce((sum, { coins }) => sum + coins, 0) }
    } else if (url.pathname === "/refresh") await refresh(Number(query("now")))
  } catch (error) {
    status = error.status ?? (error instanceof SyntaxError || error instanceof TypeError ? 400 : 503)
    answer = error.message
    console.error(`refused: ${url.pathname}: ${status}: ${answer}`) // alert on 503
  }
  response.writeHead(status).end(JSON.stringify(answer))
}).listen(env.PORT ?? 8080, "127.0.0.1", () => console.log(`ready http://127.0.0.1:${server.address().port}`))
