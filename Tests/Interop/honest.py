"""An honest client in its own process: sends requests at a steady rate and counts the answers.

usage: honest.py, with its settings as JSON on standard input (see `Settings`), and later a line to stop
it. Prints "ready" after the first correct answer, and at the end JSON (`seen`).

Latency counts from the time when the request was due.
"""
import base64
import dataclasses
import json
import math
import selectors
import socket
import sys
import time

from assay.v1 import assay_pb2 as assay
from exchange import connect
from wire import REFUSED, Answers, frame, verify

# The time after a request's deadline until its answer counts as lost.
PATIENCE_SECONDS = 3
# The time that a server under attack has for the first correct answer.
WARM_UP_SECONDS = 15


@dataclasses.dataclass
class Settings:
    """The requests to send."""
    # HOST:PORT, or the path of a Unix socket.
    address: str
    # One of wire.EvidenceKind's names, in lower case.
    kind: str
    # Base64. With `in_turn` one request for each, otherwise always the first.
    evidence: list
    per_second: float = 100
    timeout_ms: int = 2000
    # A connection for each request. A connection that closes without an answer counts as lost.
    fresh: bool = False
    # One try after the other, each with new evidence. A refused request is retried after the time
    # that the server names, until its deadline.
    in_turn: bool = False
    # Whether to wait for a correct answer before measuring.
    warm_up: bool = True


class Honest:
    def __init__(self, settings):
        self.settings = settings
        kind = assay.EvidenceKind.Value("EVIDENCE_KIND_" + settings.kind.upper())
        self.heads = {}
        self.bodies = [base64.b64decode(text) for text in settings.evidence]
        self.kind = kind
        self.latencies = []
        self.seen = dict.fromkeys(["sent", "valid", "wrong", "refused", "late", "lost"], 0)
        self.messages = {}
        self.waiting = {}
        self.next_id = 1
        self.connection = None

    def request(self, body):
        id, self.next_id = self.next_id, self.next_id + 1
        head, body = verify(
            id, self.kind, body, in_app=assay.IN_APP_SELECTION_NONE, omit_typed_payload=True)
        head.timeout_ms = self.settings.timeout_ms
        return id, frame(head, body)

    def judge(self, head, due, now):
        """Counts an answer."""
        if head.status == assay.STATUS_OK:
            if head.verification.verdict == assay.VERDICT_VALID:
                self.seen["valid"] += 1
                self.latencies.append((now - due) * 1000)
            else:
                self.note("wrong", head.verification.detail)
        elif head.status == assay.STATUS_DEADLINE_EXCEEDED:
            self.note("late", head.message)
        else:
            self.note("refused" if head.status in REFUSED else "wrong", head.message)

    def note(self, what, message):
        self.seen[what] += 1
        self.messages.setdefault(what, message)

    # ---- One connection, many requests in flight ----

    def open(self):
        self.connection = connect(self.settings.address)
        self.connection.setblocking(False)
        self.answers = Answers()
        self.out = bytearray()

    def lose(self, why):
        """Counts all pending requests of a closed connection as lost."""
        for _ in self.waiting:
            self.note("lost", why)
        self.waiting.clear()
        self.connection.close()
        self.connection = None

    def exchange(self, until):
        """Sends and receives until this time."""
        while True:
            if self.connection is None:
                try:
                    self.open()
                except OSError:
                    self.connection = None
                    time.sleep(max(0, min(until - time.monotonic(), 0.05)))
                    if time.monotonic() >= until:
                        return
                    continue
            self.step(max(0, until - time.monotonic()))
            if time.monotonic() >= until:
                return

    def step(self, timeout):
        try:
            if self.out:
                del self.out[:self.connection.send(self.out)]
        except BlockingIOError:
            pass
        except OSError as error:
            return self.lose(str(error))
        with selectors.PollSelector() as selector:
            write = selectors.EVENT_WRITE if self.out else 0
            selector.register(self.connection, selectors.EVENT_READ | write)
            if not any(events & selectors.EVENT_READ for _, events in selector.select(timeout)):
                return
        try:
            data = self.connection.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError as error:
            return self.lose(str(error))
        now = time.monotonic()
        for head in self.answers.feed(data):
            due = self.waiting.pop(head.id, None)
            if due is not None:
                self.judge(head, due, now)
        if not data:
            self.lose("the server closed the connection")

    def ask_steadily(self, is_over):
        gap = 1 / self.settings.per_second
        due = time.monotonic()
        while not is_over():
            self.exchange(due)
            now = time.monotonic()
            self.seen["sent"] += 1
            if self.connection is None:
                self.note("lost", "no connection")
            else:
                id, data = self.request(self.bodies[0])
                self.waiting[id] = due
                self.out += data
            due += gap
            if now - due > 1:
                due = now  # this process was stopped: not the server's fault
        self.exchange_rest()

    def exchange_rest(self):
        until = time.monotonic() + self.settings.timeout_ms / 1000 + PATIENCE_SECONDS
        while self.waiting and self.connection is not None and time.monotonic() < until:
            self.exchange(min(until, time.monotonic() + 0.05))
        for _ in self.waiting:
            self.note("lost", "no answer")

    # ---- A connection for each request ----

    def ask_once(self, body, seconds):
        """Returns the head of the answer (id 0 for a refused connection), or None without one."""
        try:
            with connect(self.settings.address) as connection:
                connection.settimeout(seconds)
                connection.sendall(self.request(body)[1])
                answers = Answers()
                while data := connection.recv(1 << 16):
                    if heads := answers.feed(data):
                        return heads[0]
        except (OSError, socket.timeout):
            pass
        return None

    def ask_afresh(self, is_over):
        gap = 1 / self.settings.per_second
        while not is_over():
            due = time.monotonic()
            self.seen["sent"] += 1
            head = self.ask_once(
                self.bodies[0], self.settings.timeout_ms / 1000 + PATIENCE_SECONDS)
            if head is None:
                self.note("lost", "closed without a word, or silence")
            else:
                self.judge(head, due, time.monotonic())
            time.sleep(max(0, due + gap - time.monotonic()))

    # ---- Tries ----

    def ask_in_turn(self, is_over):
        """Each try gets a correct answer before its deadline, or counts as lost."""
        for body in self.bodies:
            if is_over():
                return
            begin = time.monotonic()
            until = begin + self.settings.timeout_ms / 1000
            self.seen["sent"] += 1
            while True:
                head = self.ask_once(body, max(0.01, until - time.monotonic()))
                now = time.monotonic()
                pause = (head.retry_after_ms if head else 50) / 1000
                if head is not None and head.status == assay.STATUS_OK:
                    self.judge(head, begin, now)
                    break
                if head is not None:
                    self.note("refused", head.message)
                if now + pause >= until:
                    self.note("lost", "not valid within its time")
                    break
                time.sleep(pause)
            time.sleep(max(0, begin + 1 / self.settings.per_second - time.monotonic()))

    def run(self, is_over):
        if self.settings.warm_up:
            until = time.monotonic() + WARM_UP_SECONDS
            while time.monotonic() < until:
                head = self.ask_once(self.bodies[0], 5)
                if head is not None and head.verification.verdict == assay.VERDICT_VALID:
                    break
                time.sleep(0.05)
        print("ready", flush=True)
        if self.settings.in_turn:
            self.ask_in_turn(is_over)
        elif self.settings.fresh:
            self.ask_afresh(is_over)
        else:
            self.ask_steadily(is_over)
        return dict(self.seen, messages=self.messages, p50=self.percentile(50),
                    p99=self.percentile(99))

    def percentile(self, percent):
        ordered = sorted(self.latencies)
        if not ordered:
            return None
        return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def main():
    settings = Settings(**json.loads(sys.stdin.readline()))
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ)
    print(json.dumps(Honest(settings).run(lambda: bool(selector.select(0)))), flush=True)


if __name__ == "__main__":
    main()
