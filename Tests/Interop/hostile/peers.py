"""Attacks with connections only: descriptors, handshakes, names in certificates."""
import ipaddress
import socket
import ssl
import time

from assay.v1 import assay_pb2 as assay
from cryptography import x509
from cryptography.x509.oid import NameOID
from exchange import connect, receive
from hostile.flood import HOLD, Flood
from hostile.forge import TLSAuthority, tlv
from hostile.trial import attack
from server import APP_ID, BUNDLE
from wire import frame

# A flood of 600 connections exceeds this limit.
DESCRIPTORS = 300


def configuration(listen, tls=""):
    addresses = ", ".join(f'"{address}"' for address in listen)
    return (f'listen = [{addresses}]\n[tls]\ncertificate = "server.pem"\nkey = "server-key.pem"\n'
            f'{tls}\n[[app]]\nname = "game"\nbundle-id = "{BUNDLE}"\napp-apple-id = {APP_ID}\n')


def tls_authority(trial):
    authority = TLSAuthority(trial.folder)
    authority.issue("server", [
        x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    return authority


def silence(_):
    yield HOLD


@attack("silent-handshakes", "84")
def silent_handshakes(trial):
    """600 TLS clients connect to a server with 300 descriptors and stay silent. New clients of the
    TCP and the Unix listener are served or get a refusal.
    """
    tls_authority(trial)
    path = trial.folder / "assay.sock"
    listen = ["tls://127.0.0.1:0", "tcp://127.0.0.1:0", f"unix:{path}"]
    trial.serve(config=configuration(listen), listen=[], limits=trial.descriptors(DESCRIPTORS))
    old = trial.honest()
    attackers = trial.attackers(Flood(
        trial.server.address("tls"), 600, silence, opened_per_second=1000).run)
    time.sleep(1.5)
    clients = {scheme: trial.honest(
        address=trial.server.address(scheme), fresh=True, per_second=20, timeout_ms=1000,
        warm_up=False) for scheme in ["tcp", "unix"]}
    time.sleep(trial.scale(20, 3))
    for scheme, client in clients.items():
        trial.saw(client.result(), refused_most=None, label=f"new by {scheme}")
    trial.saw(old.result())
    attackers.stop()
    trial.memory()


@attack("descriptors", "63")
def descriptors(trial):
    """600 silent TCP connections to a server with 300 descriptors. Connected clients are served,
    and new ones after the silent connections have ended.
    """
    trial.serve(limits=trial.descriptors(DESCRIPTORS))
    old = trial.honest()
    attackers = trial.attackers(Flood(
        trial.server.address("tcp"), 600, silence, opened_per_second=1000).run)
    time.sleep(trial.scale(10, 3))
    attackers.stop()
    late = trial.honest(fresh=True, per_second=20)
    time.sleep(1)
    trial.saw(old.result(), p99_most=trial.p99_bound(50, 0))
    trial.saw(late.result(), label="afterwards")
    trial.memory()


# Of clients' certificates, with what is configured: DNS names, URIs and common names.
ALLOWED = ["spiffe://example.org/backend", "backend.example.org", "king"]


def bmp(text):
    """A common name as BMPString, which `cryptography` writes only on request."""
    from cryptography.x509.name import _ASN1Type
    return x509.NameAttribute(NameOID.COMMON_NAME, text, _type=_ASN1Type.BMPString)


def common(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def client_certificates():
    """Name, alternative names, subject, and whether it may."""
    def general(tag, octets):
        return tlv(0x30, tlv(tag, octets))
    dns, uri = x509.DNSName, x509.UniformResourceIdentifier
    return [
        ("a SPIFFE id", [uri(ALLOWED[0])], None, True),
        ("a DNS name", [dns(ALLOWED[1])], None, True),
        ("a DNS name in capitals", [dns("BACKEND.example.ORG")], None, True),
        ("a common name", (), common("king"), True),
        ("several, one of them right", [dns("a.example.org"), dns(ALLOWED[1])], None, True),
        ("another SPIFFE id", [uri("spiffe://example.org/other")], None, False),
        ("a SPIFFE id in capitals", [uri("spiffe://example.org/BACKEND")], None, False),
        ("a URI without a scheme, as a DNS name", general(0x86, b"backend.example.org"), None,
         False),
        ("a URI without a scheme, as a common name", general(0x86, b"king"), None, False),
        ("a DNS name with KELVIN SIGN", general(0x82, "bac\u212aend.example.org".encode()), None,
         False),
        ("a common name with KELVIN SIGN", (), common("\u212aing"), False),
        ("a DNS name with NUL", general(0x82, b"backend.example.org\0.evil"), None, False),
        ("a wildcard", [dns("*.example.org")], None, False),
        ("a DNS name as a common name beside another", [dns("evil.example")],
         common("backend.example.org"), False),
        ("a mail address", [x509.RFC822Name("king@backend.example.org")], None, False),
        ("BMPString of other letters", (), x509.Name([bmp("\u6b69nd")]), False),
        ("no name", (), None, False),
    ]


def ping_over_tls(address, authority, paths):
    """The status of a Ping with this client certificate; None where the connection failed."""
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(*paths)
    host, port = address.rsplit(":", 1)
    try:
        with socket.create_connection((host, int(port)), 5) as plain, \
                context.wrap_socket(plain, server_hostname="localhost") as connection:
            connection.sendall(frame(assay.RequestHead(id=1, ping={})))
            return receive(connection.makefile("rb"))[0].status
    except (OSError, ValueError, ImportError):
        return None
    except Exception:  # a stream that ended within a frame: struct.error
        return None


@attack("client-names", "85")
def client_names(trial):
    """Client certificates whose names look like an allowed one: a URI without a scheme, KELVIN
    SIGN, NUL, a wildcard, BMPString. Names match by type and octets only.
    """
    authority = tls_authority(trial)
    names = ", ".join(f'"{name}"' for name in ALLOWED)
    trial.serve(config=configuration(
        ["tls://127.0.0.1:0"], f'client-ca = "tls-ca.pem"\nclient-names = [{names}]'), listen=[])
    wrong, cases = 0, client_certificates()
    for index, (name, alternatives, subject, is_allowed) in enumerate(cases):
        paths = authority.issue(f"client{index}", alternatives, subject)
        status = ping_over_tls(trial.server.address("tls"), authority.file, paths)
        if (status == assay.STATUS_OK) != is_allowed:
            wrong += 1
            trial.note(f"{name}: {'accepted' if status == assay.STATUS_OK else 'refused'}")
    trial.measure("certificates", len(cases))
    trial.measure("wrong decisions", wrong, most=0)


@attack("handshake-flood", "63", short=False)
def handshake_flood(trial):
    """Four processes make TLS handshakes without a pause. Connected clients are served."""
    authority = tls_authority(trial)
    listen = ["tls://127.0.0.1:0", "tcp://127.0.0.1:0"]
    trial.serve(config=configuration(listen), listen=[])
    alone = trial.alone()
    address = trial.server.address("tls")

    def shake(is_over):
        count = 0
        while not is_over():
            try:
                connect(address, authority.file).close()
                count += 1
            except OSError:
                time.sleep(0.01)
        return count

    attackers = [trial.attackers(shake) for _ in range(4)]
    honest = trial.honest()
    time.sleep(15)
    trial.saw(honest.result(), p99_most=trial.p99_bound(50, alone))
    trial.note(f"attackers: {sum(some.stop() or 0 for some in attackers)} handshakes")
    trial.memory()
