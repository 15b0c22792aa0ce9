"""Tests /verifyReceipt with a key of the App Store, by clients that were written for Apple's.

usage: script/interop --run verify_receipt_store.py ASSAY FOLDER

A customer of a local App Store sends a receipt, renews, and turns the renewal off. The local App
Store's own endpoint, which answers as Apple's did, and a server that asks it show both to inapppy,
itunes-iap, pyinapp and tsl-itunes-iap from PyPI, unmodified. A store that fails is a retryable
status, and no key is the receipt alone. FOLDER has tsl-itunes-iap. Exits with 1 at the first
unexpected answer.
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

import inapppy
import itunesiap
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from itunesiap import exceptions
from itunesiap.request import RequestBase
from pyinapp import AppStoreValidator, InAppValidationError

from server import APP_ID, BUNDLE, Server
from verify_receipt import Validator, expect

DAY = 86_400_000
PRODUCTS = {"premium.monthly", "world.2"}

LIFE = {
    "name": "since-the-receipt",
    "summary": "The subscription renews once, and its renewal is turned off.",
    "steps": [
        {"at": "0d", "title": "buys",
         "transactions": {"100": {"productId": "premium.monthly"}, "7": {"productId": "world.2"}},
         "evidence": [{"transaction": "100"}, {"transaction": "7"}],
         "expect": {"groups": [{"status": "ACTIVE", "until": "30d", "by": "100"}],
                    "products": [{"entitled": True, "by": "7"}]}},
        {"at": "30d", "title": "renews",
         "transactions": {"101": {"originalTransactionId": "100"}},
         "evidence": [{"notification": "DID_RENEW", "of": "101", "status": 1}],
         "expect": {"groups": [{"status": "ACTIVE", "until": "60d", "by": "101"}],
                    "products": [{"entitled": True, "by": "7"}]}},
        {"at": "40d", "title": "turns renewal off",
         "renewals": {"100": {"autoRenewStatus": 0}},
         "evidence": [{"notification": "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED",
                       "of": "101", "status": 1}],
         "expect": {"groups": [{"status": "ACTIVE", "until": "60d", "by": "101"}],
                    "products": [{"entitled": True, "by": "7"}]}},
    ],
}


class Refused(Exception):
    """A client raised its error for a status other than 0."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


# ---- Clients: each returns the JSON that its library gives to its user ---------------------------


def by_inapppy(base, receipt, newest_alone=False):
    Validator.base = base
    try:
        return Validator(BUNDLE).validate(receipt, exclude_old_transactions=newest_alone)
    except inapppy.InAppPyValidationError as raised:
        raise Refused(raised.raw_response["status"]) from raised


def by_itunes_iap(base, receipt):
    RequestBase.PRODUCTION_VALIDATION_URL = base + "/verifyReceipt"
    try:
        response = itunesiap.verify(receipt, env=itunesiap.env.production)
    except exceptions.InvalidReceipt as raised:
        raise Refused(raised.status) from raised
    # Its typed members, which it reads when they are asked for.
    newest, raw = response.latest_receipt_info[0], response._["latest_receipt_info"][0]
    expect(str(newest.transaction_id) == raw["transaction_id"], raw)
    expect(newest.expires_date > newest.purchase_date, raw)
    return response._


def by_pyinapp(base, receipt):
    validator = AppStoreValidator(BUNDLE)
    validator.url = base + "/verifyReceipt"
    try:
        purchases = validator.validate(receipt)
    except InAppValidationError as raised:
        raise Refused(raised.response["status"]) from raised
    expect({one.product_id for one in purchases} == PRODUCTS, purchases)
    return purchases[0].response


def by_tsl_itunes_iap(base, receipt):
    program = pathlib.Path(__file__).parent / "verify_receipt_tsl.py"
    printed = subprocess.run(
        [sys.executable, "-W", "ignore", program, base + "/verifyReceipt"],
        input=receipt, text=True, stdout=subprocess.PIPE, check=True, timeout=60,
        env=dict(os.environ, PYTHONPATH=sys.argv[2]))
    answer = json.loads(printed.stdout)
    if answer["status"] != 0:
        raise Refused(answer["status"])
    return answer


CLIENTS = {
    "inapppy": by_inapppy, "itunes-iap": by_itunes_iap, "pyinapp": by_pyinapp,
    "tsl-itunes-iap": by_tsl_itunes_iap,
}

# ---- Servers -------------------------------------------------------------------------------------


def call(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=10) as answer:
        return answer.read().decode()


@contextlib.contextmanager
def local_store(assay, folder):
    """A local App Store with the customer. Returns its URL."""
    path = folder / "life.json"
    path.write_text(json.dumps(LIFE))
    process = subprocess.Popen(
        [assay, "store", "--ca", folder / "ca", "--listen", "http://127.0.0.1:0",
         "--customer", path],
        stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait(10)


def configuration(folder, url):
    """A server whose app asks the store at this URL; None: nobody."""
    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption())
    key_file = folder / "SubscriptionKey_2X9R4HXF34.p8"
    key_file.write_bytes(key)
    key_file.chmod(0o600)
    store = f"""
[app.store]
key-file = "{key_file.name}"
issuer-id = "57246542-96fe-1a63-e053-0824d011072a"
base-url = "{url}"
"""
    path = folder / ("asks.toml" if url else "silent.toml")
    path.write_text(f"""
listen = ["http://127.0.0.1:0"]
[[app]]
name = "game"
bundle-id = "{BUNDLE}"
app-apple-id = {APP_ID}
roots = ["ca/root.pem", "ca/receipt-root.pem"]
{store if url else ""}""")
    return path


@contextlib.contextmanager
def server(assay, folder, url):
    """A server that asks the store at this URL. Returns its own."""
    started = Server(assay, folder / "log", "--config", str(configuration(folder, url)))
    try:
        yield "http://" + started.wait_ready().address("http")
    finally:
        expect(started.stop() is None, "the server ended normally")


# ---- What is expected ----------------------------------------------------------------------------


def filled(base, receipt, name, answer):
    """What happened since the receipt."""
    latest = answer["latest_receipt_info"]
    ours = [one for one in latest if one["product_id"] == "premium.monthly"]
    expect({one["product_id"] for one in latest} == PRODUCTS, f"{name}: {latest}")
    expect(len(ours) == 2 and len(latest) == len(answer["receipt"]["in_app"]) + 1,
           f"{name}: {latest}")
    newest, subscription = ours[0], ours[0]["original_transaction_id"]
    expect(latest[0] == newest and newest["transaction_id"] != subscription, f"{name}: {newest}")
    period = int(newest["expires_date_ms"]) - int(newest["purchase_date_ms"])
    expect(period == 30 * DAY, f"{name}: {newest}")
    expect(newest["in_app_ownership_type"] == "PURCHASED", f"{name}: {newest}")
    [renewal] = answer["pending_renewal_info"]
    expect(renewal["original_transaction_id"] == subscription, f"{name}: {renewal}")
    expect(renewal["auto_renew_status"] == "0", f"{name}: {renewal}")
    # What a backend stores, it sends again.
    again = by_inapppy(base, answer["latest_receipt"])
    expect(again["status"] == 0 and len(again["latest_receipt_info"]) == len(latest), again)
    return newest["transaction_id"]


def all_filled(base, receipt):
    for name, client in CLIENTS.items():
        newest = filled(base, receipt, name, client(base, receipt))
    short = by_inapppy(base, receipt, newest_alone=True)["latest_receipt_info"]
    expect([one["transaction_id"] for one in short][0] == newest and len(short) == 2, short)


def failing(base, receipt, url):
    """The store refuses: for a reason that a retry can cure, and for a deleted account."""
    for code, status in [(4000006, 21199), (4040001, 21010)]:
        call(url + "/faults",
             {"endpoint": "history", "code": code, "count": len(CLIENTS) + 1})
        for name, client in CLIENTS.items():
            try:
                client(base, receipt)
                expect(False, f"{name}: a failure")
            except Refused as raised:
                expect(raised.status == status, f"{name}: {raised.status}")
        answer = json.loads(call(base + "/verifyReceipt", {"receipt-data": receipt}))
        expect(answer.get("is-retryable") is (True if status == 21199 else None), answer)
        expect("receipt" not in answer and "latest_receipt_info" not in answer, answer)


def silent(base, receipt):
    """The server has no key."""
    for name, client in CLIENTS.items():
        answer = client(base, receipt)
        expect(len(answer["latest_receipt_info"]) == 2, f"{name}: {answer}")
        for member in ["pending_renewal_info", "latest_receipt"]:
            expect(member not in answer, f"{name}: {answer}")
        expect(answer["assay"]["latest"] == "receipt", f"{name}: {answer}")


def main():
    assay = sys.argv[1]
    names = ", ".join(CLIENTS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        # An authority of the past, so that no evidence is from the future.
        subprocess.run([assay, "mint", "ca", "--date", "2025-01-01T00:00:00Z", folder / "ca"],
                       check=True)
        with local_store(assay, folder) as url:
            receipt = call(url + "/customers/1/receipt").strip()
            call(url + "/advance", {"duration": "45d"})
            all_filled(url, receipt)
            print(f"passed: the local App Store, by {names}")
            with server(assay, folder, url) as base:
                all_filled(base, receipt)
                print(f"passed: a server with a key, by {names}")
                failing(base, receipt, url)
                print(f"passed: a store that refuses, by {names}")
        with server(assay, folder, None) as base:
            silent(base, receipt)
            print(f"passed: a server without a key, by {names}")


main()
