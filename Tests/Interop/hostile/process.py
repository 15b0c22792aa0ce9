"""The life cycle of the process: its configuration, signals and socket."""
import os
import signal
import socket
import subprocess
import time

from hostile.trial import attack
from server import BUNDLE, Server

CONFIGURATION = f'[[app]]\nname = "game"\nbundle-id = "{BUNDLE}"\nenvironments = ["Sandbox"]\n'
# Ending takes milliseconds; a busy machine needs up to the time of a drain.
END_SECONDS = 8


def end_status(server, seconds=END_SECONDS):
    """Returns the exit status and the seconds until the end; None if the server does not end."""
    begin = time.monotonic()
    try:
        return server.process.wait(seconds), time.monotonic() - begin
    except subprocess.TimeoutExpired:
        return None, time.monotonic() - begin


@attack("reload-from-a-fifo", "86")
def reload_from_a_fifo(trial):
    """SIGHUP makes the server read its configuration from a FIFO without a writer. SIGTERM ends
    the server with status 0, and a second SIGTERM within the drain delay ends it with 143.
    """
    for name, arguments, signals, expected in [
        ("once", [], 1, 0), ("twice", ["--drain-delay", "30"], 2, 143),
    ]:
        server = trial.start_server(*arguments, config=CONFIGURATION)
        path = trial.folder / "assay.toml"
        path.unlink()
        os.mkfifo(path)
        server.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        for _ in range(signals):
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
        status, seconds = end_status(server)
        trial.measure(f"SIGTERM {name}: status", status, least=expected, most=expected)
        trial.measure(f"SIGTERM {name}: seconds", seconds, "s", most=END_SECONDS)
        server.process.kill()
        server.process.wait()
        path.unlink()


@attack("one-unix-path", "87")
def one_unix_path(trial):
    """Eight servers start at the same moment on one Unix path with a stale socket file. One
    serves; the others report that the path is in use and end.
    """
    rounds = trial.scale(60, 8)
    several = none = silent = 0
    for index in range(rounds):
        path = trial.folder / f"{index}.sock"
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(path))
        servers = start_together(trial, 8, path)
        until = time.monotonic() + END_SECONDS
        while time.monotonic() < until and not all(
                is_ready(s) or s.process.poll() is not None for s in servers):
            time.sleep(0.02)
        alive = [server for server in servers if server.process.poll() is None]
        several += len(alive) > 1
        none += not alive
        for server in servers:
            if server not in alive:
                said = server.log.read_text()
                silent += server.process.returncode == 0 or str(path) not in said
            server.stop()
    trial.measure("starts", rounds)
    trial.measure("several ready", several, most=0)
    trial.measure("none ready", none, most=0)
    trial.measure("ended without a message", silent, most=0)


def start_together(trial, count, path):
    """Starts servers that wait for their configuration until all have started."""
    servers, writers = [], []
    for number in range(count):
        file = trial.folder / f"config{number}"
        if not file.exists():
            os.mkfifo(file)
        servers.append(Server(
            trial.tool, trial.folder / f"log{number}", "--config", str(file), "--listen",
            f"unix:{path}"))
        trial.closing.callback(servers[-1].stop, 0)
        writers.append(open_writer(file))
    for writer in writers:
        os.write(writer, CONFIGURATION.encode())
    for writer in writers:
        os.close(writer)
    return servers


def open_writer(fifo):
    """Opens a FIFO after its reader has opened it."""
    until = time.monotonic() + END_SECONDS
    while True:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.001)


def is_ready(server):
    """Whether the server's log reports a listener."""
    return '"event":"listening"' in server.log.read_text()
