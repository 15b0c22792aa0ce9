"""Attacks on memory and on the shares of its limit."""
import time

from assay.v1 import assay_pb2 as assay
from hostile.flood import HOLD, Flood, dial
from hostile.trial import MB, attack
from wire import Answers, frame, frame_start, verify

INFO = frame(assay.RequestHead(id=1, info={}))
# The minimum of the system: unread answers stay at the server.
SMALL_BUFFER = 4096
# limits.evidence-bytes, and the allowed resident memory beyond it.
EVIDENCE_BYTES = 256 * MB
OVERHEAD_BYTES = 32 * MB
# The allowed memory of an idle connection, and of the buffers that a server keeps for reuse.
IDLE_BYTES = 4 << 10
IDLE_OVERHEAD_BYTES = 16 * MB


def receipt_start(body_bytes, timeout_ms=30_000):
    head = verify(1, assay.EVIDENCE_KIND_APP_RECEIPT, b"")[0]
    head.timeout_ms = timeout_ms
    return frame_start(head, body_bytes)


@attack("slow-receipts", "79")
def slow_receipts(trial):
    """Four connections declare a receipt of 32 MiB and together send 42 bytes per second. Honest
    clients' receipts of 256 KB are served.
    """
    trial.serve()
    receipt = trial.evidence.receipt("256KB")
    start = receipt_start((32 << 20) - 100)

    def script(_):
        yield start
        while True:
            yield 4 / 42
            yield b"0"

    attackers = trial.attackers(Flood(trial.server.address("tcp"), 4, script).run)
    time.sleep(0.5)
    honest = trial.honest("app_receipt", [receipt], per_second=10, warm_up=False)
    tokens = trial.honest()
    time.sleep(trial.scale(20, 3))
    trial.saw(honest.result(), label="receipts")
    trial.saw(tokens.result(), p99_most=trial.p99_bound(20, 0))
    attackers.stop()
    trial.memory()


@attack("unread-answers", "80")
def unread_answers(trial):
    """1,100 connections (in the long form then 2,500) send 300 Info requests each and read nothing.
    Honest clients' transactions are served, and memory stays within its limit.
    """
    trial.serve(limits=trial.descriptors(8192))
    alone = trial.alone()

    def script(_):
        yield INFO * 300
        # The server closes the connection before, or the requests are repeated on another one.
        yield 12

    for count in trial.scale([1100, 2500], [1100]):
        attackers = trial.attackers(Flood(
            trial.server.address("tcp"), count, script, reads=False,
            receive_buffer=SMALL_BUFFER).run)
        time.sleep(trial.scale(5, 1.5))
        honest = trial.honest(warm_up=False)
        time.sleep(trial.scale(20, 3))
        trial.saw(honest.result(), p99_most=trial.p99_bound(20, alone),
                  label=f"beside {count}")
        attackers.stop()
    trial.memory(most=trial.watch.before + EVIDENCE_BYTES + OVERHEAD_BYTES)


@attack("waiting-requests", "81")
def waiting_requests(trial):
    """Requests wait for unknown chains, each alone in its read buffer: the rest of the buffer is
    answered at once. Resident memory is within a fifth of the bytes that the metrics count.
    """
    trial.serve()
    count = trial.scale(1000, 400)
    forged = trial.evidence.authority.forged()
    # An unknown kind of evidence: refused, and its bytes are not kept.
    filler = frame(*verify(count + 1, 99, bytes(60_000)))
    frames = [frame(*verify(id, assay.EVIDENCE_KIND_TRANSACTION, next(forged))) + filler
              for id in range(1, count + 1)]

    def script(_):
        for data in frames:
            yield data
            yield 0.002
        yield HOLD

    alone = trial.alone()
    trial.watch.mark_before()
    attackers = trial.attackers(
        Flood(trial.server.address("tcp"), trial.scale(16, 10), script).run)
    honest = trial.honest(warm_up=False)
    most, at_most = 0, 0
    until = time.monotonic() + trial.scale(20, 5)
    while time.monotonic() < until:
        time.sleep(0.1)
        counted = sum(value for name, value in trial.server.metrics().items()
                      if name.startswith("assay_bytes_in_flight"))
        grown = trial.server.resident() - trial.watch.before
        if grown - counted * 1.2 > most - at_most * 1.2:
            most, at_most = grown, counted
    trial.measure("counted bytes", at_most / MB, "MB")
    trial.measure("resident growth", most / MB, "MB",
                  most=(at_most * 1.2 + OVERHEAD_BYTES) / MB)
    trial.saw(honest.result(), p99_most=trial.p99_bound(50, alone))
    attackers.stop()
    trial.memory()


@attack("idle-connections", "83")
def idle_connections(trial):
    """1,000 connections read 256 KB of answers each, and are then idle. Each takes at most 4 KB."""
    trial.serve(limits=trial.descriptors(8192))
    address = trial.server.address("tcp")

    def visit(count):
        """Returns connections that have read all their answers."""
        made = []
        for _ in range(count):
            connection = dial(address)
            connection.settimeout(10)
            connection.sendall(INFO * 7)
            made.append((connection, Answers()))
        for connection, answers in made:
            answered = 0
            while answered < 7:
                data = connection.recv(1 << 18)
                if not data:
                    break
                answered += len(answers.feed(data))
        return [connection for connection, _ in made]

    count = 1000
    held = visit(count)
    honest = trial.honest()
    # Buffers are released a moment later.
    most = count * IDLE_BYTES + IDLE_OVERHEAD_BYTES
    until = time.monotonic() + trial.scale(60, 10)
    while time.monotonic() < until:
        time.sleep(0.5)
        grown = trial.server.resident() - trial.watch.before
        if grown <= most:
            break
    trial.measure("resident growth", grown / MB, "MB", most=most / MB)
    trial.saw(honest.result())
    for connection in held:
        connection.close()
    trial.memory()


@attack("short-receipts", "64", short=False)
def short_receipts(trial):
    """1,000 connections declare a receipt of 32 MiB and send all but its last byte. Memory stays
    within its limit, and honest clients' transactions are served.
    """
    trial.serve(limits=trial.descriptors(8192))
    alone = trial.alone()
    body_bytes = (32 << 20) - 100
    start, chunk = receipt_start(body_bytes), b"A" * (64 << 10)

    def script(_):
        yield start
        for _ in range((body_bytes - 1) // len(chunk)):
            yield chunk
        yield b"A" * ((body_bytes - 1) % len(chunk))
        yield HOLD

    attackers = trial.attackers(Flood(trial.server.address("tcp"), 1000, script).run)
    time.sleep(2)
    honest = trial.honest(warm_up=False)
    time.sleep(20)
    trial.saw(honest.result(), p99_most=trial.p99_bound(100, alone))
    attackers.stop()
    trial.memory(most=trial.watch.before + EVIDENCE_BYTES + OVERHEAD_BYTES)


@attack("byte-by-byte", "61", short=False)
def byte_by_byte(trial):
    """1,000 connections send one byte per second, and 1,000 send Info requests and read nothing.
    Timers close them; honest clients' transactions are served.
    """
    trial.serve(limits=trial.descriptors(8192))
    alone = trial.alone()
    data = frame(*verify(1, assay.EVIDENCE_KIND_TRANSACTION, bytes(8000)))

    def writer(_):
        for byte in data:
            yield bytes([byte])
            yield 1

    def reader(_):
        yield INFO
        yield 3

    address = trial.server.address("tcp")
    attackers = [trial.attackers(Flood(address, 1000, writer).run), trial.attackers(Flood(
        address, 1000, reader, reads=False, receive_buffer=SMALL_BUFFER).run)]
    time.sleep(2)
    honest = trial.honest(warm_up=False)
    time.sleep(20)
    trial.saw(honest.result(), p99_most=trial.p99_bound(50, alone))
    for some in attackers:
        some.stop()
    trial.memory(most=trial.watch.before + EVIDENCE_BYTES + OVERHEAD_BYTES)
