"""Good clients beside hostile and broken ones, for minutes, against a server under a memory limit.

The good ones are `assay load`, first alone, then under attack; so is the crowd that sends forged
evidence and chains that the server has not seen. What speaks no protocol, stalls, floods or goes
away midway is in this file. Exits with 1 where something did not hold that has to.
"""
import argparse
import asyncio
import collections
import json
import os
import pathlib
import random
import re
import resource
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from assay.v1 import assay_pb2 as assay

# What the server may map. Its threads' stacks and allocator arenas are most of it, touched or not.
ADDRESS_SPACE = 1 << 30
# Evidence of all connections; the default is above what the address space allows.
EVIDENCE_BYTES = 64 << 20
GOOD_RATE = 400
# Requests a second of the crowd, and how many in a hundred are forged, or bring a chain of
# their own.
CROWD_RATE, CROWD_FORGED, CROWD_UNSEEN = 200, 60, 10
# Attackers have machines of their own: here they give way to the server and the good clients.
ATTACKERS_NICE = 10
# Resident memory may be higher at the end than after the warm-up by the larger of these.
GROWTH_BYTES, GROWTH_SHARE = 24 << 20, 0.2
# The good clients' p99 under attack: so many times what it is alone, or so many ms on a machine
# where alone is too small to multiply.
P99_FACTOR, P99_LEAST_MS = 10, 40
# Refusals: an answer that says why, from which a client learns.
REFUSED = {assay.STATUS_RESOURCE_EXHAUSTED, assay.STATUS_DEADLINE_EXCEEDED,
           assay.STATUS_UNAVAILABLE}

counts = collections.Counter()
refused = collections.Counter()
defects = collections.Counter()


def frame(head, body=b""):
    data = head.SerializeToString()
    return struct.pack(">II", 4 + len(data) + len(body), len(data)) + data + body


def verify(id, kind, body, **fields):
    head = assay.RequestHead(id=id, timeout_ms=30_000)
    head.verify.kind = kind
    head.verify.SetInParent()
    for name, value in fields.items():
        setattr(head.verify, name, value)
    return head, body


async def answers(reader):
    """All answers up to the stream's end, or to a reset."""
    while True:
        try:
            length, head_length = struct.unpack(">II", await reader.readexactly(8))
            data = await reader.readexactly(length - 4)
        except asyncio.IncompleteReadError as end:
            if end.partial:
                defects["an answer was cut short"] += 1
            return
        except (ConnectionError, TimeoutError):
            return
        head = assay.ResponseHead.FromString(data[:head_length])
        if head.status != assay.STATUS_OK:
            reason = re.sub(r"\d+", "N", head.message) or "no message"
            refused[f"{assay.Status.Name(head.status)[7:]}: {reason}"] += 1
        if head.status == assay.STATUS_INTERNAL:
            defects[f"INTERNAL: {head.message}"] += 1
        yield head


class Attack:
    def __init__(self, port, receipts):
        self.port = port
        self.receipts = receipts

    async def connect(self, buffer=None):
        made = socket.socket()
        if buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", self.port))
        return await asyncio.open_connection(sock=made)

    # Each of these is one visit; it is repeated for as long as the soak lasts.

    async def garbage(self):
        """Bytes of other protocols, or of none: told so, and closed."""
        reader, writer = await self.connect()
        writer.write(random.choice([
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0\0\0\0\0\0\0\0", b"\0\0\0\4\xff\xff\xff\xff",
            random.randbytes(random.randint(8, 4096)),
        ]))
        writer.write_eof()
        said = [head async for head in answers(reader)]
        if not said:
            counts["garbage closed without a word"] += 1
        writer.close()

    async def oversized(self):
        """Lengths that no frame has."""
        reader, writer = await self.connect()
        length = random.choice([1 << 31, (1 << 32) - 1, 64 << 20, (32 << 20) + 1])
        writer.write(struct.pack(">II", length, 4) + bytes(1000))
        statuses = [head.status async for head in answers(reader)]
        if statuses != [assay.STATUS_RESOURCE_EXHAUSTED]:
            defects[f"an oversized frame: {statuses}"] += 1
        writer.close()

    async def pipelined(self):
        """Much in one write, some of it with a head that can't be used: each is answered once."""
        reader, writer = await self.connect()
        ids = random.sample(range(1, 1 << 40), 200)
        stream = b""
        for id in ids:
            if id % 3 == 0:
                stream += frame(assay.RequestHead(id=id, ping={}))
            elif id % 3 == 1:
                stream += frame(*verify(id, assay.EVIDENCE_KIND_TRANSACTION, b"a.b.c"))
            else:
                stream += frame(assay.RequestHead(id=id))
        writer.write(stream)
        writer.write_eof()
        answered = [head.id async for head in answers(reader)]
        if sorted(answered) != sorted(ids):
            defects[f"{len(set(ids) - set(answered))} pipelined requests unanswered"] += 1
        writer.close()

    async def half_open(self):
        """A frame begun and never ended: closed by the server's timer."""
        reader, writer = await self.connect()
        head, body = verify(1, assay.EVIDENCE_KIND_APP_RECEIPT, bytes(1 << 20))
        writer.write(frame(head, body)[:random.choice([3, 8, 20, 5000])])
        said = [head.status async for head in answers(reader)]
        if said != [assay.STATUS_DEADLINE_EXCEEDED]:
            defects[f"a frame that never ended: {said}"] += 1
        writer.close()

    async def slow_writer(self):
        """One byte a second."""
        reader, writer = await self.connect()
        data = frame(*verify(1, assay.EVIDENCE_KIND_TRANSACTION, bytes(8000)))
        said = asyncio.ensure_future(statuses_of(reader))
        for byte in data:
            if said.done():
                break
            writer.write(bytes([byte]))
            await asyncio.sleep(1)
        if await said != [assay.STATUS_DEADLINE_EXCEEDED]:
            defects[f"a slow writer: {said.result()}"] += 1
        writer.close()

    async def slow_reader(self):
        """Asks for much, and reads a byte a second of it until it is closed."""
        reader, writer = await self.connect(buffer=4096)
        writer.transport.pause_reading()
        made = writer.get_extra_info("socket")
        writer.write(b"".join(
            frame(assay.RequestHead(id=id, info={})) for id in range(1, 500)))
        loop = asyncio.get_running_loop()
        until = loop.time() + 20
        while loop.time() < until:
            await asyncio.sleep(1)
            try:
                if not made._sock.recv(1):
                    break
            except BlockingIOError:
                continue
            except OSError:
                break
        writer.transport.abort()

    async def midway(self):
        """Goes away within a frame, by a reset or by an end."""
        reader, writer = await self.connect()
        receipt = random.choice(self.receipts)[0]
        data = frame(*verify(1, assay.EVIDENCE_KIND_APP_RECEIPT, receipt))
        writer.write(data[:random.randrange(len(data))])
        if random.random() < 0.5:
            await asyncio.sleep(random.random() / 10)
            writer.transport.abort()
            return
        writer.write_eof()
        async for head in answers(reader):
            if head.verification.verdict:
                defects["a verdict on half a receipt"] += 1
        writer.close()

    async def receipt(self):
        """A receipt of megabytes, genuine or not, in pieces as a network brings them."""
        reader, writer = await self.connect()
        receipt, expected = random.choice(self.receipts)
        data = frame(*verify(
            7, assay.EVIDENCE_KIND_APP_RECEIPT, receipt,
            in_app=assay.IN_APP_SELECTION_NONE))
        try:
            while data:
                count = random.randint(1, 256 << 10)
                writer.write(data[:count])
                data = data[count:]
                await writer.drain()
            writer.write_eof()
        except ConnectionError:
            pass  # refused before its end, or lost: the answer tells
        said = [head async for head in answers(reader)]
        if len(said) != 1:
            defects[f"{len(said)} answers to a receipt"] += 1
        elif said[0].status == assay.STATUS_OK:
            verdict = assay.Verdict.Name(said[0].verification.verdict)
            if verdict != "VERDICT_" + expected:
                defects[f"a receipt: {verdict}, not {expected}"] += 1
        elif said[0].status not in REFUSED:
            defects[f"a receipt: {said[0].message}"] += 1
        writer.close()


async def statuses_of(reader):
    return [head.status async for head in answers(reader)]


# How many of each at a time, and how long one waits until the next: some hundred connections,
# most of which stall, and some hundred visits a second.
CROWD = {
    "garbage": (2, 0.05), "oversized": (2, 0.1), "pipelined": (2, 0.2), "half_open": (60, 0.5),
    "slow_writer": (60, 0.5), "slow_reader": (20, 0.5), "midway": (2, 0.2), "receipt": (2, 0.3),
}


async def visits(attack, name, pause, until):
    await asyncio.sleep(random.random() * pause)
    while time.monotonic() < until:
        try:
            await asyncio.wait_for(getattr(attack, name)(), 60)
            counts[name] += 1
        except TimeoutError:
            defects[f"{name}: nothing came for a minute"] += 1
        except ConnectionError as error:
            counts[f"{name}: {type(error).__name__}"] += 1
        await asyncio.sleep(pause * (0.5 + random.random()))


def resident(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def megabytes(count):
    return f"{count / (1 << 20):.1f} MB"


class Soak:
    def __init__(self, tool, work, seconds):
        self.tool = tool
        self.work = pathlib.Path(work)
        self.seconds = seconds
        self.samples = []

    def prepare(self):
        def mint(*arguments):
            return subprocess.run([self.tool, "mint", *arguments], check=True,
                                  capture_output=True).stdout
        ca = self.work / "ca"
        mint("ca", str(ca))
        self.receipts = []
        for size in ["300KB", "3MB"]:
            path = self.work / f"receipt-{size}"
            path.write_bytes(mint(
                "receipt", "--ca", str(ca), "--size", size, "--bundle-id", "com.example.game",
                "--app-apple-id", "1234567890",
                "--environment", "Production"))
            good = path.read_bytes().strip()
            self.receipts.append((good, "VALID"))
            self.receipts.append((good[:-1000], "MALFORMED"))
            # Within the signature, which is the last thing in a receipt.
            other = b"A" if good[-100:-99] != b"A" else b"B"
            self.receipts.append((good[:-100] + other + good[-99:], "INVALID_SIGNATURE"))
        (self.work / "assay.toml").write_text(
            f'listen = ["tcp://127.0.0.1:0"]\n[limits]\nevidence-bytes = {EVIDENCE_BYTES}\n'
            '[[app]]\nname = "game"\nbundle-id = "com.example.game"\n'
            'app-apple-id = 1234567890\n')

    def start(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        self.log = open(self.work / "log", "w+")
        self.server = subprocess.Popen(
            [self.tool, "serve", "--config", str(self.work / "assay.toml"),
             "--root", str(self.work / "ca/root.pem"),
             "--root", str(self.work / "ca/receipt-root.pem")],
            stdout=subprocess.PIPE, stderr=self.log, preexec_fn=limit, text=True)
        ready = self.server.stdout.readline()
        if "tcp://" not in ready:
            raise SystemExit(f"the server did not start: {(self.work / 'log').read_text()}")
        self.port = int(ready.rsplit(":", 1)[1].split()[0])

    def load(self, name, seconds, rate, *arguments, nice=0):
        path = self.work / f"{name}.json"
        process = subprocess.Popen(
            [self.tool, "load", f"tcp://127.0.0.1:{self.port}", "--ca", str(self.work / "ca"),
             "--rate", str(rate), "--arrivals", "poisson", "--duration", str(seconds),
             "--connections", "4", "--json", str(path), "--quiet", "--timeout", "5", *arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.nice(nice))
        return process, path

    async def result(self, process, path):
        while process.poll() is None:
            await asyncio.sleep(0.1)
        if not path.exists():
            raise SystemExit(f"{path.stem}: assay load ended with status {process.returncode}")
        return json.loads(path.read_text())

    async def watch(self, until):
        """A line every few seconds, and what the server's memory is."""
        start = time.monotonic()
        last = start
        every = max(2, min(15, self.seconds / 12))
        while time.monotonic() < until:
            await asyncio.sleep(0.5)
            if self.server.poll() is not None:
                defects[f"the server ended with status {self.server.returncode}"] += 1
                return
            now = time.monotonic()
            self.samples.append((now - start, resident(self.server.pid)))
            if now - last >= every:
                last = now
                connections = len(os.listdir(f"/proc/{self.server.pid}/fd"))
                print(f"{now - start:5.0f} s  resident {megabytes(self.samples[-1][1])}  "
                      f"descriptors {connections}  visits {sum(counts.values())}  "
                      f"refusals {sum(refused.values())}  defects {sum(defects.values())}",
                      flush=True)

    async def run(self):
        quiet = max(8, min(30, self.seconds / 6))
        mix = ["--mix", "transaction=70,notification=20,renewal-info=10"]
        print(f"good clients alone, {quiet:.0f} s", flush=True)
        self.alone = await self.result(*self.load("alone", quiet, GOOD_RATE, *mix))
        print(f"under attack, {self.seconds:.0f} s", flush=True)
        until = time.monotonic() + self.seconds
        good = self.load("good", self.seconds - 4, GOOD_RATE, *mix)
        crowd = self.load(
            "crowd", self.seconds - 4, CROWD_RATE, "--forged", str(CROWD_FORGED),
            "--unseen", str(CROWD_UNSEEN), nice=ATTACKERS_NICE)
        os.nice(ATTACKERS_NICE)
        attack = Attack(self.port, self.receipts)
        tasks = [self.watch(until)]
        for name, (number, pause) in CROWD.items():
            tasks += [visits(attack, name, pause, until) for _ in range(number)]
        tasks += [self.result(*good), self.result(*crowd)]
        results = await asyncio.gather(*tasks)
        self.good, self.crowd = results[-2:]

    def stop(self):
        if self.server.poll() is None:
            self.server.send_signal(signal.SIGTERM)
        try:
            status = self.server.wait(20)
        except subprocess.TimeoutExpired:
            self.server.kill()
            status = "none: it had to be killed"
        if status != 0:
            defects[f"the server ended with status {status}"] += 1

    def report(self):
        seconds = self.samples[-1][0] if self.samples else 0
        def median(low, high):
            some = [size for at, size in self.samples if low <= at / seconds <= high]
            return statistics.median(some)
        begin, end = median(0.15, 0.3), median(0.85, 1)
        if end > begin + max(GROWTH_BYTES, begin * GROWTH_SHARE):
            defects[f"memory grew from {megabytes(begin)} to {megabytes(end)}"] += 1
        alone, under = self.alone["latency"]["p99"], self.good["latency"]["p99"]
        bound = max(P99_FACTOR * alone, P99_LEAST_MS)
        if under > bound:
            defects[f"p99 of the good clients is {under:.1f} ms, its bound {bound:.1f} ms"] += 1
        for name, result in [("good, alone", self.alone), ("good", self.good)]:
            for what in ["wrong", "errors", "unanswered"]:
                if result[what]:
                    defects[f"{name}: {what} {result[what]}"] += 1
        for what in ["wrong", "unanswered"]:
            if self.crowd[what]:
                defects[f"crowd: {what} {self.crowd[what]}"] += 1
        lost = {"the connection was lost", "the deadline passed"}
        for complaint in self.good["complaints"] + self.crowd["complaints"]:
            if complaint["what"] in lost:
                defects[f"requests: {complaint['what']}"] += complaint["count"]
            refused["requests: " + complaint["what"]] += complaint["count"]
        rows = [
            ("good clients' requests", self.good["sent"]),
            ("  with the right verdict", self.good["correct"]),
            ("forged, unseen and genuine ones of the crowd", self.crowd["sent"]),
            ("  with the right verdict", self.crowd["correct"]),
            ("wrong verdicts", self.good["wrong"] + self.crowd["wrong"]),
            ("requests without an answer", self.good["unanswered"] + self.crowd["unanswered"]),
            ("p99 of the good clients, alone", f"{alone:.2f} ms"),
            ("p99 of the good clients, under attack", f"{under:.2f} ms (bound {bound:.0f} ms)"),
            ("resident memory after the warm-up", megabytes(begin)),
            ("resident memory at the end", megabytes(end)),
            ("  at its highest", megabytes(max(size for _, size in self.samples))),
            ("address space limit", megabytes(ADDRESS_SPACE)),
        ]
        rows += [(f"visits: {name}", number) for name, number in sorted(counts.items())]
        rows += [(f"refused: {what}"[:84], number) for what, number in refused.most_common(24)]
        print()
        for name, value in rows:
            print(f"{name:<84} {value:>10}")
        for what, number in defects.items():
            print(f"DID NOT HOLD: {what} ({number})")
        print("held" if not defects else "FAILED")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    # The stalled crowd takes some descriptors.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    with tempfile.TemporaryDirectory() as work:
        soak = Soak(options.tool, work, max(options.minutes * 60, 15))
        soak.prepare()
        soak.start()
        try:
            asyncio.run(soak.run())
        finally:
            soak.stop()
        soak.report()
        if defects:
            print((pathlib.Path(work) / "log").read_text()[-2000:], file=sys.stderr)
    sys.exit(1 if defects else 0)


if __name__ == "__main__":
    main()
