"""gRPC's interop cases with grpcio as the client, by the services that the server has.

The names are those of grpc/doc/interop-test-descriptions.md. Its test service echoes statuses,
sizes and metadata that a request asks for; the services of the contract do not, so those cases have
a call here whose answer has the property in question. Left out: cases of credentials and proxies,
of load balancing, and cacheable_unary, which no client of gRPC sends.
"""
import concurrent.futures
import queue
import threading
import time

import grpc
from assay.v1 import assay_pb2 as wire
from assay.v1 import service_pb2 as rpc
from google.rpc import status_pb2
from grpc_health.v1 import health_pb2

VERIFIER, HEALTH = "/assay.v1.Verifier/", "/grpc.health.v1.Health/"
SECONDS = 30
CLOSED = rpc.FetchRequest(app="closed", call=wire.FetchCall(transaction_id="1"))


class Client:
    """The calls of the services over one channel."""

    def __init__(self, target, credentials=None, options=()):
        options = [("grpc.max_receive_message_length", -1), *options]
        self.channel = (grpc.secure_channel(target, credentials, options) if credentials
                        else grpc.insecure_channel(target, options))

    def unary(self, name, answer, service=VERIFIER):
        return self.channel.unary_unary(
            service + name, lambda message: message.SerializeToString(), answer.FromString)

    def stream(self, name, answer, service=VERIFIER):
        return self.channel.stream_stream(
            service + name, lambda message: message.SerializeToString(), answer.FromString)

    def verify(self, request, **options):
        return self.unary("Verify", rpc.VerifyResponse)(
            request, timeout=options.pop("timeout", SECONDS), **options)

    def close(self):
        self.channel.close()


class Requests:
    """The requests of an open stream: an iterator that waits for what is put."""

    def __init__(self):
        self.queue = queue.SimpleQueue()

    def __iter__(self):
        return iter(self.queue.get, None)

    def put(self, request):
        self.queue.put(request)

    def end(self):
        self.queue.put(None)


def code_of(call):
    """The code and the details of a call that fails; OK if it does not."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    except grpc.FutureCancelledError:
        return grpc.StatusCode.CANCELLED, ""
    return grpc.StatusCode.OK, ""


def request_of(evidence, kind=wire.EVIDENCE_KIND_TRANSACTION, **call):
    return rpc.VerifyRequest(call=wire.VerifyCall(kind=kind, **call), evidence=evidence)


def item_of(number, evidence, kind=wire.EVIDENCE_KIND_TRANSACTION):
    return rpc.VerifyStreamRequest(
        id=number, may_wait=True, call=wire.VerifyCall(kind=kind), evidence=evidence)


def unary(suite, client, files):
    token = files["transaction"]
    answer = client.unary("Info", rpc.InfoResponse)(rpc.InfoRequest(), timeout=SECONDS)
    suite.record("empty_unary", None if answer.info.version else "no version")
    state = client.unary("Check", health_pb2.HealthCheckResponse, HEALTH)(
        health_pb2.HealthCheckRequest(), timeout=SECONDS)
    suite.check("empty_unary: health", state.status, health_pb2.HealthCheckResponse.SERVING)
    # A request and an answer of more than 300 KB.
    receipt = files["1 MB receipt"]
    answer = client.verify(request_of(
        receipt, wire.EVIDENCE_KIND_APP_RECEIPT, return_payload_json=True))
    suite.check("large_unary: verdict", answer.verification.verdict, wire.VERDICT_VALID)
    size = answer.ByteSize()
    suite.record("large_unary: size", None if min(size, len(receipt)) > 300_000 else f"{size}")
    answer = client.verify(request_of(files["16 MB receipt"], wire.EVIDENCE_KIND_APP_RECEIPT,
                                      in_app=wire.IN_APP_SELECTION_NONE))
    suite.check("large_unary: 16 MB", answer.verification.verdict, wire.VERDICT_VALID)
    for name, compression in [("client_compressed_unary", grpc.Compression.Gzip),
                              ("client_compressed_unary: not compressed",
                               grpc.Compression.NoCompression)]:
        answer = client.verify(request_of(token), compression=compression)
        suite.check(name, answer.verification.verdict, wire.VERDICT_VALID)
    found = code_of(lambda: client.verify(request_of(token), compression=grpc.Compression.Deflate))
    suite.check("client_compressed_unary: another compression", found[0],
                grpc.StatusCode.UNIMPLEMENTED)
    answer = client.verify(request_of(token))
    # The client accepts gzip, and the answer need not have it.
    suite.check("server_compressed_unary", answer.verification.verdict, wire.VERDICT_VALID)


def streams(suite, client, files):
    token = files["transaction"]
    method = client.stream("VerifyStream", rpc.VerifyStreamResponse)
    found = list(method(iter([]), timeout=SECONDS))
    suite.check("empty_stream", found, [])
    sizes = [27182, 8, 1828, 45904]
    items = [item_of(number, token if number == 1 else b"." * size)
             for number, size in enumerate(sizes, 1)]
    found = {one.id: one.verification.verdict for one in method(iter(items), timeout=SECONDS)}
    suite.check("client_streaming", found, {
        number: wire.VERDICT_VALID if number == 1 else wire.VERDICT_MALFORMED
        for number in range(1, 5)})
    requests, pongs = Requests(), []
    call = method(iter(requests), timeout=SECONDS)
    for item in items:
        requests.put(item)
        pongs.append(next(call).id)
    requests.end()
    suite.check("ping_pong", (pongs, list(call), call.code()),
                ([1, 2, 3, 4], [], grpc.StatusCode.OK))
    zipped = [one.verification.verdict for one in method(
        iter(items[:1]), timeout=SECONDS, compression=grpc.Compression.Gzip)]
    suite.check("client_compressed_streaming", zipped, [wire.VERDICT_VALID])
    watch = client.channel.unary_stream(
        HEALTH + "Watch", lambda message: message.SerializeToString(),
        health_pb2.HealthCheckResponse.FromString)
    call = watch(health_pb2.HealthCheckRequest(), timeout=SECONDS)
    suite.check("server_streaming", next(call).status, health_pb2.HealthCheckResponse.SERVING)
    call.cancel()
    suite.check("server_streaming: its end", call.code(), grpc.StatusCode.CANCELLED)


def cancellations(suite, client, files):
    token = files["transaction"]
    method = client.stream("VerifyStream", rpc.VerifyStreamResponse)
    requests = Requests()
    call = method(iter(requests), timeout=SECONDS)
    call.cancel()
    suite.check("cancel_after_begin", call.code(), grpc.StatusCode.CANCELLED)
    requests.end()
    requests = Requests()
    call = method(iter(requests), timeout=SECONDS)
    requests.put(item_of(1, token))
    suite.check("cancel_after_first_response: the first", next(call).id, 1)
    call.cancel()
    suite.check("cancel_after_first_response", call.code(), grpc.StatusCode.CANCELLED)
    requests.end()
    future = client.unary("Fetch", rpc.FetchResponse).future(CLOSED, timeout=SECONDS)
    threading.Timer(0.2, future.cancel).start()
    suite.check("cancel: a unary call that waits", code_of(future.result)[0],
                grpc.StatusCode.CANCELLED)
    answer = client.verify(request_of(token))
    suite.check("cancel: the connection goes on", answer.verification.verdict, wire.VERDICT_VALID)


def deadlines(suite, client, files):
    requests = Requests()
    call = client.stream("VerifyStream", rpc.VerifyStreamResponse)(iter(requests), timeout=0.001)
    suite.check("timeout_on_sleeping_server", code_of(lambda: next(call))[0],
                grpc.StatusCode.DEADLINE_EXCEEDED)
    requests.end()
    began = time.monotonic()
    found = code_of(lambda: client.unary("Fetch", rpc.FetchResponse)(CLOSED, timeout=0.5))
    suite.check("timeout_on_sleeping_server: an App Store that does not answer", found[0],
                grpc.StatusCode.DEADLINE_EXCEEDED)
    taken = time.monotonic() - began
    suite.record("timeout_on_sleeping_server: in time", None if taken < 5 else f"{taken:.1f} s")
    answer = client.verify(request_of(files["transaction"]), timeout=20)
    suite.check("a deadline that is kept", answer.verification.verdict, wire.VERDICT_VALID)


def statuses(suite, client, files):
    token = files["transaction"]
    found = code_of(lambda: client.verify(rpc.VerifyRequest(
        app="nowhere", call=wire.VerifyCall(kind=wire.EVIDENCE_KIND_TRANSACTION), evidence=token)))
    suite.check("status_code_and_message", (found[0], "no such app entry" in found[1]),
                (grpc.StatusCode.NOT_FOUND, True))
    # 5 MB of an unknown field before the evidence.
    large = b"\x7a\x80\x80\xc0\x02" + bytes(5 << 20) + item_of(1, token).SerializeToString()
    found = code_of(lambda: list(client.channel.stream_stream(VERIFIER + "VerifyStream")(
        iter([large]), timeout=SECONDS)))
    suite.check("status_code_and_message: a stream", (found[0], bool(found[1])),
                (grpc.StatusCode.RESOURCE_EXHAUSTED, True))
    # Where the server repeats a text of the client's, it arrives as it was sent.
    special = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"
    verify = client.unary("Verify", rpc.VerifyResponse)
    request = request_of(token, expectations=wire.Expectations(environments=[special]))
    try:
        verify(request, timeout=SECONDS)
        suite.record("special_status_message", "no error")
    except grpc.RpcError as error:
        detail = status_pb2.Status.FromString(dict(error.trailing_metadata()).get(
            "grpc-status-details-bin", b"")).message or error.details()
        suite.check("special_status_message: the code", error.code(),
                    grpc.StatusCode.INVALID_ARGUMENT)
        suite.check("special_status_message", error.details(), detail)
    for name, service, method in [
            ("unimplemented_method", VERIFIER, "UnimplementedCall"),
            ("unimplemented_service", "/grpc.testing.UnimplementedService/", "UnimplementedCall"),
            ("unimplemented_method: another case", VERIFIER, "verify"),
            ("unimplemented_method: a slash more", VERIFIER, "Verify/"),
            ("unimplemented_service: no package", "/Verifier/", "Verify"),
            ("unimplemented_service: another case", "/assay.v1.verifier/", "Verify")]:
        found = code_of(lambda: client.unary(method, rpc.VerifyResponse, service)(
            rpc.VerifyRequest(), timeout=SECONDS))
        suite.check(name, found[0], grpc.StatusCode.UNIMPLEMENTED)
        found = code_of(lambda: list(client.stream(method, rpc.VerifyResponse, service)(
            iter([rpc.VerifyRequest()]), timeout=SECONDS)))
        suite.check(f"{name}, as a stream", found[0], grpc.StatusCode.UNIMPLEMENTED)
    several = client.channel.stream_unary(
        VERIFIER + "Verify", lambda message: message.SerializeToString(),
        rpc.VerifyResponse.FromString)
    for count in (0, 2):
        # grpc's statuscodes page: another number of messages than the method has.
        found = code_of(lambda: several(iter([request_of(token)] * count), timeout=SECONDS))
        suite.check(f"a unary call of {count} messages", found[0], grpc.StatusCode.UNIMPLEMENTED)
    found = code_of(lambda: client.channel.unary_unary(VERIFIER + "Verify")(
        b"\x0b\x07", timeout=SECONDS))
    suite.check("bytes that are no message", found[0], grpc.StatusCode.INTERNAL)


def metadata(suite, client, files):
    token = files["transaction"]
    fields = [("x-grpc-test-echo-initial", "test_initial_metadata_value"),
              ("x-grpc-test-echo-trailing-bin", b"\xab\xab\xab"), ("x-empty", ""),
              ("x-long", "a" * 4_000), ("user-agent-of-ours", "ü".encode().hex())]
    answer, call = client.unary("Verify", rpc.VerifyResponse).with_call(
        request_of(token), timeout=SECONDS, metadata=fields)
    suite.check("custom_metadata: the call", answer.verification.verdict, wire.VERDICT_VALID)
    names = {name for name, _ in [*call.initial_metadata(), *call.trailing_metadata()]}
    suite.check("custom_metadata: nothing of it comes back",
                sorted(name for name in names if name.startswith("x-")), [])
    found = code_of(lambda: client.unary("Verify", rpc.VerifyResponse)(
        request_of(token), timeout=SECONDS, metadata=[("x-long", "a" * 20_000)]))
    suite.check("custom_metadata: above the limit of a head", found[0],
                grpc.StatusCode.RESOURCE_EXHAUSTED)
    call = client.stream("VerifyStream", rpc.VerifyStreamResponse)(
        iter([item_of(1, token)]), timeout=SECONDS, metadata=fields)
    suite.check("custom_metadata: a stream", [one.id for one in call], [1])


def many(suite, client, files):
    token, receipt = files["transaction"], files["1 MB receipt"]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: client.verify(request_of(
            receipt, wire.EVIDENCE_KIND_APP_RECEIPT, in_app=wire.IN_APP_SELECTION_NONE)).verification
            .verdict, range(32)))
        suite.check("concurrent_large_unary", found, [wire.VERDICT_VALID] * 32)
        found = list(pool.map(lambda _: client.verify(request_of(token)).verification.verdict,
                              range(1_000)))
        suite.check("rpc_soak", found, [wire.VERDICT_VALID] * 1_000)


def soak_of_channels(suite, target, credentials, files):
    """channel_soak: a channel for each call."""
    found = set()
    for _ in range(50):
        client = Client(target, credentials, [("grpc.use_local_subchannel_pool", 1)])
        found.add(client.verify(request_of(files["transaction"])).verification.verdict)
        client.close()
    suite.check("channel_soak", found, {wire.VERDICT_VALID})


PARTS = [unary, streams, cancellations, deadlines, statuses, metadata, many]


def run(suite, targets, files):
    """targets: the name of each address, its target and its credentials"""
    suite.version = f"grpcio {grpc.__version__}"
    for name, target, credentials in targets:
        cases = suite.under(name)
        client = Client(target, credentials)
        for part in PARTS:
            try:
                part(cases, client, files)
            except grpc.RpcError as error:
                cases.record(part.__name__, f"{error.code()}: {error.details()}")
        client.close()
        soak_of_channels(cases, target, credentials, files)
