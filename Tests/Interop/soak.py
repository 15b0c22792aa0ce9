"""Honest clients beside hostile and broken ones, for minutes, against a server with a memory limit.

The honest ones are `assay load`, first alone, then under attack. Another `assay load` sends forged
evidence and unknown chains. Clients that send garbage, stall, flood or disconnect early are in
attacks.py. Exits with 1 if a check failed.
"""
import argparse
import asyncio
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from attacks import ATTACKERS, Attack, counts, defects, refused, visits
from server import APP_ID, BUNDLE, Server, load_command, mint, mint_receipt, roots

# The server's limit of address space, most of which stacks and allocator arenas reserve.
ADDRESS_SPACE = 1 << 30
# The limit of evidence of all connections; the default exceeds the address space.
EVIDENCE_BYTES = 64 << 20
GOOD_RATE = 400
# Requests per second of the flood, and the percentages of forged ones and of unknown chains.
FLOOD_RATE, FLOOD_FORGED, FLOOD_UNKNOWN = 200, 60, 10
# Real attackers use their own machines: here they have a lower priority.
ATTACKERS_NICE = 10
# The allowed growth of resident memory from the warm-up to the end: the larger of these.
GROWTH_BYTES, GROWTH_SHARE = 24 << 20, 0.2
# The bound of the honest clients' p99 under attack: this multiple of their p99 alone, but at least
# this many ms.
P99_FACTOR, P99_LEAST_MS = 10, 40


def megabytes(count):
    return f"{count / (1 << 20):.1f} MB"


class Soak:
    def __init__(self, tool, work, seconds):
        self.tool = tool
        self.work = pathlib.Path(work)
        self.seconds = seconds
        self.samples = []

    def prepare(self):
        ca = self.ca = self.work / "ca"
        mint(self.tool, "ca", str(ca))
        self.receipts = []
        for size in ["300KB", "3MB"]:
            good = mint_receipt(self.tool, ca, size)
            self.receipts.append((good, "VALID"))
            self.receipts.append((good[:-1000], "MALFORMED"))
            # Inside the signature, which is at the end of a receipt.
            other = b"A" if good[-100:-99] != b"A" else b"B"
            self.receipts.append((good[:-100] + other + good[-99:], "INVALID_SIGNATURE"))
        (self.work / "assay.toml").write_text(
            f'listen = ["tcp://127.0.0.1:0"]\n[limits]\nevidence-bytes = {EVIDENCE_BYTES}\n'
            f'[[app]]\nname = "game"\nbundle-id = "{BUNDLE}"\napp-apple-id = {APP_ID}\n')

    def start(self):
        self.server = Server(
            self.tool, self.work / "log", "--config", str(self.work / "assay.toml"),
            *roots(self.ca), limits={resource.RLIMIT_AS: ADDRESS_SPACE}).wait_ready()

    def load(self, name, seconds, rate, *arguments, nice=0):
        path = self.work / f"{name}.json"
        process = subprocess.Popen(
            load_command(
                self.tool, f"tcp://127.0.0.1:{self.server.port}", self.ca, path,
                "--rate", str(rate), "--arrivals", "poisson", "--duration", str(seconds),
                "--connections", "4", "--timeout", "5", *arguments),
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
        """Prints a line every few seconds, and samples the server's memory."""
        start = time.monotonic()
        last = start
        every = max(2, min(15, self.seconds / 12))
        while time.monotonic() < until:
            await asyncio.sleep(0.5)
            if self.server.process.poll() is not None:
                return  # stop() reports how it ended
            now = time.monotonic()
            self.samples.append((now - start, self.server.resident()))
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
        print(f"honest clients alone, {quiet:.0f} s", flush=True)
        self.alone = await self.result(*self.load("alone", quiet, GOOD_RATE, *mix))
        print(f"under attack, {self.seconds:.0f} s", flush=True)
        until = time.monotonic() + self.seconds
        good = self.load("good", self.seconds - 4, GOOD_RATE, *mix)
        flood = self.load(
            "flood", self.seconds - 4, FLOOD_RATE, "--forged", str(FLOOD_FORGED),
            "--unseen", str(FLOOD_UNKNOWN), nice=ATTACKERS_NICE)
        os.nice(ATTACKERS_NICE)
        attack = Attack(self.server.port, self.receipts)
        tasks = [self.watch(until)]
        for name, (number, pause) in ATTACKERS.items():
            tasks += [visits(attack, name, pause, until) for _ in range(number)]
        tasks += [self.result(*good), self.result(*flood)]
        results = await asyncio.gather(*tasks)
        self.good, self.flood = results[-2:]

    def stop(self):
        if ended := self.server.stop():
            defects[ended] += 1

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
            defects[f"p99 of the honest clients is {under:.1f} ms, its bound {bound:.1f} ms"] += 1
        for name, result in [("good, alone", self.alone), ("good", self.good)]:
            for what in ["wrong", "errors", "unanswered"]:
                if result[what]:
                    defects[f"{name}: {what} {result[what]}"] += 1
        for what in ["wrong", "unanswered"]:
            if self.flood[what]:
                defects[f"flood: {what} {self.flood[what]}"] += 1
        lost = {"the connection was lost", "the deadline passed"}
        for complaint in self.good["complaints"] + self.flood["complaints"]:
            if complaint["what"] in lost:
                defects[f"requests: {complaint['what']}"] += complaint["count"]
            refused["requests: " + complaint["what"]] += complaint["count"]
        rows = [
            ("good clients' requests", self.good["sent"]),
            ("  with the right verdict", self.good["correct"]),
            ("forged, unknown and genuine evidence of the flood", self.flood["sent"]),
            ("  with the right verdict", self.flood["correct"]),
            ("wrong verdicts", self.good["wrong"] + self.flood["wrong"]),
            ("requests without an answer", self.good["unanswered"] + self.flood["unanswered"]),
            ("p99 of the honest clients, alone", f"{alone:.2f} ms"),
            ("p99 of the honest clients, under attack", f"{under:.2f} ms (bound {bound:.0f} ms)"),
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
            print(f"DEFECT: {what} ({number})")
        print("passed" if not defects else "FAILED")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    # The stalled connections need descriptors.
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
