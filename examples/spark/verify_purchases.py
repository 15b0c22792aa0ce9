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
# Rows that a task has in memory. The server batches what waits together.
CHUNK = 1024


def verifying(address):
    """What verifies the rows of one partition, in their order."""
    def verify(rows):
        with Client(address) as client:
            while chunk := list(itertools.islice(rows, CHUNK)):
                yield from verdicts(client, chunk)
    return verify


def verdicts(client, rows):
    answers = [None] * len(rows)
    for kind in {kind for _, kind, _ in rows}:
        of_kind = [index for index, row in enumerate(rows) if row.kind == kind]
        # A server that can't answer ends the task with an exception, and Spark repeats it.
        found = client.verify_many(
            (rows[index].evidence.encode() for index in of_kind),
            EvidenceKind[kind.upper().replace("-", "_")], typed=False)
        for index, answer in zip(of_kind, found):
            answers[index] = answer
    for (id, kind, _), answer in zip(rows, answers):
        yield (id, kind, answer.verdict.name, answer.detail,
               answer.verification.environment or None, answer.dedup_key)


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
    found = spark.createDataFrame(
        purchases.rdd.mapPartitions(verifying(options.address)), SCHEMA)
    found.write.mode("overwrite").parquet(options.output)
    counts = spark.read.parquet(options.output).groupBy("kind", "verdict").count()
    for row in sorted(counts.collect()):
        print(f"{row.kind} {row.verdict} {row['count']}")
    spark.stop()


if __name__ == "__main__":
    main()
