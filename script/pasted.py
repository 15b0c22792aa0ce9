"""Pages whose blocks are pasted into a shell: what script/readme and script/walkthrough share."""
import contextlib
import fcntl
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import termios


class Failure(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failure(what)


def fenced(text):
    """The blocks of a text: the language and the content of each."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


class Shell:
    """A shell in a fresh folder, into which the blocks of pages are pasted. It has a terminal, and so
    job control: `kill %1` ends the first server of a page."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.ports = {}
        self.errors = tempfile.TemporaryFile("w+")
        self.terminal, terminal = os.openpty()
        self.process = subprocess.Popen(
            ["bash", "-eu", "-o", "pipefail"], cwd=folder, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            start_new_session=True, pass_fds=[terminal],
            preexec_fn=lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0))
        os.close(terminal)
        self.received = b""
        # A server keeps the pipe open after the shell has ended.
        self.send("set -m\nstarted=()\ntrap 'echo it ended early' EXIT\n")

    def send(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def with_free_ports(self, text):
        """Replaces the ports and the open address that a page names. Other servers possibly use
        them."""
        def port(found):
            number = found[1]
            if number not in self.ports:
                with socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    self.ports[number] = str(free.getsockname()[1])
            return ":" + self.ports[number]
        text = re.sub(r":(74\d\d|80\d\d)\b", port, text.replace("0.0.0.0", "127.0.0.1"))
        if "assay store" in text and "--listen" not in text:
            address = port(("", "7450"))
            text = re.sub("(assay store .*?) &", rf"\1 --listen http://127.0.0.1{address} &", text)
        return text

    def line(self, servers, has_ended):
        """The next line that is printed, or None where one of the servers (their descriptors) ends
        before it, or where has_ended says that one has."""
        while b"\n" not in self.received:
            poll = select.poll()
            poll.register(self.process.stdout, select.POLLIN)
            for server in servers:
                poll.register(server, select.POLLIN)
            ready = {number for number, _ in poll.poll(0 if has_ended else None)}
            if self.process.stdout.fileno() not in ready:
                return None
            received = os.read(self.process.stdout.fileno(), 1 << 16)
            if not received:
                return None
            self.received += received
        line, self.received = self.received.split(b"\n", 1)
        return line.decode() + "\n"

    def paste(self, text):
        """Runs a block; returns what it prints. Waits until each server that it starts is ready."""
        text, waiting = re.subn(
            r"^(assay (?:serve|store) .* &)$", r"\1\nstarted+=($!)",
            self.with_free_ports(text), flags=re.M)
        # As before a prompt, `jobs` forgets those that have ended.
        self.send(text + "jobs >&2\necho\necho \"end of block ${started[*]}\"\nstarted=()\n")
        printed, is_pasted, has_ended = "", False, False
        with contextlib.ExitStack() as stack:
            servers = []
            while waiting > 0 or not is_pasted:
                line = self.line(servers, has_ended)
                if line is None or line == "it ended early\n":
                    self.errors.seek(0)
                    raise Failure(f"{text}\n{printed}{self.errors.read()[-2000:]}\nit ended early")
                if line.startswith("end of block"):
                    is_pasted = True
                    for identifier in map(int, line.split()[3:]):
                        try:
                            servers.append(os.pidfd_open(identifier))
                            stack.callback(os.close, servers[-1])
                        except ProcessLookupError:
                            has_ended = True
                elif re.match(r"assay (store )?ready ", line):
                    waiting -= 1
                else:
                    printed += line
        return printed.strip()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(self.with_free_ports(text))

    def processes(self):
        """The processes that the shell has started and that still run: their commands by their ids."""
        found = {}
        for identifier in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{identifier}/stat") as file:
                    status = file.read()
                # The name is in parentheses, and can have some itself.
                end = status.rindex(")")
                name = status[status.index("(") + 1:end]
                state, _, _, session = status[end + 1:].split()[:4]
                if session == str(self.process.pid) and state != "Z":
                    found[int(identifier)] = name
        found.pop(self.process.pid, None)
        return found

    def close(self):
        # Each job is a process group of its own.
        for identifier in [*self.processes(), self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(identifier, signal.SIGTERM)
        self.process.communicate()
        self.errors.close()
        os.close(self.terminal)
