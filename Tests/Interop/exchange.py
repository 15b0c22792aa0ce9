"""One complete exchange with Assay: is this transaction genuine?

needs: pip install protobuf grpcio-tools
       python -m grpc_tools.protoc --python_out=. -Iproto assay/v1/assay.proto
usage: exchange.py HOST:PORT|SOCKET-PATH FILE BUNDLE-ID [CA-FILE [CERTIFICATE KEY]]
"""
import socket
import ssl
import struct
import sys

from assay.v1 import assay_pb2 as assay  # which protoc made


def connect(address, authority=None, certificate=None, key=None):
    if "/" in address:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address)
        return connection
    host, port = address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)))
    if not authority:
        return connection
    context = ssl.create_default_context(cafile=authority)
    if certificate:
        context.load_cert_chain(certificate, key)
    return context.wrap_socket(connection, server_hostname=host)


def send(connection, head, body=b""):
    data = head.SerializeToString()
    connection.sendall(struct.pack(">II", 4 + len(data) + len(body), len(data)) + data + body)


def receive(stream):
    length, head_length = struct.unpack(">II", stream.read(8))
    head = assay.ResponseHead.FromString(stream.read(head_length))
    return head, stream.read(length - 4 - head_length)


def main(address, path, bundle_id, *tls):
    connection = connect(address, *tls)
    request = assay.RequestHead(id=1)
    request.verify.kind = assay.EVIDENCE_KIND_TRANSACTION
    request.verify.expectations.bundle_id = bundle_id
    send(connection, request, open(path, "rb").read().strip())
    head, _ = receive(connection.makefile("rb"))
    if head.id not in (request.id, 0):  # 0: the server's own, and then not OK
        sys.exit(f"the answer is to request {head.id}, not to {request.id}")
    result = head.verification
    if head.status != assay.STATUS_OK or result.verdict != assay.VERDICT_VALID:
        sys.exit(head.message or f"{assay.Verdict.Name(result.verdict)}: {result.detail}")
    print("bought:", result.transaction.product_id, "once only:", result.dedup_key)


if __name__ == "__main__":
    main(*sys.argv[1:])
