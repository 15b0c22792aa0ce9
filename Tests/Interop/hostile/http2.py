"""Attacks over HTTP/2: every line of Tests/HOSTILE.md from 142 on, beside honest clients of each
protocol. Frames are written by hand, so that they can be wrong.
"""
import itertools
import os
import pathlib
import socket
import struct
import sys
import time

from hostile.flood import connect, tls
from hostile.peers import configuration, tls_authority
from hostile.trial import attack

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
VERIFY = "/assay.v1.Verifier/Verify"
STREAM = "/assay.v1.Verifier/VerifyStream"
REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
# Bound of the honest clients' p99 in milliseconds.
P99 = 250


def frame(kind, flags, stream, content=b"", length=None):
    size = len(content) if length is None else length
    return struct.pack(">I", size)[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + content


def number(length):
    if length < 127:
        return bytes([length])
    rest, out = length - 127, [127]
    while rest >= 128:
        out.append(rest & 127 | 128)
        rest >>= 7
    return bytes(out + [rest])


def block(fields):
    out = b""
    for name, value in fields:
        out += b"\x10"
        for text in (name, value):
            data = text.encode("latin-1")
            out += number(len(data)) + data
    return out


def fields(path, method="POST", kind="application/grpc", more=()):
    out = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost")]
    return out + ([("content-type", kind)] if kind else []) + list(more)


GET = fields("/v1/health", "GET", None)
RPC = fields(VERIFY)


def head(stream, of, ends=False):
    return frame(HEADERS, 5 if ends else 4, stream, block(of))


def data(stream, content, ends=False):
    return frame(DATA, 1 if ends else 0, stream, content)


def settings(*values):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *value) for value in values))


def window(stream, size):
    return frame(WINDOW, 0, stream, struct.pack(">I", size))


def reset(stream):
    return frame(RST, 0, stream, struct.pack(">I", 8))


def message(content):
    return b"\0" + struct.pack(">I", len(content)) + content


def streams(count):
    return range(1, 2 * count, 2)


def many(count, part):
    return b"".join(part(index) for index in range(count))


START = PREFACE + settings()

# Floods: each ends its connection, and the attacker opens another one.
FLOODS = {
    154: lambda: START + settings() * 5000,
    155: lambda: START + frame(SETTINGS, 1, 0) * 5000,
    157: lambda: START + b"".join(head(s, RPC) for s in streams(90))
    + many(3000, lambda i: settings((4, (1 << 30) * (i % 2)))),
    158: lambda: START + frame(PING, 0, 0, bytes(8)) * 5000,
    159: lambda: START + frame(PING, 1, 0, bytes(8)) * 5000,
    162: lambda: START + frame(GOAWAY, 0, 0, bytes(8)) * 5000,
    163: lambda: START + frame(0xFA, 0, 0) * 5000,
    171: lambda: START + frame(HEADERS, 1, 1, block(GET))
    + frame(CONTINUATION, 0, 1, b"\x10\x01x\x01y") * 5000,
    172: lambda: START + frame(HEADERS, 1, 1, block(GET)) + frame(CONTINUATION, 0, 1) * 5000,
    187: lambda: START + many(5000, lambda i: frame(
        PRIORITY, 0, 2 * i + 1, bytes([0x80, 0, 0, 2 * i % 199 + 3, 255]))),
    213: lambda: START + head(1, RPC) + data(1, b"") * 5000,
    215: lambda: START + head(1, RPC) + frame(DATA, 8, 1, b"\xff" + bytes(255)) * 8000,
    225: lambda: START + window(0, 1) * 5000,
    229: lambda: START + b"".join(head(s, GET, True) + reset(s) for s in streams(4000)),
    230: lambda: START + b"".join(
        head(s, RPC) + data(s, message(TOKEN), True) + reset(s) for s in streams(1500)),
    231: lambda: START + b"".join(head(s, RPC) + window(s, 0x7FFFFFFF) for s in streams(4000)),
    232: lambda: START + b"".join(
        frame(HEADERS, 5, s, block([("x", "1")])) for s in streams(4000)),
    239: lambda: START + b"".join(
        head(s, RPC) + frame(HEADERS, 4, s) for s in streams(3000)),
}

# What breaks a rule once: many connections a second, each with one.
BROKEN = {
    143: lambda: PREFACE[:-6] + b"XX\r\n\r\n",
    144: lambda: PREFACE + b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    145: lambda: START + START,
    146: lambda: PREFACE + head(1, GET, True),
    147: lambda: START + frame(SETTINGS, 0, 0, bytes(5)),
    148: lambda: START + frame(SETTINGS, 0, 1),
    149: lambda: START + frame(SETTINGS, 1, 0, bytes(6)),
    150: lambda: START + settings((4, 1 << 31)),
    151: lambda: START + settings((5, 1)),
    152: lambda: START + settings((2, 2)),
    153: lambda: START + settings(*[(1, 4096)] * 1000),
    156: lambda: START + settings((1, 0xFFFFFFFF)),
    160: lambda: START + frame(PING, 0, 0, bytes(7)),
    161: lambda: START + frame(PING, 0, 1, bytes(8)),
    164: lambda: START + frame(0xFA, 0, 0, bytes(16385)),
    165: lambda: START + frame(DATA, 0, 1, b"x", length=(1 << 24) - 1),
    166: lambda: START + frame(PUSH, 4, 1, bytes([0, 0, 0, 2]) + block(GET)),
    167: lambda: START + frame(HEADERS, 5, 0, block(GET)),
    168: lambda: START + head(2, GET, True),
    169: lambda: START + head(5, GET, True) + head(3, GET, True),
    170: lambda: START + head(1, GET, True) + head(3, GET, True) + head(1, GET, True),
    173: lambda: START + frame(CONTINUATION, 4, 1),
    174: lambda: START + frame(HEADERS, 1, 1, block(GET)) + frame(PING, 0, 0, bytes(8)),
    175: lambda: START + frame(HEADERS, 1, 1, block(GET)) + frame(CONTINUATION, 4, 3),
    177: lambda: START + frame(HEADERS, 1, 1, block(GET)) + frame(
        CONTINUATION, 0, 1, block([("x-a", "x" * 16000)])) + frame(
        CONTINUATION, 4, 1, block([("x-b", "x" * 500)])),
    178: lambda: START + frame(HEADERS, 5, 1, block(GET) + b"\x40\x01a" + number(3000)
                               + b"x" * 3000 + b"\xbe" * 1000),
    179: lambda: START + frame(HEADERS, 5, 1, b"\xff\xff\x0f"),
    180: lambda: START + frame(HEADERS, 5, 1, b"\xff" * 21),
    181: lambda: START + frame(HEADERS, 5, 1, b"\x3f\xe1\xff\x03" + block(GET)),
    182: lambda: START + frame(HEADERS, 5, 1, b"\x10\x81\0\x81\0"),
    183: lambda: START + frame(HEADERS, 5, 1, b"\x10\x7f\xff\x7fa"),
    184: lambda: START + frame(HEADERS, 0x0D, 1, b"\xff" + block(GET)),
    185: lambda: START + frame(HEADERS, 0x0D, 1, b"\xff" + block(GET) + bytes(255)),
    186: lambda: START + frame(PRIORITY, 0, 1, bytes([0, 0, 0, 1, 0])),
    188: lambda: START + head(1, GET + [("X-A", "1")], True),
    189: lambda: START + head(1, GET + [("connection", "x-a")], True),
    190: lambda: START + head(1, RPC + [("transfer-encoding", "chunked")]),
    191: lambda: START + head(1, GET + [("te", "gzip")], True),
    192: lambda: START + head(1, GET + [("x", "1\r\n\r\nGET / HTTP/1.1\r\n\r\n")], True),
    193: lambda: START + head(1, GET + [("x", "1\nx: 2"), ("y", "\0")], True),
    194: lambda: START + head(1, GET + [("x: 1\r\ny", "1")], True),
    195: lambda: START + head(1, [("x", "1")] + GET, True),
    196: lambda: START + head(1, [(":path", "/v1/info")] + GET, True),
    197: lambda: START + head(1, [(":status", "200")] + GET, True),
    198: lambda: START + frame(HEADERS, 5, 1),
    199: lambda: START + head(1, fields("/ HTTP/1.1\r\nx: y", "GET", None), True),
    200: lambda: START + head(1, fields("/", "GET / HTTP/1.1\r\nx:", None), True),
    201: lambda: START + head(1, fields("/", "CONNECT", None), True),
    202: lambda: START + head(1, GET + [("host", "evil.example")], True),
    203: lambda: START + head(1, GET[:3] + [(":authority", "a@localhost/x y")], True),
    204: lambda: START + head(1, RPC + [("content-length", "1"), ("content-length", "2")]),
    205: lambda: START + head(1, RPC + [("content-length", "-1")]),
    206: lambda: START + head(1, RPC + [("content-length", "3")]) + data(1, b"{", True),
    207: lambda: START + head(1, RPC + [("content-length", "1")]) + data(1, b"{}", True),
    208: lambda: START + head(1, GET + [("origin", "https://evil.example")], True),
    209: lambda: START + head(1, GET + [("authorization", "a"), ("authorization", "b")], True),
    210: lambda: START + data(0, b"x"),
    211: lambda: START + data(7, b"x"),
    212: lambda: START + head(1, RPC) + data(1, message(b""), True) + data(1, b"x"),
    216: lambda: START + head(1, RPC) + data(1, bytes(16384)) * 200,
    220: lambda: START + window(0, 0),
    221: lambda: START + head(1, RPC) + window(1, 0),
    222: lambda: START + window(0, 0x7FFFFFFF) * 2,
    223: lambda: START + head(1, RPC) + window(1, 0x7FFFFFFF),
    224: lambda: START + window(9, 1),
    228: lambda: START + frame(SETTINGS, 1, 0) + b"".join(head(s, RPC) for s in streams(101)),
    233: lambda: START + reset(9),
    234: lambda: START + head(1, RPC) + frame(RST, 0, 1, bytes(3)),
    235: lambda: START + frame(GOAWAY, 0, 0, bytes(8)) + head(1, GET, True),
    236: lambda: START + head(1, RPC) + data(1, message(b"\xff")) + frame(
        HEADERS, 5, 1, block([("x", "1")])),
    237: lambda: START + head(1, RPC) + data(1, b"\0") + frame(
        HEADERS, 4, 1, block([("x", "1")])),
    238: lambda: START + head(1, RPC) + frame(HEADERS, 5, 1, block([(":path", "/")])),
    240: lambda: START + head(1, RPC) + data(1, b"\0\0\0\0\x09x", True),
    241: lambda: START + head(1, RPC) + data(1, b"\0\xff\xff\xff\xffx", True),
    242: lambda: START + head(1, RPC) + data(1, message(b"") * 2, True),
    243: lambda: START + head(1, RPC) + data(1, b"\x80\0\0\0\0", True),
    244: lambda: START + head(1, RPC) + data(1, b"\x01\0\0\0\x01x", True),
    245: lambda: START + head(1, RPC + [("grpc-timeout", "-1S")], True),
    246: lambda: START + head(1, fields(STREAM)) + data(1, b"\0\xff\0\0\0\xa2\x01\xf0\xff\xff\x07"),
}

# What holds something: connections that stay.
HELD = {
    142: lambda: PREFACE + b"\0\0",
    176: lambda: START + frame(HEADERS, 1, 1, block(GET)),
    214: lambda: START + head(1, RPC) + b"".join(
        data(1, message(bytes(4000))[i:i + 1]) for i in range(4000)),
    217: lambda: START + b"".join(
        head(s, fields("/v1/verify", kind="application/json")) + data(s, b" " * 16000)
        for s in streams(15)),
    218: lambda: START + head(1, RPC),
    219: lambda: START + b"".join(head(s, RPC) + data(s, b"\0") for s in streams(100)),
    226: lambda: START + settings((4, 0)) + b"".join(
        head(s, fields("/v1/openapi.json", "GET", None), True) for s in streams(50)),
    227: lambda: START + settings((4, 1)) + b"".join(
        head(s, fields("/v1/openapi.json", "GET", None), True) for s in streams(50)),
    247: lambda: START + head(1, fields(STREAM)) + data(1, bytes(10000)),
    248: lambda: START + settings((4, 0)) + head(1, fields(STREAM))
    + data(1, message(b"\x08\x01") * 1400) * 40,
    249: lambda: START + head(1, fields(STREAM)) + data(1, b"\0\0\0\x01\0x"),
    250: lambda: START + b"".join(
        head(s, fields("/grpc.health.v1.Health/Watch")) + data(s, message(b""), True)
        for s in streams(99)),
    251: lambda: START + settings((4, 0)) + head(1, fields(REFLECTION))
    + data(1, message(b"\x22\x11assay.v1.Verifier") * 500),
    # The frames between are more than the server receives at a time.
    256: lambda: START + b"".join(
        head(s, fields("/v1/verify", kind="application/json")) for s in streams(90))
    + frame(0xFA, 0, 0, bytes(16000)) * 3
    + b"".join(data(s, b"{", True) + reset(s) for s in streams(90)),
}

TOKEN = b"\x2a\x02\x08\x01\xa2\x06\x04abcd"


def storm(address, lines, held, context, is_over):
    """Sends the lines in turn, each on a connection of its own; keeps this number open.

    context: that of TLS
    """
    sent, kept = 0, []
    for name in itertools.cycle(lines):
        if is_over():
            break
        attacks = FLOODS | BROKEN | HELD
        try:
            client = connect(address, context=context)
            client.settimeout(0.2)
            client.sendall(attacks[name]())
            sent += 1
            if held:
                kept.append(client)
                if len(kept) > held:
                    kept.pop(0).close()
                continue
            while client.recv(1 << 16):
                pass
            client.close()
        except (OSError, socket.timeout):
            client.close()
    return sent


def beside_honest(trial, lines, held=0, scheme="http"):
    tls_authority(trial)
    trial.serve(config=configuration(
        ["tcp://127.0.0.1:0", "http://127.0.0.1:0", "https://127.0.0.1:0"]), listen=[])
    alone = trial.alone()
    honest = trial.honest()
    context = tls("h2") if scheme == "https" else None
    attackers = [trial.attackers(storm, trial.server.address(scheme), list(part), held, context)
                 for part in (lines, list(lines)[::-1])]
    calls = Calls(trial, trial.server.address("http"))
    time.sleep(trial.scale(40, 5))
    sent = [attacker.stop() for attacker in attackers]
    trial.saw(honest.result(), p99_most=trial.p99_bound(P99, alone))
    trial.saw(calls.result(), p99_most=trial.p99_bound(P99, alone), label="gRPC")
    trial.measure("connections of attacks", sum(count or 0 for count in sent), least=len(lines))
    trial.memory()


class Calls:
    """Honest calls of gRPC, by grpcio, fifty a second."""

    def __init__(self, trial, address):
        import json
        import subprocess
        program = pathlib.Path(__file__).parents[1] / "honest_grpc.py"
        self.process = subprocess.Popen(
            [sys.executable, str(program), address], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=dict(os.environ, GRPC_VERBOSITY="ERROR"))
        self.process.stdin.write(trial.evidence.token + b"\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"ready\n"
        self.json = json

    def result(self):
        self.process.stdin.write(b"stop\n")
        self.process.stdin.flush()
        seen = self.json.loads(self.process.stdout.readline())
        self.process.wait()
        return seen


@attack("http2-floods", "154")
def floods(trial):
    """Floods of HTTP/2 on new connections, one after the other: PING, SETTINGS, CONTINUATION,
    PRIORITY, empty DATA, Rapid Reset, streams that the server has to reset. Clients of frames and
    of gRPC are served.
    """
    beside_honest(trial, FLOODS)


@attack("http2-broken", "143")
def broken(trial):
    """Connections that break one rule of HTTP/2 or of gRPC each, as fast as they go."""
    beside_honest(trial, BROKEN)


@attack("http2-held", "226")
def held(trial):
    """Connections that stay and hold something: heads, messages and streams without an end, windows
    of 0, answers that are not read, Watch.
    """
    beside_honest(trial, HELD, held=trial.scale(500, 150))


@attack("http2-over-tls", "271")
def over_tls(trial):
    """The floods of http2-floods, what http2-broken breaks and what http2-held holds, over TLS."""
    beside_honest(trial, FLOODS | BROKEN | HELD, held=trial.scale(200, 50), scheme="https")
