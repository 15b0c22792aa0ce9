"""Signs with assay and with Apple's app-store-server-library, which is used as it is: the claims are
equal, each accepts the other's signature, and both refuse what breaks Apple's rules.

usage: signing.py ASSAY [VECTORS]
"""
import base64
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

import jwt
from appstoreserverlibrary.jws_signature_creator import (
    AdvancedCommerceAPIInAppSignatureCreator, IntroductoryOfferEligibilitySignatureCreator,
    PromotionalOfferV2SignatureCreator)
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.LibraryUtility import _get_cattrs_converter
from appstoreserverlibrary.models.RealtimeResponseBody import RealtimeResponseBody
from appstoreserverlibrary.promotional_offer import PromotionalOfferSignatureCreator
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

BUNDLE, KEY_ID, ISSUER = "com.example.game", "2X9R4HXF34", "57246542-96fe-1a63-e053-0824d011072a"
PRODUCT, APP = "premium.monthly", 1234567890
MESSAGE = "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10"
assay = sys.argv[1]
vectors = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
checks = 0


def check(what, holds):
    global checks
    if not holds:
        sys.exit(f"FAILED: {what}")
    checks += 1


class Keys:
    def __init__(self, folder):
        self.private = ec.generate_private_key(ec.SECP256R1())
        self.pem = self.private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption())
        self.public = self.private.public_key()
        self.file = folder / f"SubscriptionKey_{KEY_ID}.p8"
        self.file.touch(mode=0o600)
        self.file.write_bytes(self.pem)


def run(*arguments, stdin=b""):
    done = subprocess.run([assay, *map(str, arguments)], input=stdin, capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode()


def sign(keys, kind, *arguments, stdin=b""):
    status, output, error = run(
        "sign", kind, "--bundle-id", BUNDLE, "--key", keys.file, "--issuer-id", ISSUER, *arguments,
        stdin=stdin)
    check(f"assay sign {kind}: {error}", status == 0)
    return json.loads(output)


class Store:
    """The local App Store: what it accepts, StoreKit would."""

    def __init__(self, folder, keys):
        self.ca = folder / "ca"
        check("a CA", run("mint", "ca", "--date", "2025-01-01T00:00:00Z", self.ca)[0] == 0)
        self.process = subprocess.Popen(
            [assay, "store", "--ca", self.ca, "--listen", "http://127.0.0.1:0", "--key",
             f"{KEY_ID}={keys.file}", "--issuer", ISSUER, "--no-rate-limits"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.customer = self.post("/customers", {"scenario": "grace-period",
                                                 "environment": "Sandbox"})
        self.transaction = self.customer["transactions"][0]["transactionId"]

    def post(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def refusal(self, body):
        return self.post("/signatures", {"environment": "Sandbox", **body}).get("reason")


def compare(keys, store, what, audience, ours, theirs):
    """Both tokens have the same header and claims, and both accept both."""
    claims = []
    for name, token in ("assay", ours), ("Apple", theirs):
        header = jwt.get_unverified_header(token)
        check(f"{what}: header of {name}",
              header == {"alg": "ES256", "kid": KEY_ID, "typ": "JWT"})
        # Apple's own dependency verifies ours, and the local store Apple's.
        claims.append(jwt.decode(token, keys.public, ["ES256"], audience=audience))
        refusal = store.refusal({"jws": token})
        check(f"{what}: the local store refuses {name}'s: {refusal}", refusal is None)
        check(f"{what}: a nonce twice", "used before" in (store.refusal({"jws": token}) or ""))
    nonces = [claim.pop("nonce") for claim in claims]
    check(f"{what}: nonces", all(nonce == str(uuid.UUID(nonce)) for nonce in nonces))
    age = claims[1].pop("iat") - claims[0].pop("iat")
    check(f"{what}: iat is a minute in the past, not {age} s", 55 <= age <= 65)
    if audience == "advanced-commerce-api":
        for claim in claims:
            claim["request"] = without_nulls(json.loads(base64.b64decode(claim["request"])))
    check(f"{what}: claims differ: {claims}", claims[0] == claims[1])


def without_nulls(value):
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def offers(keys, store):
    creator = PromotionalOfferV2SignatureCreator(keys.pem, KEY_ID, ISSUER, BUNDLE)
    for transaction in store.transaction, None:
        extra = ["--transaction-id", transaction] if transaction else []
        ours = sign(keys, "promotional-offer", "--product", PRODUCT, "--offer", "win-back", *extra)
        compare(keys, store, "promotional offer, version 2", "promotional-offer", ours["jws"],
                creator.create_signature(PRODUCT, "win-back", transaction))
    creator = IntroductoryOfferEligibilitySignatureCreator(keys.pem, KEY_ID, ISSUER, BUNDLE)
    for flag, allowed in ("--allow", True), ("--deny", False):
        ours = sign(keys, "introductory-offer", "--product", PRODUCT, "--transaction-id",
                    store.transaction, flag)
        compare(keys, store, "introductory offer", "introductory-offer-eligibility", ours["jws"],
                creator.create_signature(PRODUCT, allowed, store.transaction))


def version_one(keys, store):
    creator = PromotionalOfferSignatureCreator(keys.pem, KEY_ID, BUNDLE)
    for account in "", str(uuid.uuid4()).upper(), "some Name":
        extra = ["--app-account-token", account] if account else []
        ours = sign(keys, "promotional-offer", "--offer-version", "1", "--product", PRODUCT,
                    "--offer", "win-back", *extra)
        nonce, at = uuid.UUID(ours["nonce"]), ours["timestamp"]
        check("version 1: the time", abs(at - time.time() * 1000) < 60_000)
        text = "\u2063".join([BUNDLE, KEY_ID, PRODUCT, "win-back", account.lower(), str(nonce),
                              str(at)]).encode()
        theirs = creator.create_signature(PRODUCT, "win-back", account, nonce, at)
        for signature in ours["signature"], theirs:
            keys.public.verify(base64.b64decode(signature), text, ec.ECDSA(hashes.SHA256()))
        body = {"keyId": KEY_ID, "productId": PRODUCT, "offerIdentifier": "win-back",
                "appAccountToken": account, "nonce": str(nonce), "timestamp": at}
        # Another nonce for the second: one serves once.
        other = uuid.uuid4()
        signature = creator.create_signature(PRODUCT, "win-back", account, other, at)
        for accepted in (body | {"signature": ours["signature"]},
                         body | {"nonce": str(other), "signature": signature}):
            refusal = store.refusal(accepted)
            check(f"version 1: {refusal}", refusal is None)
        for member, value, reason in (
                ("nonce", str(uuid.uuid4()), "does not match"), ("productId", "x", "does not match"),
                ("keyId", "OTHER", "no key is registered"), ("timestamp", at - 1, "does not match")):
            refused = store.refusal(body | {"signature": ours["signature"], member: value})
            check(f"version 1 with another {member}: {refused}", reason in (refused or ""))


def model(name):
    return getattr(importlib.import_module("appstoreserverlibrary.models." + name), name)


REQUESTS = {
    "OneTimeChargeCreateRequest": "one-time-charge-create",
    "SubscriptionCreateRequest": "subscription-create",
    "SubscriptionModifyInAppRequest": "subscription-modify",
    "SubscriptionReactivateInAppRequest": "subscription-reactivate",
}


def requests():
    """Requests of each type: Apple's test vectors, or else like them."""
    info = {"requestInfo": {"requestReferenceId": str(uuid.uuid4())}}
    item = {"SKU": "sku", "description": "words", "displayName": "name", "price": 9990}
    offer = {"period": "P1M", "periodCount": 3, "price": 0, "reason": "WIN_BACK"}
    yield "OneTimeChargeCreateRequest", info | {
        "currency": "USD", "taxCode": "T", "item": item, "storefront": "USA"}
    yield "SubscriptionCreateRequest", info | {
        "currency": "USD", "taxCode": "T", "period": "P1M",
        "descriptors": {"description": "words", "displayName": "name"},
        "items": [item, item | {"offer": offer}]}
    yield "SubscriptionModifyInAppRequest", info | {
        "transactionId": "1", "retainBillingCycle": False, "currency": "USD",
        "addItems": [item | {"proratedPrice": 5}], "removeItems": [{"SKU": "gone"}],
        "changeItems": [item | {"currentSKU": "old", "reason": "UPGRADE",
                                "effective": "NEXT_BILL_CYCLE", "offer": offer}],
        "periodChange": {"effective": "IMMEDIATELY", "period": "P1Y"},
        "descriptors": {"effective": "IMMEDIATELY", "displayName": "name"}}
    yield "SubscriptionReactivateInAppRequest", info | {
        "transactionId": "1", "items": [{"SKU": "sku"}]}
    for name in REQUESTS if vectors else ():
        file = vectors / "apple-lib/models" / f"advancedCommerce{name}.json"
        if file.exists():
            yield name, json.loads(file.read_text())


BROKEN = [  # what both refuse
    ("OneTimeChargeCreateRequest", ["item", "description"], "w" * 46),
    ("OneTimeChargeCreateRequest", ["item", "displayName"], "n" * 31),
    ("OneTimeChargeCreateRequest", ["item", "SKU"], "s" * 129),
    ("OneTimeChargeCreateRequest", ["item"], None),
    ("OneTimeChargeCreateRequest", ["currency"], None),
    ("SubscriptionCreateRequest", ["period"], None),
    ("SubscriptionCreateRequest", ["items", 1, "offer", "periodCount"], 13),
    ("SubscriptionModifyInAppRequest", ["addItems"], []),
    ("SubscriptionReactivateInAppRequest", ["transactionId"], None),
]


def advanced_commerce(keys, store):
    creator = AdvancedCommerceAPIInAppSignatureCreator(keys.pem, KEY_ID, ISSUER, BUNDLE)
    samples = {}
    for name, request in requests():
        samples.setdefault(name, request)
        kind = model("AdvancedCommerce" + name)
        made = _get_cattrs_converter(kind).structure(request, kind)
        ours = sign(keys, "advanced-commerce", "--type", REQUESTS[name], "-",
                    stdin=json.dumps(request).encode())
        compare(keys, store, name, "advanced-commerce-api", ours["jws"],
                creator.create_signature(made))
        data = json.loads(base64.b64decode(ours["advancedCommerceData"]))
        check(f"{name}: advancedCommerceData", data == {"signatureInfo": {"token": ours["jws"]}})
    for name, path, value in BROKEN:
        request = json.loads(json.dumps(samples[name]))
        holder = request
        for step in path[:-1]:
            holder = holder[step]
        if value is None:
            del holder[path[-1]]
        else:
            holder[path[-1]] = value
        kind = model("AdvancedCommerce" + name)
        try:
            _get_cattrs_converter(kind).structure(request, kind)
            check(f"{name} {path}: Apple's library accepts it", False)
        except Exception:  # cattrs groups the errors of validators
            pass
        status, _, error = run(
            "sign", "advanced-commerce", "--bundle-id", BUNDLE, "--key", keys.file, "--issuer-id",
            ISSUER, "--type", REQUESTS[name], "-", stdin=json.dumps(request).encode())
        check(f"{name} {path}: {error}", status == 2 and str(path[-1]) in error)


def retention(keys, store, folder):
    store_message(store)
    request = store.post("/retention-requests", {"customer": 1})
    roots = [pathlib.Path(store.ca, "root.pem").read_text()]
    roots = [base64.b64decode("".join(roots[0].split("-----")[2].split()))]
    verifier = SignedDataVerifier(roots, False, Environment.SANDBOX, BUNDLE, APP)
    decoded = verifier.verify_and_decode_realtime_request(request["signedPayload"])
    check("Apple's verifier accepts the request", decoded.productId == PRODUCT)
    body = folder / "request.json"
    body.write_text(json.dumps(request))
    trust = ["--root", f"{store.ca}/root.pem", "--environment", "Sandbox", "--app-apple-id"]
    message = {"messageIdentifier": MESSAGE}
    commerce = dict(requests())["SubscriptionReactivateInAppRequest"]
    for choice in (
            {"message": message},
            {"alternateProduct": message | {"productId": "premium.yearly",
                                            "billingPlanType": "MONTHLY"}},
            {"promotionalOffer": message | {"offerIdentifier": "stay"}},
            {"promotionalOffer": message | {"offerIdentifier": "stay", "version": 1,
                                            "appAccountToken": str(uuid.uuid4())}},
            {"advancedCommerceInfo": message | {
                "request": {"operation": "REACTIVATE_SUBSCRIPTION"} | commerce}}):
        answer = sign(keys, "retention-answer", *trust, APP, "--answer", "-", body,
                      stdin=json.dumps(choice).encode())
        converter = _get_cattrs_converter(RealtimeResponseBody)
        again = without_nulls(converter.unstructure(
            converter.structure(answer, RealtimeResponseBody)))
        check(f"Apple's model of {answer} is {again}", json.loads(json.dumps(again)) == answer)
        refusal = store.refusal({"retentionAnswer": answer})
        check(f"the local store refuses {answer}: {refusal}", refusal is None)
    status, _, error = run(
        "sign", "retention-answer", "--bundle-id", BUNDLE, "--key", keys.file, "--issuer-id", ISSUER,
        *trust, APP + 1, "--answer", "-", body, stdin=json.dumps({"message": message}).encode())
    check(f"a request of another app: {error}", status == 1 and "WRONG_APP" in error)


def store_message(store):
    """A message that the sandbox approves at once."""
    token = jwt.encode(
        {"iss": ISSUER, "aud": "appstoreconnect-v1", "bid": BUNDLE, "iat": int(time.time()) - 60,
         "exp": int(time.time()) + 600}, Keys.one.pem, "ES256", {"kid": KEY_ID})
    request = urllib.request.Request(
        f"{store.url}/sandbox/inApps/v1/messaging/message/{MESSAGE}", method="PUT",
        data=json.dumps({"header": "Stay", "body": "Half price"}).encode(),
        headers={"Authorization": "Bearer " + token, "Content-Type": "application/json"})
    urllib.request.urlopen(request).close()


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        keys = Keys.one = Keys(folder)
        store = Store(folder, keys)
        try:
            offers(keys, store)
            version_one(keys, store)
            advanced_commerce(keys, store)
            retention(keys, store, folder)
        finally:
            store.process.terminate()
            store.process.wait()
            store.process.stdout.close()
    print(f"passed: {checks} checks of signatures with Apple's app-store-server-library")


main()
