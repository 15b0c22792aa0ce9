"""How many verifications a second each client makes, pipelined over one connection."""
import json
import os
import subprocess
import time

from clients import ClientProgram

CALLS = 20_000
ROUNDS = 3


def measure(clients, servers):
    """Prints verifications a second: the best of some rounds, and the server's own rate."""
    address = servers.real_address("unix")
    print(f"{'client':20} {'verifications/s':>15}    {CALLS} of one transaction, without typed payloads")
    for client in clients:
        program = ClientProgram(client, servers.environment)
        try:
            rates = [one_round(program, servers, address) for _ in range(ROUNDS)]
        finally:
            program.stop()
        print(f"{client.name:20} {max(rates):15,.0f}")
    print(f"{'assay load':20} {own_rate(servers, address):15,.0f}")


def one_round(program, servers, address):
    call = {
        "call": "verify", "kind": "TRANSACTION", "evidence": {"file": servers.file("transaction")},
        "count": CALLS, "mayWait": True, "omitTypedPayload": True, "timeoutMs": 30_000}
    plan = {"name": "throughput", "addresses": [address], "steps": [{"calls": [call]}]}
    start = time.monotonic()
    outcomes = program.perform(plan, False)["outcomes"]
    seconds = time.monotonic() - start
    failed = [outcome for outcome in outcomes if not outcome.get("valid")]
    if failed:
        raise SystemExit(f"throughput: {len(failed)} of {CALLS} calls failed: {failed[0]}")
    # With the time to write and read the outcomes: a lower bound, which is the same for all.
    return CALLS / seconds


def own_rate(servers, address):
    """Returns the rate that the load generator reaches over one connection."""
    done = subprocess.run(
        [servers.assay, "load", address, "--ca", servers.file("ca"), "--closed", "--depth", "1024", "--may-wait",
         "--no-payload", "--app-apple-id", "1234567890", "--warm-up", "1", "--duration", "3", "--quiet",
         "--json", servers.file("load.json")], capture_output=True, text=True)
    if not os.path.exists(servers.file("load.json")):
        raise SystemExit(f"throughput: assay load failed: {done.stdout}{done.stderr}")
    with open(servers.file("load.json"), encoding="utf-8") as file:
        return json.load(file)["throughput"]
