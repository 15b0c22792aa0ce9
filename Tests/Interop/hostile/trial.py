"""The means of an attack: a server, evidence, honest clients, hostile processes, and measures with
their bounds.
"""
import base64
import contextlib
import dataclasses
import itertools
import json
import multiprocessing
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import threading
import time

from hostile.forge import Authority
from server import Server, mint, mint_receipt, roots

# Real attackers use their own machines: here they have a lower priority.
ATTACKERS_NICE = 10
# The time after a flood in which a server must release its memory.
GIVE_BACK_SECONDS = 60
# The memory that it can keep.
KEPT_BYTES = 32 << 20
# Bounds of latency allow for a busy machine: this multiple of an honest client's latency alone. The
# short form runs beside other work: it has a larger factor, and also multiplies the bound.
ALONE_FACTOR, SHORT_ALONE_FACTOR, SHORT_FACTOR = 3, 10, 3
MB = 1 << 20
# What a server holds at most: the default of limits.evidence-bytes, and 64 MB of its own.
RESIDENT_BYTES = (256 + 64) * MB


@dataclasses.dataclass
class Measure:
    """One row: a value and its bound."""
    name: str
    value: float
    unit: str = ""
    most: float = None
    least: float = None

    @property
    def holds(self):
        if self.most is None and self.least is None:
            return True
        if self.value is None:
            return False
        return ((self.most is None or self.value <= self.most)
                and (self.least is None or self.value >= self.least))


ATTACKS = []


@dataclasses.dataclass
class Attack:
    name: str
    line: str
    run: object
    short: bool

    @property
    def description(self):
        return " ".join(self.run.__doc__.split())


def attack(name, line, short=True):
    """Registers a function that takes a Trial. --list prints its doc comment.

    line: the line of Tests/HOSTILE.md
    short: whether the short form has this attack
    """
    def register(function):
        ATTACKS.append(Attack(name, line, function, short))
        return function
    return register


class Evidence:
    """Minted once for all attacks."""

    def __init__(self, tool, folder):
        self.tool = tool
        self.ca = pathlib.Path(folder) / "ca"
        mint(tool, "ca", str(self.ca))
        self.token = mint(tool, "transaction", "--ca", str(self.ca),
                          "--bundle-id", "com.example.game").strip()
        self.authority = Authority(self.ca, self.token)
        self.receipts = {}

    def receipt(self, size):
        if size not in self.receipts:
            self.receipts[size] = mint_receipt(self.tool, self.ca, size)
        return self.receipts[size]


class Trial:
    def __init__(self, evidence, folder, is_short, is_one_host=False):
        self.evidence, self.tool = evidence, evidence.tool
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.is_short, self.is_one_host = is_short, is_one_host
        self.measures = []
        self.notes = []
        self.server = None
        self.closing = contextlib.ExitStack()

    def scale(self, long, short):
        return short if self.is_short else long

    # ---- Measures ----

    def measure(self, name, value, unit="", most=None, least=None):
        self.measures.append(Measure(name, value, unit, most, least))

    def note(self, text):
        self.notes.append(text)

    # ---- The server ----

    def serve(self, *arguments, config=None, listen=("tcp://127.0.0.1:0",), **options):
        """Starts the attacked server. It ends with the trial, and must end normally."""
        server = self.start_server(*arguments, config=config, listen=listen, **options)
        self.server = server
        self.watch = Watch(server)
        return server

    def start_server(self, *arguments, config=None, listen=("tcp://127.0.0.1:0",), **options):
        if config is not None:
            path = self.folder / "assay.toml"
            path.write_text(config)
            arguments += ("--config", str(path))
        for address in listen:
            arguments += ("--listen", address)
        server = Server(
            self.tool, self.folder / "log", *arguments, *roots(self.evidence.ca),
            admin=self.folder / "admin.sock", **options).wait_ready()
        self.closing.callback(server.stop, 0)
        return server

    @staticmethod
    def descriptors(count):
        """The limit of open files of the server's process."""
        return {resource.RLIMIT_NOFILE: count}

    # ---- Honest clients ----

    def honest(self, kind="transaction", evidence=None, address=None, **settings):
        """Starts an honest client, and returns when it is ready."""
        evidence = evidence or [self.evidence.token]
        client = HonestProcess(dict(
            settings, address=address or self.server.address("tcp"), kind=kind,
            evidence=[base64.b64encode(body).decode() for body in evidence]))
        self.closing.callback(client.kill)
        return client

    def alone(self, seconds=None, **settings):
        """The p99 of an honest client without an attack, in ms."""
        client = self.honest(**settings)
        time.sleep(seconds or self.scale(3, 1.2))
        return client.result()["p99"]

    def p99_bound(self, bound_ms, alone_ms):
        """The bound, or a larger one if this machine is near it without an attack."""
        alone_ms = alone_ms or 0
        if self.is_short:
            return max(SHORT_FACTOR * bound_ms, SHORT_ALONE_FACTOR * alone_ms)
        return max(bound_ms, ALONE_FACTOR * alone_ms)

    def saw(self, seen, p99_most=None, refused_most=0, lost_most=0, label=""):
        """Adds the measures of an honest client: no answer is wrong, lost or refused."""
        prefix = label + " " if label else ""
        self.measure(prefix + "sent", seen["sent"], least=1)
        self.measure(prefix + "valid", seen["valid"], least=1)
        self.measure(prefix + "wrong", seen["wrong"], most=0)
        self.measure(prefix + "refused", seen["refused"], most=refused_most)
        self.measure(prefix + "lost", seen["lost"] + seen["late"], most=lost_most)
        self.measure(prefix + "p50", seen["p50"], "ms")
        self.measure(prefix + "p99", seen["p99"], "ms", most=p99_most)
        for what, message in seen["messages"].items():
            self.note(f"{prefix}{what}: {message}")

    # ---- Hostile processes ----

    def attackers(self, function, *arguments):
        """Runs function(*arguments, is_over) in its own process until it is stopped."""
        attackers = AttackerProcess(function, arguments)
        self.closing.callback(attackers.kill)
        return attackers

    # ---- The server's memory ----

    def memory(self, most=None, after_most=None):
        """Adds the measures of resident memory; waits until the server has released it."""
        before = self.watch.before
        if after_most is None and not self.is_short:
            after_most = before + KEPT_BYTES
        until = time.monotonic() + (0 if self.is_short else GIVE_BACK_SECONDS)
        while self.server.resident() > (after_most or 0) and time.monotonic() < until:
            time.sleep(0.2)
        peak = self.watch.stop()
        self.measure("before", before / MB, "MB")
        self.measure("peak", peak / MB, "MB", most=most and most / MB)
        self.measure("after", self.server.resident() / MB, "MB",
                     most=after_most and after_most / MB)

    def end(self):
        """Expects that the server still runs, and ends it."""
        if self.server is not None:
            if ended := self.server.stop():
                self.measure(ended, 1, most=0)

    def close(self):
        self.closing.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Watch:
    """Samples the server's resident memory twenty times per second, and what it counts as held four
    times.
    """

    def __init__(self, server):
        self.server = server
        self.peak = self.before = server.resident()
        self.held = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        for turn in itertools.count():
            if self.is_over.wait(0.05):
                return
            self.peak = max(self.peak, self.server.resident())
            if turn % 5 == 0:
                # A server that is overloaded, or has ended, does not answer.
                with contextlib.suppress(OSError):
                    self.held = max(self.held, self.server.metrics().get("assay_held_bytes", 0))

    def mark_before(self):
        """Starts the measurement after a warm-up."""
        self.peak = self.before = self.server.resident()

    def stop(self):
        self.is_over.set()
        self.thread.join()
        return self.peak


class HonestProcess:
    def __init__(self, settings):
        program = pathlib.Path(__file__).parents[1] / "honest.py"
        self.process = subprocess.Popen(
            [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write(json.dumps(settings).encode() + b"\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != b"ready\n":
            raise SystemExit("the honest client ended")

    def wait(self):
        """Waits until the client has sent all its evidence."""
        return json.loads(self.process.stdout.readline())

    def result(self):
        """Stops the client; returns its counts."""
        # A line, not the end of the pipe: attackers forked later keep the pipe open.
        self.process.stdin.write(b"stop\n")
        self.process.stdin.flush()
        seen = json.loads(self.process.stdout.readline())
        self.process.wait()
        return seen

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in [self.process.stdin, self.process.stdout]:
            with contextlib.suppress(OSError):
                stream.close()


class AttackerProcess:
    def __init__(self, function, arguments):
        fork = multiprocessing.get_context("fork")
        self.is_over = fork.Event()
        self.reader, writer = fork.Pipe(duplex=False)

        def run():
            os.nice(ATTACKERS_NICE)
            writer.send(function(*arguments, self.is_over.is_set))
        self.process = fork.Process(target=run, daemon=True)
        self.process.start()
        writer.close()

    def stop(self):
        """Returns its counts; None if the process had to be killed."""
        self.is_over.set()
        counted = None
        with contextlib.suppress(EOFError):
            if self.reader.poll(10):
                counted = self.reader.recv()
        self.kill()
        return counted

    def kill(self):
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
