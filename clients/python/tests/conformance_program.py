"""Performs the cases of the conformance suite with AsyncClient, or with Client: one case a line on
standard input, one outcome a line on standard output. conformance/README.md describes both.

usage: conformance_program.py [--blocking]
"""
import asyncio
import concurrent.futures
import json
import sys
import time

from assay_client import (
    ABSENT, TLS, AddressError, AssayError, AsyncClient, Client, EntitlementPolicy, EvidenceKind, Expectations, Item,
    ProductDuration, StoreList, Verdict)
from assay_client._calls import PAYLOADS

SECONDS = {"connectTimeoutMs": "connect_timeout", "timeoutMs": "timeout", "shortestPauseMs": "shortest_pause",
           "longestPauseMs": "longest_pause", "longestWaitMs": "longest_wait"}
COUNTS = {"retriesOnce": "retries_once", "inFlightLimit": "in_flight_limit", "waitingLimit": "waiting_limit",
          "frameBytes": "frame_bytes"}


def make_options(case):
    given = case.get("options", {})
    options = {SECONDS[name]: value / 1000 for name, value in given.items() if name in SECONDS}
    options.update({COUNTS[name]: value for name, value in given.items() if name in COUNTS})
    if "tls" in case:
        tls = case["tls"]
        options["tls"] = TLS(
            authority=tls.get("authority"), certificate=tls.get("certificate"), key=tls.get("key"),
            server_name=tls.get("serverName"))
    return options


def evidence_of(call):
    evidence = call.get("evidence", {})
    if "file" in evidence:
        with open(evidence["file"], "rb") as file:
            return file.read()
    return bytes(evidence["zeros"]) if "zeros" in evidence else evidence.get("text", "").encode()


def kind_of(call):
    return EvidenceKind[call["kind"]] if "kind" in call else None


def number(text):
    return None if text is None else int(text)


EXPECTED = {"notOlderThan": int, "appAppleId": int, "deviceIdentifier": bytes.fromhex}


def expectations_of(call):
    given = call.get("expectations")
    if given is None:
        return None
    return Expectations(**{snake(name): EXPECTED.get(name, lambda value: value)(value) for name, value in given.items()})


def policy_of(call):
    given = call.get("policy")
    if given is None:
        return None
    return EntitlementPolicy(
        max_age_ms=number(given.get("maxAgeMs")),
        billing_retry_leniency_ms=number(given.get("billingRetryLeniencyMs")),
        refuse_family_sharing=given.get("refuseFamilySharing"),
        expected_app_account_token=given.get("expectedAppAccountToken", ABSENT),
        renewal_leniency_ms=number(given.get("renewalLeniencyMs")), known_at=number(given.get("knownAt")),
        durations=[ProductDuration(product_id=product, duration_ms=int(duration),
                                   stacks=product in given.get("stackedProducts", []) or None)
                   for product, duration in given.get("durations", {}).items()])


def arguments_of(call):
    """Returns the method's name, and its arguments."""
    name = call["call"]
    timeout = call["timeoutMs"] / 1000 if "timeoutMs" in call else None
    if name == "fetch":
        named = ("fetch_by_evidence", [evidence_of(call)]) if "evidence" in call else (
            name, [call.get("transactionId", "")])
        return *named, {
            "lists": [StoreList[one] for one in call.get("lists", [])], "at": number(call.get("at")),
            "policy": policy_of(call), "typed": call.get("returnTypedPayloads", False),
            "app": call.get("app", ""), "timeout": timeout}
    if name not in ("verify", "resolve"):
        return name, [], {"timeout": timeout}
    named = {
        "expectations": expectations_of(call), "json": call.get("returnPayloadJson", False),
        "app": call.get("app", ""), "may_wait": call.get("mayWait", False), "timeout": timeout}
    if name == "verify":
        return name, [evidence_of(call), kind_of(call)], {**named, "typed": not call.get("omitTypedPayload")}
    items = [Item(evidence_of(item), kind_of(item), item.get("label")) for item in call.get("items", [])]
    return name, [items], {**named, "at": number(call.get("at")), "policy": policy_of(call)}


# ---- Outcomes ------------------------------------------------------------------------------------


def verdict_name(verified):
    verdict = verified.verdict
    return verdict.name if isinstance(verdict, Verdict) and verdict else "UNKNOWN"


def snake(name):
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def verification(answer):
    message = answer.verification
    transaction, certificate = message.transaction, answer.certificate
    kind = message.kind
    return {
        "ok": "verification", "valid": answer.is_valid, "verdict": verdict_name(answer), "detail": answer.detail,
        "kind": kind.name if isinstance(kind, EvidenceKind) else None, "environment": message.environment,
        "dedupKey": answer.dedup_key, "serial": certificate and certificate.serial,
        "notAfter": certificate and str(certificate.not_after),
        "payload": next((camel(name) for name in PAYLOADS if getattr(message, name) is not None), None),
        "transactionId": transaction and transaction.transaction_id,
        "productId": transaction and transaction.product_id,
        "price": transaction and transaction.price is not None and str(transaction.price) or None,
        "jsonBytes": len(answer.json) or None}


def resolution(answer):
    apps = answer.entitlements.apps
    owned = [group.deciding for app in apps for group in app.subscription_groups]
    owned += [product for app in apps for product in app.non_consumables + app.non_renewing]
    return {
        "ok": "resolution", "items": [verdict_name(item) for item in answer.items],
        "labels": [item.label or "" for item in answer.items],
        "entitled": sorted(one.product_id for one in owned if one.is_entitled),
        "isStale": True if answer.entitlements.is_stale else None,
        "decidedBy": [app.subscription_groups[0].deciding.decided_by.item for app in apps
                      if app.subscription_groups],
        "superseded": [index for index, item in enumerate(answer.items) if item.is_superseded] or None,
        "evidenceKeys": named(item.evidence_key for item in answer.items),
        "originals": named(item.original_transaction_id for item in answer.items),
        "accounts": named(item.app_account_token for item in answer.items),
        "downloads": named(item.app_transaction_id for item in answer.items),
        "notifications": named(item.notification_type for item in answer.items),
        "subtypes": named(item.subtype for item in answer.items),
        "seats": [str(one.seats) for one in owned if getattr(one, "seats", None) is not None] or None,
        "ofAnother": sorted(one.product_id for one in owned if one.belongs_to_another_account) or None,
        "refresh": [f"{one.transaction_id}:{one.at}:{one.reason}" for one in answer.entitlements.refresh] or None}


def named(texts):
    """One text for each item, empty where there is none; None if all are empty."""
    listed = [text or "" for text in texts]
    return listed if any(listed) else None


def fetch(answer):
    return {**resolution(answer), "ok": "fetch", "environment": answer.environment, "revision": answer.revision}


def info(answer):
    return {
        "ok": "info", "version": answer.version, "frameBytes": answer.limits.frame_bytes,
        "kinds": [kind.name for kind in answer.kinds if isinstance(kind, EvidenceKind)],
        "resolveItems": answer.limits.resolve_items, "roots": len(answer.trusted_roots)}


ANSWERS = {
    "verify": verification, "resolve": resolution, "fetch": fetch, "fetch_by_evidence": fetch, "info": info,
    "health": lambda serving: {"ok": "health", "serving": serving}, "ping": lambda _: {"ok": "pong"}}


def failure(error):
    if isinstance(error, (TypeError, ValueError)):
        return {"error": "argument", "retryable": False, "message": str(error)}
    if not isinstance(error, AssayError):
        return {"error": "cancelled", "retryable": False}
    return {
        "error": error.kind, "retryable": error.retryable, "message": str(error),
        "status": getattr(error, "status", None) and error.status.name,
        "appStoreErrorCode": getattr(error, "app_store_error_code", None) and str(error.app_store_error_code),
        "retryAfterMs": round(error.retry_after * 1000) if error.retry_after else None}


def finished(outcome, start):
    outcome["elapsedMs"] = (time.monotonic() - start) * 1000
    return {name: value for name, value in outcome.items() if value is not None}


# ---- Cases ---------------------------------------------------------------------------------------


async def perform_async(case):
    async def one(client, call):
        name, positional, named = arguments_of(call)
        start = time.monotonic()
        try:
            outcome = ANSWERS[name](await getattr(client, name)(*positional, **named))
        except (AssayError, TypeError, ValueError, asyncio.CancelledError) as error:
            outcome = failure(error)
        return finished(outcome, start)

    outcomes = []
    async with AsyncClient(case.get("addresses"), **make_options(case)) as client:
        for step in case["steps"]:
            if step.get("close"):
                await client.close()
            await asyncio.sleep(step.get("sleepMs", 0) / 1000)
            tasks = []
            for call in step.get("calls", []):
                for _ in range(call.get("count", 1)):
                    tasks.append(asyncio.ensure_future(one(client, call)))
                    if "cancelAfterMs" in call:
                        # A task that is cancelled before its first step has no outcome.
                        await asyncio.sleep(0)
                        asyncio.get_running_loop().call_later(call["cancelAfterMs"] / 1000, tasks[-1].cancel)
            outcomes += await asyncio.gather(*tasks)
    return outcomes


def perform_blocking(case):
    def one(client, call):
        name, positional, named = arguments_of(call)
        start = time.monotonic()
        try:
            outcome = ANSWERS[name](getattr(client, name)(*positional, **named))
        except (AssayError, TypeError, ValueError) as error:
            outcome = failure(error)
        return finished(outcome, start)

    outcomes = []
    with Client(case.get("addresses"), **make_options(case)) as client, \
            concurrent.futures.ThreadPoolExecutor(128) as threads:
        for step in case["steps"]:
            if step.get("close"):
                client.close()
            time.sleep(step.get("sleepMs", 0) / 1000)
            calls = [call for call in step.get("calls", []) for _ in range(call.get("count", 1))]
            outcomes += threads.map(lambda call: one(client, call), calls)
    return outcomes


def main(*arguments):
    is_blocking = "--blocking" in arguments
    print(json.dumps({"ready": "python"}), flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        try:
            outcomes = perform_blocking(case) if is_blocking else asyncio.run(perform_async(case))
            outcome = {"outcomes": outcomes}
        except AddressError as error:
            outcome = {"error": "address", "message": str(error)}
        print(json.dumps({"name": case["name"], **outcome}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
