"""Verifies the same evidence with other libraries, each in this one process and thread.

usage: peers.py FOLDER SECONDS

FOLDER holds token.jws, receipt.txt and the roots root.pem and receipt-root.pem. Prints a line of
JSON for each measurement: its name and the answers per second of each round, or the problem.
"""
import base64
import json
import pathlib
import sys
import time

ROUNDS = 5


def report(name, verify, seconds):
    try:
        verify()
        rates = []
        for _ in range(ROUNDS):
            count, start = 0, time.process_time()
            while time.process_time() - start < seconds / ROUNDS:
                verify()
                count += 1
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


def main():
    folder, seconds = pathlib.Path(sys.argv[1]), float(sys.argv[2])
    library = "apple-purchase-receipt-verifier"
    for name, make in (
        ("app-store-server-library, transaction", lambda: apple(folder)),
        (library + ", transaction", lambda: other(folder, "token.jws")),
        (library + ", 64 KB receipt", lambda: other(folder, "receipt.txt")),
    ):
        try:
            verify = make()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            print(json.dumps({"name": name, "problem": problem}), flush=True)
            continue
        report(name, verify, seconds)


main()
