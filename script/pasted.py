"""Pages whose blocks are pasted into a shell: what script/readme and script/walkthrough share."""
import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile


class Failure(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failure(what)


def fenced(text):
    """The blocks of a text: the language and the content of each."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


class Shell:
    """A shell in a fresh folder, into which the blocks of a page are pasted."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.ports = {}
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            ["bash", "-eu", "-o", "pipefail"], cwd=folder, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            start_new_session=True)
        # A server keeps the pipe open after the shell has ended.
        self.process.stdin.write("trap 'echo it ended early' EXIT\n")

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

    def paste(self, text):
        """Runs a block; returns what it prints. Waits until each server that it starts is ready."""
        text, waiting = re.subn(
            r"^(assay (?:serve|store) .*) &$", r"\1 || echo 'it ended early' &",
            self.with_free_ports(text), flags=re.M)
        self.process.stdin.write(text + "echo\necho 'end of block'\n")
        self.process.stdin.flush()
        printed, has_ended = "", False
        while waiting > 0 or not has_ended:
            line = self.process.stdout.readline()
            if not line or line == "it ended early\n":
                self.errors.seek(0)
                raise Failure(f"{text}\n{printed}{self.errors.read()[-2000:]}\nit ended early")
            if line == "end of block\n":
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

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.communicate()
        self.errors.close()
