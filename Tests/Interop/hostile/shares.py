"""One client that takes more than its share of the queue, of TLS, or of the fetches."""
import hashlib
import hmac
import http.client
import json
import os
import socket
import ssl
import threading
import time
import uuid

from assay.v1 import assay_pb2 as assay
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hostile.flood import OTHER_HOST, Flood
from hostile.peers import configuration, tls_authority
from hostile.trial import MB, attack
from server import APP_ID, BUNDLE
from wire import frame, verify

# The honest client beside a greedy one: its requests a second, and the bound of its p99 in ms.
PER_SECOND = 50
P99 = 250


def beside(trial, flood, label="", **settings):
    """Runs a flood, and measures an honest client meanwhile: it is not refused."""
    attackers = trial.attackers(flood.run)
    time.sleep(0.5)
    honest = trial.honest(per_second=PER_SECOND, warm_up=False, **settings)
    time.sleep(trial.scale(15, 3))
    # Refusals are counted for an attack that the short form must notice, too.
    trial.saw(honest.result(), p99_most=P99 if not trial.is_short else 2 * P99, label=label)
    counts = attackers.stop()
    if counts:
        trial.note(f"{label}: {counts['connections']} connections, {counts['bytes'] / MB:.0f} MB")


def forever(data):
    def script(_):
        while True:
            yield data
    return script


@attack("greedy-queue", "120")
def greedy_queue(trial):
    """8 connections of pipelined genuine tokens, 4 of Resolves of 1,000 junk items, and 64 HTTP
    connections of genuine tokens, one after the other. An honest client with 50 requests a second
    is never refused.
    """
    trial.serve(listen=["tcp://127.0.0.1:0", "http://127.0.0.1:0"])
    greedy_tokens(trial)
    greedy_resolves(trial)
    greedy_http(trial)
    trial.memory()


def greedy_tokens(trial):
    token = trial.evidence.token
    data = b"".join(frame(*verify(id, assay.EVIDENCE_KIND_TRANSACTION, token))
                    for id in range(1, 201))
    beside(trial, Flood(trial.server.address("tcp"), 8, forever(data)), "greedy tokens")


def greedy_resolves(trial):
    # Each item has the form of a token, so that its signature is what is junk.
    item = trial.evidence.token[:-8] + b"AAAAAAAA"
    frames = []
    for id in range(1, 9):
        head = assay.RequestHead(id=id, timeout_ms=30_000)
        for _ in range(1000):
            head.resolve.items.add(kind=assay.EVIDENCE_KIND_TRANSACTION, length=len(item))
        frames.append(frame(head, item * 1000))
    beside(trial, Flood(trial.server.address("tcp"), 4, forever(b"".join(frames))),
           "greedy resolves")


def greedy_http(trial):
    request = post(trial.evidence.token)
    beside(trial, Flood(trial.server.address("http"), 64, forever(request * 64)), "greedy http")


def post(token):
    return (b"POST /v1/verify?kind=transaction HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/jose\r\nContent-Length: %d\r\n\r\n" % len(token) + token)


# ---- TLS ----


class RecordWriter:
    """A TLS 1.3 client that writes its records itself, from the secret of the handshake."""

    def __init__(self, address, folder):
        log = folder / f"keys-{os.getpid()}-{threading.get_ident()}"
        log.unlink(missing_ok=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.keylog_filename = str(log)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = context.wrap_bio(incoming, outgoing)
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), 5)
        while True:
            try:
                session.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.socket.sendall(outgoing.read())
                received = self.socket.recv(1 << 16)
                if not received:
                    raise OSError("the handshake was cut off")
                incoming.write(received)
        self.socket.sendall(outgoing.read())
        suite = session.cipher()[0]
        self.hash = hashlib.sha384 if suite.endswith("SHA384") else hashlib.sha256
        self.key_bytes = 32 if "AES_256" in suite else 16
        for line in log.read_text().splitlines():
            if line.startswith("CLIENT_TRAFFIC_SECRET_0 "):
                self.change_keys(bytes.fromhex(line.split()[2]))

    def expand(self, label, count):
        """HKDF-Expand-Label with an empty context: RFC 8446, 7.1. One block is enough."""
        label = b"tls13 " + label
        info = count.to_bytes(2, "big") + bytes([len(label)]) + label + b"\0"
        return hmac.new(self.secret, info + b"\1", self.hash).digest()[:count]

    def change_keys(self, secret):
        self.secret, self.sequence = secret, 0
        self.cipher = AESGCM(self.expand(b"key", self.key_bytes))
        self.iv = int.from_bytes(self.expand(b"iv", 12), "big")

    def record(self, kind, data):
        head = b"\x17\x03\x03" + (len(data) + 17).to_bytes(2, "big")
        nonce = (self.iv ^ self.sequence).to_bytes(12, "big")
        self.sequence += 1
        return head + self.cipher.encrypt(nonce, data + bytes([kind]), head)

    def key_update(self):
        made = self.record(22, b"\x18\x00\x00\x01\x00")
        self.change_keys(self.expand(b"traffic upd", self.hash().digest_size))
        return made


@attack("key-updates", "122")
def key_updates(trial):
    """Connections that send 2,000 KeyUpdates each, and one that sends the most that are accepted
    between two Pings. Honest clients are served, and each flood is cut off.
    """
    tls_authority(trial)
    trial.serve(config=configuration(["tls://127.0.0.1:0", "tcp://127.0.0.1:0"]), listen=[])
    address, folder = trial.server.address("tls"), trial.folder

    def flood(is_over):
        floods = cut = 0
        while not is_over():
            writer = RecordWriter(address, folder)
            data = b"".join(writer.key_update() for _ in range(2000))
            floods += 1
            try:
                for _ in range(100):
                    writer.socket.sendall(data)
                    time.sleep(0.01)
            except OSError:
                cut += 1
            writer.socket.close()
        return {"floods": floods, "cut": cut}

    def accepted(is_over):
        writer, sent = RecordWriter(address, folder), 0
        writer.socket.settimeout(5)
        while not is_over():
            data = []
            for _ in range(64):
                data += [writer.key_update() for _ in range(32)]
                data.append(writer.record(23, frame(assay.RequestHead(id=1, ping={}))))
            writer.socket.sendall(b"".join(data))
            writer.socket.recv(1 << 16)
            sent += 64
        return sent

    attackers = [trial.attackers(flood), trial.attackers(accepted)]
    time.sleep(0.5)
    honest = trial.honest(per_second=PER_SECOND, warm_up=False)
    time.sleep(trial.scale(15, 3))
    trial.saw(honest.result(), p99_most=P99 if not trial.is_short else 2 * P99)
    counts, sent = attackers[0].stop(), attackers[1].stop()
    if counts:
        trial.measure("floods", counts["floods"], least=1)
        trial.measure("floods that went on", counts["floods"] - counts["cut"], most=0)
    trial.measure("accepted runs of KeyUpdates", sent, least=1)
    trial.memory()


# ---- Fetch ----


class AppStore(threading.Thread):
    """Answers that no transaction is known, or nothing at all."""

    UNKNOWN = json.dumps({"errorCode": 4040010, "errorMessage": "Transaction id not found."})

    def __init__(self, answers):
        super().__init__(daemon=True)
        self.answers = answers
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.kept = []

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            self.kept.append(connection)
            if self.answers:
                threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        stream = connection.makefile("rb")
        while line := stream.readline():
            if line == b"\r\n":
                connection.sendall(
                    f"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n"
                    f"Content-Length: {len(self.UNKNOWN)}\r\n\r\n{self.UNKNOWN}".encode())


@attack("fetches", "126")
def fetches(trial):
    """Fetches of an App Store that does not answer, on one connection that asks for 100, and on 32
    HTTP connections that close again and again. An honest fetch of another client is never refused,
    nor is a request that prefers waiting to refusal.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    file = trial.folder / "SubscriptionKey_ABCDEFGHIJ.p8"
    file.touch(0o600)
    file.write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()))
    entries = ""
    for name, answers in [("game", True), ("silent", False)]:
        store = AppStore(answers)
        store.start()
        entries += (f'[[app]]\nname = "{name}"\nbundle-id = "{BUNDLE}"\napp-apple-id = {APP_ID}\n'
                    f'default = {"true" if answers else "false"}\n'
                    f'[app.store]\nkey-file = "{file.name}"\nissuer-id = "{uuid.uuid4()}"\n'
                    f'base-url = "{store.url}"\n')
    trial.serve(config=entries, listen=["tcp://127.0.0.1:0", "http://127.0.0.1:0"])
    frames = b"".join(frame(assay.RequestHead(
        id=id, app="silent", timeout_ms=120_000,
        fetch=assay.FetchCall(transaction_id="1"))) for id in range(1, 101))
    body = json.dumps({"transactionId": "1", "app": "silent", "timeout": 120})
    request = (f"POST /v1/fetch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               f"Content-Length: {len(body)}\r\n\r\n{body}").encode()

    def one(_):
        yield frames
        yield 1 << 30

    def closing(_):
        yield request
        yield 0.2

    source = None if trial.is_one_host else OTHER_HOST
    for label, flood in [
            ("one connection", Flood(trial.server.address("tcp"), 1, one, source=source)),
            ("closing", Flood(
                trial.server.address("http"), 31, closing, reads=False, source=source))]:
        attackers = trial.attackers(flood.run)
        time.sleep(0.5)
        honest = trial.honest(per_second=PER_SECOND, warm_up=False)
        refused = 0
        for _ in range(trial.scale(60, 15)):
            refused += fetch(trial.server.address("http")) != 404
            time.sleep(0.2)
        trial.saw(honest.result(), p99_most=P99 if not trial.is_short else 2 * P99, label=label)
        trial.measure(f"{label}: honest fetches without Apple's answer", refused, most=0)
        attackers.stop()
    trial.memory()


def fetch(address):
    """The status of a fetch on its own connection."""
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        connection.request("POST", "/v1/fetch", json.dumps({"transactionId": "1", "app": "game"}),
                           {"Content-Type": "application/json", "Host": "localhost"})
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()
