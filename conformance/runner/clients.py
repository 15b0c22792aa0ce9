"""The programs of the clients."""
import json
import os
import selectors
import shutil
import subprocess
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Building a client can take minutes on a busy machine.
READY_SECONDS = 600
CASE_SECONDS = 40


@dataclass
class Client:
    name: str
    folder: str
    program: str


def find_clients(names, purpose="conformance"):
    """Returns the programs of this purpose of the clients whose toolchain is installed, and why the
    other clients are skipped."""
    folder = os.path.join(ROOT, "clients")
    every = sorted(name for name in os.listdir(folder) if os.path.exists(os.path.join(folder, name, "needs")))
    unknown = set(names) - set(every)
    if unknown:
        raise SystemExit(f"conformance: no client {unknown.pop()}; there are {', '.join(every)}")
    found, skipped = [], {}
    for name in names or every:
        home = os.path.join(folder, name)
        with open(os.path.join(home, "needs"), encoding="utf-8") as file:
            commands = [line.split()[0] for line in file if line.strip()]
        missing = [command for command in commands if not shutil.which(command)]
        if missing:
            skipped[name] = f"{missing[0]} is not installed"
            continue
        for program in sorted(os.listdir(home)):
            if program == purpose or program.startswith(purpose + "-"):
                found.append(Client(name + program.removeprefix(purpose), home, program))
    return found, skipped


class ClientProgram:
    """A client's program. It is started again after a failure, and for a case whose addresses are
    in the environment."""

    def __init__(self, client, environment):
        self.client = client
        self.base = {key: value for key, value in os.environ.items() if key != "ASSAY_ADDRESS"} | environment
        self.process = None
        self.is_special = False

    def perform(self, plan, from_environment):
        if from_environment or self.is_special:
            self.stop()
        if self.process is None:
            variables = dict(self.base)
            self.is_special = from_environment
            if from_environment and plan["addresses"]:
                variables["ASSAY_ADDRESS"] = ",".join(plan["addresses"])
            self.start(variables)
        if from_environment:
            plan = {key: value for key, value in plan.items() if key != "addresses"}
        try:
            self.process.stdin.write(json.dumps(plan).encode() + b"\n")
            self.process.stdin.flush()
            return self.read(CASE_SECONDS)
        except Exception:
            self.stop()
            raise

    def start(self, environment):
        self.process = subprocess.Popen(
            [os.path.join(self.client.folder, self.client.program)], cwd=self.client.folder, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.buffer = b""
        ready = self.read(READY_SECONDS)
        if "ready" not in ready:
            raise RuntimeError(f"it did not begin with its ready line but with {ready}")

    def read(self, seconds):
        """Returns the next line's object."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.buffer:
                if not selector.select(seconds):
                    raise TimeoutError(f"no outcome after {seconds} s")
                read = os.read(self.process.stdout.fileno(), 65536)
                if not read:
                    raise RuntimeError(f"it ended with status {self.process.wait()}")
                self.buffer += read
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.process = None
