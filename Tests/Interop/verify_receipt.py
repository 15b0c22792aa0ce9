"""Tests the HTTP listener with clients that were written for Apple's verifyReceipt.

usage: script/interop --run verify_receipt.py URL SANDBOX-RECEIPT PRODUCTION-RECEIPT TOKEN

The clients are inapppy and itunes-iap from PyPI, unmodified: only their URLs are those of the
server. Receipts are base64. Exits with 1 at the first unexpected answer.
"""
import json
import sys
import urllib.error
import urllib.request

import inapppy
import itunesiap
from itunesiap import exceptions
from itunesiap.request import RequestBase

BUNDLE = "com.example.game"


def expect(condition, what):
    if not condition:
        print(f"FAILED: {what}")
        sys.exit(1)


class Validator(inapppy.AppStoreValidator):
    """inapppy's client with other URLs."""

    base = ""

    def _change_url_by_sandbox(self):
        self.url = self.base + ("/sandbox" if self.sandbox else "") + "/verifyReceipt"


def inapppy_client(sandbox, production):
    answer = Validator(BUNDLE).validate(production)
    expect(answer["receipt"]["bundle_id"] == BUNDLE, answer)
    newest_first = sorted(answer["receipt"]["in_app"], key=lambda one: -int(one["purchase_date_ms"]))
    expect(answer["latest_receipt_info"] == newest_first, answer)
    answer = Validator(BUNDLE, auto_retry_wrong_env_request=True).validate(
        sandbox, "any secret", exclude_old_transactions=True)
    expect(answer["environment"] == "Sandbox", answer)
    for receipt, error in [(sandbox, "Sandbox receipt"), ("AAAA", "Bad data")]:
        try:
            Validator(BUNDLE).validate(receipt)
            expect(False, error)
        except inapppy.InAppPyValidationError as raised:
            expect(error in str(raised), raised)
    print("passed: inapppy")


def itunesiap_client(sandbox, production):
    RequestBase.PRODUCTION_VALIDATION_URL = Validator.base + "/verifyReceipt"
    RequestBase.SANDBOX_VALIDATION_URL = Validator.base + "/sandbox/verifyReceipt"
    response = itunesiap.verify(production, env=itunesiap.env.production)
    expect(response.status == 0 and response.receipt.bundle_id == BUNDLE, response)
    expect(len(response.receipt.in_app) == len(response.latest_receipt_info), response)
    expect(response.receipt.in_app[0].purchase_date.year > 2020, response)
    response = itunesiap.verify(sandbox, env=itunesiap.env.review)
    expect(response._["environment"] == "Sandbox", response)
    for receipt, status in [(sandbox, 21007), ("AAAA", 21002)]:
        try:
            itunesiap.verify(receipt, env=itunesiap.env.production)
            expect(False, status)
        except exceptions.InvalidReceipt as raised:
            expect(raised.status == status, raised)
    print("passed: itunes-iap")


def request(path, body=None, kind="application/json"):
    """Returns the status and the JSON of an answer."""
    question = urllib.request.Request(
        Validator.base + path, data=body, headers={"Content-Type": kind})
    try:
        with urllib.request.urlopen(question, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as answer:
        return answer.code, json.load(answer)


def paths(token):
    status, answer = request("/v1/verify?kind=transaction", token, "application/jose")
    expect(status == 200 and answer["verdict"] == "VALID", answer)
    body = json.dumps({"kind": "auto", "evidence": token.decode().strip(),
                       "expectations": {"bundleId": "com.example.other"}}).encode()
    status, answer = request("/v1/verify", body)
    expect(status == 200 and answer["verdict"] == "WRONG_BUNDLE", answer)
    status, answer = request("/v1/verify", b"{")
    expect(status == 400 and answer["code"] == "INVALID_ARGUMENT", answer)
    expect(request("/v1/health") == (200, {"status": "SERVING"}), "health")
    print("passed: paths of HTTP")


def main():
    Validator.base, *files = sys.argv[1:]
    sandbox, production, token = (open(path, "rb").read() for path in files)
    inapppy_client(sandbox.decode().strip(), production.decode().strip())
    itunesiap_client(sandbox.decode().strip(), production.decode().strip())
    paths(token)


if __name__ == "__main__":
    main()
