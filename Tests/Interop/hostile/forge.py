"""Evidence and certificates that assay mint does not make: new and forged chains, hostile receipts,
TLS clients with any name.
"""
import base64
import datetime
import json
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.x509.oid import NameOID

DER = serialization.Encoding.DER
PEM = serialization.Encoding.PEM


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def octets_of(number):
    """The content of a positive DER INTEGER."""
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def serial_number():
    """Eight octets without a leading zero, so all have the same length."""
    return int.from_bytes(bytes([0x40 | os.urandom(1)[0] & 0x3f]) + os.urandom(7), "big")


def reissue(template, key, issuer_key, serial):
    """A certificate with the names, dates and extensions of another."""
    builder = x509.CertificateBuilder(
        issuer_name=template.issuer, subject_name=template.subject, public_key=key.public_key(),
        serial_number=serial, not_valid_before=template.not_valid_before_utc,
        not_valid_after=template.not_valid_after_utc)
    for extension in template.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    return builder.sign(issuer_key, hashes.SHA256())


class Authority:
    """The minted authority's certificates, and evidence made from them with and without keys."""

    def __init__(self, folder, token):
        def certificate(name):
            return x509.load_pem_x509_certificate((folder / name).read_bytes())
        self.root, self.intermediate, self.leaf = map(
            certificate, ["root.pem", "intermediate.pem", "leaf.pem"])
        self.intermediate_key = serialization.load_pem_private_key(
            (folder / "intermediate-key.pem").read_bytes(), None)
        _, self.payload, self.signature = token.split(b".")

    def token(self, certificates, key=None):
        """A transaction under these certificates; without a key, with a copied signature."""
        header = base64url(json.dumps({"alg": "ES256", "x5c": [
            base64.b64encode(der).decode() for der in certificates]}).encode())
        signature = self.signature
        if key is not None:
            r, s = decode_dss_signature(
                key.sign(header + b"." + self.payload, ec.ECDSA(hashes.SHA256())))
            signature = base64url(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
        return b".".join([header, self.payload, signature])

    def genuine(self):
        """A transaction under a new leaf, like after a change of Apple's certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        leaf = reissue(self.leaf, key, self.intermediate_key, serial_number())
        return self.token(
            [leaf.public_bytes(DER), self.intermediate.public_bytes(DER),
             self.root.public_bytes(DER)], key)

    def forged(self):
        """Yields transactions, each with a new leaf that names the genuine intermediate as its
        issuer but is not signed by it.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        serial = serial_number()
        leaf = reissue(self.leaf, key, key, serial).public_bytes(DER)
        before, after = leaf.split(octets_of(serial), 1)
        rest = [self.intermediate.public_bytes(DER), self.root.public_bytes(DER)]
        while True:
            yield self.token([before + octets_of(serial_number()) + after, *rest])

    def self_made(self):
        """Yields transactions, each with a new intermediate that names the pinned root as its
        issuer but is not signed by it, and a leaf signed by this intermediate.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        serial = serial_number()
        intermediate = reissue(self.intermediate, key, key, serial).public_bytes(DER)
        leaf = reissue(self.leaf, key, key, serial_number()).public_bytes(DER)
        before, after = intermediate.split(octets_of(serial), 1)
        root = self.root.public_bytes(DER)
        while True:
            yield self.token([leaf, before + octets_of(serial_number()) + after, root])


# ---- Hostile receipts ----


def tlv(tag, *contents):
    content = b"".join(contents)
    if len(content) < 128:
        return bytes([tag, len(content)]) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


SIGNED_DATA = bytes.fromhex("06092a864886f70d010702")
DATA = bytes.fromhex("06092a864886f70d010701")
SHA256 = bytes.fromhex("300d06096086480165030402010500")
VERSION = b"\x02\x01\x01"


def unsigned_receipt(payload):
    """A CMS SignedData with this content, without certificates and without a signer."""
    content = tlv(0x30, DATA, tlv(0xA0, tlv(0x04, payload)))
    return tlv(0x30, SIGNED_DATA, tlv(0xA0, tlv(
        0x30, VERSION, tlv(0x31, SHA256), content, tlv(0x31))))


def records(product, size):
    """In-app records with little more than a product each, of this total size."""
    def attribute(kind, content):
        return tlv(0x30, b"\x02\x02" + kind.to_bytes(2, "big"), VERSION, tlv(0x04, content))
    record = tlv(0x30, b"\x02\x01\x11", VERSION, tlv(0x04, tlv(
        0x31, attribute(1702, tlv(0x0C, product)))))
    return tlv(0x31, record * (size // len(record)))


# The start of a receipt whose content is a constructed OCTET STRING of indefinite length.
SEGMENTED_RECEIPT = (b"\x30\x80" + SIGNED_DATA + b"\xa0\x80\x30\x80" + VERSION
                     + tlv(0x31, SHA256) + b"\x30\x80" + DATA + b"\xa0\x80\x24\x80")


# ---- Certificates for TLS ----


class TLSAuthority:
    """An authority for servers and clients, with its files in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Attack Authority")])
        certificate = self.builder(self.name, self.key).add_extension(
            x509.BasicConstraints(True, None), True).sign(self.key, hashes.SHA256())
        self.file = folder / "tls-ca.pem"
        self.file.write_bytes(certificate.public_bytes(PEM))

    def builder(self, subject, key):
        now = datetime.datetime.now(datetime.timezone.utc)
        day = datetime.timedelta(days=1)
        return x509.CertificateBuilder(
            issuer_name=self.name, subject_name=subject, public_key=key.public_key(),
            serial_number=serial_number(), not_valid_before=now - day, not_valid_after=now + day)

    def issue(self, file, names=(), subject=None):
        """Writes a certificate and its key to files.

        names: the subject's alternative names, in the types of cryptography, or the DER of all
        """
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self.builder(subject or x509.Name([]), key)
        if isinstance(names, bytes):
            oid = x509.SubjectAlternativeName.oid
            builder = builder.add_extension(x509.UnrecognizedExtension(oid, names), False)
        elif names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        paths = self.folder / f"{file}.pem", self.folder / f"{file}-key.pem"
        certificate = builder.sign(self.key, hashes.SHA256())
        paths[0].write_bytes(certificate.public_bytes(PEM))
        paths[1].write_bytes(key.private_bytes(
            PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        return paths
