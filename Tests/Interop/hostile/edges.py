"""Attacks on what stands before a request: heads, trailers, connections and handshakes, over HTTP/2,
HTTP/1.1 and frames, with TLS and without. Each part has a server of its own, so that its memory is
its own. The attackers are one host, and the honest clients are another.
"""
import os
import pathlib
import random
import time

from assay.v1 import assay_pb2 as assay
from assay.v1 import service_pb2 as service
from hostile import bodies, http2, memory
from hostile.flood import HOLD, OTHER_HOST, Flood, connect, tls
from hostile.http2 import CONTINUATION, DATA, HEADERS, START, block, frame, number
from hostile.peers import configuration, tls_authority
from hostile.shares import forever, post
from hostile.trial import MB, RESIDENT_BYTES, attack
from wire import frame as wire_frame
from wire import verify

LISTEN = [f"{scheme}://127.0.0.1:0" for scheme in ["tcp", "http", "tls", "https"]]
PROTOCOLS = {"https": "h2", "tls": None}
# The bound of honest clients' p99 in ms.
P99_MS = 250
PER_SECOND = 50


class Part:
    """A part of an attack: its name, and what makes the attackers' functions from a server and the
    address that they come from.
    """

    def __init__(self, name, attackers, seconds=(10, 2)):
        self.name, self.attackers, self.seconds = name, attackers, seconds


def flood(name, scheme, count, script, protocol=None, **options):
    """A part with this number of connections by one process."""
    if scheme in PROTOCOLS:
        options["tls"] = tls(protocol or PROTOCOLS[scheme])
    return Part(name, lambda server, source: [
        Flood(server.address(scheme), count, script, source=source, **options).run])


def run(trial, parts, calls=True):
    """Runs parts one after the other, each beside an honest client of frames and one of gRPC.

    calls: whether there is one of gRPC
    """
    tls_authority(trial)
    alone = None
    for part in parts:
        trial.serve(config=configuration(LISTEN), listen=[], limits=trial.descriptors(16384))
        server, name = trial.server, part.name
        if alone is None:
            alone = trial.alone(per_second=PER_SECOND)
        trial.watch.mark_before()
        attackers = [trial.attackers(function) for function in part.attackers(
            server, None if trial.is_one_host else OTHER_HOST)]
        time.sleep(trial.scale(1, 0.3))
        used, began = processor_seconds(server.pid), time.monotonic()
        honest = trial.honest(per_second=PER_SECOND, warm_up=False)
        client = http2.Calls(trial, server.address("http")) if calls else None
        time.sleep(trial.scale(*part.seconds))
        seen = honest.result()
        used, lasted = processor_seconds(server.pid) - used, time.monotonic() - began
        bound = max(P99_MS, trial.p99_bound(0, alone))
        trial.saw(seen, p99_most=bound, label=name)
        if client:
            trial.saw(client.result(), p99_most=bound, label=f"{name}, gRPC")
        connections = server_metric(server, "assay_connections")
        counts = [attacker.stop() for attacker in attackers]
        before, peak = trial.watch.before, trial.watch.stop()
        trial.measure(f"{name} before", before / MB, "MB")
        trial.measure(f"{name} peak", peak / MB, "MB", most=RESIDENT_BYTES / MB)
        trial.measure(f"{name} held", trial.watch.held / MB, "MB")
        trial.note(f"{name}: {connections:.0f} connections at the end, "
                   f"{100 * used / lasted:.0f} % of a processor; {summary(counts)}")
        if ended := server.stop():
            trial.measure(f"{name}: {ended}", 1, most=0)
    trial.server = None


def summary(counts):
    counts = [count for count in counts if count]
    sums = {name: sum(count[name] for count in counts) for name in (counts or [{}])[0]}
    return ", ".join(f"{value / MB:.0f} MB of {name}" if name == "bytes" else f"{value} {name}"
                     for name, value in sums.items())


def server_metric(server, name):
    try:
        return server.metrics().get(name, 0)
    except OSError:
        return -1


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ---- Heads and trailers of HTTP/2 ----

FRAME_BYTES = 16384
# Enters the dynamic table, which has 4,096 bytes. From then on the byte NAMED is this field.
FIELD = b"\x40\x01a" + number(4000) + b"x" * 4000
NAMED = b"\xbe"
# The size of one HEADERS and the eight CONTINUATION that nghttp2 accepts.
MOST_BLOCK_BYTES = 9 * FRAME_BYTES - 456
# The largest number that does not end the connection: the block is refused at 128 KB.
REFUSED_FIELDS = 28


def blocks(stream, content, ends=True, is_whole=True):
    """HEADERS and CONTINUATION of a header block."""
    parts = [content[index:index + FRAME_BYTES] for index in range(0, len(content), FRAME_BYTES)]
    out = b""
    for index, part in enumerate(parts):
        flags = (1 if ends and index == 0 else 0) | (
            4 if is_whole and index == len(parts) - 1 else 0)
        out += frame(HEADERS if index == 0 else CONTINUATION, flags, stream, part)
    return out


def with_trailers(fields, pause):
    """Calls whose trailers name the field this often."""
    def script(_):
        yield START
        for stream in range(1, 1 << 30, 2):
            yield blocks(stream, block(http2.RPC) + FIELD, ends=False) + blocks(
                stream, NAMED * fields)
            if pause:
                yield pause
    return script


@attack("trailers", "259")
def trailers(trial):
    """Trailers of 147 KB that name a field of 4 KB with each byte: on one connection and on eight, a
    block each second; on eight without a pause; the same where the block is just below what ends a
    connection; over TLS.
    """
    largest, refused = MOST_BLOCK_BYTES, REFUSED_FIELDS
    run(trial, trial.scale(
        [flood("one", "http", 1, with_trailers(largest, 1)),
         flood("eight", "http", 8, with_trailers(largest, 1)),
         flood("eight, no pause", "http", 8, with_trailers(largest, 0)),
         flood("eight, refused", "http", 8, with_trailers(refused, 0)),
         flood("eight, TLS", "https", 8, with_trailers(largest, 1)),
         flood("eight, refused, TLS", "https", 8, with_trailers(refused, 0))],
        [flood("eight", "http", 8, with_trailers(largest, 0)),
         flood("eight, TLS", "https", 8, with_trailers(refused, 0))]))


def with_heads(fields):
    """Calls whose heads name the field this often."""
    def script(_):
        yield START
        for stream in range(1, 1 << 30, 2):
            yield blocks(stream, block(http2.RPC) + FIELD + NAMED * fields)
    return script


def with_literals(_):
    """Calls with heads of 144 KB that are written out, so that no byte is cheap."""
    fields = b"".join(b"\x10" + number(5) + b"x-%03d" % index + number(1400) + b"y" * 1400
                      for index in range(100))
    yield START
    for stream in range(1, 1 << 30, 2):
        yield blocks(stream, block(http2.RPC) + fields)


@attack("refused-heads", "269")
def refused_heads(trial):
    """Heads above 16 KB on 16 connections, without a pause: 144 KB of names of a field of 4 KB,
    144 KB of fields, and just below what ends a connection; over TLS.
    """
    largest, refused = MOST_BLOCK_BYTES - 4400, REFUSED_FIELDS
    run(trial, trial.scale(
        [flood("named", "http", 16, with_heads(largest)),
         flood("literal", "http", 16, with_literals),
         flood("refused", "http", 16, with_heads(refused)),
         flood("named, TLS", "https", 16, with_heads(largest)),
         flood("refused, TLS", "https", 16, with_heads(refused))],
        [flood("refused", "http", 16, with_heads(refused)),
         flood("named, TLS", "https", 16, with_heads(largest))]))


# Eight letters "a" of Huffman's code.
HUFFMAN = b"\x18\xc6\x31\x8c\x63"


def huffman(size, sent=None):
    """A field whose value has this size in Huffman's code."""
    value = (HUFFMAN * (size // len(HUFFMAN) + 1))[:size]
    prefix = bytearray(number(size))
    prefix[0] |= 0x80
    return b"\x10\x01x" + bytes(prefix) + value[:sent]


def endless(content):
    """A head that does not end."""
    def script(_):
        yield START + blocks(1, block(http2.GET) + content, is_whole=False)
        yield HOLD
    return script


@attack("endless-heads", "261")
def endless_heads(trial):
    """Heads that do not end, on 3,000 connections: a field of 131 KB in Huffman's code, and 12 KB of
    fields before half of one with 16 KB; over TLS on 1,000.
    """
    one = endless(huffman(MOST_BLOCK_BYTES - 200, MOST_BLOCK_BYTES - 300))
    several = endless(huffman(2500) * 3 + huffman(16000, 15000))
    count, over_tls = trial.scale(3000, 1000), trial.scale(1000, 100)
    run(trial, trial.scale(
        [flood("one field", "http", count, one), flood("several", "http", count, several),
         flood("one field, TLS", "https", over_tls, one),
         flood("several, TLS", "https", over_tls, several)],
        [flood("one field", "http", count, one), flood("several, TLS", "https", over_tls, several)]))


# ---- Connections ----

# More than the server reads at a time.
CHURNED = 68


def churner(address, source, data, context=None):
    """Connects, sends and closes without reading, one socket at a time."""
    def attacker(is_over):
        counts = {"connections": 0, "bytes": 0}
        while not is_over():
            client = None
            try:
                client = connect(address, context=context, source=source)
                client.sendall(data)
                counts["connections"] += 1
                counts["bytes"] += len(data)
            except OSError:
                time.sleep(0.001)
            if client:
                client.close()
        return counts
    return attacker


def wire_requests(token, count=CHURNED):
    return b"".join(wire_frame(*verify(id, assay.EVIDENCE_KIND_TRANSACTION, token))
                    for id in range(1, count + 1))


def grpc_calls(token, count, first=0):
    request = service.VerifyRequest(evidence=token)
    request.call.kind = assay.EVIDENCE_KIND_TRANSACTION
    body = http2.message(request.SerializeToString())
    return b"".join(http2.head(2 * index + 1, http2.RPC) + http2.data(2 * index + 1, body, True)
                    for index in range(first, first + count))


@attack("churn", "264")
def churn(trial):
    """Connects, sends 68 genuine tokens and closes without reading, again and again, one socket at a
    time: frames, HTTP/1.1 and gRPC, with TLS and without. An honest client is served meanwhile.
    """
    token = trial.evidence.token
    kinds = {"frames": ("tcp", "tls", None, wire_requests(token)),
             "HTTP/1.1": ("http", "https", "http/1.1", post(token) * CHURNED),
             "gRPC": ("http", "https", "h2", START + grpc_calls(token, CHURNED))}

    def part(name, over_tls):
        plain, secure, protocol, data = kinds[name]
        context = tls(protocol) if over_tls else None
        return Part(name + (", TLS" if over_tls else ""), lambda server, source: [
            churner(server.address(secure if over_tls else plain), source, data, context)])

    run(trial, [part(name, over_tls) for over_tls in [False, True] for name in kinds
                if not trial.is_short or over_tls == (name == "HTTP/1.1")])


def pipelined_calls(token):
    def script(_):
        # Windows as wide as they get, so that no answer waits for the attacker.
        yield START + http2.settings((4, 0x7FFFFFFF)) + frame(
            http2.WINDOW, 0, 0, (0x7FFF0000).to_bytes(4, "big"))
        for first in range(0, 1 << 29, 16):
            yield grpc_calls(token, 16, first)
    return script


@attack("pipelining", "265")
def pipelining(trial):
    """64 connections that pipeline genuine tokens: frames, HTTP/1.1 and gRPC, with TLS and without.
    """
    token, count = trial.evidence.token, bodies.CONNECTIONS
    frames, posts, calls = (forever(wire_requests(token)), forever(post(token) * 64),
                            pipelined_calls(token))
    run(trial, trial.scale(
        [flood("frames", "tcp", count, frames), flood("HTTP/1.1", "http", count, posts),
         flood("gRPC", "http", count, calls), flood("frames, TLS", "tls", count, frames),
         flood("HTTP/1.1, TLS", "https", count, posts, protocol="http/1.1"),
         flood("gRPC, TLS", "https", count, calls)],
        [flood("HTTP/1.1", "http", count, posts), flood("gRPC", "http", count, calls)]))


WATCH = http2.fields("/grpc.health.v1.Health/Watch")


def then_silence(*parts):
    def script(_):
        yield START + b"".join(parts)
        yield HOLD
    return script


@attack("idle-http2", "270")
def idle_http2(trial):
    """6,000 connections of HTTP/2 that have had an answer and are idle, that watch the health, or
    that have begun a stream and are silent; 2,000 of them over TLS.
    """
    count, over_tls = trial.scale(6000, 1500), trial.scale(2000, 150)
    answered = then_silence(http2.head(1, http2.GET, True))
    watch = then_silence(http2.head(1, WATCH), http2.data(1, http2.message(b""), True))
    stream = then_silence(http2.head(1, http2.fields(http2.STREAM)))
    parts = [flood("idle", "http", count, answered), flood("Watch", "http", count, watch),
             flood("VerifyStream", "http", count, stream),
             flood("idle, TLS", "https", over_tls, answered),
             flood("Watch, TLS", "https", over_tls, watch),
             flood("VerifyStream, TLS", "https", over_tls, stream)]
    for part in parts:
        part.seconds = (20, 2)
    run(trial, trial.scale(parts, [parts[1], parts[3]]))


# ---- TLS ----

FFDHE8192 = b"\x01\x04"


def hello():
    """A ClientHello of TLS 1.3 whose only group is ffdhe8192, with a share."""
    def extension(kind, content):
        return kind.to_bytes(2, "big") + len(content).to_bytes(2, "big") + content

    def sized(content, size=2):
        return len(content).to_bytes(size, "big") + content

    share = b"\x7f" + random.randbytes(1023)
    extensions = (extension(10, sized(FFDHE8192)) + extension(13, sized(b"\x04\x03\x08\x04"))
                  + extension(43, sized(b"\x03\x04", 1))
                  + extension(51, sized(FFDHE8192 + sized(share))))
    content = (b"\x03\x03" + random.randbytes(32) + b"\0" + sized(b"\x13\x01") + b"\x01\0"
               + sized(extensions))
    message = b"\x01" + sized(content, 3)
    return b"\x16\x03\x01" + sized(message)


def hellos(address, source, per_second):
    def attacker(is_over):
        counts, open_ones, due = {"hellos": 0}, [], time.monotonic()
        while not is_over():
            due += 1 / per_second
            time.sleep(max(0, due - time.monotonic()))
            try:
                client = connect(address, source=source)
                client.sendall(hello())
                counts["hellos"] += 1
                open_ones.append(client)
                if len(open_ones) > 100:
                    open_ones.pop(0).close()
            except OSError:
                pass
        return counts
    return attacker


@attack("costly-groups", "258")
def costly_groups(trial):
    """ClientHellos that offer ffdhe8192 alone, 5 and 50 a second."""
    run(trial, [Part(f"{rate} a second, {scheme}", lambda server, source, rate=rate, scheme=scheme: [
        hellos(server.address(scheme), source, rate)])
        for rate, scheme in trial.scale([(5, "tls"), (50, "tls"), (50, "https")], [(50, "https")])])


# ---- What is tried over HTTP/1.1 and frames, once more ----


def posted(stream, path, content, ends=True):
    """A request of HTTP/2 with this body, in frames."""
    size = FRAME_BYTES
    parts = [content[index:index + size] for index in range(0, len(content), size)]
    return http2.head(stream, http2.fields(path, kind="application/json")) + b"".join(
        frame(DATA, 1 if ends and index == len(parts) - 1 else 0, stream, part)
        for index, part in enumerate(parts))


def posts(*requests, pause=0.2):
    """Sends requests that fit into the windows, and connects again."""
    def script(_):
        yield START
        yield b"".join(posted(2 * index + 1, *request) for index, request in enumerate(requests))
        yield pause
    return script


@attack("again-over-http2", "272")
def again_over_http2(trial):
    """What tiny-chunks, fetch-bodies, many-members, withheld-bytes and unread-answers do over
    HTTP/1.1 and frames, over HTTP/2, with TLS and without.
    """
    large = 200_000
    tiny = b"".join(frame(DATA, 0, 1, b" ") for _ in range(10_000))
    start = posted(1, "/v1/verify", b'{"kind":"transaction","evidence":"' + b" " * large, False)

    def tiny_frames(_):
        yield START + start
        yield tiny + frame(DATA, 1, 1, b"}")
        yield 0.2

    def unread(_):
        yield START + http2.settings((4, 0)) + b"".join(
            http2.head(stream, http2.fields("/v1/openapi.json", "GET", None), True)
            for stream in http2.streams(90))
        yield HOLD

    members = [("/v1/verify", bodies.products_body(large)),
               ("/v1/entitlements", bodies.durations_body(large))]
    scripts = {
        "tiny frames": tiny_frames,
        "fetch bodies": posts(*[("/v1/fetch", bodies.fetch_body(large // 10))] * 4),
        "members of 200 KB": posts(*members * 2),
        "members of 8 KB": posts(("/v1/verify", bodies.products_body(7_900)),
                                 ("/v1/entitlements", bodies.durations_body(7_900)), pause=0),
        "withheld": posts(*[("/v1/verify", b" " * large, False)] * 4, pause=HOLD),
        "unread": unread,
    }
    run_over(trial, {f"{name}{end}": (scheme, "h2", script) for name, script in scripts.items()
                     for scheme, end in [("http", ""), ("https", ", TLS")]},
             ["members of 200 KB", "withheld, TLS"])


@attack("again-over-tls", "273")
def again_over_tls(trial):
    """What tiny-chunks, fetch-bodies, many-members, withheld-bytes and long-heads do over HTTP/1.1,
    and pipelined-pings, unread-answers, slow-receipts and early-disconnects by frames, over TLS.
    """
    pings = b"".join(wire_frame(assay.RequestHead(id=id, ping={})) for id in range(1, 4097))
    token = trial.evidence.token
    forged = wire_requests(token[:-8] + b"AAAAAAAA", 200)
    receipt = memory.receipt_start((32 << 20) - 100)

    def once(data, pause):
        def script(_):
            yield data
            yield pause
        return script

    def slowly(_):
        yield receipt
        while True:
            yield 4 / 42
            yield b"0"

    secure = {
        "tiny chunks": bodies.tiny_chunks_script(),
        "fetch bodies": bodies.repeated(bodies.whole("/v1/fetch", bodies.fetch_body(400_000))),
        "members of 4 MB": bodies.members_script(4_000_000),
        "members of 8 KB": bodies.members_script(7_900),
        "withheld": bodies.withheld_script(3),
        "long heads": bodies.long_heads_script(),
    }
    frames = {"pings": forever(pings), "unread": once(memory.INFO * 300, 12),
              "slow receipts": slowly, "early ends": once(forged, 0.02)}
    parts = {name: ("https", "http/1.1", script) for name, script in secure.items()}
    parts |= {name: ("tls", None, script) for name, script in frames.items()}
    run_over(trial, parts, ["members of 4 MB", "pings"])


def run_over(trial, parts, in_short):
    """Runs scripts by name; the short form has those that are named."""
    names = trial.scale(list(parts), in_short)
    run(trial, [flood(name, parts[name][0], bodies.CONNECTIONS, parts[name][2], parts[name][1],
                      reads=not name.startswith("unread")) for name in names], calls=False)
