"""Calls a server's services with clients of Connect, gRPC-Web and gRPC that nobody here wrote.

usage: script/interop --run rpc.py ASSAY FOLDER [short]

ASSAY is the tool, and FOLDER is for its files. The clients are connectrpc for Python, `buf curl`,
and gRPC for six languages (rpc_agents.py), each with the messages that its own generator makes
of the contract; `short` has Python's alone. Each makes the same calls. Exits with 1 at the first
unexpected answer, and prints a table of what each client did.
"""
import json
import os
import sys
import time

from assay.v1 import assay_pb2 as wire
from assay.v1 import service_pb2 as rpc
from connectrpc.protocol import ProtocolType
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2

import rpc_tools
from rpc_agents import LANGUAGES, Agent, Refusal, agents
from rpc_clients import CALLS, VERIFIER, Buf, Connectrpc
from rpc_server import BUNDLE, KEY, Server


def expect(condition, what):
    if not condition:
        print(f"FAILED: {what}")
        sys.exit(1)


# ---- Cases ---------------------------------------------------------------------------------------

def verify(client, evidence, kind=wire.EVIDENCE_KIND_TRANSACTION, app=None, timeout_ms=None,
           **call):
    request = rpc.VerifyRequest(
        app=app, call=wire.VerifyCall(kind=kind, **call), evidence=evidence)
    return client.call("Verify", request, timeout_ms)


# Tried for ten seconds: nothing listens there.
CLOSED = rpc.FetchRequest(app="closed", call=wire.FetchCall(transaction_id="1"))


def refused(code, call):
    try:
        answer = call()
    except Refusal as refusal:
        expect(refusal.code == code, f"{refusal} instead of {code}")
        return refusal
    print(f"FAILED: {str(answer)[:200]} instead of {code}")
    sys.exit(1)


def verdicts(client, files):
    token = files["transaction"]
    answer = verify(client, token, return_payload_json=True)
    found = answer.verification
    expect(found.verdict == wire.VERDICT_VALID, found)
    expect(found.transaction.bundle_id == BUNDLE, found)
    payload = json.loads(answer.payload_json)["payload"]
    expect(payload["transactionId"] == found.transaction.transaction_id, payload)
    plain = verify(client, token, omit_typed_payload=True)
    expect(plain.verification.WhichOneof("payload") is None, plain)
    expect(not plain.HasField("payload_json"), plain)
    forged = token[:-6] + (b"A" if token[-6:-5] != b"A" else b"B") + token[-5:]
    found = verify(client, forged).verification
    expect(found.verdict == wire.VERDICT_INVALID_SIGNATURE, found)
    found = verify(client, token, wire.EVIDENCE_KIND_RENEWAL_INFO).verification
    expect(found.verdict == wire.VERDICT_WRONG_KIND, found)


def expectations(client, files):
    for expected, verdict in [
            (wire.Expectations(bundle_id=BUNDLE), wire.VERDICT_VALID),
            (wire.Expectations(bundle_id="com.example.other"), wire.VERDICT_WRONG_BUNDLE),
            (wire.Expectations(environments=["Sandbox"]), wire.VERDICT_WRONG_ENVIRONMENT),
            (wire.Expectations(not_older_than=2 ** 46), wire.VERDICT_MISMATCH),
            (wire.Expectations(product_ids=["other"]), wire.VERDICT_MISMATCH)]:
        found = verify(client, files["transaction"], expectations=expected).verification
        expect(found.verdict == verdict, found)


def refusals(client, files):
    token = files["transaction"]
    refusal = refused("not_found", lambda: verify(client, token, app="nowhere"))
    expect("no such app entry" in refusal.message, refusal)
    refused("invalid_argument", lambda: verify(client, b""))
    refused("unimplemented", lambda: client.call("Verify", rpc.VerifyRequest(evidence=token)))
    # Evidence above the limit of its kind has a verdict that says what it is.
    found = verify(client, b"A" * 300_000).verification
    expect(found.verdict == wire.VERDICT_MALFORMED, found)
    refused("failed_precondition", lambda: client.call(
        "Fetch", rpc.FetchRequest(call=wire.FetchCall(transaction_id="1"))))
    refused("not_found", lambda: client.call(
        "Check", health_pb2.HealthCheckRequest(service="nowhere")))


def receipts(client, files):
    kind = wire.EVIDENCE_KIND_APP_RECEIPT
    found = verify(
        client, files["receipt"], kind, in_app=wire.IN_APP_SELECTION_LATEST).verification
    expect(found.verdict == wire.VERDICT_VALID, found.detail)
    expect(found.app_receipt.bundle_id == BUNDLE, found)
    answer = verify(client, files["receipt"], kind, return_verify_receipt_json=True)
    expect(json.loads(answer.payload_json)["status"] == 0, answer)
    for name in ["4 MB receipt", "16 MB receipt"]:
        # What is read whole has the limit of 4 MiB, also decompressed; base64 is a third larger.
        if client.is_streaming or (name == "4 MB receipt" and "gzip" in client.name):
            large = verify(client, files[name], kind, in_app=wire.IN_APP_SELECTION_NONE)
            expect(large.verification.verdict == wire.VERDICT_VALID, large.verification.detail)
        else:
            refused("resource_exhausted", lambda: verify(client, files[name], kind))


def deadlines(client, files):
    if isinstance(client, Buf):
        return False  # It has none, and refuses to send the field.
    if client.is_streaming:
        # It ends before the receipt has arrived. The client's own clock can be the first to see.
        refused("deadline_exceeded", lambda: verify(
            client, files["16 MB receipt"], wire.EVIDENCE_KIND_APP_RECEIPT, timeout_ms=1))
    if isinstance(client, Agent):
        # In the server, which waits for an App Store.
        began = time.monotonic()
        refused("deadline_exceeded", lambda: client.call("Fetch", CLOSED, 500))
        expect(time.monotonic() - began < 3, "the deadline of a fetch")
    found = verify(client, files["transaction"], timeout_ms=20_000).verification
    expect(found.verdict == wire.VERDICT_VALID, found)


def unknown_fields(client, files):
    if "JSON" in client.name or isinstance(client, Buf):
        return False
    request = rpc.VerifyRequest(
        call=wire.VerifyCall(kind=wire.EVIDENCE_KIND_TRANSACTION), evidence=files["transaction"])
    # Field 200 of a later contract, before and after the evidence.
    later = bytes([0xC2, 0x0C, 3]) + b"new"
    for text in [later + request.SerializeToString(), request.SerializeToString() + later]:
        found = client.call("Verify", rpc.VerifyRequest.FromString(text)).verification
        expect(found.verdict == wire.VERDICT_VALID, found)


def resolves(client, files):
    call = wire.ResolveCall(
        items=[wire.EvidenceItem(label="a"), wire.EvidenceItem(label="b")],
        return_payload_json=True)
    token, renewal = files["transaction"], files["renewal-info"]
    answer = client.call("Resolve", rpc.ResolveRequest(call=call, evidence=[token, renewal]))
    expect([one.label for one in answer.resolution.items] == ["a", "b"], answer)
    expect(len(answer.payload_json) == 2 and json.loads(answer.payload_json[0]), answer)
    groups = answer.resolution.entitlements.apps[0].subscription_groups
    expect(groups[0].deciding.product_id == BUNDLE + ".premium.monthly", answer)
    bare = client.call("Resolve", rpc.ResolveRequest(evidence=[token]))
    expect(bare.resolution.items[0].verification.verdict == wire.VERDICT_VALID, bare)
    refused("invalid_argument", lambda: client.call(
        "Resolve", rpc.ResolveRequest(call=call, evidence=[token])))


def purchases(client, files):
    """A purchase of Google Play, alone and beside Apple's."""
    purchase, kind = files["google-purchase"], wire.EVIDENCE_KIND_GOOGLE_PURCHASE
    answer = verify(client, purchase, kind, return_payload_json=True)
    found = answer.verification
    expect((found.verdict, found.state) == (wire.VERDICT_VALID, "PURCHASED"), found)
    expect(found.google_purchase.package_name == BUNDLE, found)
    expect(found.dedup_key == f"google/{BUNDLE}/{found.google_purchase.purchase_token}", found)
    payload = json.loads(answer.payload_json)["payload"]
    expect(payload["purchaseToken"] == found.google_purchase.purchase_token, payload)
    found = verify(
        client, purchase, kind,
        expectations=wire.Expectations(bundle_id="com.example.other")).verification
    expect(found.verdict == wire.VERDICT_WRONG_BUNDLE, found)
    changed = purchase.replace(b"GPA.", b"GPB.")
    found = verify(client, changed, kind).verification
    expect(found.verdict == wire.VERDICT_INVALID_SIGNATURE, found)
    found = verify(client, purchase, wire.EVIDENCE_KIND_HUAWEI_PURCHASE).verification
    expect(found.verdict == wire.VERDICT_UNTRUSTED_CHAIN, found)
    answer = client.call(
        "Resolve", rpc.ResolveRequest(evidence=[files["transaction"], purchase]))
    stores = sorted(app.store for app in answer.resolution.entitlements.apps)
    expect(stores == ["APPLE", "GOOGLE"], answer)


def reads(client, files):
    info = client.call("Info", rpc.InfoRequest()).info
    expect(wire.EVIDENCE_KIND_APP_RECEIPT in info.kinds, info.kinds)
    expect(info.limits.frame_bytes > 16 << 20 and len(info.trusted_roots) > 1, info.limits)
    for service in ["", VERIFIER]:
        state = client.call("Check", health_pb2.HealthCheckRequest(service=service)).status
        expect(state == health_pb2.HealthCheckResponse.SERVING, state)


def details(client, files):
    """What programs read of an error, here of fetches: when to retry, and Apple's code."""
    def fetch(app):
        return lambda: client.call(
            "Fetch", rpc.FetchRequest(app=app, call=wire.FetchCall(transaction_id="1")), 20_000)
    # It tries for ten seconds: once for each protocol.
    if client.name in ("connectrpc, CONNECT", "connectrpc, GRPC_WEB", "gRPC for Python"):
        refusal = refused("unavailable", fetch("closed"))
        retry = error_details_pb2.RetryInfo.FromString(refusal.details["google.rpc.RetryInfo"])
        expect(retry.retry_delay.ToMilliseconds() > 0, retry)
    refusal = refused("not_found", fetch("shop"))
    info = error_details_pb2.ErrorInfo.FromString(refusal.details["google.rpc.ErrorInfo"])
    expect(info.reason == "APP_STORE_ERROR" and info.domain == "assay.v1", info)
    expect(info.metadata["app_store_error_code"] == "4040010", info)


def signatures(client, files):
    request = rpc.SignPromotionalOfferRequest(product_id="p", offer_identifier="o", version=1)
    answer = client.call("SignPromotionalOffer", request, key=KEY)
    expect(answer.key_id == "2X9R4HXF34" and answer.timestamp > 0 and answer.signature, answer)
    sent = lambda key: lambda: client.call("SignPromotionalOffer", request, key=key)
    refused("unauthenticated", sent(None))
    refused("unauthenticated", sent(KEY[:-1] + "1"))
    request.app = "shop"
    refused("permission_denied", sent(KEY))


def cancellations(client, files):
    """A call that its client gives up ends there at once, and the connection goes on."""
    if not isinstance(client, Agent):
        return False
    began = time.monotonic()
    refused("cancelled", lambda: client.cancelled("Fetch", CLOSED, 300))
    expect(time.monotonic() - began < 3, "the end of a cancelled call")
    found = verify(client, files["transaction"]).verification
    expect(found.verdict == wire.VERDICT_VALID, found)


def streams(client, files):
    """Ten thousand calls on one stream."""
    if not isinstance(client, Agent):
        return False
    count = 10_000
    # They wait for their turn however busy the machine is.
    request = rpc.VerifyStreamRequest(
        call=wire.VerifyCall(kind=wire.EVIDENCE_KIND_TRANSACTION, omit_typed_payload=True),
        evidence=files["transaction"], may_wait=True, timeout_ms=20_000)
    found = client.stream(count, request)
    expect(found == [count] * 3, f"answers, valid ones, different ids: {found}")


# The number of gRPC's code.
UNAVAILABLE = "14"

CASES = [verdicts, expectations, refusals, receipts, deadlines, unknown_fields, resolves, purchases,
         reads, details, signatures, cancellations, streams]


def drains(client, server):
    """A server that ends answers what it has accepted; its client then finds it gone."""
    if not isinstance(client, Agent):
        return False
    url = server.serve()
    client.stop()
    client.connect(url.removeprefix("http://"))
    client.call("Info", rpc.InfoRequest())
    watcher = client.another()
    watcher.connect(url.removeprefix("http://"))
    watcher.begin("watch", "-", 0, health_pb2.HealthCheckRequest(service=VERIFIER))
    expect(watcher.words() == ["status", "1"], "the service that is watched serves")
    server.fault({"endpoint": "any", "delay": 1500, "count": 1})
    unknown = rpc.FetchRequest(app="shop", call=wire.FetchCall(transaction_id="1"))
    client.begin("call", "Fetch", 0, unknown)
    time.sleep(0.5)
    process = server.processes.pop()
    process.terminate()
    refused("not_found", lambda: client.end("Fetch"))
    expect(process.wait(20) == 0, "the end of the server")
    refused("unavailable", lambda: client.call("Info", rpc.InfoRequest(), 2_000))
    found = [watcher.words(), watcher.words()[0]]
    expect(found == [["status", "2"], UNAVAILABLE], f"what the watcher sees of the end: {found}")
    watcher.stop()


def main():
    tool, folder, *words = sys.argv[1:]
    is_short = words == ["short"]
    os.makedirs(folder, exist_ok=True)
    server = Server(tool, folder)
    files = server.evidence()
    url = server.url
    started = agents(
        os.path.join(folder, "agents"), url.removeprefix("http://"),
        list(LANGUAGES)[:1] if is_short else LANGUAGES,
        {name: answer for name, (_, _, answer, _) in CALLS.items()})
    clients = [
        *started, Connectrpc(url, ProtocolType.CONNECT), Connectrpc(url, ProtocolType.GRPC_WEB)]
    if not is_short:
        clients += [
            Connectrpc(url, ProtocolType.CONNECT, True),
            Connectrpc(url, ProtocolType.CONNECT, compresses=True),
            Connectrpc(url, ProtocolType.CONNECT, use_get=True),
            Connectrpc(url, ProtocolType.CONNECT, True, use_get=True),
            Connectrpc(url, ProtocolType.GRPC_WEB, True),
            Connectrpc(url, ProtocolType.GRPC_WEB, compresses=True),
            Buf(url, "connect"), Buf(url, "grpcweb"), Buf(url, "grpc"),
            Buf(url, "grpc", reflects=True), Buf(url, "connect", reflects=True)]
    try:
        for client in clients:
            for case in CASES:
                began = time.monotonic()
                if case(client, files) is False:
                    continue  # Not for this client.
                print(f"passed: {client.name}: {case.__name__}, "
                      f"{(time.monotonic() - began) * 1000:.0f} ms", flush=True)
            if drains(client, server) is not False:
                print(f"passed: {client.name}: drains", flush=True)
        if not is_short:
            rpc_tools.check(url, files["transaction"], folder)
            rpc_tools.farewell(server.serve(), server.processes.pop())
    finally:
        for agent in started:
            agent.stop()
        server.stop()


if __name__ == "__main__":
    main()
