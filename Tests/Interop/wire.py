"""Frames of the wire contract, for clients that pipeline."""
import struct

from assay.v1 import assay_pb2 as assay

# The statuses of refusals that a client can retry.
REFUSED = {assay.STATUS_RESOURCE_EXHAUSTED, assay.STATUS_DEADLINE_EXCEEDED,
           assay.STATUS_UNAVAILABLE}


def frame(head, body=b""):
    data = head.SerializeToString()
    return struct.pack(">II", 4 + len(data) + len(body), len(data)) + data + body


def frame_start(head, body_bytes):
    """The frame up to its body, which is sent separately, or never."""
    data = head.SerializeToString()
    return struct.pack(">II", 4 + len(data) + body_bytes, len(data)) + data


def verify(id, kind, body, **fields):
    """Head and body of a Verify request."""
    head = assay.RequestHead(id=id, timeout_ms=30_000)
    head.verify.kind = kind
    head.verify.SetInParent()
    for name, value in fields.items():
        setattr(head.verify, name, value)
    return head, body


class Answers:
    """Splits received bytes into the heads of answers."""

    def __init__(self):
        self.buffer = bytearray()

    def feed(self, data):
        """The heads that these bytes complete."""
        self.buffer += data
        heads, at = [], 0
        while len(self.buffer) - at >= 8:
            length, head_length = struct.unpack_from(">II", self.buffer, at)
            if len(self.buffer) - at < 4 + length:
                break
            heads.append(assay.ResponseHead.FromString(
                bytes(self.buffer[at + 8:at + 8 + head_length])))
            at += 4 + length
        del self.buffer[:at]
        return heads
