"""Tests a running server with a client in another language.

With --file: verifies the file and prints the answer. Without: tests calls, limits and faults.
Exits with 1 at the first unexpected answer.
"""
import argparse
import pathlib
import random
import struct
import sys

from assay.v1 import assay_pb2 as assay
from exchange import connect, receive, send

CONTRACT = pathlib.Path(__file__).parents[2] / "proto/assay/v1/assay.proto"


class Unexpected(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Unexpected(what)


class Client:
    """A connection. Reading from a silent server fails after ten seconds."""

    def __init__(self, address):
        self.connection = connect(address)
        self.connection.settimeout(10)
        self.stream = self.connection.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.connection.close()

    def send(self, head, body=b""):
        send(self.connection, head, body)

    def send_bytes(self, data):
        self.connection.sendall(data)

    def call(self, head, body=b""):
        self.send(head, body)
        answer, body = self.receive()
        expect(answer.id == head.id, f"an answer to {head.id} with id {answer.id}")
        return answer, body

    def receive(self):
        return receive(self.stream)

    def ping(self, id=1):
        answer, _ = self.call(assay.RequestHead(id=id, ping={}))
        expect(answer.status == assay.STATUS_OK, answer)
        expect(answer.WhichOneof("result") == "pong", answer)

    def info(self):
        answer, _ = self.call(assay.RequestHead(id=2, info={}))
        expect(answer.status == assay.STATUS_OK, answer)
        return answer.info

    def expect_closed(self, statuses):
        """Expects a connection-level answer with one of these statuses, and then the end."""
        answer, _ = self.receive()
        expect(answer.id == 0, f"id {answer.id}, not 0: {answer}")
        expect(answer.status in statuses, answer)
        expect(answer.message, "no message")
        try:
            expect(self.stream.read(1) == b"", "the connection stays open")
        except ConnectionResetError:
            pass  # the server did not read these bytes
        return answer


def verify_call(kind, **fields):
    return assay.RequestHead(id=3, verify=assay.VerifyCall(kind=kind, **fields))


# Each check takes the address; its name is printed.


def ping(address):
    with Client(address) as client:
        for id in [1, 2**32, 2**64 - 1]:
            client.ping(id)


def health(address):
    with Client(address) as client:
        answer, _ = client.call(assay.RequestHead(id=1, health={}))
        expect(answer.health.status == assay.SERVING_STATUS_SERVING, answer)


def info(address):
    with Client(address) as client:
        info = client.info()
        expect(info.version, "no version")
        expect(info.proto == CONTRACT.read_text(), "the server's contract is another")
        expect(assay.EVIDENCE_KIND_TRANSACTION in info.kinds, info.kinds)
        for field in info.limits.DESCRIPTOR.fields:
            expect(getattr(info.limits, field.name) > 0, f"no limit {field.name}")
        expect(all(len(root.fingerprint) == 64 for root in info.trusted_roots), "fingerprints")


def refused_evidence(address):
    with Client(address) as client:
        for body in [b"", b"no evidence", b"a.b.c", bytes(range(256))]:
            answer, _ = client.call(verify_call(assay.EVIDENCE_KIND_TRANSACTION), body)
            expect(answer.status == assay.STATUS_OK, answer)
            expect(answer.verification.verdict == assay.VERDICT_MALFORMED, answer)
            expect(answer.verification.detail, "no detail")
            expect(answer.verification.WhichOneof("payload") is None, "a payload")


def pipelined(address):
    """100 requests in one write, answered in any order, each once."""
    frames = bytearray()
    ids = random.sample(range(1, 2**63), 100)
    for id in ids:
        head = assay.RequestHead(id=id)
        if id % 2:
            head.ping.SetInParent()
        else:
            head.verify.kind = assay.EVIDENCE_KIND_TRANSACTION
        data = head.SerializeToString()
        frames += struct.pack(">II", 4 + len(data) + 3, len(data)) + data + b"a.b"
    with Client(address) as client:
        client.send_bytes(frames)
        answers = [client.receive()[0] for _ in ids]
        expect(sorted(answer.id for answer in answers) == sorted(ids), "other ids")
        for answer in answers:
            wanted = "pong" if answer.id % 2 else "verification"
            expect(answer.WhichOneof("result") == wanted, answer)


def byte_by_byte(address):
    data = assay.RequestHead(id=7, ping={}).SerializeToString()
    with Client(address) as client:
        for byte in struct.pack(">II", 4 + len(data), len(data)) + data:
            client.send_bytes(bytes([byte]))
        expect(client.receive()[0].id == 7, "no answer to 7")


def unknown_things(address):
    with Client(address) as client:
        answer, _ = client.call(assay.RequestHead(id=5))
        expect(answer.status == assay.STATUS_UNIMPLEMENTED, answer)
        answer, _ = client.call(verify_call(99))
        expect(answer.status == assay.STATUS_UNIMPLEMENTED, answer)
        head = verify_call(assay.EVIDENCE_KIND_TRANSACTION)
        head.app = "no such app entry"
        answer, _ = client.call(head, b"a.b.c")
        expect(answer.status == assay.STATUS_NOT_FOUND, answer)
        client.ping()


def invalid_heads(address):
    """An invalid head, and one above its limit: refused, and the connection stays open."""
    with Client(address) as client:
        limit = client.info().limits.head_bytes
        for head in [b"\xff\xff\xff", b"\x0b\x0c", b"\x1a\x02\xff\xff", b"\x7a\x00" * 20_000]:
            client.send_bytes(struct.pack(">II", 4 + len(head), len(head)) + head)
            answer, _ = client.receive()
            refusals = [assay.STATUS_INVALID_ARGUMENT, assay.STATUS_RESOURCE_EXHAUSTED]
            expect(answer.status in refusals, answer)
            client.ping()
        head = b"\x00" * (limit + 1)
        client.send_bytes(struct.pack(">II", 4 + len(head), len(head)) + head)
        answer, _ = client.receive()
        expect(answer.status == assay.STATUS_RESOURCE_EXHAUSTED, answer)
        client.ping()


def body_above_its_limit(address):
    with Client(address) as client:
        body = b"a" * (client.info().limits.jws_bytes + 1)
        answer, _ = client.call(verify_call(assay.EVIDENCE_KIND_TRANSACTION), body)
        expect(answer.verification.verdict == assay.VERDICT_MALFORMED, answer)
        client.ping()


def oversized_frame(address):
    with Client(address) as client:
        limit = client.info().limits.frame_bytes
        client.send_bytes(struct.pack(">I", limit + 1))
        client.expect_closed([assay.STATUS_RESOURCE_EXHAUSTED])


def garbage(address):
    for data in [
        b"\x00\x00\x00\x00",
        b"\x00\x00\x00\x03",
        struct.pack(">II", 10, 7),
        b"\xff" * 64,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        bytes.fromhex("160301020001"),
    ]:
        with Client(address) as client:
            client.send_bytes(data)
            refusals = [assay.STATUS_INVALID_ARGUMENT, assay.STATUS_RESOURCE_EXHAUSTED]
            answer = client.expect_closed(refusals)
            print(f"    {data[:16]!r}: {answer.message}")


def http(address):
    """A client of HTTP gets an answer that it can show."""
    with Client(address) as client:
        client.send_bytes(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = client.stream.read()
    status, _, rest = answer.partition(b"\r\n")
    assert status == b"HTTP/1.1 400 Bad Request", answer
    assert b"application/problem+json" in rest and b"frames" in rest, answer
    print(f"    {status.decode()}")


CHECKS = [
    ping, health, info, refused_evidence, pipelined, byte_by_byte, unknown_things,
    invalid_heads, body_above_its_limit, oversized_frame, garbage, http,
]


def verify(options):
    kind = "EVIDENCE_KIND_" + options.kind.upper().replace("-", "_")
    head = verify_call(assay.EvidenceKind.Value(kind), return_payload_json=True)
    head.app = options.app
    if options.bundle_id:
        head.verify.expectations.bundle_id = options.bundle_id
    head.verify.expectations.environments.extend(options.environment)
    evidence = open(options.file, "rb").read()
    if options.kind != "app-receipt":
        evidence = evidence.strip()  # the final newline of a text file is not part of the token
    with Client(options.address) as client:
        answer, body = client.call(head, evidence)
    print(answer, body.decode(), sep="\n")
    expect(answer.status == assay.STATUS_OK, assay.Status.Name(answer.status))
    verdict = assay.Verdict.Name(answer.verification.verdict).removeprefix("VERDICT_")
    expect(verdict == options.expect, f"{verdict}, not {options.expect}")
    if verdict == "VALID":
        expect(answer.verification.WhichOneof("payload"), "no typed payload")
        expect(body.startswith(b'{"payload":'), "no JSON payload")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="HOST:PORT, or the path of a Unix socket")
    parser.add_argument("--file", help="evidence to verify")
    parser.add_argument("--kind", default="transaction")
    parser.add_argument("--app", default="", help="name of the server's app entry")
    parser.add_argument("--bundle-id", default="")
    parser.add_argument("--environment", action="append", default=[])
    parser.add_argument("--expect", default="VALID", help="the verdict to expect")
    options = parser.parse_args()
    if options.file:
        verify(options)
        return
    for check in CHECKS:
        print(check.__name__.replace("_", " "))
        check(options.address)
    print(f"{len(CHECKS)} checks passed")


if __name__ == "__main__":
    try:
        main()
    except (Unexpected, OSError, struct.error) as error:
        sys.exit(f"interop: {type(error).__name__}: {error}")
