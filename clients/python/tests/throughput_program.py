"""Measures verifications a second; see conformance/README.md.

usage: throughput_program.py [--bulk] ADDRESS FILE CALLS IN-FLIGHT typed|bare

--bulk uses Client.verify_many, otherwise AsyncClient.verify.
"""
import asyncio
import itertools
import json
import sys
import time

from assay_client import AsyncClient, Client


def check(answer):
    if not answer.is_valid:
        sys.exit(f"throughput: {answer.verdict.name}: {answer.detail}")


async def measure_async(address, token, calls, in_flight, typed):
    async def perform(count):
        turns = iter(range(count))

        async def verify():
            for _ in turns:
                check(await client.verify(token, typed=typed, may_wait=True))

        await asyncio.gather(*(verify() for _ in range(in_flight)))

    async with AsyncClient(address, timeout=30, in_flight_limit=in_flight) as client:
        await perform(calls // 4)
        start = time.monotonic()
        await perform(calls)
        return time.monotonic() - start


def measure_bulk(address, token, calls, in_flight, typed):
    def perform(count):
        # Two windows are in flight.
        for answer in client.verify_many(itertools.repeat(token, count), window=in_flight // 2, typed=typed):
            check(answer)

    with Client(address, in_flight_limit=in_flight) as client:
        perform(calls // 4)
        start = time.monotonic()
        perform(calls)
        return time.monotonic() - start


def main(*arguments):
    is_bulk = arguments[:1] == ("--bulk",)
    address, path, calls, in_flight, payload = arguments[is_bulk:]
    with open(path, "rb") as file:
        measured = (address, file.read(), int(calls), int(in_flight), payload == "typed")
    seconds = measure_bulk(*measured) if is_bulk else asyncio.run(measure_async(*measured))
    print(json.dumps({"answers": int(calls), "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
