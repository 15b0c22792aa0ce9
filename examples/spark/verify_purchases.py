"""Re-verifies stored purchases with Spark, and writes a verdict for each.

usage: spark-submit verify_purchases.py INPUT OUTPUT --address unix:/run/assay/assay.sock

INPUT is a Parquet data set, or JSON lines (a file or folder whose name ends in .jsonl), with the
columns `id`, `kind` (transaction, app-receipt, ...) and `evidence` (a token, or base64 of a
receipt). OUTPUT is a Parquet data set with the columns of SCHEMA. The verdicts depend on the
evidence, the server's roots and its limits alone: a task that runs twice writes the same rows.

Each executor needs the package assay_client (clients/python) and a server at the address: a
sidecar on its machine.
"""
import argparse
import itertools

from assay_client import Client, EvidenceKind
from pyspark.sql import SparkSession

SCHEMA = """
    id string, kind string, verdict string, detail string, environment string, dedup_key string
"""
# Requests in flight of one task. The server batches what waits together.
WINDOW = 512


def verifying(address, kind):
    """What verifies the rows of one partition, all of one kind, in their order."""
    evidence_kind = EvidenceKind[kind.upper().replace("-", "_")]

    def verify(rows):
        # Both halves move on together but for two windows, so the memory does not grow.
        rows, ahead = itertools.tee(rows)
        with Client(address) as client:
            # A server that can't answer ends the task with an exception, and Spark repeats it.
            answers = client.verify_many(
                (row.evidence.encode() for row in ahead), evidence_kind, window=WINDOW,
                typed=False)
            for row, answer in zip(rows, answers):
                environment = answer.verification.environment
                yield (row.id, kind, answer.verdict.name, answer.detail,
                       environment or None, answer.dedup_key)
    return verify


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--address", required=True)
    options = parser.parse_args()

    spark = SparkSession.builder.appName("verify purchases").getOrCreate()
    is_lines = options.input.rstrip("/").endswith(".jsonl")
    read = spark.read.schema("id string, kind string, evidence string")
    purchases = (read.json if is_lines else read.parquet)(options.input)
    kinds = sorted(row.kind for row in purchases.select("kind").distinct().collect())
    for number, kind in enumerate(kinds):
        rows = purchases.where(purchases.kind == kind).rdd
        verdicts = spark.createDataFrame(
            rows.mapPartitions(verifying(options.address, kind)), SCHEMA)
        verdicts.write.mode("overwrite" if number == 0 else "append").parquet(options.output)
    counts = spark.read.parquet(options.output).groupBy("kind", "verdict").count()
    for row in sorted(counts.collect()):
        print(f"{row.kind} {row.verdict} {row['count']}")
    spark.stop()


if __name__ == "__main__":
    main()
