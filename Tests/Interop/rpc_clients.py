"""Clients of Connect and gRPC-Web for Python, and `buf curl`."""
import base64
import json
import os
import subprocess
import sys

from assay.v1 import service_pb2 as rpc
from connectrpc.client import ConnectClientSync
from connectrpc.compat import google_protobuf_binary_codec, google_protobuf_json_codec
from connectrpc.compression.gzip import GzipCompression
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.protocol import ProtocolType
from google.protobuf import json_format
from grpc_health.v1 import health_pb2

from rpc_agents import Refusal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VERIFIER, HEALTH = "assay.v1.Verifier", "grpc.health.v1.Health"
# The services' calls: service, request, answer, whether GET can make it.
CALLS = {
    "Verify": (VERIFIER, rpc.VerifyRequest, rpc.VerifyResponse, False),
    "Resolve": (VERIFIER, rpc.ResolveRequest, rpc.ResolveResponse, False),
    "Fetch": (VERIFIER, rpc.FetchRequest, rpc.FetchResponse, False),
    "SignPromotionalOffer": ("assay.v1.Signer", rpc.SignPromotionalOfferRequest,
                             rpc.SignPromotionalOfferResponse, False),
    "Info": (VERIFIER, rpc.InfoRequest, rpc.InfoResponse, True),
    "Check": (HEALTH, health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse, True),
}


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

    def call(self, name, request, timeout_ms=None, key=None):
        service, input_type, output_type, is_read = CALLS[name]
        level = IdempotencyLevel.NO_SIDE_EFFECTS if is_read else IdempotencyLevel.UNKNOWN
        method = MethodInfo(
            name=name, service_name=service, input=input_type, output=output_type,
            stream_type=StreamType.UNARY, idempotency_level=level)
        try:
            return self.client.execute_unary(
                request=request, method=method, timeout_ms=timeout_ms,
                headers={"authorization": f"Bearer {key}"} if key else None,
                use_get=is_read and self.use_get)
        except ConnectError as error:
            details = {one.type_name: one.message_bytes for one in error.details}
            code = error.code.value.replace("canceled", "cancelled")
            raise Refusal(code, error.message, details) from None


class Buf:
    """`buf curl`, which reads the contract and speaks JSON with its user."""

    # It sends binary messages.
    is_streaming = True

    def __init__(self, url, protocol, reflects=False):
        self.name = f"buf curl, {protocol}" + (", reflection" if reflects else "")
        self.url = url
        # Without the contract it asks the server for it.
        self.options = ["--protocol", protocol] + (
            [] if reflects else ["--schema", os.path.join(ROOT, "proto")]) + (
            ["--http2-prior-knowledge"] if protocol == "grpc" or reflects else [])

    def call(self, name, request, timeout_ms=None, key=None):
        service, _, output_type, _ = CALLS[name]
        command = [os.path.join(os.path.dirname(sys.executable), "buf"), "curl", *self.options,
                   "--data", "@-"]
        if key:
            command += ["--header", f"Authorization: Bearer {key}"]
        done = subprocess.run(
            command + [f"{self.url}/{service}/{name}"], capture_output=True, text=True,
            input=json_format.MessageToJson(request))
        if done.returncode == 0:
            return json_format.Parse(done.stdout, output_type())
        text = done.stderr
        if "{" not in text:
            sys.exit(f"FAILED: {self.name}: {done.returncode} {text}")
        error = json.loads(text[text.index("{"):])
        details = {
            one["type"]: base64.b64decode(one["value"] + "==") for one in error.get("details", [])}
        raise Refusal(error["code"], error.get("message", ""), details)
