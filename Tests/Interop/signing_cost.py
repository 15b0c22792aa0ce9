"""Counts the instructions of OpenSSL's signature for keys and messages of other bits.

usage: signing_cost.py SOURCE FOLDER

SOURCE is signing_cost.c, which signs as the product does. valgrind counts what EVP_PKEY_sign runs:
the count does not depend on the machine's load. Nonces are random, so a few instructions of the
encoding differ. A signature whose work depended on bits of the key would differ by thousands.
"""
import pathlib
import re
import shutil
import subprocess
import sys

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
# Few bits, many, the largest, alternating, and 56 leading zeros.
SCALARS = [1 << 255, ORDER - 1, int("5" * 64, 16), int("7" + "f" * 62, 16), (1 << 200) - 1]
DIGESTS = ["ff" * 32, "01" + "00" * 31, "5a" * 32]
SIGNATURES = 8
# Of all instructions: 25 in 6 million are usual.
TOLERANCE = 0.0005


def count(program, folder, scalar, digest):
    key = folder / "cost.p8"
    key.write_bytes(ec.derive_private_key(scalar, ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()))
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--toggle-collect=EVP_PKEY_sign",
         f"--callgrind-out-file={folder}/cost", program, key, digest, str(SIGNATURES)],
        capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"FAILED: valgrind: {done.stderr}")
    return int(found[1])


def main():
    source, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    missing = [name for name in ("valgrind", "cc") if not shutil.which(name)]
    if missing:
        print(f"skipped: the cost of signatures needs {' and '.join(missing)}")
        return
    program = folder / "signing_cost"
    subprocess.run(["cc", "-O1", "-o", program, source, "-lcrypto"], check=True)
    counts = [count(program, folder, scalar, digest)
              for scalar in SCALARS for digest in DIGESTS]
    spread = (max(counts) - min(counts)) / min(counts)
    text = f"{min(counts)} to {max(counts)} instructions, {spread:.4%} apart"
    if spread > TOLERANCE:
        sys.exit(f"FAILED: the cost of a signature depends on the key or the message: {text}")
    print(f"passed: {SIGNATURES} signatures of OpenSSL with {len(SCALARS)} keys and "
          f"{len(DIGESTS)} messages: {text}")


main()
