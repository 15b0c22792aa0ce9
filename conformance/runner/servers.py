"""The servers of the suite, and the files that cases name.

KIND, in a line `server`:
    tcp, unix, tls        the scripted server. Its certificate is for 127.0.0.1
    tls-wrong-name        its certificate is for another name
    tls-client            it demands a certificate of the authority
    closed                a port on which nothing listens
    real tcp|unix|tls|mtls    assay serve
    address TEXT          this text
`as SCHEME` gives the client the address with another scheme.

The line `tls` names files of the work folder: authority, other-authority, client, other-client;
without it, addresses of TLS get the authority.
"""
import os
import re
import socket
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUNDLE = "com.example.game"
KINDS = [
    "transaction", "renewal-info", "app-transaction", "notification", "realtime-request", "google-purchase",
    "huawei-purchase", "harmony-purchase", "harmony-subscription", "harmony-notification",
    "google-notification", "huawei-notification"]
STORES = f"""
[app.google]
licence-keys = ["ca/google-licence-key.txt"]
jwks = "ca/google-jwks.json"
audiences = ["https://game.example.com/google"]
service-accounts = ["push@example.iam.gserviceaccount.com"]
[app.huawei]
keys = ["ca/huawei-licence-key.txt"]
[app.harmony]
roots = ["ca/root.pem"]
application-ids = ["{BUNDLE}"]
"""


def built(product):
    """Returns the path of a built program."""
    folder = subprocess.run(
        [os.path.join(ROOT, "script/bin-path")], capture_output=True, text=True, check=True).stdout.strip()
    program = os.path.join(folder, product)
    if not os.path.exists(program):
        raise SystemExit(f"conformance: {program} is missing; run swift build or script/check first")
    return program


class Servers:
    def __init__(self, work, assay=None):
        self.work = work
        self.environment = {}
        self.assay = assay or built("assay")
        self.mint()
        self.scripted = None
        self.real = {}
        self.processes = []

    def file(self, name):
        return os.path.join(self.work, name)

    # ---- Files ---------------------------------------------------------------------------------------

    def mint(self):
        ca = self.file("ca")
        subprocess.run([self.assay, "mint", "ca", ca], check=True, stdout=subprocess.DEVNULL)
        for kind in KINDS:
            with open(self.file(kind), "wb") as file:
                subprocess.run(
                    [self.assay, "mint", kind, "--ca", ca, "--bundle-id", BUNDLE], check=True, stdout=file)
        for authority in ("authority", "other-authority"):
            self.openssl(
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days", "2", "-subj", f"/CN={authority}", "-keyout", self.file(authority + "-key.pem"),
                "-out", self.file(authority + ".pem"))
        self.certificate("server", "IP:127.0.0.1,DNS:localhost", "authority")
        self.certificate("wrong-name", "DNS:other.example.org", "authority")
        self.certificate("client", "URI:spiffe://example.org/backend", "authority")
        self.certificate("other-client", "URI:spiffe://example.org/backend", "other-authority")

    def certificate(self, name, alternative, authority):
        self.openssl(
            "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-subj", f"/CN={name}", "-keyout", self.file(name + "-key.pem"), "-out", self.file("csr"))
        with open(self.file("extensions"), "w", encoding="utf-8") as file:
            file.write(f"subjectAltName={alternative}\n")
        self.openssl(
            "x509", "-req", "-in", self.file("csr"), "-CA", self.file(authority + ".pem"),
            "-CAkey", self.file(authority + "-key.pem"), "-CAcreateserial", "-days", "2",
            "-extfile", self.file("extensions"), "-out", self.file(name + ".pem"))

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)

    # ---- A case --------------------------------------------------------------------------------------

    def prepare(self, case):
        """Starts what the case needs, and returns the line for the client's program."""
        addresses = [self.address(*server) for server in case.servers]
        plan = {"name": case.name, "addresses": addresses, "steps": self.with_files(case.steps)}
        if case.options:
            plan["options"] = case.options
        uses_tls = any(address.startswith("tls:") for address in addresses)
        if case.tls is not None or uses_tls:
            names = case.tls if case.tls is not None else {"authority": "authority"}
            plan["tls"] = {
                member: name if member == "serverName" else self.file(name + ".pem")
                for member, name in names.items()}
        return plan

    def with_files(self, value):
        """Replaces the names of files by their paths."""
        if isinstance(value, list):
            return [self.with_files(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {
            name: self.file(one) if name == "file" else self.with_files(one) for name, one in value.items()}

    def address(self, kind, scheme, script):
        words = kind.split()
        if words[0] == "address":
            return words[1] if len(words) > 1 else ""
        if words[0] == "closed":
            with socket.socket() as unused:
                unused.bind(("127.0.0.1", 0))
                address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        elif words[0] == "real":
            address = self.real_address(words[1])
        else:
            location = {
                "tcp": "tcp", "unix": f"unix {self.file('scripted.sock')}",
                "tls": f"tls {self.file('server.pem')} {self.file('server-key.pem')}",
                "tls-wrong-name": f"tls {self.file('wrong-name.pem')} {self.file('wrong-name-key.pem')}",
                "tls-client": f"tls {self.file('server.pem')} {self.file('server-key.pem')} "
                              + self.file("authority.pem"),
            }[words[0]]
            address = self.command(f"listen {location} : {script}")
        if address.startswith("error"):
            raise SystemExit(f"conformance: {address}: {script}")
        return re.sub("^[a-z]+(?=:)", scheme, address) if scheme else address

    def command(self, line):
        if self.scripted is None:
            self.scripted = subprocess.Popen(
                [built("conformance-server")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.scripted.stdin.write(line + "\n")
        self.scripted.stdin.flush()
        answer = self.scripted.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"conformance: the scripted server ended with {self.scripted.wait()}")
        return answer

    def report(self):
        """Returns the events of the scripted servers since the last report."""
        return self.command("report").split()[1:]

    # ---- The real server -----------------------------------------------------------------------------

    def real_address(self, location):
        if not self.real:
            tls = '[tls]\ncertificate = "server.pem"\nkey = "server-key.pem"\n'
            self.real = self.serve("plain", "tcp://127.0.0.1:0")
            self.real["tls"] = self.serve("tls", "tls://127.0.0.1:0", tls)["tls"]
            self.real["mtls"] = self.serve(
                "mtls", "tls://127.0.0.1:0", tls + 'client-ca = "authority.pem"')["tls"]
            for name in ["plain", "tls", "mtls"]:
                self.warm_up(name)
        return self.real[location]

    def slow_address(self):
        """A server with one worker that verifies every signature by OpenSSL's plain routine."""
        self.real["slow"] = self.serve(
            "slow", "tcp://127.0.0.1:0", "workers = 1", ["--engine", "openssl"])["tcp"]
        self.warm_up("slow")
        return self.real["slow"]

    def serve(self, name, address, settings="", options=()):
        """Starts a server at this address and a Unix socket, and returns its addresses by scheme."""
        unix = f"unix:{self.file(name + '.sock')}"
        with open(self.file(name + ".toml"), "w", encoding="utf-8") as file:
            file.write(
                f'listen = ["{address}", "{unix}"]\n{settings}\n'
                f'[[app]]\nname = "game"\nbundle-id = "{BUNDLE}"\n'
                'app-apple-id = 1234567890\nroots = ["ca/root.pem"]\n' + STORES)
        process = subprocess.Popen(
            [self.assay, "serve", "--config", self.file(name + ".toml"), *options], stdout=subprocess.PIPE,
            stderr=open(self.file(name + ".log"), "wb"), text=True)
        self.processes.append(process)
        line = process.stdout.readline()
        found = dict(re.findall(r"((?:tcp|tls)(?=://))(://\S+?)(?=[,\s]|$)", line))
        if not found:
            with open(self.file(name + ".log"), encoding="utf-8") as file:
                raise SystemExit(f"conformance: assay serve did not start: {line} {file.read()}")
        return {"unix": unix} | {scheme: scheme + rest for scheme, rest in found.items()}

    def warm_up(self, name):
        """Has a server verify a token: a debug build prepares the root's key for seconds first."""
        verified = subprocess.run(
            [self.assay, "verify", "--server", f"unix:{self.file(name + '.sock')}", "--timeout", "30",
             "--kind", "transaction", self.file("transaction")], capture_output=True, text=True)
        if verified.returncode != 0:
            raise SystemExit(f"conformance: assay serve does not verify: {verified.stdout}"
                             f"{verified.stderr}")

    def stop(self):
        for process in self.processes:
            process.terminate()
        if self.scripted is not None:
            self.scripted.stdin.close()
            self.processes.append(self.scripted)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
