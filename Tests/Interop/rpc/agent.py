"""Makes calls with grpcio for rpc_agents.py, which says what its lines mean."""
import base64
import sys
import threading

import grpc
from assay.v1 import assay_pb2 as wire
from assay.v1 import service_pb2 as rpc
from assay.v1 import service_pb2_grpc as stubs
from grpc_health.v1 import health_pb2, health_pb2_grpc


def encoded(data):
    return base64.b64encode(data).decode() if data else "-"


def stream(verifier, count, data):
    def requests():
        for number in range(1, count + 1):
            request = rpc.VerifyStreamRequest.FromString(data)
            request.id = number
            yield request
    found = [(one.id, one.verification.verdict) for one in verifier.VerifyStream(requests())]
    valid = sum(verdict == wire.VERDICT_VALID for _, verdict in found)
    print(len(found), valid, len({number for number, _ in found}), flush=True)


def watch(health, data):
    try:
        for one in health.Watch(health_pb2.HealthCheckRequest.FromString(data)):
            print("status", one.status, flush=True)
        print("0 - - -", flush=True)
    except grpc.RpcError as error:
        print(error.code().value[0], encoded((error.details() or "").encode()), "- -", flush=True)


def main():
    channel = grpc.insecure_channel(sys.argv[1])
    verifier, signer = stubs.VerifierStub(channel), stubs.SignerStub(channel)
    calls = {
        "Verify": (verifier.Verify, rpc.VerifyRequest),
        "Resolve": (verifier.Resolve, rpc.ResolveRequest),
        "Fetch": (verifier.Fetch, rpc.FetchRequest),
        "Info": (verifier.Info, rpc.InfoRequest),
        "SignPromotionalOffer": (signer.SignPromotionalOffer, rpc.SignPromotionalOfferRequest),
        "Check": (health_pb2_grpc.HealthStub(channel).Check, health_pb2.HealthCheckRequest),
    }
    for line in sys.stdin:
        action, name, number, path, *key = line.split()
        number = int(number)
        with open(path, "rb") as file:
            data = file.read()
        if action == "stream":
            stream(verifier, number, data)
            continue
        if action == "watch":
            watch(health_pb2_grpc.HealthStub(channel), data)
            continue
        method, kind = calls[name]
        future = method.future(
            kind.FromString(data), metadata=[("authorization", "Bearer " + one) for one in key],
            timeout=number / 1000 if action == "call" and number else None)
        if action == "cancel":
            threading.Timer(number / 1000, future.cancel).start()
        try:
            print(f"0 - {encoded(future.result().SerializeToString())} -", flush=True)
        except grpc.FutureCancelledError:
            print("1 - - -", flush=True)
        except grpc.RpcError as error:
            fields = dict(error.trailing_metadata() or ())
            print(error.code().value[0], encoded((error.details() or "").encode()), "-",
                  encoded(fields.get("grpc-status-details-bin", b"")), flush=True)


main()
