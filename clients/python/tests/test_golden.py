"""Compares the codec with conformance/golden, which protobuf's own runtime wrote."""
import base64
import json
import os
import pathlib
import unittest
from enum import IntEnum

from assay_client import ProtocolError
from assay_client._codec import decode, decode_frame, encode, encode_frame
from assay_client.messages import ABSENT, RequestHead, ResponseHead

GOLDEN = pathlib.Path(
    os.environ.get("ASSAY_GOLDEN", pathlib.Path(__file__).resolve().parents[3] / "conformance" / "golden"))


def read(name):
    with open(GOLDEN / name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


PREFIXES = {"EvidenceKind": "EVIDENCE_KIND_", "InAppSelection": "IN_APP_SELECTION_", "Verdict": "VERDICT_",
            "Status": "STATUS_", "ServingStatus": "SERVING_STATUS_",
            "StoreList": "STORE_LIST_"}


def as_json(message):
    """Returns the message in protobuf's JSON mapping."""
    members = {}
    for name, kind, repeated in message.FIELDS.values():
        value = getattr(message, name)
        if value is None or value is ABSENT or value == []:
            continue
        members[camel(name)] = [scalar(kind, one) for one in value] if repeated else scalar(kind, value)
    return members


def scalar(kind, value):
    if isinstance(value, IntEnum):
        return PREFIXES[type(value).__name__] + value.name
    if kind in ("int64", "uint64"):
        return str(value)
    if kind == "bytes":
        return base64.b64encode(value).decode()
    return as_json(value) if hasattr(value, "FIELDS") else value


class GoldenTests(unittest.TestCase):
    def test_requests(self):
        requests = read("requests.jsonl")
        self.assertGreater(len(requests), 20)
        for golden in requests:
            with self.subTest(golden["name"]):
                frame = bytes.fromhex(golden["frame"])
                length = int.from_bytes(frame[4:8], "big")
                head = decode(RequestHead, frame[8 : 8 + length])
                self.assertEqual(as_json(head), golden["head"])
                encoded = encode_frame(head, bytes.fromhex(golden["body"]))
                self.assertEqual(encoded == frame, golden["canonical"])

    def test_responses(self):
        responses = read("responses.jsonl")
        self.assertGreater(len(responses), 90)
        for golden in responses:
            with self.subTest(golden["name"]):
                frame = bytearray.fromhex(golden["frame"])
                # Behind another frame, and before the first byte of the next.
                head, body, end = decode_frame(frame + frame + b"\0", len(frame))
                self.assertEqual((body.hex(), end), (golden["body"], 2 * len(frame)))
                self.assertEqual(as_json(head), golden["head"])
                self.assertEqual(decode(ResponseHead, encode(head)), head)
                for count in [*range(16), len(frame) // 2, len(frame) - 1]:
                    self.assertIsNone(decode_frame(frame[:count], 0) if count < len(frame) else None)

    def test_broken(self):
        broken = read("broken.jsonl")
        self.assertGreater(len(broken), 20)
        for golden in broken:
            with self.subTest(golden["name"]), self.assertRaises(ProtocolError):
                decode_frame(bytearray.fromhex(golden["frame"]), 0)

    def test_limits(self):
        # The largest frame that a server can announce is waited for; one byte more is refused.
        self.assertIsNone(decode_frame(bytearray.fromhex("02000000"), 0))
        with self.assertRaises(ProtocolError):
            decode_frame(bytearray.fromhex("02000001"), 0)

    def test_every_changed_byte_is_decoded_or_refused(self):
        for golden in read("responses.jsonl")[::5]:
            frame = bytearray.fromhex(golden["frame"])
            for index in range(min(len(frame), 120)):
                changed = bytearray(frame)
                changed[index] ^= 0x81
                try:
                    decode_frame(changed, 0)
                except ProtocolError:
                    pass


if __name__ == "__main__":
    unittest.main()
