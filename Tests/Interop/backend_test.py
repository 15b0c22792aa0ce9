"""Runs the backends of examples/backend through every built-in scenario, with faults on the way.

First what they answer to each verdict, and to a wrong setting. Then each life alone: its evidence files are posted as Apple or the app would, in another order and
twice, and the answers are compared after each step. Then the lives of a local App Store together:
notifications get lost, come twice, and come again late, and the backends ask by `refresh`. The store
does not send again what was answered with 400.

usage: backend_test.py ASSAY [SCENARIO]...
"""
import base64
import concurrent.futures
import http.server
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BACKENDS = {"Python": [sys.executable, str(ROOT / "examples/backend/backend.py")],
            "Node": ["node", str(ROOT / "examples/backend/backend.mjs")]}
BUNDLE, DAY = "com.example.game", 86400000
POLICY = {"durationsMs": {"pass.summer": 90 * DAY}}
COINS = {"gold.100": 100}


def call(url, body=None, headers=None):
    """Returns the status and the text of the answer."""
    try:
        request = urllib.request.Request(url, body, headers or {})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


class Proxy(http.server.ThreadingHTTPServer):
    """Passes each POST on, as `relay` says; it returns a status and a body, or None to hang up."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, relay):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    answer = relay(self.path, body)
                except OSError:
                    answer = None
                if answer:
                    self.send_response(answer[0])
                    self.send_header("Content-Length", str(len(answer[1])))
                    self.end_headers()
                    self.wfile.write(answer[1])

            def log_message(self, *arguments):
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Program:
    """A process that prints its address when it is ready."""

    def __init__(self, command, log=subprocess.DEVNULL, **environment):
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True,
            env={**os.environ, **environment})
        ready = self.process.stdout.readline()
        self.url = re.search(r"http://127\.0\.0\.1:\d+|$", ready)[0]
        if not self.url:
            raise SystemExit(f"{command}: not ready")

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Backend(Program):
    """A backend, and between it and Assay a proxy that sets the time and fails now and then."""

    def __init__(self, name, assay, folder, policy, test_users=(), ask="false"):
        self.at, self.faults, self.chance, self.assay = 0, True, random.Random(1), assay
        self.clock = Proxy(self.relay)
        database = pathlib.Path(tempfile.mkdtemp(dir=folder), "db")
        super().__init__(BACKENDS[name], ASSAY_URL=self.clock.url, DB=str(database), PORT="0",
                         POLICY=json.dumps(policy), TEST_USERS=" ".join(test_users), ASK=ask)

    def relay(self, path, body):
        fault = self.chance.random() if self.faults else 1
        if fault < 0.1:
            return (503, b"{}") if fault < 0.05 else None
        body = json.dumps({**json.loads(body), "at": self.at}).encode()
        return call(self.assay + path, body, {"Content-Type": "application/json"})

    def close(self):
        super().close()
        self.clock.close()

    def notify(self, body):
        return call(self.url + "/notifications", body)[0]

    def ask(self, path, **query):
        for _ in range(20):
            status, body = call(f"{self.url}{path}?{urllib.parse.urlencode(query)}")
            if status == 200:
                return json.loads(body)
        raise OSError(f"{path} {query}: {status} {body}")

    def purchase(self, text, user):
        """The app tries again where a retry can help."""
        for _ in range(20):
            status = call(self.url + "/purchases", json.dumps({"evidence": text}).encode(),
                          {"X-User": user})[0]
            if status < 500:
                break
        return status

    def differences(self, expected, user, named, environments=("Production",)):
        """Compares the backend's answers about a user with an expected answer; `named` is the
        user's account there."""
        owned, products, coins = set(), {"premium", "world.2"}, 0
        for app in expected["apps"]:
            if app["bundleId"] != BUNDLE or app["environment"] not in environments:
                continue
            lines = [line for group in app["subscriptionGroups"]
                     for line in group.get("subscriptions", [group])]
            lines += app["nonConsumables"] + app["nonRenewing"]
            for line in lines + app["consumables"]:
                products.add(line["productId"])
                if line.get("appAccountToken", named) != named:
                    continue
                if line.get("entitled"):
                    owned.add(line["productId"])
                if "quantity" in line:
                    share = line["quantity"] * (100000 - line["revokedPercentage"])
                    coins += COINS[line["productId"]] * share // 100000
        found = []
        if owned & {"premium.monthly", "premium.yearly", "pro.monthly"}:
            owned.add("premium")  # a feature of several products
        for product in sorted(products):
            answer = self.ask("/may-use", user=user, product=product)["mayUse"]
            if answer != (product in owned):
                found.append(f"may use {product}: {answer}")
        balance = self.ask("/balance", user=user)["coins"]
        if balance != coins:
            found.append(f"{balance} coins, not {coins}")
        return found


class Life:
    """The files of a scenario."""

    def __init__(self, folder):
        self.name = folder.name
        self.steps = []
        for step in sorted(folder.glob("step-*")):
            files = [(file.name, file.read_text().strip())
                     for file in sorted((step / "evidence").glob("*"))]
            self.steps.append((files, json.loads((step / "expected.json").read_text())))
        options = (step / "options").read_text().split()
        values = dict(zip(options, options[1:]))
        self.policy = dict(POLICY)
        if "--billing-retry-days" in values:
            self.policy["billingRetryLeniencyMs"] = int(values["--billing-retry-days"]) * DAY
        if "--renewal-hours" in values:
            self.policy["renewalLeniencyMs"] = int(values["--renewal-hours"]) * DAY // 24
        if values.get("--duration", "").endswith(":stack"):
            self.policy["stackedProducts"] = [values["--duration"].split("=")[0]]
        if "--no-family-sharing" in options:
            self.policy["refuseFamilySharing"] = True
        # The user: the account that is asked about, or that the evidence names.
        self.accounts = sorted({token for _, expected in self.steps for app in expected["apps"]
                                for token in app["customers"]["appAccountTokens"]})
        self.user = values.get("--app-account-token", USER)
        self.others = [] if "--app-account-token" in values else \
            [account for account in self.accounts if account != self.user]


# Their point is the date of an earlier signature, or what a notification lacks. The local App Store has
# one state of each transaction at a time, and signs it anew and whole when the backend asks.
NOT_LIVED = {"tie", "renewal-replaced-ahead", "stale-renewal-info", "grace-without-date"}
# The notification of its purchase is lost, and none comes later: the backend has nothing to ask about.
LOST = {"renewal-info-alone"}
# The account of all scenarios.
USER = "7e3fb204-2f45-4dfd-8b2b-1c3cf5ba2f41"


# What a backend answers to Apple: 400 where Apple did not sign it, and 503 where the operator can mend it.
STATUSES = {
    "MALFORMED": 400, "INVALID_SIGNATURE": 400, "WRONG_BUNDLE": 503, "WRONG_APP": 503, "WRONG_ENVIRONMENT": 503,
    "UNTRUSTED_CHAIN": 503, "INVALID_CHAIN": 503, "CERTIFICATE_EXPIRED": 503, "WRONG_KIND": 503, "MISMATCH": 503}


def refusals(name, folder):
    """The statuses and the log of refusals. Returns what differs."""
    wrong, answer, log = [], (500, b""), tempfile.TemporaryFile("w+", dir=folder)

    def expect(condition, what):
        if not condition:
            wrong.append(what)

    def logged():
        log.seek(0)
        return log.read()

    def post(body=b'{"signedPayload": "a"}', path="/notifications", **headers):
        return call(backend.url + path, body, headers)[0]
    assay = Proxy(lambda path, body: answer)
    backend = Program(BACKENDS[name], log=log, ASSAY_URL=assay.url, DB=tempfile.mkdtemp(dir=folder) + "/db", PORT="0")
    try:
        for verdict, status in STATUSES.items():
            item = {"index": 0, "kind": "notification", "verdict": verdict, "detail": f"detail of {verdict}"}
            answer = 200, json.dumps({"items": [item], "apps": [], "refresh": []}).encode()
            found = post()
            expect(found == status, f"{verdict}: {found}")
            expect(f"{status}: {verdict}: detail of {verdict}" in logged(), f"{verdict} is not logged")
        for answer in [(400, b"policy"), (413, b"limit"), (429, b"busy"), (503, b"draining"), (200, b"no JSON"), None]:
            expect(post() == 503, f"no verdict: {answer}: {post()}")
        expect("policy" in logged(), "the server's reason is not logged")
        for body in [b"", b"{}", b"signed", b'{"signedPayload": 1}']:
            expect(post(body) == 400, f"{body}: {post(body)}")
        for user in ["", None]:
            headers = {} if user is None else {"X-User": user}
            found = post(b'{"evidence": "a"}', "/purchases", **headers)
            expect(found == 401, f"a purchase of the user {user}: {found}")
        for path in ["/may-use?product=premium", "/may-use?user=&product=premium", "/balance?user="]:
            found = call(backend.url + path)[0]
            expect(found == 401, f"{path}: {found}")
    finally:
        backend.close()
        assay.close()
        log.close()
    for address in ["/src/assay", "tcp://127.0.0.1:7443", "127.0.0.1:7445", "http://127.0.0.1:7445/", ""]:
        done = subprocess.run(BACKENDS[name], env={**os.environ, "ASSAY_URL": address, "PORT": "0"}, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
        text = f'ASSAY_URL is "{address}": write http://HOST:PORT'
        expect(done.returncode == 1 and text in done.stderr, f"{address}: {done.stderr}")
    return wrong


def live_alone(name, assay, folder, life):
    """Posts a life's files; returns the differences after each step."""
    order, wrong = random.Random(life.name), []
    backend = Backend(name, assay, folder, life.policy)
    try:
        posted = []
        for number, (files, expected) in enumerate(life.steps, 1):
            backend.at = expected["at"]
            files = files * 2 + order.sample(posted, len(posted) // 2)
            posted += files[:len(files) // 2]
            order.shuffle(files)
            for file, text in files:
                if "-notification-" in file and "notificationHistory" not in text:
                    for _ in range(20):  # Apple sends it again
                        if backend.notify(text.encode()) < 500:
                            break
                    continue
                statuses = [backend.purchase(text, user) for user in [life.user, *life.others]]
                if 200 not in statuses and life.name not in ("another-account", "two-apps"):
                    wrong.append(f"step {number}: {file}: {statuses}")
            for user in [life.user, *life.others]:
                found = backend.differences(expected, user, user)
                wrong += [f"step {number}: {one}" for one in found]
        return wrong
    except (OSError, KeyError) as error:
        return wrong + [repr(error)]
    finally:
        backend.close()


def payload(token):
    """The payload of a token."""
    return json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))


class Apple:
    """The way from the local App Store to a backend: it loses, repeats and delays notifications."""

    def __init__(self):
        self.chance, self.delivered, self.backend = random.Random(2), [], None
        self.proxy = Proxy(self.relay)

    def relay(self, path, body):
        fault = self.chance.random()
        self.delivered.append(body)
        # The store's clock moves before it delivers: none is signed in the backend's future.
        self.backend.at = max(self.backend.at, payload(json.loads(body)["signedPayload"])["signedDate"])
        if fault < 0.2 and "sandbox" not in path:
            return 503, b""  # it is lost, and comes again an hour later
        status = self.backend.notify(body)
        if fault < 0.4:
            status = self.backend.notify(body)  # it comes twice
        if 0.4 <= fault < 0.5:
            return None  # the answer is lost, and it comes again
        return status, b""


def account(number):
    """The account of a customer of the local App Store."""
    mixed = number * 0x9E3779B97F4A7C15 % (1 << 64)
    digits = f"{mixed:016x}"
    other = f"{(~mixed % (1 << 64)) * 0xD6E8FEB86659FD93 % (1 << 64):016x}"
    return f"{digits[:8]}-{other[:4]}-46{other[-2:]}-a{other[4:7]}-{digits[-8:]}{other[-4:]}"


def lives_together(name, tool, ca, assay, folder, lives):
    """Lets a local App Store live all lives of one policy. Returns the differences by customer."""
    def post(path, **body):
        status, answer = call(store.url + path, json.dumps(body).encode())
        if status not in (200, 201):
            raise OSError(f"{path}: {status} {answer}")
        return json.loads(answer)

    def app_sends(customer):
        """The app sends what is new in StoreKit, in lives that no notification shows."""
        if customers[customer["customer"] - 1][0].name not in LOST or not customer["transactions"]:
            return
        saved = tempfile.mkdtemp(dir=folder)
        subprocess.run([*ask.replace("statuses", "history").split(), "--save", saved,
                        customer["transactions"][0]["transactionId"]],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for file in pathlib.Path(saved).iterdir():
            for token in re.findall(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", file.read_text()):
                shows = payload(token)
                shows.pop("signedDate")
                if shows not in shown:
                    shown.append(shows)
                    backend.purchase(token, customer["appAccountToken"])

    shown = []
    apple = Apple()
    store = Program([tool, "store", "--ca", ca, "--listen", "http://127.0.0.1:0",
                     "--no-rate-limits", "--no-retry-after-400", "--notify", apple.proxy.url,
                     "--notify-sandbox", apple.proxy.url + "/sandbox"])
    # The store has another base URL for the Sandbox.
    script = pathlib.Path(tempfile.mkdtemp(dir=folder), "ask")
    command = f'{tool} api "$@" --bundle-id {BUNDLE} --root {ca}/root.pem --base-url {store.url}'
    script.write_text(f"#!/bin/sh\n{command} || {command}/sandbox --environment Sandbox\n")
    script.chmod(0o755)
    ask = f"{script} statuses"
    backend = apple.backend = Backend(name, assay, folder, lives[0].policy, [account(1)], ask)
    try:
        # The first customer is a test user; the second one buys in the Sandbox without being one.
        customers = [(lives[0], "Sandbox")] * 2
        customers += [(life, "Production") for life in lives if life.name not in NOT_LIVED]
        due = 0
        backend.at = post("/advance", duration="0d")["now"]
        for life, environment in customers:
            app_sends(post("/customers", scenario=life.name, environment=environment))
        answer, days = {"next": 0}, 4
        while "next" in answer or (days := days - 1):  # some days more, for the cron job
            move = {"to": "next"} if "next" in answer else {"duration": "1d"}
            answer = post("/advance", **move)
            backend.at = answer["now"]
            moved = {step["customer"] for step in answer["steps"]}
            for customer in json.loads(call(store.url + "/customers")[1])["customers"]:
                if customer["customer"] in moved:
                    app_sends(customer)
            if backend.at >= due or "next" not in answer:  # daily, as by cron
                due = backend.at + DAY
                while call(f"{backend.url}/refresh?now={backend.at}", b"")[0] >= 500:
                    pass
        backend.faults = False
        again = apple.delivered[:]
        apple.chance.shuffle(again)
        for body in again[:100]:  # late copies, in any order
            if backend.notify(body) not in (200, 400):
                raise OSError("a late copy")
        found = {}
        for number, (life, environment) in enumerate(customers, 1):
            expected = life.steps[-1][1]
            backend.at = expected["at"]
            if number == 2:
                expected = {"apps": []}
            found[f"{life.name} of customer {number}, {environment}"] = (
                backend.differences(expected, account(number), USER))
        return found
    finally:
        backend.close()
        store.close()
        apple.proxy.close()


def main(tool, names):
    listed = subprocess.run([tool, "mint", "scenario", "--list"], check=True, capture_output=True,
                            text=True).stdout.splitlines()
    names = names or [line.split()[0] for line in listed if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        ca = folder + "/ca"
        subprocess.run([tool, "mint", "ca", "--date", "2025-01-01T00:00:00Z", ca], check=True,
                       stdout=subprocess.DEVNULL)
        pathlib.Path(folder, "assay.toml").write_text(f"""
            listen = ["http://127.0.0.1:0"]
            [[app]]
            name = "game"
            bundle-id = "{BUNDLE}"
            app-apple-id = 1234567890
            environments = ["Production", "Sandbox"]
            roots = ["{ca}/root.pem", "{ca}/receipt-root.pem"]
            """)
        lives = []
        for name in names:
            subprocess.run(
                [tool, "mint", "scenario", name, "--ca", ca, "--out", f"{folder}/{name}"],
                check=True, stdout=subprocess.DEVNULL)
            lives.append(Life(pathlib.Path(folder, name)))
        serve = Program([tool, "serve", "--config", folder + "/assay.toml"])
        failed = False
        try:
            for name in BACKENDS:
                wrong = refusals(name, folder)
                failed |= bool(wrong)
                print(f"{name}: refusals: {'; '.join(wrong) or 'as expected'}", flush=True)
                began = time.monotonic()
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    results = list(pool.map(
                        lambda life: live_alone(name, serve.url, folder, life), lives))
                for life, wrong in zip(lives, results):
                    if wrong:
                        print(f"{name}: {life.name}: {'; '.join(wrong)}")
                good = results.count([])
                failed |= good != len(lives)
                print(f"{name}: {good} of {len(lives)} lives as expected after each step, "
                      f"{time.monotonic() - began:.0f} s")
                began, found = time.monotonic(), {}
                for policy in {json.dumps(life.policy): life.policy for life in lives}.values():
                    found |= lives_together(name, tool, ca, serve.url, folder,
                                            [life for life in lives if life.policy == policy])
                for life, wrong in found.items():
                    if wrong:
                        print(f"{name}: {life}: {'; '.join(wrong)}")
                good = list(found.values()).count([])
                failed |= good != len(found)
                print(f"{name}: {good} of {len(found)} customers of the local App Store, "
                      f"{time.monotonic() - began:.0f} s")
        finally:
            serve.close()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
