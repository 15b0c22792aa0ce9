"""A server process with its memory and metrics, minted evidence, and assay load."""
import os
import pathlib
import resource
import select
import signal
import socket
import subprocess

BUNDLE, APP_ID = "com.example.game", "1234567890"


def mint(tool, *arguments):
    """Returns the standard output of assay mint."""
    return subprocess.run([tool, "mint", *arguments], check=True, capture_output=True).stdout


def mint_receipt(tool, ca, size):
    return mint(tool, "receipt", "--ca", str(ca), "--size", size, "--bundle-id", BUNDLE,
                "--app-apple-id", APP_ID, "--environment", "Production").strip()


def roots(ca):
    """Options of assay serve that trust a minted authority."""
    return ["--root", str(ca / "root.pem"), "--root", str(ca / "receipt-root.pem")]


def load_command(tool, address, ca, path, *arguments):
    """The command of assay load that writes its results as JSON to this path."""
    return [tool, "load", address, "--ca", str(ca), "--json", str(path), "--quiet", *arguments]


class Server:
    """`assay serve`, from its start to its end."""

    def __init__(self, tool, log, *arguments, limits=None, before=(), admin=None):
        """
        limits: limits of the process, by the names of `resource`
        before: a command that runs the server, such as taskset
        admin: the path of the socket for metrics
        """
        def set_limits():
            for limit, value in (limits or {}).items():
                resource.setrlimit(limit, (value, value))
        if admin:
            arguments += ("--admin", f"unix:{admin}")
        self.admin = admin
        self.log = pathlib.Path(log)
        with open(self.log, "w") as stderr:
            self.process = subprocess.Popen(
                [*before, tool, "serve", *arguments], stdout=subprocess.PIPE, stderr=stderr,
                preexec_fn=set_limits, text=True)
        self.pid = self.process.pid

    def wait_ready(self, seconds=20):
        """Waits for the line "assay ready", and reads the addresses from it."""
        ready = ""
        if select.select([self.process.stdout], [], [], seconds)[0]:
            ready = self.process.stdout.readline()
        if not ready.startswith("assay ready"):
            self.stop()
            raise SystemExit(f"the server did not start: {self.log.read_text()}")
        self.addresses = ready.split()[2:]
        return self

    def address(self, scheme):
        """HOST:PORT, or the path of a Unix socket."""
        for address in self.addresses:
            if address.startswith(scheme + ":"):
                return address.removeprefix(scheme + ":").removeprefix("//")
        raise SystemExit(f"no {scheme} among {self.addresses}")

    @property
    def port(self):
        return int(self.address("tcp").rsplit(":", 1)[1])

    def resident(self):
        """Bytes of resident memory; 0 after the process has ended."""
        try:
            pages = pathlib.Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def metrics(self):
        """The metrics of the admin listener: values by name and labels."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(str(self.admin))
            connection.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
            text = b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()
        lines = [line.rsplit(" ", 1) for line in text.partition("\r\n\r\n")[2].splitlines()
                 if line and not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def stop(self, seconds=20):
        """Ends the server. Returns None, or a description if it did not end normally."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = "none: it had to be killed"
        self.process.stdout.close()
        return None if status == 0 else f"the server ended with status {status}"
