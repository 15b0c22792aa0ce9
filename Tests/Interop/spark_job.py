"""Runs the job of examples/spark, and compares its verdicts; for script/spark.

usage: spark_job.py TOOL ROWS

Mints 2,000 transactions and 20 receipts, some damaged; repeats them to this number of rows. Runs
the job over JSON lines, again, and over the same rows as Parquet. All verdicts have to be those of
`assay verify --lines`.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import pyarrow.json
import pyarrow.parquet

HERE = pathlib.Path(__file__).resolve().parent
JOB = HERE.parent.parent / "examples/spark/verify_purchases.py"
TOKENS, RECEIPTS = 2000, 20
# Of the rows, as many in a hundred are receipts.
RECEIPT_SHARE = 1
# Spark reads a column's part of a row group whole. pyarrow's default is a million rows, which is
# more than the memory of an executor.
ROW_GROUP = 20_000


def mint(tool, *arguments):
    return subprocess.run([tool, "mint", *arguments], check=True, capture_output=True).stdout


def evidence(tool, ca):
    """Distinct (kind, text); each tenth is damaged."""
    tokens = mint(tool, "transaction", "--ca", ca, "--count", str(TOKENS)).decode().split()
    receipts = [
        mint(tool, "receipt", "--ca", ca, "--records", "30", "--seed", str(seed), "--environment",
             "Production", "--base64", "line").decode().strip() for seed in range(RECEIPTS)]
    return [damaged(index, "transaction", text) for index, text in enumerate(tokens)], [
        damaged(index, "app-receipt", text) for index, text in enumerate(receipts)]


def damaged(index, kind, text):
    """Each tenth with another character near its end: in the signature of a token."""
    if index % 10 == 9:
        at = len(text) - 40
        text = text[:at] + ("B" if text[at] == "A" else "A") + text[at + 1:]
    return kind, text


def write_rows(path, tokens, receipts, count):
    with open(path, "w") as file:
        for index in range(count):
            is_receipt = index % 100 < RECEIPT_SHARE
            kind, text = (receipts if is_receipt else tokens)[
                index % len(receipts if is_receipt else tokens)]
            file.write(json.dumps({"id": str(index), "kind": kind, "evidence": text}) + "\n")


def run_job(source, output, address):
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, JOB, source, output, "--address", address], text=True,
        capture_output=True, env=dict(os.environ, PYSPARK_PYTHON=sys.executable))
    if done.returncode:
        sys.exit(done.stderr[-4000:])
    return time.monotonic() - begin, {
        row["id"]: row["verdict"] for row in pyarrow.parquet.read_table(output).to_pylist()}


def verify_lines(tool, path, roots, kinds):
    """The verdicts of `assay verify --lines` for each kind, and the seconds that it took."""
    verdicts, seconds = {}, 0.0
    for kind in sorted(set(kinds)):
        ids = [str(index) for index, one in enumerate(kinds) if one == kind]
        lines = path.with_suffix("." + kind)
        with open(path) as source, open(lines, "w") as file:
            file.writelines(line for line in source if f'"kind": "{kind}"' in line)
        begin = time.monotonic()
        done = subprocess.run(
            [tool, "verify", "--kind", kind, *roots, "--lines", lines, "--member", "evidence"],
            capture_output=True, text=True)
        seconds += time.monotonic() - begin
        found = [json.loads(line)["verdict"] for line in done.stdout.splitlines()]
        if len(found) != len(ids):
            sys.exit(f"assay verify answered {len(found)} of {len(ids)} lines\n{done.stderr}")
        verdicts.update(zip(ids, found))
    return seconds, verdicts


def reported(name, found, expected):
    """Prints a run's rate; returns whether its verdicts are the expected ones."""
    (seconds, verdicts), expected = found, expected[1]
    rows = len(expected)
    differing = sum(verdicts.get(id) != verdict for id, verdict in expected.items())
    print(f"{name:24} {seconds:8.1f} s {rows / seconds:10,.0f}/s   "
          f"{len(verdicts):,} verdicts, {differing} different", flush=True)
    return differing == 0 and len(verdicts) == rows


def main():
    tool, rows = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        ca = str(work / "ca")
        mint(tool, "ca", ca)
        roots = ["--root", ca + "/root.pem", "--root", ca + "/receipt-root.pem"]
        lines, columns = work / "purchases.jsonl", work / "purchases"
        write_rows(lines, *evidence(tool, ca), rows)
        kinds = [json.loads(line)["kind"] for line in open(lines)]
        pyarrow.parquet.write_table(
            pyarrow.json.read_json(lines), columns, row_group_size=ROW_GROUP)
        expected = verify_lines(tool, lines, roots, kinds)
        counts = collections.Counter(expected[1].values())
        print(f"{rows:,} rows of {TOKENS + RECEIPTS:,} different ones: "
              + ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())))
        is_right = reported("assay verify --lines", expected, expected)
        address = f"unix:{work}/assay.sock"
        server = subprocess.Popen(
            [tool, "serve", "--listen", address, *roots], stdout=subprocess.PIPE, text=True,
            stderr=open(work / "log", "w"))
        try:
            server.stdout.readline()
            for index, (name, source) in enumerate([
                    ("Spark, JSON lines", lines), ("the same again", lines),
                    ("Spark, Parquet", columns)]):
                found = run_job(source, work / f"verdicts-{index}", address)
                is_right &= reported(name, found, expected)
        finally:
            server.terminate()
            server.wait()
    sys.exit(not is_right)


main()
