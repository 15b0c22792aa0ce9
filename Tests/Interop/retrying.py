"""A client that retries, in a process of its own, as a backend does; for script/scale-out.

usage: retrying.py, with its settings as JSON on standard input (see `Settings`). Each line "mark" after it
prints the counts since the last one, "stop" those since the last one after the last answer.

A call is repeated until it has a verdict: on another connection when its own was lost or drains,
after the time that the server names when it was refused. Verification changes nothing, so a
repeated call is harmless. Latency counts from a call's start to its verdict, repetitions included.
"""
import asyncio
import base64
import dataclasses
import json
import math
import random
import sys

from assay.v1 import assay_pb2 as assay
from wire import REFUSED, Answers, frame, verify

# The pause before a repetition, and its growth with each: half of it is random.
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 0.5


@dataclasses.dataclass
class Settings:
    host: str
    port: int
    # Base64 of a token, and the key that the answer must have; without a key it must be refused.
    evidence: list
    connections: int = 3
    per_second: float = 100
    # The time of one try, and of the whole call; after it the call counts as lost.
    try_seconds: float = 2
    patience_seconds: float = 15
    # Replace each connection after about this time; 0: never.
    lifetime_seconds: float = 0


class Lost(Exception):
    """The connection ended before the answer."""


class Connection(asyncio.Protocol):
    def __init__(self):
        self.pending = {}
        self.answers = Answers()
        self.is_retired = False
        self.retired = asyncio.Event()
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        for head in self.answers.feed(data):
            if head.id == 0:  # the server drains: it answers what is in flight
                self.retire()
            elif future := self.pending.pop(head.id, None):
                if not future.done():
                    future.set_result(head)
        self.close_if_over()

    def connection_lost(self, error):
        for future in self.pending.values():
            if not future.done():
                future.set_exception(Lost())
        self.pending.clear()
        self.retire()

    def retire(self):
        """No further requests; those in flight end."""
        self.is_retired = True
        self.retired.set()
        self.close_if_over()

    def close_if_over(self):
        if self.is_retired and not self.pending:
            self.transport.close()

    async def ask(self, id, data, seconds):
        future = self.pending[id] = asyncio.get_running_loop().create_future()
        self.transport.write(data)
        try:
            return await asyncio.wait_for(future, seconds)
        finally:
            self.pending.pop(id, None)


class Client:
    def __init__(self, settings):
        self.settings = settings
        self.open = []
        self.next_id = 1
        self.clear()

    def clear(self):
        self.seen = dict.fromkeys(["calls", "right", "wrong", "lost"], 0)
        self.repeated = {}
        self.latencies = []

    async def keep_connection(self):
        """Keeps one connection open, and opens the next when it drains or is lost."""
        loop, failures = asyncio.get_running_loop(), 0
        while True:
            try:
                _, connection = await loop.create_connection(
                    Connection, self.settings.host, self.settings.port)
            except OSError:
                failures += 1
                await asyncio.sleep(pause(failures))
                continue
            self.open.append(connection)
            born = loop.time()
            lifetime = self.settings.lifetime_seconds * random.uniform(0.5, 1.5) or None
            try:
                await asyncio.wait_for(connection.retired.wait(), lifetime)
            except asyncio.TimeoutError:
                connection.retire()
            self.open.remove(connection)
            # A balancer without a server accepts and closes.
            failures = failures + 1 if loop.time() - born < 0.05 else 0
            if failures:
                await asyncio.sleep(pause(failures))

    def pick(self):
        """One of the connections with the fewest requests in flight."""
        usable = [one for one in self.open if not one.is_retired]
        return min(usable, key=lambda one: (len(one.pending), random.random()), default=None)

    async def call(self, body, key):
        loop = asyncio.get_running_loop()
        begin, tries = loop.time(), 0
        self.seen["calls"] += 1
        while loop.time() < begin + self.settings.patience_seconds:
            tries += 1
            reason, wait = await self.attempt(body, key)
            if reason is None:
                self.latencies.append((loop.time() - begin) * 1000)
                return
            self.repeated[reason] = self.repeated.get(reason, 0) + 1
            await asyncio.sleep(max(wait, pause(tries)))
        self.seen["lost"] += 1

    async def attempt(self, body, key):
        """Why this try gave no verdict (None: it did), and the pause that the server asked for."""
        connection = self.pick()
        if connection is None:
            return "no connection", 0
        id, self.next_id = self.next_id, self.next_id + 1
        head, _ = verify(id, assay.EVIDENCE_KIND_TRANSACTION, body, omit_typed_payload=True)
        head.timeout_ms = int(self.settings.try_seconds * 1000)
        try:
            answer = await connection.ask(id, frame(head, body), self.settings.try_seconds + 0.25)
        except Lost:
            return "connection lost", 0
        except asyncio.TimeoutError:
            return "no answer in time", 0
        if answer.status in REFUSED:
            return assay.Status.Name(answer.status), answer.retry_after_ms / 1000
        verification = answer.verification
        is_valid = verification.verdict == assay.VERDICT_VALID
        is_right = answer.status == assay.STATUS_OK and (
            is_valid and verification.dedup_key == key if key
            else verification.verdict == assay.VERDICT_INVALID_SIGNATURE)
        self.seen["right" if is_right else "wrong"] += 1
        return None, 0

    async def run(self):
        loop = asyncio.get_running_loop()
        keepers = [loop.create_task(self.keep_connection()) for _ in range(self.settings.connections)]
        calls = set()
        commands = asyncio.Queue()
        loop.add_reader(sys.stdin, lambda: commands.put_nowait(sys.stdin.readline().strip()))
        evidence = [(base64.b64decode(text), key) for text, key in self.settings.evidence]
        due, index = loop.time(), 0
        while True:
            if not commands.empty():
                if commands.get_nowait() != "mark":
                    break
                self.report()
            body, key = evidence[index % len(evidence)]
            index += 1
            task = loop.create_task(self.call(body, key))
            calls.add(task)
            task.add_done_callback(calls.discard)
            due += 1 / self.settings.per_second
            await asyncio.sleep(max(0, due - loop.time()))
        await asyncio.gather(*calls)
        self.report()
        for keeper in keepers:
            keeper.cancel()

    def report(self):
        ordered = sorted(self.latencies)
        p99 = ordered[math.ceil(len(ordered) * 0.99) - 1] if ordered else None
        worst = ordered[-1] if ordered else None
        print(json.dumps(dict(self.seen, repeated=self.repeated, p99=p99, worst=worst)), flush=True)
        self.clear()


def pause(tries):
    longest = min(PAUSE_SECONDS * 2 ** min(tries - 1, 16), LONGEST_PAUSE_SECONDS)
    return random.uniform(longest / 2, longest)


if __name__ == "__main__":
    asyncio.run(Client(Settings(**json.loads(sys.stdin.readline()))).run())
