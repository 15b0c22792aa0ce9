"""Revocation against `openssl ocsp` as the responder and CRLs by openssl, over a minted chain; and
Apple's app-store-server-library with its online checks, pointed at the same responder.

usage: revocation.py ASSAY
"""
import contextlib
import datetime
import http.server
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException
from cryptography import x509

BUNDLE, APP = "com.example.game", 1234567890
NOW = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
assay = sys.argv[1]
checks = 0


def check(what, holds, seen=""):
    global checks
    if not holds:
        sys.exit(f"FAILED: {what}: {seen}")
    checks += 1


def run(*arguments, stdin=b"", expected=0):
    done = subprocess.run([*map(str, arguments)], input=stdin, capture_output=True)
    if expected is not None and done.returncode != expected:
        sys.exit(f"FAILED: {arguments} ended with {done.returncode}: {done.stderr.decode()}")
    return done


def rfc3339(date):
    return date.strftime("%Y-%m-%dT%H:%M:%SZ")


def openssl_date(date):
    return date.strftime("%y%m%d%H%M%SZ")


class Authority:
    """A minted CA, and openssl's databases of its certificates."""

    def __init__(self, folder):
        self.folder = folder
        run(assay, "mint", "ca", folder / "ca")
        self.ca = folder / "ca"
        self.serials = {
            name: x509.load_pem_x509_certificate(self.file(name).read_bytes()).serial_number
            for name in ("leaf", "intermediate")}
        self.set("leaf", "V")
        self.set("intermediate", "V")

    def file(self, name):
        return self.ca / f"{name}.pem"

    def issuer(self, name):
        return "intermediate" if name == "leaf" else "root"

    def index(self, name):
        return self.folder / f"{name}.index"

    def set(self, name, state, at=None, reason=None):
        """Writes the one line of a database: V or R."""
        date = openssl_date(at) + (f",{reason}" if reason else "") if at else ""
        serial = f"{self.serials[name]:x}"
        serial = ("0" if len(serial) % 2 else "") + serial
        end = openssl_date(NOW + datetime.timedelta(days=400))
        self.index(name).write_text(
            f"{state}\t{end}\t{date}\t{serial.upper()}\tunknown\t/CN={name}\n")
        self.index(name).with_suffix(".index.attr").write_text("unique_subject = no\n")

    def forget(self, name):
        """Leaves the certificate out of the database."""
        self.set(name, "V")
        line = self.index(name).read_text().split("\t")
        line[3] = "01"
        self.index(name).write_text("\t".join(line))

    def signer(self, name):
        issuer = self.issuer(name)
        return ["-rsigner", self.file(issuer), "-rkey", self.ca / f"{issuer}-key.pem"]

    def response(self, name, *options, signer=None, hash="sha1"):
        """An OCSP response that openssl makes, and no server sends."""
        request, response = self.folder / "request.der", self.folder / "response.der"
        issuer = self.file(self.issuer(name))
        run("openssl", "ocsp", f"-{hash}", "-issuer", issuer, "-cert", self.file(name),
            "-no_nonce", "-reqout", request)
        run("openssl", "ocsp", "-index", self.index(name), "-CA", issuer, "-reqin", request,
            *(signer or self.signer(name)), "-ndays", "1", "-respout", response, *options)
        return response.read_bytes()

    def list(self, name, *options):
        """A CRL of the certificate's issuer, in PEM."""
        issuer = self.issuer(name)
        configuration = self.folder / "crl.cnf"
        configuration.write_text(
            f"[ca]\ndefault_ca = d\n[d]\ndatabase = {self.index(name)}\n"
            "default_md = sha256\ndefault_crl_days = 1\ncrl_extensions = e\n"
            "[e]\nauthorityKeyIdentifier = keyid\n")
        return run("openssl", "ca", "-gencrl", "-config", configuration, "-cert",
                   self.file(issuer), "-keyfile", self.ca / f"{issuer}-key.pem", *options).stdout

    def delegate(self, name, purpose):
        """A certificate for responses, issued by openssl: its signer options."""
        issuer = self.issuer(name)
        base = self.folder / f"delegate-{purpose}"
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", base.with_suffix(".key"), "-out", base.with_suffix(".csr"), "-subj",
            "/CN=Responder")
        base.with_suffix(".ext").write_text(
            f"keyUsage = digitalSignature\nextendedKeyUsage = {purpose}\n")
        run("openssl", "x509", "-req", "-in", base.with_suffix(".csr"), "-CA", self.file(issuer),
            "-CAkey", self.ca / f"{issuer}-key.pem", "-days", "2", "-set_serial", "77", "-extfile",
            base.with_suffix(".ext"), "-out", base.with_suffix(".pem"))
        return ["-rsigner", base.with_suffix(".pem"), "-rkey", base.with_suffix(".key")]

    def token(self, date=NOW):
        return run(assay, "mint", "transaction", "--ca", self.ca, "--bundle-id", BUNDLE,
                   "--environment", "Production", "--app-apple-id", APP, "--date",
                   rfc3339(date)).stdout


class Files:
    """Verifies with files of statuses."""

    def __init__(self, authority, folder):
        self.authority = authority
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    def write(self, name, content):
        (self.folder / name).write_bytes(content)
        return self

    def verify(self, mode="soft", token=None, *options, expected=None):
        done = run(assay, "verify", "--kind", "transaction", "--bundle-id", BUNDLE, "--root",
                   self.authority.file("root"), "--revocation", self.folder, "--revocation-mode",
                   mode, *options, "-", stdin=token or self.authority.token(), expected=expected)
        return json.loads(done.stdout) if done.stdout else {"verdict": "", "detail":
                                                            done.stderr.decode()}


def expect(what, answer, verdict, detail=""):
    check(what, answer["verdict"] == verdict and detail in answer["detail"], answer)


def with_files(authority, folder):
    """Each kind of response and CRL, as files."""
    def files(**responses):
        found = Files(authority, folder / "statuses")
        for name, content in responses.items():
            found.write(name, content)
        return found

    minute, hour = datetime.timedelta(minutes=1), datetime.timedelta(hours=1)
    old = authority.token(NOW - 3 * hour)
    both = {"intermediate": authority.response("intermediate")}
    for hash in ("sha1", "sha256"):
        answer = files(leaf=authority.response("leaf", hash=hash), **both).verify("hard")
        expect(f"good, by {hash}", answer, "VALID")
        check("good is not reported", "revocation" not in answer["detail"], answer)
    expect("no status, soft", files(**both).verify(), "VALID", "is unknown")
    expect("no status, hard", files(**both).verify("hard"), "CERTIFICATE_REVOKED", "is unknown")

    for reason, earlier in [(None, "VALID"), ("superseded", "VALID"),
                            ("keyCompromise", "CERTIFICATE_REVOKED"),
                            ("CACompromise", "CERTIFICATE_REVOKED")]:
        authority.set("leaf", "R", NOW - hour, reason)
        for source in ("ocsp", "crl"):
            status = authority.response("leaf") if source == "ocsp" else authority.list("leaf")
            found = files(status=status, **both)
            for mode in ("soft", "hard"):
                expect(f"revoked before the signature, {reason}, {source}, {mode}",
                       found.verify(mode), "CERTIFICATE_REVOKED", "was revoked at")
                expect(f"revoked after the signature, {reason}, {source}, {mode}",
                       found.verify(mode, old), earlier)
    authority.set("leaf", "V")
    expect("good by a CRL", files(status=authority.list("leaf"), **both).verify("hard"), "VALID")
    authority.set("intermediate", "R", NOW - hour)
    found = files(leaf=authority.response("leaf"), other=authority.list("intermediate"))
    expect("the intermediate is revoked", found.verify(), "CERTIFICATE_REVOKED",
           "the intermediate")
    authority.set("intermediate", "V")

    authority.forget("leaf")
    found = files(leaf=authority.response("leaf"), **both)
    expect("unknown, soft", found.verify(), "VALID", "unknown to the responder")
    expect("unknown, hard", found.verify("hard"), "CERTIFICATE_REVOKED", "unknown to the responder")
    authority.set("leaf", "V")

    good = authority.response("leaf")
    found = files(leaf=good, **both)
    later = ["--at", rfc3339(NOW + datetime.timedelta(days=1) + 20 * minute)]
    expect("stale, soft", found.verify("soft", None, *later), "VALID", "is stale since")
    expect("stale, hard", found.verify("hard", None, *later), "CERTIFICATE_REVOKED", "is stale")
    aged = ["--at", rfc3339(NOW + 2 * hour), "--revocation-max-age", "1"]
    expect("too old", found.verify("hard", None, *aged), "CERTIFICATE_REVOKED", "too old")
    before = ["--at", rfc3339(NOW - hour)]
    expect("from the future", found.verify("soft", old, *before, expected=2), "", "from the future")

    other = Authority(pathlib.Path(tempfile.mkdtemp(dir=folder)))
    wrong = authority.response("leaf", signer=other.signer("leaf"))
    found = files(leaf=wrong, **both)
    expect("wrong signer, soft", found.verify(), "VALID", "its signature does not verify")
    expect("wrong signer, hard", found.verify("hard"), "CERTIFICATE_REVOKED", "its signature does not verify")
    for purpose, verdict in [("OCSPSigning", "VALID"), ("serverAuth", "CERTIFICATE_REVOKED"),
                             ("OCSPSigning,serverAuth", "VALID")]:
        signed = authority.response("leaf", signer=authority.delegate("leaf", purpose))
        answer = files(leaf=signed, **both).verify("hard")
        expect(f"a delegate with {purpose}", answer, verdict,
               "" if verdict == "VALID" else "OCSPSigning")
    named = authority.response("leaf", signer=authority.delegate("intermediate", "OCSPSigning"))
    expect("a delegate of another authority", files(leaf=named, **both).verify("hard"),
           "CERTIFICATE_REVOKED", "another authority")
    expect("wrong CertID", files(leaf=other.response("leaf"), **both).verify("hard"),
           "CERTIFICATE_REVOKED", "is unknown")
    expect("a CRL of another authority", files(leaf=other.list("leaf"), **both).verify("hard"),
           "CERTIFICATE_REVOKED", "is unknown")
    large = files(leaf=good + bytes(65536), **both).verify(expected=2)
    expect("64 KiB and more", large, "", "limit is 65536")
    expect("cut off", files(leaf=good[:-1]).verify(expected=2), "", "not a valid OCSP response")
    return good


class Responder:
    """Stands between servers and `openssl ocsp`: a proxy for the hosts in minted certificates. It
    counts requests, and misbehaves for a host if asked."""

    def __init__(self, authority):
        self.authority = authority
        self.processes, self.ports = [], {}
        self.requests, self.behaviour = [], None
        for name in ("leaf", "intermediate"):
            self.start(name)
        responder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                responder.requests.append(self.path)
                responder.answer(self, body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def start(self, name):
        """Starts `openssl ocsp`, which reads its database once."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        issuer = self.authority.file(self.authority.issuer(name))
        process = subprocess.Popen(
            [str(part) for part in ("openssl", "ocsp", "-port", port, "-index",
             self.authority.index(name), "-CA", issuer, *self.authority.signer(name), "-ndays", "1",
             # Apple's library finds the signer by its key alone.
             "-resp_key_id", "-ignore_err")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.processes.append(process)
        self.ports[name] = port
        # A connection without a request would block it.
        for line in process.stdout:
            if "waiting for OCSP client" in line:
                return
        sys.exit("FAILED: openssl ocsp does not listen")

    def restart(self, name):
        self.start(name)

    def forward(self, path, body):
        name = "leaf" if path.endswith("02") else "intermediate"
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.ports[name]}/", body,
            {"Content-Type": "application/ocsp-request"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            return answer.read()

    def answer(self, handler, body):
        behaviour = self.behaviour
        if behaviour == "hangs":
            time.sleep(30)
            return
        if behaviour == "resets":
            handler.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.connection.close()
            handler.wfile = handler.rfile = open(os.devnull, "rb")
            return
        if behaviour == "redirects":
            handler.send_response(302)
            handler.send_header("Location", f"{self.url}/elsewhere")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        answer = self.forward(handler.path, body)
        length = len(answer)
        if behaviour == "64 KiB and more":
            answer += bytes(70_000)
            length = len(answer)
        if behaviour == "promises more":
            length += 10
        if behaviour == "promises less":
            length -= 10
        if behaviour == "endless":
            length = None
        handler.send_response(200)
        handler.send_header("Content-Type", "application/ocsp-response")
        if length is not None:
            handler.send_header("Content-Length", str(length))
        handler.end_headers()
        with contextlib.suppress(OSError):
            handler.wfile.write(answer)
            while behaviour == "endless":
                handler.wfile.write(bytes(4096))

    def stop(self):
        self.server.shutdown()
        for process in self.processes:
            process.kill()


class Server:
    """`assay serve` with revocation."""

    def __init__(self, authority, folder, responder, mode, **settings):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.authority = authority
        lines = [f'mode = "{mode}"', 'hosts = ["ocsp.example.com"]',
                 f'proxy = "{responder}"', f'state = "{folder}/state"']
        (folder / "assay.toml").write_text(
            "\n".join(["[revocation]", *lines, "", "[[app]]", 'name = "game"',
                       f'bundle-id = "{BUNDLE}"', f"app-apple-id = {APP}",
                       f'roots = ["{authority.file("root")}"]', ""]))
        self.log = open(folder / "log", "a")
        self.process = subprocess.Popen(
            [assay, "serve", "--listen", f"unix:{folder}/socket", "--admin",
             f"unix:{folder}/admin", "--config", str(folder / "assay.toml")],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        ready = self.process.stdout.readline()
        check("the server starts", ready.startswith("assay ready"),
              (folder / "log").read_text())

    def verify(self, token=None):
        done = run(assay, "verify", "--kind", "transaction", "--server",
                   f"unix:{self.folder}/socket", "-", stdin=token or self.authority.token(),
                   expected=None)
        return json.loads(done.stdout)

    def metrics(self):
        """The samples by their names and labels."""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.connect(f"{self.folder}/admin")
            admin.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            text = b""
            while part := admin.recv(65536):
                text += part
        lines = [line for line in text.decode().splitlines() if line.startswith("assay_revo")]
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}

    def wait(self, what, holds, seconds=20):
        """Waits for the metrics to say it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.metrics()
            if holds(found):
                return check(what, True)
            time.sleep(0.2)
        check(what, False, (self.metrics(), (self.folder / "log").read_text()))

    def status(self):
        return run(assay, "revocation", "status", "--config", self.folder / "assay.toml",
                   expected=None)

    def stop(self):
        self.process.terminate()
        check("the server ends", self.process.wait(20) == 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()


def answered(count):
    return lambda found: found.get('assay_revocation_requests_total{outcome="answered"}') == count


def with_servers(authority, folder, responder):
    """The refresher, asking `openssl ocsp`."""
    foreign = Authority(pathlib.Path(tempfile.mkdtemp(dir=folder)))
    dead = "http://127.0.0.1:1"
    with Server(authority, folder / "hard", responder.url, "hard") as server:
        expect("a chain that never validated", server.verify(foreign.token()), "UNTRUSTED_CHAIN")
        time.sleep(2)
        check("it makes no request", not responder.requests, responder.requests)
        check("nor does a counter say so", all(
            value == 0 for name, value in server.metrics().items() if "requests_total" in name))
        expect("hard from the first request", server.verify(), "CERTIFICATE_REVOKED",
               "requires a good revocation status")
        server.wait("both certificates are asked for", answered(2))
        check("once each", len(responder.requests) == 2, responder.requests)
        expect("then it is valid", server.verify(), "VALID")
        found = server.metrics()
        age = next(value for name, value in found.items() if "status_age_seconds" in name)
        left = next(value for name, value in found.items() if "next_refresh_seconds" in name)
        check("the status is young", 0 <= age < 120, found)
        check("the next refresh is at half of a day", 36000 < left < 43300, found)
        status = server.status()
        check("assay revocation status", status.returncode == 0 and status.stdout.count(b"good")
              == 2, status.stdout)
        server.stop()
    with Server(authority, folder / "hard", dead, "hard") as server:
        expect("after a restart the status is known", server.verify(), "VALID")

    authority.set("leaf", "R", NOW - datetime.timedelta(hours=1))
    responder.restart("leaf")
    with Server(authority, folder / "revoked", responder.url, "soft") as server:
        expect("soft passes at first", server.verify(), "VALID", "is unknown")
        server.wait("both are asked for", answered(2))
        expect("then it is revoked", server.verify(), "CERTIFICATE_REVOKED", "was revoked at")
        older = authority.token(NOW - datetime.timedelta(hours=2))
        expect("evidence from before stays valid", server.verify(older), "VALID")
        status = server.status()
        check("assay revocation status says so", status.returncode == 1
              and b"revoked since" in status.stdout, status.stdout)
        server.stop()
    with Server(authority, folder / "revoked", dead, "soft") as server:
        expect("a revoked status survives a restart", server.verify(), "CERTIFICATE_REVOKED")
    authority.set("leaf", "V")
    responder.restart("leaf")

    outcomes = {"hangs": "timed_out", "resets": "unreachable", "redirects": "http_status",
                "64 KiB and more": "too_large", "endless": "too_large",
                "promises more": "unreachable", "promises less": "not_used"}
    for number, (behaviour, outcome) in enumerate(outcomes.items()):
        responder.behaviour = behaviour
        responder.requests.clear()
        with Server(authority, folder / f"bad{number}", responder.url, "soft") as server:
            begin = time.monotonic()
            expect(f"a responder that {behaviour} delays nobody", server.verify(), "VALID",
                   "is unknown")
            check("not even by a second", time.monotonic() - begin < 5)
            name = f'assay_revocation_requests_total{{outcome="{outcome}"}}'
            server.wait(f"{behaviour}: {outcome}", lambda found: found.get(name, 0) >= 2)
            check("no redirection is followed", not any(
                "elsewhere" in path for path in responder.requests), responder.requests)
            expect("it still passes", server.verify(), "VALID", "is unknown")
    responder.behaviour = None


def with_apple(authority, responder):
    """Apple's library, which asks inside of a verification."""
    root = x509.load_pem_x509_certificate(authority.file("root").read_bytes())
    from cryptography.hazmat.primitives.serialization import Encoding
    os.environ["HTTP_PROXY"] = os.environ["http_proxy"] = responder.url
    os.environ.pop("NO_PROXY", None)
    os.environ.pop("no_proxy", None)
    token = authority.token().decode().strip()

    def accepts():
        verifier = SignedDataVerifier(
            [root.public_bytes(Encoding.DER)], True, Environment.PRODUCTION, BUNDLE, APP)
        try:
            return verifier.verify_and_decode_signed_transaction(token) is not None
        except VerificationException:
            return False

    def ours(name):
        files = Files(authority, authority.folder / "apple")
        for name in ("leaf", "intermediate"):
            files.write(name, authority.response(name))
        return files.verify("hard", token.encode())["verdict"] == "VALID"

    responder.requests.clear()
    check("both accept a good chain", (accepts(), ours("leaf")) == (True, True),
          responder.requests)
    check("Apple's library has asked", len(responder.requests) >= 2, responder.requests)
    for name in ("leaf", "intermediate"):
        authority.set(name, "R", NOW - datetime.timedelta(hours=1))
        responder.restart(name)
        check(f"both refuse a revoked {name}", (accepts(), ours(name)) == (False, False))
        authority.set(name, "V")
        responder.restart(name)


def main():
    with tempfile.TemporaryDirectory(prefix="rev") as name:
        folder = pathlib.Path(name)
        authority = Authority(folder)
        with_files(authority, folder)
        responder = Responder(authority)
        try:
            with_servers(authority, folder, responder)
            with_apple(authority, responder)
        finally:
            responder.stop()
    print(f"revocation: {checks} checks hold")


main()
