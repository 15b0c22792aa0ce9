"""Cases of the Connect protocol (connectrpc.com/docs/protocol), over HTTP/1.1 and HTTP/2.

connectconformance calls a service of its own, which a server under test has to have; these are its
groups of cases for servers, by the services of the contract: basic calls, errors, GET, deadlines,
compression, sizes, and the number of messages. pyqwest, which connectrpc uses, sends the requests.
"""
import base64
import gzip
import json
import urllib.parse

import pyqwest
from assay.v1 import assay_pb2 as wire
from assay.v1 import service_pb2 as rpc
from google.protobuf import json_format
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2

VERIFY, STREAM = "/assay.v1.Verifier/Verify", "/assay.v1.Verifier/VerifyStream"
INFO, FETCH = "/assay.v1.Verifier/Info", "/assay.v1.Verifier/Fetch"
CHECK, WATCH = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"
PROTO, JSON = "application/proto", "application/json"
STREAMED = {PROTO: "application/connect+proto", JSON: "application/connect+json"}
VERSIONS = {"HTTP/1.1": pyqwest.HTTPVersion.HTTP1, "HTTP/2": pyqwest.HTTPVersion.HTTP2}


class Answer:
    """The status, fields and body of an answer."""

    def __init__(self, status, fields, body):
        self.status, self.body = status, body
        self.fields = {name.lower(): value for name, value in fields}

    @property
    def type(self):
        return self.fields.get("content-type")

    def error(self):
        """Connect's error in the body, or in the last frame of a stream."""
        try:
            return json.loads(self.body)
        except ValueError:
            return {}

    def frames(self):
        """The frames of a stream: pairs of flags and content; None if they are none."""
        found, rest = [], self.body
        while rest:
            size = int.from_bytes(rest[1:5], "big")
            if len(rest) < 5 + size:
                return None
            found.append((rest[0], rest[5:5 + size]))
            rest = rest[5 + size:]
        return found

    def end(self):
        """The messages of a stream, and the code of its end; no code is an empty text."""
        frames = self.frames()
        if not frames or frames[-1][0] != 2 or any(flags for flags, _ in frames[:-1]):
            return None, f"{self.status} {self.body[:80]!r}"
        last = json.loads(frames[-1][1])
        return [content for _, content in frames[:-1]], last.get("error", {}).get("code", "")


class Client:
    """The client below connectrpc, with one version of HTTP."""

    def __init__(self, url, version):
        self.url = url
        self.client = pyqwest.SyncClient(pyqwest.SyncHTTPTransport(
            http_version=VERSIONS[version], enable_gzip=False, enable_brotli=False,
            # The server ends a connection whose request it did not read to its end.
            enable_zstd=False, pool_max_idle_per_host=0))

    def send(self, path, body=b"", content_type=PROTO, fields=(), method="POST"):
        fields = [tuple(field.split(": ", 1)) for field in fields]
        if content_type:
            fields.insert(0, ("content-type", content_type))
        try:
            answer = self.client.execute(
                method, self.url + path, fields, None if method == "GET" else body, timeout=60)
        except Exception as error:
            return Answer(0, [], str(error).encode())
        return Answer(answer.status, answer.headers.items(), answer.content)


def frame(content, flags=0):
    return bytes([flags]) + len(content).to_bytes(4, "big") + content


def request_of(token, **fields):
    return rpc.VerifyRequest(
        call=wire.VerifyCall(kind=wire.EVIDENCE_KIND_TRANSACTION), evidence=token, **fields)


def encoded(message, codec):
    if codec == PROTO:
        return message.SerializeToString()
    return json_format.MessageToJson(message).encode()


def decoded(content, kind, codec):
    return kind.FromString(content) if codec == PROTO else json_format.Parse(content, kind())


# A message of 5 MB, which begins with an unknown field of almost that size.
LARGE = b"\0" + (5 << 20).to_bytes(4, "big") + b"\x7a\xf0\xff\xbf\x02abc"


def basic(suite, client, token, codec):
    body = encoded(request_of(token), codec)
    for name, fields in [("", []), (" with a version", ["Connect-Protocol-Version: 1"]),
                         (" with parameters of its type", [f"Content-Type: {codec}; charset=utf-8"]),
                         (" with fields of its own", ["X-Conformance: a", "X-Conformance: b"]),
                         (" with binary fields", ["X-Conformance-Bin: AAEC"]),
                         (" with a deadline", ["Connect-Timeout-Ms: 20000"]),
                         (" with no deadline", ["Connect-Timeout-Ms: 9999999999"]),
                         (" that accepts gzip", ["Accept-Encoding: gzip"]),
                         (" that accepts br", ["Accept-Encoding: br"])]:
        answer = client.send(VERIFY, body, None if "type" in name else codec, fields)
        found = None
        if answer.status == 200:
            found = decoded(answer.body, rpc.VerifyResponse, codec).verification.verdict
        suite.check(f"unary{name}", (answer.status, answer.type, found),
                    (200, codec, wire.VERDICT_VALID))
        suite.check(f"unary{name}: its coding", answer.fields.get("content-encoding"), None)
    answer = client.send(INFO, encoded(rpc.InfoRequest(), codec), codec)
    suite.check("unary: an empty message", answer.status, 200)
    if codec == PROTO:
        suite.check("unary: no bytes", client.send(INFO, b"", codec).status, 200)


def errors(suite, client, token, codec):
    body = encoded(request_of(token), codec)
    good = codec
    rows = [
        ("invalid_argument", 400, VERIFY, encoded(request_of(b""), codec), good, []),
        ("not_found", 404, VERIFY, encoded(request_of(token, app="nowhere"), codec), good, []),
        ("unimplemented", 501, VERIFY, encoded(rpc.VerifyRequest(evidence=token), codec), good, []),
        ("failed_precondition", 400, FETCH, encoded(rpc.FetchRequest(
            call=wire.FetchCall(transaction_id="1")), codec), good, []),
        ("not_found", 404, CHECK, encoded(health_pb2.HealthCheckRequest(service="no"), codec),
         good, []),
        ("unauthenticated", 401, "/assay.v1.Signer/SignPromotionalOffer", encoded(
            rpc.SignPromotionalOfferRequest(product_id="p", offer_identifier="o"), codec), good, []),
        ("resource_exhausted", 429, VERIFY, b" " * ((4 << 20) + 1) if codec == JSON else encoded(
            request_of(b"." * (5 << 20)), codec) + b"\xc0\x0c\x01", good, []),
        ("deadline_exceeded", 504, FETCH, encoded(rpc.FetchRequest(
            app="closed", call=wire.FetchCall(transaction_id="1")), codec), good,
         ["Connect-Timeout-Ms: 300"])]
    for code, status, path, sent, kind, fields in rows:
        answer = client.send(path, sent, kind, fields)
        suite.check(f"an error, {code}, {path}", (answer.status, answer.type, answer.error().get(
            "code")), (status, JSON, code))
    faults = [
        ("a version that is not 1", VERIFY, body, ["Connect-Protocol-Version: 2"], 400),
        ("a version that is empty", VERIFY, body, ["Connect-Protocol-Version: "], 400),
        ("a deadline with a unit", VERIFY, body, ["Connect-Timeout-Ms: 1s"], 400),
        ("a negative deadline", VERIFY, body, ["Connect-Timeout-Ms: -1"], 400),
        ("a deadline of 11 digits", VERIFY, body, ["Connect-Timeout-Ms: 10000000000"], 400),
        ("a deadline with a fraction", VERIFY, body, ["Connect-Timeout-Ms: 1.5"], 400),
        ("half a message", VERIFY, body[:len(body) // 2], [], 400)]
    for name, path, sent, fields, status in faults:
        answer = client.send(path, sent, codec, fields)
        suite.check(f"an error: {name}", (answer.status, answer.error().get("code")),
                    (status, "invalid_argument"))
    suite.check("a method that the server does not have", client.send(
        "/assay.v1.Verifier/Guess", body, codec).status, 404)
    answer = client.send(FETCH, encoded(rpc.FetchRequest(
        app="shop", call=wire.FetchCall(transaction_id="1")), codec), codec)
    details = answer.error().get("details", [])
    suite.check("details: their types", [one.get("type") for one in details],
                ["google.rpc.ErrorInfo"])
    for one in details:
        suite.record("details: base64 without padding", "=" in one["value"] and one["value"] or None)
        info = error_details_pb2.ErrorInfo.FromString(base64.b64decode(one["value"] + "=="))
        suite.check("details: the content", info.reason, "APP_STORE_ERROR")


def types(suite, client, token, codec):
    """What is none of the protocol has the statuses of HTTP."""
    body = encoded(request_of(token), codec)
    for kind in ["text/plain", "application/x-protobuf", "application/octet-stream", None,
                 STREAMED[codec], "application/proto2"]:
        suite.check(f"a unary call of {kind}", client.send(VERIFY, body, kind).status, 415)
    for kind in [codec, "application/octet-stream"]:
        suite.check(f"a stream of {kind}", client.send(STREAM, frame(b""), kind).status, 415)
    for method in ["GET", "PUT", "DELETE", "PATCH"]:
        answer = client.send(VERIFY, body, codec, method=method)
        suite.check(f"a unary call by {method}", answer.status, 405)
        suite.check(f"a unary call by {method}: what it allows",
                    "POST" in answer.fields.get("allow", ""), True)


def compression(suite, client, token, codec):
    message = encoded(request_of(token), codec)
    for name, body, fields, status, code in [
            ("gzip", gzip.compress(message), ["Content-Encoding: gzip"], 200, None),
            ("gzip in upper case", gzip.compress(message), ["Content-Encoding: GZIP"], 200, None),
            ("identity", message, ["Content-Encoding: identity"], 200, None),
            ("two members of gzip", gzip.compress(message[:9]) + gzip.compress(message[9:]),
             ["Content-Encoding: gzip"], 200, None),
            ("gzip that is none", message, ["Content-Encoding: gzip"], 400, "invalid_argument"),
            ("gzip without its end", gzip.compress(message)[:-9], ["Content-Encoding: gzip"], 400,
             "invalid_argument"),
            ("gzip with a wrong sum", gzip.compress(message)[:-8] + b"\0" * 4 + gzip.compress(
                message)[-4:], ["Content-Encoding: gzip"], 400, "invalid_argument"),
            ("gzip and bytes behind it", gzip.compress(message) + b"abc", ["Content-Encoding: gzip"],
             400, "invalid_argument"),
            ("a bomb of gzip", gzip.compress(b" " * (64 << 20)), ["Content-Encoding: gzip"], 429,
             "resource_exhausted"),
            ("br", message, ["Content-Encoding: br"], 501, "unimplemented"),
            ("zstd", message, ["Content-Encoding: zstd"], 501, "unimplemented"),
            ("gzip of a stream", message, ["Connect-Content-Encoding: gzip"], 200, None)]:
        answer = client.send(VERIFY, body, codec, fields)
        suite.check(f"compression: {name}", (answer.status, answer.error().get("code")
                                             if answer.status != 200 else None), (status, code))


def gets(suite, client, token, codec):
    """Connect's GET, of calls that change nothing."""
    encoding = {PROTO: "proto", JSON: "json"}[codec]
    message = encoded(health_pb2.HealthCheckRequest(service="assay.v1.Verifier"), codec)
    plain = urllib.parse.quote(message)
    safe = base64.urlsafe_b64encode(message).decode()
    zipped = base64.urlsafe_b64encode(gzip.compress(message)).decode()
    for name, query, status in [
            ("percent-encoded", f"encoding={encoding}&message={plain}", 200),
            ("with a version", f"connect=v1&encoding={encoding}&message={plain}", 200),
            ("base64 with padding", f"encoding={encoding}&base64=1&message={safe}", 200),
            ("base64 with padding, encoded",
             f"encoding={encoding}&base64=1&message={urllib.parse.quote(safe)}", 200),
            ("base64 without padding", f"encoding={encoding}&base64=1&message={safe.rstrip('=')}", 200),
            ("gzip", f"encoding={encoding}&base64=1&compression=gzip&message={zipped}", 200),
            ("identity", f"encoding={encoding}&base64=1&compression=identity&message={safe}", 200),
            ("in another order", f"message={plain}&base64=0&encoding={encoding}", 200),
            ("with an unknown parameter", f"encoding={encoding}&message={plain}&other=1", 200),
            ("br", f"encoding={encoding}&compression=br&message={plain}", 501),
            ("another version", f"connect=v2&encoding={encoding}&message={plain}", 400),
            ("no encoding", f"message={plain}", 400), ("no message", f"encoding={encoding}", 400),
            ("no base64", f"encoding={encoding}&base64=1&message=*", 400),
            ("another encoding", f"encoding=xml&message={plain}", 415)]:
        answer = client.send(f"{CHECK}?{query}", content_type=None, method="GET")
        suite.check(f"GET: {name}", answer.status, status)
        if status == 200 and answer.status == 200:
            state = decoded(answer.body, health_pb2.HealthCheckResponse, codec).status
            suite.check(f"GET: {name}: content", (state, answer.type),
                        (health_pb2.HealthCheckResponse.SERVING, codec))
    suite.check("GET: a call that is not read only", client.send(
        f"{VERIFY}?encoding={encoding}&message={plain}", content_type=None, method="GET").status, 405)


def streams(suite, client, token, codec):
    """Streams, which need HTTP/2."""
    kind = STREAMED[codec]

    def item(number, evidence=token):
        return encoded(rpc.VerifyStreamRequest(
            id=number, may_wait=True, evidence=evidence,
            call=wire.VerifyCall(kind=wire.EVIDENCE_KIND_TRANSACTION)), codec)
    one, two = frame(item(1)), frame(item(2, b"."))
    zipped = frame(gzip.compress(item(1)), 1)
    end = frame(b"{}", 2)
    coding = ["Connect-Content-Encoding: gzip"]
    for name, body, fields, count, code in [
            ("one message", one, [], 1, ""), ("two messages", one + two, [], 2, ""),
            ("no message", b"", [], 0, ""), ("a hundred messages", one * 100, [], 100, ""),
            ("a version", one, ["Connect-Protocol-Version: 1"], 1, ""),
            ("a deadline", one, ["Connect-Timeout-Ms: 20000"], 1, ""),
            ("gzip", zipped, coding, 1, ""), ("gzip, and a message that is not", zipped + two, coding,
                                              2, ""),
            ("identity", one, ["Connect-Content-Encoding: identity"], 1, ""),
            ("fields of its own", one, ["X-Conformance: a"], 1, ""),
            ("another version", one, ["Connect-Protocol-Version: 2"], 0, "invalid_argument"),
            ("a deadline with a unit", one, ["Connect-Timeout-Ms: 1s"], 0, "invalid_argument"),
            ("another compression", one, ["Connect-Content-Encoding: br"], 0, "unimplemented"),
            ("a compressed message without a field", zipped, [], 0, "invalid_argument"),
            # It is answered by itself, like bytes that are no message.
            ("a message that is not gzip", frame(item(1), 1), coding, 1, ""),
            ("the flag of the end", one + end, [], None, "invalid_argument"),
            ("unknown flags", frame(item(1), 4), [], 0, "invalid_argument"),
            ("half a prefix", one[:3], [], 0, "invalid_argument"),
            ("half a message", one[:-3], [], 0, "invalid_argument"),
            ("a message above the limit", LARGE, [], 0,
             "resource_exhausted")]:
        answer = client.send(STREAM, body, kind, fields)
        messages, found = answer.end()
        count = len(messages or []) if count is None else count
        suite.check(f"a stream: {name}", (answer.status, answer.type, len(messages or []), found),
                    (200, kind, count, code))
    answer = client.send(WATCH, frame(b"{}" if codec == JSON else b""), kind,
                         ["Connect-Timeout-Ms: 300"])
    messages, found = answer.end()
    suite.check("a stream of the server: its first message, and its deadline",
                (len(messages or []), found), (1, "deadline_exceeded"))
    for name, body in [("no message", b""), ("two messages", frame(
            b"{}" if codec == JSON else b"") * 2)]:
        found = client.send(WATCH, body, kind, ["Connect-Timeout-Ms: 300"]).end()[1]
        suite.check(f"a stream of the server: {name}", found, "unimplemented")


def run(suite, url, token):
    suite.version = "protocol 1"
    for version in VERSIONS:
        client = Client(url, version)
        for codec in (PROTO, JSON):
            parts = [basic, errors, types, compression, gets] + [streams] * (version == "HTTP/2")
            for part in parts:
                part(suite.under(f"{version}, {codec.partition('/')[2]}"), client, token, codec)
        if version == "HTTP/1.1":
            # A stream in both directions needs HTTP/2.
            answer = client.send(STREAM, frame(b""), STREAMED[PROTO])
            suite.check("HTTP/1.1: a stream", answer.status, 505)

