"""HAProxy in TCP mode before servers, with its configuration and its runtime commands."""
import csv
import glob
import io
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

# HAProxy and the libraries that a machine without it lacks. Its package is not installed: that
# starts a service.
PACKAGES = ["haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"]

CONFIGURATION = """\
global
    stats socket {socket} mode 600 level admin

defaults
    mode tcp
    timeout connect 1s
    # A server that refuses a connection is down before its check says so: try another one at once.
    # Without it, HAProxy asks the same server again, each second.
    retries 3
    option redispatch 1
    timeout client 310s
    timeout server 310s

frontend assay
    bind 127.0.0.1:{port}
    default_backend assay_servers

backend assay_servers
    balance {balance}
    option httpchk GET /readyz
    http-check send hdr Host localhost
    default-server {options}
"""
OPTIONS = "check inter {milliseconds}ms fall 1 rise 1 on-marked-down shutdown-sessions"


def command(folder):
    """The program and its environment; fetches Debian's into this folder where it is missing."""
    if found := shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin"):
        return found, dict(os.environ)
    folder = os.path.abspath(folder)
    program = folder + "/usr/sbin/haproxy"
    if not os.access(program, os.X_OK):
        with tempfile.TemporaryDirectory() as download:
            os.chmod(download, 0o755)
            subprocess.run(["apt-get", "download", "-qq", *PACKAGES], cwd=download, check=True,
                           stderr=subprocess.DEVNULL)
            os.makedirs(folder, exist_ok=True)
            for package in glob.glob(download + "/*.deb"):
                subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    libraries = glob.glob(folder + "/usr/lib/*-linux-gnu")
    return program, dict(os.environ, LD_LIBRARY_PATH=":".join(libraries))


class Balancer:
    """Servers are (name, host, port, port of the admin listener)."""

    def __init__(self, program, work, port, servers, balance="leastconn", check_ms=200):
        program, environment = program
        self.port = port
        self.socket = str(pathlib.Path(work) / "haproxy.sock")
        # One that ended leaves its socket.
        pathlib.Path(self.socket).unlink(missing_ok=True)
        self.options = OPTIONS.format(milliseconds=check_ms)
        text = CONFIGURATION.format(
            socket=self.socket, port=port, balance=balance, options=self.options)
        for name, host, at, admin in servers:
            text += f"    server {name} {host}:{at} port {admin}\n"
        path = pathlib.Path(work) / "haproxy.cfg"
        path.write_text(text)
        self.log = open(pathlib.Path(work) / "haproxy.log", "w")
        self.process = subprocess.Popen(
            [program, "-db", "-f", str(path)], env=environment, stdout=self.log, stderr=self.log)
        self.pid = self.process.pid
        wait(self.is_listening, "HAProxy's socket")

    def is_listening(self):
        try:
            return "Version" in self.run("show info")
        except OSError:
            return False

    def run(self, line):
        """Runs a command of the runtime interface."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.socket)
            connection.sendall(line.encode() + b"\n")
            return b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()

    def servers(self):
        """Rows of HAProxy's statistics by server: status, open and all sessions."""
        rows = csv.DictReader(io.StringIO(self.run("show stat").removeprefix("# ")))
        return {row["svname"]: {"up": row["status"].startswith("UP"), "open": int(row["scur"]),
                                "sessions": int(row["stot"])}
                for row in rows if row["pxname"] == "assay_servers" and row["svname"] != "BACKEND"}

    def wait_for(self, name, up):
        """Waits until a server has this state; returns the seconds that it took."""
        begin = time.monotonic()
        wait(lambda: self.servers()[name]["up"] == up, f"{name} {'up' if up else 'down'}")
        return time.monotonic() - begin

    def add(self, name, host, port, admin):
        """Adds a server while running, as an orchestrator's hook does."""
        self.run(f"add server assay_servers/{name} {host}:{port} port {admin} {self.options}")
        self.run(f"enable health assay_servers/{name}")
        self.run(f"enable server assay_servers/{name}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.log.close()


def wait(is_so, what, seconds=10):
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            raise SystemExit(f"waited {seconds} s for {what}")
        time.sleep(0.01)
