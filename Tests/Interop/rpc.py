"""Calls a server's services with clients of Connect and gRPC-Web that nobody here wrote.

usage: script/interop --run rpc.py ASSAY FOLDER

ASSAY is the tool, and FOLDER is for its files. The clients are connectrpc for Python, with the
messages that protoc generates from the contract, and `buf curl`. Each makes the same calls over
HTTP/1.1: verdicts, refusals, expectations, deadlines, receipts of 5 MB, unknown fields, the details
of errors. Exits with 1 at the first unexpected answer.
"""
import base64
import json
import os
import subprocess
import sys
import time

from assay.v1 import assay_pb2 as wire
from assay.v1 import service_pb2 as rpc
from connectrpc.client import ConnectClientSync
from connectrpc.compat import google_protobuf_binary_codec, google_protobuf_json_codec
from connectrpc.compression.gzip import GzipCompression
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.protocol import ProtocolType
from google.protobuf import json_format
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUNDLE = "com.example.game"
VERIFIER, HEALTH = "assay.v1.Verifier", "grpc.health.v1.Health"
# The services' calls: service, request, answer, whether GET can make it.
CALLS = {
    "Verify": (VERIFIER, rpc.VerifyRequest, rpc.VerifyResponse, False),
    "Resolve": (VERIFIER, rpc.ResolveRequest, rpc.ResolveResponse, False),
    "Fetch": (VERIFIER, rpc.FetchRequest, rpc.FetchResponse, False),
    "Info": (VERIFIER, rpc.InfoRequest, rpc.InfoResponse, True),
    "Check": (HEALTH, health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse, True),
}


class Refusal(Exception):
    """The error of a call: its code in lower case, its message, and its details by type."""

    def __init__(self, code, message, details):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.details = code, message, details


def expect(condition, what):
    if not condition:
        print(f"FAILED: {what}")
        sys.exit(1)


class Connectrpc:
    """The client of connectrpc for Python."""

    def __init__(self, url, protocol, is_json=False, compresses=False, use_get=False):
        self.name = f"connectrpc, {protocol.name}" + (
            ", JSON" if is_json else "") + (", gzip" if compresses else "") + (
            ", GET" if use_get else "")
        self.use_get = use_get
        self.client = ConnectClientSync(
            url, protocol=protocol, accept_compression=[],
            codec=google_protobuf_json_codec() if is_json else google_protobuf_binary_codec(),
            send_compression=GzipCompression() if compresses else None)
        # The limit of a message that is not binary, or not as it will be verified.
        self.is_streaming = not is_json and not compresses

    def call(self, name, request, timeout_ms=None):
        service, input_type, output_type, is_read = CALLS[name]
        level = IdempotencyLevel.NO_SIDE_EFFECTS if is_read else IdempotencyLevel.UNKNOWN
        method = MethodInfo(
            name=name, service_name=service, input=input_type, output=output_type,
            stream_type=StreamType.UNARY, idempotency_level=level)
        try:
            return self.client.execute_unary(
                request=request, method=method, timeout_ms=timeout_ms,
                use_get=is_read and self.use_get)
        except ConnectError as error:
            details = {one.type_name: one.message_bytes for one in error.details}
            raise Refusal(error.code.value, error.message, details) from None


class Buf:
    """`buf curl`, which reads the contract and speaks JSON with its user."""

    # It sends binary messages.
    is_streaming = True

    def __init__(self, url, protocol):
        self.name = f"buf curl, {protocol}"
        self.protocol, self.url = protocol, url

    def call(self, name, request, timeout_ms=None):
        service, _, output_type, _ = CALLS[name]
        command = [
            os.path.join(os.path.dirname(sys.executable), "buf"), "curl", "--schema",
            os.path.join(ROOT, "proto"), "--protocol", self.protocol, "--data", "@-"]
        done = subprocess.run(
            command + [f"{self.url}/{service}/{name}"], capture_output=True, text=True,
            input=json_format.MessageToJson(request))
        if done.returncode == 0:
            return json_format.Parse(done.stdout, output_type())
        text = done.stderr
        expect("{" in text, f"{self.name}: {done.returncode} {text}")
        error = json.loads(text[text.index("{"):])
        details = {
            one["type"]: base64.b64decode(one["value"] + "==") for one in error.get("details", [])}
        raise Refusal(error["code"], error.get("message", ""), details)


# ---- Cases ---------------------------------------------------------------------------------------

def verify(client, evidence, kind=wire.EVIDENCE_KIND_TRANSACTION, app=None, timeout_ms=None,
           **call):
    request = rpc.VerifyRequest(
        app=app, call=wire.VerifyCall(kind=kind, **call), evidence=evidence)
    return client.call("Verify", request, timeout_ms)


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
    forged = token[:-6] + bytes([token[-6] ^ 1]) + token[-5:]
    found = verify(client, forged).verification
    expect(found.verdict == wire.VERDICT_INVALID_SIGNATURE, found)
    found = verify(client, token, wire.EVIDENCE_KIND_RENEWAL_INFO).verification
    expect(found.verdict == wire.VERDICT_WRONG_KIND, found)


def expectations(client, files):
    for expected, verdict in [
            (wire.Expectations(bundle_id=BUNDLE), wire.VERDICT_VALID),
            (wire.Expectations(bundle_id="com.example.other"), wire.VERDICT_WRONG_BUNDLE),
            (wire.Expectations(environments=["Sandbox"]), wire.VERDICT_WRONG_ENVIRONMENT),
            (wire.Expectations(not_older_than=2 ** 62), wire.VERDICT_MISMATCH),
            (wire.Expectations(product_ids=["other"]), wire.VERDICT_MISMATCH)]:
        found = verify(client, files["transaction"], expectations=expected).verification
        expect(found.verdict == verdict, found)


def refusals(client, files):
    token = files["transaction"]
    refusal = refused("not_found", lambda: verify(client, token, app="nowhere"))
    expect("no such app entry" in refusal.message, refusal)
    refused("invalid_argument", lambda: verify(client, b""))
    refused("unimplemented", lambda: client.call("Verify", rpc.VerifyRequest(evidence=token)))
    refused("resource_exhausted", lambda: verify(client, b"A" * 300_000))
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
    if client.is_streaming:
        large = verify(client, files["large receipt"], kind, in_app=wire.IN_APP_SELECTION_NONE)
        expect(large.verification.verdict == wire.VERDICT_VALID, large.verification.detail)
    else:
        refused("resource_exhausted", lambda: verify(client, files["large receipt"], kind))


def deadlines(client, files):
    if isinstance(client, Buf):
        return False  # It has none, and refuses to send the field.
    if client.is_streaming:
        # It ends before the receipt has arrived. The client's own clock can be the first to see.
        refused("deadline_exceeded", lambda: verify(
            client, files["large receipt"], wire.EVIDENCE_KIND_APP_RECEIPT, timeout_ms=1))
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
    if client.name in ("connectrpc, CONNECT", "connectrpc, GRPC_WEB"):
        refusal = refused("unavailable", fetch("closed"))
        retry = error_details_pb2.RetryInfo.FromString(refusal.details["google.rpc.RetryInfo"])
        expect(retry.retry_delay.ToMilliseconds() > 0, retry)
    refusal = refused("not_found", fetch("shop"))
    info = error_details_pb2.ErrorInfo.FromString(refusal.details["google.rpc.ErrorInfo"])
    expect(info.reason == "APP_STORE_ERROR" and info.domain == "assay.v1", info)
    expect(info.metadata["app_store_error_code"] == "4040010", info)


CASES = [verdicts, expectations, refusals, receipts, deadlines, unknown_fields, resolves, reads,
         details]


class Server:
    """A server with minted evidence, and a local App Store for its fetches."""

    def __init__(self, tool, folder):
        self.tool, self.folder, self.processes = tool, folder, []
        self.run("mint", "ca", "--date", "2025-01-01T00:00:00Z", self.path("ca"))
        subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-out", self.path("SubscriptionKey_2X9R4HXF34.p8")], check=True, capture_output=True)
        store = self.start("store", "--ca", self.path("ca"), "--listen", "http://127.0.0.1:0")
        apps = [("game", None), ("shop", store), ("closed", "http://127.0.0.1:9")]
        with open(self.path("assay.toml"), "w") as file:
            file.write('listen = ["http://127.0.0.1:0"]\n' + "".join(map(self.app, apps)))
        os.chmod(self.path("SubscriptionKey_2X9R4HXF34.p8"), 0o600)
        self.url = self.start("serve", "--config", self.path("assay.toml"))

    @staticmethod
    def app(named):
        """The lines of an app entry, which asks the App Store at an address."""
        name, store = named
        lines = f"""[[app]]
name = "{name}"
bundle-id = "{BUNDLE}"
app-apple-id = 1234567890
roots = ["ca/root.pem", "ca/receipt-root.pem"]
default = {str(store is None).lower()}
"""
        if store is None:
            return lines
        return lines + f"""[app.store]
key-file = "SubscriptionKey_2X9R4HXF34.p8"
issuer-id = "57246542-96fe-1a63-e053-0824d011072a"
base-url = "{store}"
proxy = ""
"""

    def start(self, *arguments):
        """Starts the tool, and returns the address that it prints."""
        process = subprocess.Popen(
            [self.tool, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        line = process.stdout.readline()
        if "http://" not in line:
            process.kill()
            expect(False, f"{arguments}: {line} {process.stderr.read()}")
        return line[line.index("http://"):].split()[0]

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments):
        return subprocess.run([self.tool, *arguments], check=True, capture_output=True).stdout

    def mint(self, kind, *arguments):
        return self.run("mint", kind, "--ca", self.path("ca"), "--bundle-id", BUNDLE, *arguments)

    def evidence(self):
        receipt = ["--base64", "none"]
        return {
            "transaction": self.mint("transaction").strip(),
            "renewal-info": self.mint("renewal-info").strip(),
            "receipt": self.mint("receipt", *receipt),
            "large receipt": self.mint("receipt", "--size", "5MB", *receipt),
        }

    def stop(self):
        for process in self.processes:
            process.terminate()
            process.wait()


def main():
    tool, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    server = Server(tool, folder)
    files = server.evidence()
    url = server.url
    clients = [
        Connectrpc(url, ProtocolType.CONNECT), Connectrpc(url, ProtocolType.CONNECT, True),
        Connectrpc(url, ProtocolType.CONNECT, compresses=True),
        Connectrpc(url, ProtocolType.CONNECT, use_get=True),
        Connectrpc(url, ProtocolType.CONNECT, True, use_get=True),
        Connectrpc(url, ProtocolType.GRPC_WEB), Connectrpc(url, ProtocolType.GRPC_WEB, True),
        Connectrpc(url, ProtocolType.GRPC_WEB, compresses=True),
        Buf(url, "connect"), Buf(url, "grpcweb"),
    ]
    try:
        for client in clients:
            for case in CASES:
                began = time.monotonic()
                if case(client, files) is False:
                    continue  # Not for this client.
                print(f"passed: {client.name}: {case.__name__}, "
                      f"{(time.monotonic() - began) * 1000:.0f} ms")
    finally:
        server.stop()


if __name__ == "__main__":
    main()
