"""Makes calls with grpcio for rpc_agents.py, which says what its lines mean."""
import base64
import sys
import threading

import grpc
from assay.v1 import service_pb2 as rpc
from assay.v1 import service_pb2_grpc as stubs
from grpc_health.v1 import health_pb2, health_pb2_grpc


def encoded(data):
    return base64.b64encode(data).decode() if data else "-"


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
