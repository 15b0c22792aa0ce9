"""A backend that sells subscriptions, products and coins. Assay verifies and decides."""
import contextlib, http.server, json, os, pathlib, re, shlex, sqlite3, subprocess, sys, tempfile
import urllib.parse, urllib.request

ASSAY_URL = os.environ.get("ASSAY_URL", "http://127.0.0.1:7445")
if not re.fullmatch(r"https?://[^/]+", ASSAY_URL):
    sys.exit(f'ASSAY_URL is "{ASSAY_URL}": write http://HOST:PORT, an address at which assay serve listens')
ASK = os.environ.get("ASK", "assay api statuses --bundle-id com.example.game")
TEST_USERS = os.environ.get("TEST_USERS", "").split()  # the Sandbox counts for these alone
POLICY = json.loads(os.environ.get("POLICY", '{"durationsMs": {"pass.summer": 7776000000}}'))
BUNDLE, COINS = "com.example.game", {"gold.100": 100}
FEATURES = {"premium": {"premium.monthly", "premium.yearly", "pro.monthly"}}
TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")  # a signed token of Apple
DB = sqlite3.connect(os.environ.get("DB", "backend.db"), isolation_level=None, check_same_thread=False)
DB.executescript("""
CREATE TABLE IF NOT EXISTS evidence (key, purchase, body, PRIMARY KEY (key, purchase));
CREATE TABLE IF NOT EXISTS owners (purchase, user, PRIMARY KEY (purchase, user));
CREATE TABLE IF NOT EXISTS ledger (purchase PRIMARY KEY, user, coins, signed);
CREATE TABLE IF NOT EXISTS refresh (user, id, at, PRIMARY KEY (user, id));""")

# Apple can stop sending after 400: that is for what Apple did not sign. You can mend all else.
NOT_OF_APPLE = {"MALFORMED", "INVALID_SIGNATURE"}

class Refusal(Exception): pass  # a status and a reason for the client

def named(user):  # the user of your session
    if not user: raise Refusal(401, "no user")
    return user.lower()

def sql(statement, *values):
    return DB.execute(statement, values).fetchall()

def owners(names):
    return {user for name in names for user, in sql("SELECT user FROM owners WHERE purchase = ?", name)}

def entitlements(items, policy):
    if not items: return {"items": [], "apps": [], "refresh": []}
    body, head = json.dumps({"items": items, "policy": policy}).encode(), {"Content-Type": "application/json"}
    request = urllib.request.Request(ASSAY_URL + "/v1/entitlements", body, head)
    try:
        with urllib.request.urlopen(request, timeout=8) as answer:
            return json.load(answer)
    except (OSError, ValueError, http.client.HTTPException) as error:  # no verdict
        reason = error.read().decode() if isinstance(error, urllib.error.HTTPError) else str(error)
        raise Refusal(503, "no verdict: " + reason) from error

def entries(app):  # each with the names of the purchases that it is about
    lines = [line for group in app["subscriptionGroups"] for line in group["subscriptions"]]
    for entry in lines + app["nonConsumables"] + app["nonRenewing"] + app["consumables"]:
        ids = {entry.get("originalTransactionId"), entry.get("transactionId"), entry["decidedBy"]["transactionId"]}
        yield entry, {f'{app["environment"]}/{app["bundleId"]}/{one}' for one in ids - {None}}

def store(text, kind="auto", user=None):  # all steps can be repeated: a retry completes what failed
    for body in TOKEN.findall(text) or [text]:
        answer = entitlements([{"evidence": body, "kind": kind}], POLICY)
        item = answer["items"][0]
        if item["verdict"] != "VALID":
            raise Refusal(400 if item["verdict"] in NOT_OF_APPLE else 503, f'{item["verdict"]}: {item["detail"]}')
        names = {name for app in answer["apps"] for _, found in entries(app) for name in found}
        if "originalTransactionId" in item:
            names.add("/".join(item["evidenceKey"].split("/")[:2] + [item["originalTransactionId"]]))
        accounts = {token for app in answer["apps"] for token in app["customers"]["appAccountTokens"]}
        accounts |= {item.get("appAccountToken", "").lower()} - {""}
        if user and accounts and user not in accounts:
            raise Refusal(403, "bought by another account")
        for name in names:  # none: a test, for example, concerns nobody
            first = set() if user is None or owners([name]) else {user}
            for account in accounts or first:  # where no account is signed, the first user who sends it
                sql("INSERT OR IGNORE INTO owners VALUES (?, ?)", name, account)
            sql("INSERT OR REPLACE INTO evidence VALUES (?, ?, ?)", item["evidenceKey"], name, body)
        if user and names and user not in owners(names):
            raise Refusal(409, "belongs to another account")
        list(map(update, owners(names)))

def decide(user):  # the entries that count for a user, the whole answer, the keys of the evidence
    rows = sql("SELECT key, min(body) FROM evidence JOIN owners USING (purchase) WHERE user = ? GROUP BY key", user)
    answer = entitlements([{"evidence": body} for _, body in rows], {**POLICY, "expectedAppAccountToken": user})
    accepted = {("Production", BUNDLE), ("Sandbox" if user in TEST_USERS else "Production", BUNDLE)}
    mine = [entry for app in answer["apps"] if (app["environment"], app["bundleId"]) in accepted
            for entry, names in entries(app)
            if not entry.get("belongsToAnotherAccount") and user in (owners(names) or {user})]
    return mine, answer, [key for key, _ in rows]

def update(user):
    mine, answer, keys = decide(user)
    for entry in [entry for entry in mine if "dedupKey" in entry and entry.get("productId") in COINS]:
        coins = COINS[entry["productId"]] * entry["quantity"] * (100000 - entry["revokedPercentage"]) // 100000
        sql("INSERT INTO ledger VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET coins = excluded.coins, "
            "signed = excluded.signed WHERE (excluded.signed, -excluded.coins) > (signed, -coins)",
            entry["dedupKey"], user, coins, entry["decidedBy"]["signedDate"])
    for item in filter(lambda item: item["superseded"], answer["items"]):
        sql("DELETE FROM evidence WHERE key = ?", keys[item["index"]])
    sql("DELETE FROM refresh WHERE user = ?", user)
    for due in answer["refresh"]:
        sql("INSERT OR REPLACE INTO refresh VALUES (?, ?, ?)", user, due["transactionId"], due["at"])

def refresh(now):  # asks the App Store about what is due
    for one, in sql("SELECT DISTINCT id FROM refresh WHERE at <= ?", now):
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Refusal):  # the next run asks again
            subprocess.run(shlex.split(ASK) + ["--save", folder, one], stdout=subprocess.DEVNULL)
            for file in pathlib.Path(folder).iterdir(): store(file.read_text())

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url, status, answer = urllib.parse.urlsplit(self.path), 200, {}
        query = dict(urllib.parse.parse_qsl(url.query))
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 1 << 20))
        try:
            if url.path == "/notifications":
                store(json.loads(body)["signedPayload"], "notification")
            elif url.path == "/purchases":  # the header stands for the user of your session
                store(json.loads(body)["evidence"], user=named(self.headers["X-User"]))
            elif url.path == "/may-use":
                products, mine = FEATURES.get(query["product"], {query["product"]}), decide(named(query.get("user")))[0]
                answer = {"mayUse": any(one.get("entitled") and one.get("productId") in products for one in mine)}
            elif url.path == "/balance":
                user = named(query.get("user"))
                answer = {"coins": sql("SELECT coalesce(sum(coins), 0) FROM ledger WHERE user = ?", user)[0][0]}
            elif url.path == "/refresh":
                refresh(int(query["now"]))
        except (Refusal, KeyError, TypeError, ValueError) as error:
            status, answer = error.args if isinstance(error, Refusal) else (400, repr(error))
            print(f"refused: {url.path}: {status}: {answer}", file=sys.stderr, flush=True)  # alert on 503
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())
    do_POST = do_GET

server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 8080))), Handler)
print(f"ready http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
