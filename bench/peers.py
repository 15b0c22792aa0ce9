"""Verifies the same evidence with other libraries, each in this one process and thread.

usage: peers.py FOLDER SECONDS

FOLDER holds token.jws, receipt.txt and the roots root.pem and receipt-root.pem. Prints a line of
JSON for each measurement: its name and the answers per second of each round, or the problem.
"""
import base64
import ctypes
import hashlib
import json
import pathlib
import sys
import time

ROUNDS = 5


def report(name, verify, seconds, units=1):
    try:
        verify()
        rates = []
        for _ in range(ROUNDS):
            count, start = 0, time.process_time()
            while time.process_time() - start < seconds / ROUNDS:
                verify()
                count += units
            rates.append(count / (time.process_time() - start))
        print(json.dumps({"name": name, "rates": rates}), flush=True)
    except Exception as error:
        print(json.dumps({"name": name, "problem": f"{type(error).__name__}: {error}"}), flush=True)


def der(pem):
    lines = [line for line in pem.decode().splitlines() if line and not line.startswith("-----")]
    return base64.b64decode("".join(lines))


def apple(folder):
    from appstoreserverlibrary.models.Environment import Environment
    from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

    token = (folder / "token.jws").read_text().strip()
    verifier = SignedDataVerifier(
        [der((folder / "root.pem").read_bytes())], False, Environment.SANDBOX, "com.example.game")

    def verify():
        assert verifier.verify_and_decode_signed_transaction(token).transactionId

    return verify


def other(folder, name):
    from apple_purchase_receipt_verifier import Config, Verifier

    roots = [(folder / root).read_bytes() for root in ("root.pem", "receipt-root.pem")]
    verifier = Verifier(Config(roots=roots))
    evidence = (folder / name).read_text().strip()

    def verify():
        check = verifier.verify_receipt if name == "receipt.txt" else verifier.verify_signed_data
        result = check(evidence)
        if not result.verified:
            raise ValueError(f"{result.failure.reason}: {result.failure.message}")

    return verify


class Unsupported(Exception):
    pass


# Signatures that Intel's function verifies at a time.
INTEL_UNITS = 8


def intel(folder):
    """The bare signature of the token, eight at a time, by Intel's Cryptography Primitives."""
    from cryptography import x509

    if "avx512ifma" not in pathlib.Path("/proc/cpuinfo").read_text():
        raise Unsupported("this processor lacks AVX-512 IFMA")
    libraries = pathlib.Path(sys.prefix) / "lib"
    # The last one needs the others, and does not look for them beside itself.
    for name in ("libintlc.so.5", "libirng.so", "libimf.so", "libsvml.so", "libcrypto_mb.so"):
        library = ctypes.CDLL(str(libraries / name), mode=ctypes.RTLD_GLOBAL)
    function = library.mbx_nistp256_ecdsa_verify_mb8
    function.restype = ctypes.c_uint32

    token = (folder / "token.jws").read_text().strip()
    header, _, signature = [part + "=" * (-len(part) % 4) for part in token.split(".")]
    leaf = json.loads(base64.urlsafe_b64decode(header))["x5c"][0]
    key = x509.load_der_x509_certificate(base64.b64decode(leaf)).public_key().public_numbers()
    signature = base64.urlsafe_b64decode(signature)
    digest = hashlib.sha256(token.rpartition(".")[0].encode()).digest()

    def eight_times(octets):
        buffer = ctypes.create_string_buffer(octets, len(octets))
        pointers = [ctypes.cast(buffer, ctypes.c_void_p)] * INTEL_UNITS
        return (ctypes.c_void_p * INTEL_UNITS)(*[pointer.value for pointer in pointers]), buffer

    # r, s and the digest are big-endian, the key's coordinates little-endian words.
    arguments = [
        eight_times(signature[:32]), eight_times(signature[32:]), eight_times(digest),
        eight_times(key.x.to_bytes(32, "little")), eight_times(key.y.to_bytes(32, "little")),
    ]
    other = eight_times(digest[:31] + bytes([digest[31] ^ 1]))

    def status(digest):
        r, s, _, x, y = [pointers for pointers, _ in arguments]
        return function(r, s, digest[0], x, y, None, None)

    # Four bits a signature; 0 says that it verifies.
    if any(status(other) >> 4 * index & 15 == 0 for index in range(INTEL_UNITS)):
        raise ValueError("it accepts a signature of another digest")

    def verify():
        assert status(arguments[2]) == 0

    return verify


def main():
    folder, seconds = pathlib.Path(sys.argv[1]), float(sys.argv[2])
    library = "apple-purchase-receipt-verifier"
    for name, make, units in (
        ("Intel's ipp-crypto, bare signature, 8 at a time", lambda: intel(folder), INTEL_UNITS),
        ("app-store-server-library, transaction", lambda: apple(folder), 1),
        (library + ", transaction", lambda: other(folder, "token.jws"), 1),
        (library + ", 64 KB receipt", lambda: other(folder, "receipt.txt"), 1),
    ):
        try:
            verify = make()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            print(json.dumps({"name": name, "problem": problem}), flush=True)
            continue
        report(name, verify, seconds, units)


main()
