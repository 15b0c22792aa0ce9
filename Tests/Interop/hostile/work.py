"""Attacks on the processor: expensive work for cheap requests."""
import random
import socket
import threading
import time

from assay.v1 import assay_pb2 as assay
from exchange import connect, receive
from hostile.flood import HOLD, Flood
from hostile.forge import SEGMENTED_RECEIPT, records, unsigned_receipt
from hostile.trial import MB, attack
from wire import Answers, frame, frame_start, verify


@attack("expected-products", "75")
def expected_products(trial):
    """An unsigned receipt with 28 MB of minimal in-app records, and 0, 1, 20 and 100 expected
    products. The cost does not grow, and tokens of known chains are answered meanwhile.
    """
    trial.serve()
    alone = trial.alone()
    body = unsigned_receipt(records(b"com.example.product.0", trial.scale(28, 8) * 1_000_000))
    costs = {}
    honest = trial.honest()
    for count in trial.scale([0, 1, 20, 100], [0, 1, 100]):
        head = verify(1, assay.EVIDENCE_KIND_APP_RECEIPT, b"",
                      in_app=assay.IN_APP_SELECTION_NONE)[0]
        head.verify.expectations.product_ids.extend(
            # Of the same length as the records' product, so lengths do not differ.
            f"com.example.product.{letter}" for letter in "abcdefghijklmnopqrst" * 5)
        del head.verify.expectations.product_ids[count:]
        data = frame(head, body)
        times = []
        for _ in range(trial.scale(5, 8)):
            with connect(trial.server.address("tcp")) as connection:
                begin = time.monotonic()
                connection.sendall(data)
                # A refusal costs nothing.
                if receive(connection.makefile("rb"))[0].status == assay.STATUS_OK:
                    times.append(time.monotonic() - begin)
        costs[count] = min(times) * 1000 if times else None
        trial.measure(f"{count} products", costs[count], "ms", least=0)
    # Comparing costs time for records this small; the number of expected products does not.
    for other, most in [(0, trial.scale(2, 3)), (1, trial.scale(1.3, 2))]:
        ratio = costs[100] / costs[other] if costs[100] and costs[other] else None
        trial.measure(f"100 products, times {other}", ratio, most=most)
    trial.saw(honest.result(), p99_most=trial.p99_bound(50, alone))
    trial.memory()


@attack("empty-segments", "76")
def empty_segments(trial):
    """Receipts in BER segments of zero and one octet, on 1, 4, 16 and 48 connections. The p99 of
    tokens of known chains stays below 20 ms.
    """
    trial.serve()
    alone = trial.alone()
    size = 24 << 20
    start = frame_start(
        verify(1, assay.EVIDENCE_KIND_APP_RECEIPT, b"")[0], size) + SEGMENTED_RECEIPT
    segments = [b"\x04\x00" * (32 << 10), b"\x04\x01A" * (16 << 10)]

    def script(index):
        yield start
        for _ in range(size // len(segments[index % 2])):
            yield segments[index % 2]

    for count in trial.scale([1, 4, 16, 48], [48]):
        attackers = trial.attackers(Flood(trial.server.address("tcp"), count, script).run)
        time.sleep(0.5)
        honest = trial.honest(warm_up=False)
        time.sleep(trial.scale(10, 4))
        trial.saw(honest.result(), p99_most=trial.p99_bound(20, alone),
                  label=f"beside {count}")
        attackers.stop()
    trial.memory()


@attack("burst-after-receipts", "78")
def after_receipts(trial):
    """48 genuine receipts of 2 MB, then, on the idle server, bursts of 64 transactions in one
    write. The server refuses none.
    """
    trial.serve("--workers", "1")
    token, address = trial.evidence.token, trial.server.address("tcp")
    receipt = trial.evidence.receipt("2MB")
    with connect(address) as connection:
        connection.sendall(frame(*verify(1, assay.EVIDENCE_KIND_TRANSACTION, token)))
        receive(connection.makefile("rb"))

    def receive_answers(stream, count):
        for _ in range(count):
            receive(stream)

    def send_receipts(count):
        """Sends all receipts at once, and requests all their records."""
        with connect(address) as connection:
            reader = threading.Thread(
                target=receive_answers, args=[connection.makefile("rb"), count])
            reader.start()
            for id in range(1, count + 1):
                connection.sendall(frame(*verify(
                    id, assay.EVIDENCE_KIND_APP_RECEIPT, receipt)))
            reader.join()

    threads = [threading.Thread(target=send_receipts, args=[12]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = dict.fromkeys(["sent", "valid", "wrong", "refused", "late", "lost"], 0)
    seen["messages"], latencies = {}, []
    for _ in range(trial.scale(20, 4)):
        time.sleep(0.5)
        burst(address, token, 64, seen, latencies)
    latencies.sort()
    seen["p50"] = latencies[len(latencies) // 2] if latencies else None
    seen["p99"] = latencies[len(latencies) * 99 // 100] if latencies else None
    trial.saw(seen, p99_most=trial.p99_bound(100, 0))
    trial.memory()


def burst(address, token, count, seen, latencies):
    """Sends transactions in one write; counts the answers."""
    data = b"".join(frame(*verify(id, assay.EVIDENCE_KIND_TRANSACTION, token))
                    for id in range(1, count + 1))
    with connect(address) as connection:
        connection.settimeout(5)
        begin = time.monotonic()
        connection.sendall(data)
        seen["sent"] += count
        answers, left = Answers(), count
        while left:
            try:
                received = connection.recv(1 << 18)
            except socket.timeout:
                received = b""
            if not received:
                seen["lost"] += left
                return
            for head in answers.feed(received):
                left -= 1
                if head.status != assay.STATUS_OK:
                    seen["refused"] += 1
                    seen["messages"]["refused"] = head.message
                elif head.verification.verdict == assay.VERDICT_VALID:
                    seen["valid"] += 1
                    latencies.append((time.monotonic() - begin) * 1000)
                else:
                    seen["wrong"] += 1


@attack("pipelined-pings", "62")
def pipelined_pings(trial):
    """Four connections send Pings without a pause. Honest clients are served."""
    trial.serve()
    alone = trial.alone()
    pings = b"".join(frame(assay.RequestHead(id=id, ping={})) for id in range(1, 4097))

    def script(_):
        while True:
            yield pings

    run_beside(trial, alone, Flood(trial.server.address("tcp"), 4, script))


@attack("broken-heads", "60")
def broken_heads(trial):
    """Heads with wrong wire types, groups, endless fields and lengths of 2^31, and bytes of other
    protocols. Honest clients are served.
    """
    trial.serve()
    alone = trial.alone()
    heads = [
        b"\xff" * 64, b"\x0b\x0c", b"\x0b" * 4096, b"\x7a\x00" * 20_000,
        b"\x2a\x80\x80\x80\x80\x08", b"\x1a\x02\xff\xff", b"\x08\x01" * 30_000,
        b"\x2a\x04\x0a\x00\x12\x00" * 8000,
    ]
    good = b"".join(frame_of(head) for head in heads)
    nonsense = [b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\0\0\0\0\0", b"\xff" * 4096,
                bytes.fromhex("160301020001000001fc0303")]

    def script(index):
        if index % 2:
            yield random.choice(nonsense)
            yield 0.2
        else:
            while True:
                yield good

    run_beside(trial, alone, Flood(trial.server.address("tcp"), 8, script))


def frame_of(head):
    return (4 + len(head)).to_bytes(4, "big") + len(head).to_bytes(4, "big") + head


@attack("early-disconnects", "65", short=False)
def gone_before_the_answer(trial):
    """Fifty connections send 200 forged transactions of known certificates each and close before
    the first answer, again and again. Honest clients are served.
    """
    trial.serve()
    alone = trial.alone()
    token = trial.evidence.token
    other = token[:-8] + (b"A" * 8 if token[-8:] != b"A" * 8 else b"B" * 8)
    data = b"".join(frame(*verify(id, assay.EVIDENCE_KIND_TRANSACTION, other))
                    for id in range(1, 201))

    def script(_):
        # 10,000 requests per second in total: less than the server's capacity.
        yield random.random() * 1.9
        yield data
        yield 0.02

    run_beside(trial, alone, Flood(
        trial.server.address("tcp"), 50, script, reads=False), p99=100)


@attack("duplicate-ids", "69", short=False)
def ids_in_flight(trial):
    """Sixteen connections repeat an id that is in flight, and send id 0. Honest clients are
    served.
    """
    trial.serve()
    alone = trial.alone()
    authority = trial.evidence.authority.forged()
    data = b"".join(frame(*verify(id, assay.EVIDENCE_KIND_TRANSACTION, next(authority)))
                    for id in [7, 7, 7, 0, 7, 0])

    def script(_):
        yield data
        yield HOLD if random.random() < 0.1 else 0.1

    run_beside(trial, alone, Flood(trial.server.address("tcp"), 16, script))


def run_beside(trial, alone, flood, p99=50):
    """Runs the flood, and measures an honest client meanwhile."""
    attackers = trial.attackers(flood.run)
    time.sleep(0.5)
    honest = trial.honest(warm_up=False)
    time.sleep(trial.scale(15, 2.5))
    trial.saw(honest.result(), p99_most=trial.p99_bound(p99, alone))
    counts = attackers.stop()
    trial.note(f"attackers: {counts['connections']} connections, {counts['bytes'] / MB:.0f} MB")
    trial.memory()
