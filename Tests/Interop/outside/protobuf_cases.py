"""Messages by the encoding specification of protobuf, with Google's runtime as oracle.

protobuf's own conformance_test_runner needs a program that reads its test messages, of which the
contract has none; these cases have the contract's messages instead. Where Google's runtime reads a
message, the server's answer must be that to the same message in its canonical form, which Google's
runtime writes. Where it refuses a message, so must the server. The server's messages must be those
that Google's runtime writes of the same content, byte for byte.
"""
import base64
import http.client
import json
import socket
import struct

import google.protobuf
from assay.v1 import assay_pb2 as wire
from assay.v1 import service_pb2 as rpc
from google.protobuf import json_format
from google.protobuf.message import DecodeError

VARINT, I64, LEN, START, END, I32 = range(6)
CONTENT = {VARINT: b"\x05", I64: b"12345678", LEN: b"\x03abc", I32: b"1234"}
NAMES = {VARINT: "varint", I64: "64 bits", LEN: "bytes", START: "group", END: "end of a group",
         I32: "32 bits"}


def varint(number, size=0):
    """A number; of more bytes than it needs with a size."""
    number &= (1 << 64) - 1
    data = bytearray()
    while number > 0x7F or len(data) + 1 < size:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(data) + bytes([number])


def tag(field, kind, size=0):
    return varint(field << 3 | kind, size)


def number(field, value, size=0):
    return tag(field, VARINT) + varint(value, size)


def data(field, content, size=0):
    return tag(field, LEN) + varint(len(content), size) + content


class Calls:
    """Sends messages as they are, and returns what is comparable of the answers."""

    def __init__(self, url):
        self.address = url.removeprefix("http://")

    def post(self, path, body, content_type="application/proto"):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.request("POST", path, body, {"Content-Type": content_type})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def verify(self, body):
        status, content = self.post("/assay.v1.Verifier/Verify", body)
        if status == 200:
            return str(rpc.VerifyResponse.FromString(content))
        return content.decode()

    def fetch(self, body):
        status, content = self.post("/assay.v1.Verifier/Fetch", body)
        if status == 200:
            fetched = rpc.FetchResponse.FromString(content).fetched
            return f"{fetched.revision} {len(fetched.items)}"
        return content.decode()


class Frames:
    """Sends heads as they are, each on a connection of its own."""

    def __init__(self, address):
        self.address = address

    def ask(self, head, body=b""):
        host, port = self.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), 60) as connection:
            connection.sendall(struct.pack(">II", 4 + len(head) + len(body), len(head)) + head + body)
            stream = connection.makefile("rb")
            length, size = struct.unpack(">II", stream.read(8))
            answer = wire.ResponseHead.FromString(stream.read(size))
            stream.read(length - 4 - size)
        if answer.status == wire.STATUS_INVALID_ARGUMENT:
            return REFUSED + answer.message
        return str(answer)


# What answers begin with that refuse a message as such.
REFUSED = "refused: "


def unknown_fields():
    for field in (200, 19_000, (1 << 29) - 1):
        for kind, content in CONTENT.items():
            yield f"an unknown field {field}, {NAMES[kind]}", tag(field, kind) + content
    yield "an unknown field of no bytes", data(200, b"")
    yield "an unknown field that is no text", data(200, b"\xff\xfe")
    yield "an unknown field twice", number(200, 1) + number(200, 2)
    yield "the largest unknown number", number(200, -1)


def groups():
    yield "an unknown group", tag(200, START) + number(1, 5) + tag(200, END)
    yield "an empty unknown group", tag(200, START) + tag(200, END)
    yield "a group in a group", (tag(200, START) + tag(3, START) + data(1, b"a") + tag(3, END)
                                 + tag(200, END))
    yield "groups 50 deep", tag(200, START) * 50 + tag(200, END) * 50


def broken_groups():
    yield "a group without an end", tag(200, START) + number(1, 5)
    yield "an end without a group", tag(200, END)
    yield "a group with the end of another", tag(200, START) + tag(201, END)
    yield "groups 5,000 deep", tag(200, START) * 5_000 + tag(200, END) * 5_000


def tags():
    for kind, content in {**CONTENT, START: tag(0, END), END: b""}.items():
        yield f"field 0, {NAMES[kind]}", tag(0, kind) + content
    for kind in (6, 7):
        yield f"wire type {kind}", tag(200, kind) + b"\x05"
    yield "field 2^29", varint(1 << 32) + b"\x05"
    yield "field 2^61 - 1", varint(((1 << 61) - 1) << 3) + b"\x05"
    yield "field 0 in a tag of 5 bytes", tag(0, VARINT, 5) + b"\x05"
    for size in (3, 4, 5):
        yield f"a tag of {size} bytes that needs 2", tag(200, VARINT, size) + b"\x05"
    yield "a tag of 6 bytes", tag(200, VARINT, 6) + b"\x05"
    yield "a tag of 10 bytes", tag(200, VARINT, 10) + b"\x05"
    yield "a tag of 11 bytes", b"\xc0" + b"\x80" * 9 + b"\x00" + b"\x05"


def varints():
    for size in (2, 5, 9, 10):
        yield f"a varint of {size} bytes that needs 1", number(200, 5, size)
    yield "a varint of 11 bytes", tag(200, VARINT) + b"\x85" + b"\x80" * 9 + b"\x00"
    yield "a varint of 2^64", tag(200, VARINT) + b"\x80" * 9 + b"\x02"
    yield "a varint of 70 bits", tag(200, VARINT) + b"\xff" * 9 + b"\x7f"
    yield "a varint without an end", tag(200, VARINT) + b"\x80" * 3
    for size in (2, 5, 10):
        yield f"a length of {size} bytes that needs 1", data(200, b"abc", size)
    for length in (4, 1 << 31, (1 << 31) - 1, (1 << 32) - 1, 1 << 32, (1 << 63), (1 << 64) - 1):
        yield f"a length of {length} before three bytes", tag(200, LEN) + varint(length) + b"abc"
    for kind, content in CONTENT.items():
        yield f"{NAMES[kind]} without the last byte", tag(200, kind) + content[:-1]
    yield "a tag alone", tag(200, VARINT)
    yield "half a tag", tag(200, VARINT)[:1]


def known_fields():
    """Fields of a VerifyRequest: app is 4, call is 5, may_wait is 9."""
    yield "a text twice", data(4, b"nowhere") + data(4, b"game")
    yield "a text twice, the other way", data(4, b"game") + data(4, b"nowhere")
    yield "an empty text", data(4, b"")
    for value in (0, 1, 2, 1 << 31, 1 << 32, -1):
        yield f"a bool of {value}", number(9, value)
    yield "a bool of 10 bytes", number(9, 1, 10)
    yield "a bool twice", number(9, 1) + number(9, 0)
    yield "an empty message", data(5, b"")
    yield "a message twice: the second names a field", data(5, b"") + data(5, number(3, 1))
    yield "a message twice: its fields merge", (
        data(5, data(2, data(1, b"com.example.other"))) + data(5, data(2, data(3, b"p"))))
    yield "a message twice: the last text wins", (
        data(5, data(2, data(1, b"com.example.other")))
        + data(5, data(2, data(1, b"com.example.game"))))
    yield "a repeated field in two messages", (
        data(5, data(2, data(2, b"Production"))) + data(5, data(2, data(2, b"Sandbox"))))
    yield "expectations twice in a call", data(5, data(2, data(1, b"com.example.other"))
                                               + data(2, data(3, b"p")))
    yield "a repeated text that is empty", data(5, data(2, data(3, b"")))
    yield "messages in another order", number(9, 1) + data(5, number(3, 1)) + data(4, b"game")
    yield "an unknown field in a message", data(5, number(200, 7) + data(201, b"abc"))
    yield "an unknown field in a message of a message", data(5, data(2, number(200, 7)))
    yield "a length within the whole, beyond its message", data(
        5, tag(2, LEN) + b"\x05" + data(1, b"a")[:2])
    yield "a message that ends within a field", data(5, data(2, data(1, b"abc"))[:-2])
    yield "a varint that ends with its message", data(5, tag(3, VARINT) + b"\x81")
    for kind in (1, 2, 3, 4, 5, 6, 7, 8, 11, 99, 0):
        yield f"kind {kind}", data(5, number(1, kind))
    for kind in (-1, 1 << 31, (1 << 32) + 1, 1 << 33, (1 << 63) + 1):
        yield f"kind {kind}, beyond 32 bits or negative", data(5, number(1, kind))
    yield "a kind twice", data(5, number(1, 2) + number(1, 1))
    for value in (0, 1, 1 << 40, 1_500_000_000_000, 1 << 62, -1, -(1 << 63)):
        yield f"a date of {value}", data(5, data(2, number(6, value)))
    yield "a date of 10 bytes that needs 6", data(5, data(2, number(6, 1_500_000_000_000, 10)))


def other_wire_types():
    """Known fields with a wire type that is not theirs: Google's runtime takes them as unknown."""
    for field, own in ((4, LEN), (5, LEN), (9, VARINT)):
        for kind, content in CONTENT.items():
            if kind != own:
                yield f"field {field} as {NAMES[kind]}", tag(field, kind) + content
    for kind in (I64, I32):
        yield f"the kind as {NAMES[kind]}", data(5, tag(1, kind) + CONTENT[kind])
    yield "the kind as bytes", data(5, tag(1, LEN) + b"\x01\x02")
    yield "the expectations as a varint", data(5, number(2, 1))
    yield "the date as bytes", data(5, data(2, data(6, b"\x01\x02")))
    yield "the evidence as a varint", number(100, 5)


TEXTS = [
    ("two bytes", "é".encode(), True), ("three bytes", "€".encode(), True),
    ("four bytes", "😈".encode(), True), ("the last character", "\U0010ffff".encode(), True),
    ("NUL", b"a\x00b", True), ("the first byte alone", b"\xc3", False),
    ("a byte in the middle alone", b"\x80", False), ("an overlong NUL", b"\xc0\x80", False),
    ("an overlong slash", b"\xe0\x80\xaf", False), ("a surrogate", b"\xed\xa0\x80", False),
    ("two surrogates", b"\xed\xa0\xbd\xed\xb8\x88", False), ("above the last", b"\xf4\x90\x80\x80", False),
    ("five bytes", b"\xf8\x88\x80\x80\x80", False), ("0xFF", b"\xff", False),
    ("cut within four bytes", b"\xf0\x9f\x98", False)]


def texts():
    for name, text, _ in TEXTS:
        yield f"a text of {name}", data(4, text)
        yield f"a text in a message of {name}", data(5, data(2, data(1, text)))
        yield f"a repeated text of {name}", data(5, data(2, data(3, text)))


REQUESTS = [unknown_fields, groups, broken_groups, tags, varints, known_fields, other_wire_types,
            texts]


def compare(suite, name, sent, kind, ask):
    """Compares the server's answer with that to the same message as Google's runtime writes it."""
    try:
        message = kind.FromString(sent)
    except DecodeError:
        message = None
    found = ask(sent)
    is_refused = found.startswith(REFUSED) or "not a protobuf message" in found
    if message is None:
        suite.record(name, None if is_refused else f"read: {found[:120]}")
        return
    message.DiscardUnknownFields()
    expected = ask(message.SerializeToString(deterministic=True))
    suite.record(name, None if found == expected else f"{found[:120]} instead of {expected[:120]}")


def requests(suite, calls, token):
    call = data(5, number(1, wire.EVIDENCE_KIND_TRANSACTION))
    evidence = data(100, token)
    for part in REQUESTS:
        for name, fields in part():
            compare(suite, f"{part.__name__}: {name}", call + fields + evidence, rpc.VerifyRequest,
                    calls.verify)
    for name, fields in unknown_fields():
        for where, sent in [("first", fields + call + evidence), ("last", call + evidence + fields),
                            ("alone", fields)]:
            compare(suite, f"{name}, {where}", sent, rpc.VerifyRequest, calls.verify)
    kind, other = number(1, 1), data(2, data(1, b"com.example.other"))
    for name, parts in [("the kind first", [kind, other]), ("the kind last", [other, kind]),
                        ("the kind in the middle", [other, kind, data(2, data(3, b"p"))])]:
        compare(suite, f"a call in parts: {name}", b"".join(data(5, part) for part in parts) + evidence,
                rpc.VerifyRequest, calls.verify)
    compare(suite, "evidence twice", call + data(100, b"a.b.c") + evidence, rpc.VerifyRequest,
            calls.verify)
    compare(suite, "evidence twice, the other way", call + evidence + data(100, b"a.b.c"),
            rpc.VerifyRequest, calls.verify)
    compare(suite, "evidence first", evidence + call, rpc.VerifyRequest, calls.verify)
    whole = call + data(4, b"game") + number(9, 1) + data(100, b"a.b.c")
    for size in range(len(whole)):
        compare(suite, f"the first {size} bytes", whole[:size], rpc.VerifyRequest, calls.verify)


def lists(suite, calls, transaction):
    """A repeated enumeration, packed and not: both are read, in any mixture."""
    first = data(1, transaction.encode())
    one, two = number(2, 1), number(2, 2)
    for name, fields in [
            ("not packed", one), ("packed", data(2, b"\x01")), ("none", b""),
            ("packed, none", data(2, b"")), ("two, not packed", one + two),
            ("two, packed", data(2, b"\x01\x02")), ("two, packed one by one",
                                                     data(2, b"\x01") + data(2, b"\x02")),
            ("two, one of them packed", one + data(2, b"\x02")),
            ("two, the other one packed", data(2, b"\x01") + two),
            ("packed, of 10 bytes", data(2, varint(1, 10))), ("twice the same", one + one),
            ("an unknown one", number(2, 99)), ("packed, without an end", data(2, b"\x01\x82")),
            ("as 32 bits", tag(2, I32) + b"\x01\x00\x00\x00")]:
        sent = data(4, b"shop") + data(11, first + fields)
        compare(suite, f"lists: {name}", sent, rpc.FetchRequest, calls.fetch)


def heads(suite, frames, token):
    """The head of a frame: id is 1, the oneof has 5 to 8, 10 and 11."""
    verify, health, info, ping = data(5, number(1, 1)), data(6, b""), data(7, b""), data(8, b"")
    del info
    first = number(1, 7)
    for name, head in [
            ("ping", first + ping), ("the last of a oneof: health", first + ping + health),
            ("the last of a oneof: ping", first + health + ping),
            ("a oneof, again", first + ping + verify + ping),
            ("verify behind ping", first + ping + verify),
            ("the same of a oneof twice", first + verify + data(5, number(3, 1))),
            ("expectations, and the kind in a second part", first + data(5, data(2, data(
                1, b"com.example.other"))) + data(5, number(1, 1))),
            ("the same of a oneof, with another between",
             first + data(5, number(3, 1)) + ping + verify),
            ("an id twice", number(1, 6) + first + ping), ("an id at the end", ping + first),
            ("an id of 10 bytes", number(1, 7, 10) + ping), ("the largest id", number(1, -1) + ping),
            ("an id of 11 bytes", tag(1, VARINT) + b"\x87" + b"\x80" * 9 + b"\x00" + ping),
            ("a timeout beyond 32 bits", first + number(2, (1 << 32) + 30_000) + ping),
            ("a timeout of 10 bytes", first + number(2, 30_000, 10) + ping),
            ("a call of a later contract", first + data(12, b"")),
            ("an unknown field", first + number(200, 7) + ping),
            ("an unknown group", first + tag(200, START) + tag(200, END) + ping),
            ("a trace that is no text", first + data(3, b"\xff") + ping),
            ("a trace of four bytes", first + data(3, "😈".encode()) + ping),
            ("the id as bytes", data(1, b"7") + ping), ("ping as a varint", first + number(8, 1)),
            ("field 0", first + b"\x00\x05" + ping), ("wire type 7", first + tag(9, 7) + ping),
            ("a ping with fields", first + data(8, number(1, 5) + data(2, b"a")))]:
        body = token if b"\x2a" in head else b""
        compare(suite, f"heads: {name}", head, wire.RequestHead,
                lambda sent, body=body: frames.ask(sent, body))


def canonical(suite, name, content, kind):
    """A message of the server is what Google's runtime writes of its content."""
    try:
        message = kind.FromString(content)
    except DecodeError as error:
        suite.record(name, f"{error}")
        return
    written = message.SerializeToString(deterministic=True)
    message.DiscardUnknownFields()
    is_known = message.SerializeToString(deterministic=True) == written
    suite.record(name, None if written == content and is_known else
                 f"{len(content)} bytes, of which Google's runtime makes {len(written)}"
                 + ("" if is_known else ", with unknown fields"))


def answers(suite, calls, evidence, transaction):
    """The writer's messages, and those of its JSON."""
    for name, (kind, item) in evidence.items():
        for returns in (False, True):
            request = rpc.VerifyRequest(
                call=wire.VerifyCall(kind=kind, return_payload_json=returns), evidence=item)
            asked = f"answers: {name}{', with JSON' if returns else ''}"
            status, content = calls.post("/assay.v1.Verifier/Verify", request.SerializeToString())
            suite.check(f"{asked}: status", status, 200)
            canonical(suite, asked, content, rpc.VerifyResponse)
            message = rpc.VerifyResponse.FromString(content)
            suite.check(f"{asked}: verdict", message.verification.verdict, wire.VERDICT_VALID)
            same_json(suite, calls, asked, "Verify", request, message)
    for path, request, kind in [
            ("Info", rpc.InfoRequest(), rpc.InfoResponse),
            ("Fetch", rpc.FetchRequest(app="shop", call=wire.FetchCall(
                transaction_id=transaction, return_typed_payloads=True)), rpc.FetchResponse),
            ("Resolve", rpc.ResolveRequest(
                call=wire.ResolveCall(return_typed_payloads=True, return_payload_json=True),
                evidence=[item for _, item in evidence.values()]), rpc.ResolveResponse)]:
        status, content = calls.post(f"/assay.v1.Verifier/{path}", request.SerializeToString())
        suite.check(f"answers: {path}: status", status, 200)
        canonical(suite, f"answers: {path}", content, kind)


def same_json(suite, calls, name, path, request, message):
    """The answer in JSON has the content of the binary one."""
    status, content = calls.post(
        f"/assay.v1.Verifier/{path}", json_format.MessageToJson(request), "application/json")
    try:
        found = json_format.Parse(content, type(message)())
    except json_format.ParseError as error:
        suite.record(f"{name}: JSON", f"{status} {error}")
        return
    suite.record(f"{name}: JSON", None if found == message else
                 f"{str(found)[:200]} instead of {str(message)[:200]}")


def json_requests(suite, calls, token):
    """proto3's JSON mapping."""
    text = base64.b64encode(token).decode()
    good = {"call": {"kind": "EVIDENCE_KIND_TRANSACTION"}, "evidence": text}
    day = 1_500_000_000_000

    def expecting(**members):
        return json.dumps({**good, "call": {**good["call"], "expectations": members}})
    raw = json.dumps(good)
    rows = [
        ("names in camel case", json.dumps({**good, "mayWait": True})),
        ("names of the contract", json.dumps({**good, "may_wait": True})),
        ("an enumerator by its number", raw.replace('"EVIDENCE_KIND_TRANSACTION"', "1")),
        ("an enumerator by another number", raw.replace('"EVIDENCE_KIND_TRANSACTION"', "99")),
        ("an enumerator that is unknown", raw.replace("TRANSACTION", "NOTHING")),
        ("an enumerator in lower case", raw.replace("EVIDENCE_KIND", "evidence_kind")),
        ("base64 without padding", json.dumps({**good, "evidence": text.rstrip("=")})),
        ("base64 of URLs", json.dumps({**good, "evidence": base64.urlsafe_b64encode(token).decode()})),
        ("base64 with a space", json.dumps({**good, "evidence": text[:8] + " " + text[8:]})),
        ("base64 of a letter", json.dumps({**good, "evidence": "A"})),
        ("bytes as a number", json.dumps({**good, "evidence": 5})),
        ("64 bits as text", expecting(notOlderThan=str(day))),
        ("64 bits as a number", expecting(notOlderThan=day)),
        ("64 bits as a number with an exponent", expecting(notOlderThan=0).replace("0}", "15e11}")),
        ("64 bits as text with an exponent", expecting(notOlderThan="15e11")),
        ("64 bits with a fraction of zero", expecting(notOlderThan=0).replace(
            "0}", "1500000000000.0}")),
        ("64 bits with a fraction", expecting(notOlderThan=day + 0.5)),
        ("64 bits above the largest", expecting(notOlderThan=str(1 << 63))),
        ("64 bits with a blank", expecting(notOlderThan=f" {day}")),
        ("64 bits with a plus", expecting(notOlderThan=f"+{day}")),
        ("64 bits that are empty", expecting(notOlderThan="")),
        ("64 bits as a bool", expecting(notOlderThan=True)),
        ("a bool as text", json.dumps({**good, "mayWait": "true"})),
        ("a bool as a number", json.dumps({**good, "mayWait": 1})),
        ("null for a text", json.dumps({**good, "app": None})),
        ("null for a message", expecting(bundleId=None)),
        ("null for a list", expecting(productIds=None)),
        ("null within a list", expecting(productIds=[None])),
        ("a text instead of a list", expecting(productIds="a")),
        ("an empty list", expecting(productIds=[])),
        ("a number as text", json.dumps({**good, "app": 5})),
        ("a number instead of a message", json.dumps({**good, "call": 5})),
        ("a name twice", raw[:-1] + ', "app": "game", "app": "game"}'),
        ("a name in both forms", raw[:-1] + ', "mayWait": true, "may_wait": true}'),
        ("an unknown name", json.dumps({**good, "nothing": 1})),
        ("escapes in a name", raw.replace('"evidence"', '"\\u0065vidence"')),
        ("escapes in a text", raw[:-1] + ', "app": "g\\u0061me"}'),
        ("a surrogate alone", raw[:-1] + ', "app": "\\ud83d"}'),
        ("two surrogates", raw[:-1] + ', "app": "\\ud83d\\ude08"}'),
        ("a control character", raw[:-1] + ', "app": "a\tb"}'),
        ("a comma behind the last", raw[:-1] + ",}"), ("a comment", raw + "/* */"),
        ("white space around", " \t\r\n" + raw + "\r\n"), ("two values", raw + raw),
        ("single quotes", raw.replace('"', "'")), ("an array", f"[{raw}]"), ("nothing", ""),
        ("null", "null"), ("a byte order mark", "\ufeff" + raw)]
    for name, body in rows:
        try:
            message = json_format.Parse(body, rpc.VerifyRequest())
        except json_format.ParseError:
            message = None
        status, content = calls.post("/assay.v1.Verifier/Verify", body.encode("utf-8", "replace"),
                                     "application/json")
        if message is None:
            suite.record(f"JSON: {name}", None if status == 400 else f"{status} {content[:120]}")
            continue
        expected_status, expected = calls.post(
            "/assay.v1.Verifier/Verify", json_format.MessageToJson(message), "application/json")
        suite.record(f"JSON: {name}", None if (status, content) == (expected_status, expected) else
                     f"{status} {content[:160]} instead of {expected_status} {expected[:160]}")


def run(suite, url, address, token, evidence, transaction):
    """
    address: HOST:PORT of the listener of frames
    evidence: kinds and items by name
    transaction: a transaction of a customer of the local App Store
    """
    suite.version = f"oracle: protobuf {google.protobuf.__version__}"
    calls, frames = Calls(url), Frames(address)
    requests(suite, calls, token)
    lists(suite, calls, transaction)
    heads(suite, frames, token)
    answers(suite, calls, evidence, transaction)
    json_requests(suite, calls, token)
