"""Attacks through the HTTP listener: bodies and heads that cost more than they look."""
import itertools
import time

from hostile.flood import HOLD, Flood
from hostile.memory import EVIDENCE_BYTES
from hostile.trial import MB, attack

# The resident memory that a server can have beyond limits.evidence-bytes.
OVERHEAD_BYTES = 64 * MB
# The p99 of honest clients beside each of these attacks, in ms.
P99_MS = 250
LISTEN = ("tcp://127.0.0.1:0", "http://127.0.0.1:0")
CONNECTIONS = 64


def head(path, *fields):
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *fields]
    return "\r\n".join([*lines, "", ""]).encode()


def whole(path, body):
    return head(path, f"Content-Length: {len(body)}") + body


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


def run(trial, *floods, seconds=(15, 3)):
    """Runs floods of (name, count, script) one after the other, and measures an honest client beside
    each: of frames, whose requests need nothing of what is attacked.
    """
    trial.serve(listen=LISTEN)
    alone = trial.alone()
    for name, count, script in floods:
        attackers = trial.attackers(Flood(trial.server.address("http"), count, script).run)
        time.sleep(0.5)
        honest = trial.honest(warm_up=False)
        time.sleep(trial.scale(*seconds))
        trial.saw(honest.result(), p99_most=max(P99_MS, trial.p99_bound(0, alone)),
                  label=f"{name} on {count}")
        counts = attackers.stop()
        trial.note(f"{name}: {counts['connections']} connections, {counts['bytes'] / MB:.0f} MB "
                   f"sent, {counts['received']} bytes received")
    trial.memory(most=EVIDENCE_BYTES + OVERHEAD_BYTES)


def repeated(data):
    """A script that sends the same data on a connection again and again."""
    def script(_):
        while True:
            yield data
    return script


def tiny_chunks_script():
    large = b'{"kind":"transaction","evidence":"' + b" " * (4_100_000 - 34)
    tail = chunk(b" ") * 40_000
    paths = ["/v1/verify", "/v1/entitlements", "/verifyReceipt", "/v1/verify/batch"]
    bodies = []
    for path in paths:
        start = head(path, "Transfer-Encoding: chunked")
        if path.endswith("batch"):
            start = start.replace(b"application/json", b"application/x-ndjson")
        bodies.append(start + chunk(large) + tail)

    def script(index):
        for turn in itertools.count(index):
            yield bodies[turn % len(bodies)]
            yield chunk(b"}") + b"0\r\n\r\n"
            yield 0.5
    return script


@attack("tiny-chunks", "111")
def tiny_chunks(trial):
    """A body of one chunk of 4.1 MB, then 40,000 chunks of one byte: on one connection, and on 64.
    Also as a line of a batch. Honest clients' p99 is below 250 ms.
    """
    script = tiny_chunks_script()
    run(trial, ("chunks", 1, script), ("chunks", CONNECTIONS, script))


def fetch_body(lists):
    return b'{"transactionId":"1","lists":[' + b'"history",' * lists + b'"history"]}'


def products_body(size):
    return (b'{"kind":"auto","evidence":"A","expectations":{"productIds":['
            + b'"",' * (size // 4) + b'""]}}')


def durations_body(size):
    members = b",".join(b'"%x":1' % index for index in range(size // 10))
    return b'{"items":[{"evidence":"A"}],"policy":{"durationsMs":{' + members + b"}}}"


def members_script(size):
    bodies = [whole("/v1/verify", products_body(size)),
              whole("/v1/entitlements", durations_body(size))]

    def script(index):
        for turn in itertools.count(index):
            yield bodies[turn % 2]
    return script


@attack("fetch-bodies", "112")
def fetch_bodies(trial):
    """Bodies of 4 MB for /v1/fetch, where no app asks the App Store: on one connection, and on 64.
    Honest clients' p99 is below 250 ms.
    """
    script = repeated(whole("/v1/fetch", fetch_body(400_000)))
    run(trial, ("bodies", 1, script), ("bodies", CONNECTIONS, script))


@attack("many-members", "113")
def many_members(trial):
    """Bodies with a million product ids, or 330,000 durations, on one and on 64 connections; such
    bodies of 64 KB on four and on 64; of 8 KB, which are parsed on the loop's thread, on 64. Honest
    clients' p99 is below 250 ms, and memory stays within its limit.
    """
    large, middle, small = map(members_script, [4_000_000, 64_000, 7_900])
    run(trial, *trial.scale(
        [("4 MB", 1, large), ("4 MB", CONNECTIONS, large), ("64 KB", 4, middle),
         ("64 KB", CONNECTIONS, middle), ("8 KB", CONNECTIONS, small)],
        [("4 MB", 1, large), ("4 MB", CONNECTIONS, large), ("64 KB", 4, middle),
         ("8 KB", CONNECTIONS, small)]))


def withheld_script(pause):
    body = whole("/v1/verify", b" " * (4 << 20))[:-1]

    def script(_):
        yield body
        yield pause
    return script


@attack("withheld-bytes", "114")
def withheld_bytes(trial):
    """64 bodies of 4 MB less a byte, then silence; then on 70 connections that begin again after
    three seconds. Honest clients' p99 is below 250 ms, and memory stays within its limit.
    """
    run(trial, ("silent", CONNECTIONS, withheld_script(HOLD)),
        ("repeated", 70, withheld_script(3)), seconds=(20, 5))


def long_heads_script():
    fields = b"".join(b"A%d: %b\r\n" % (index, b"b" * 140) for index in range(98))
    return repeated((b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n") * 8)


@attack("long-heads", "115")
def long_heads(trial):
    """Heads of 15 KB, and chunks of one byte of a refused body, on 64 connections each. Honest
    clients' p99 is below 250 ms, and a refused body is not read without end.
    """
    start = head("/v1/none", "Transfer-Encoding: chunked")
    chunks = chunk(b"x") * 10_000

    def refused(_):
        yield start
        while True:
            yield chunks

    run(trial, ("heads", CONNECTIONS, long_heads_script()),
        ("chunks", CONNECTIONS, refused))
