"""How many verifications a second each client makes, pipelined over one connection."""
import json
import os
import resource
import subprocess
from dataclasses import dataclass

from clients import READY_SECONDS

# As many are in flight, of one transaction.
IN_FLIGHT = 512
ROUNDS = 3
# The calls before the measurement, as a part of those measured.
WARM_UP = 1 / 4
PAYLOADS = ("typed", "bare")
# Those of a client above the server's capacity.
LIMITS = ("default", "unlimited")


@dataclass
class Rate:
    answers: float
    """Answers a second."""
    processor: float
    """Seconds of the client's processor time for an answer."""


def measure(clients, servers, calls):
    """Prints answers a second of each client, and the server's own rate. Where other processes run
    beside, the processor time of an answer still says what a client costs."""
    address = servers.real_address("unix")
    print(f"{processor()}; load {os.getloadavg()[0]:.1f} at the start; {calls:,} calls, {IN_FLIGHT} in flight, "
          f"the best of {ROUNDS} rounds")
    print(f"{'':20} {'typed payload':>21} {'without':>21}")
    print(f"{'':20}" + f" {'answers/s':>12} {'us each':>8}" * 2, flush=True)
    for client in clients:
        show(client.name, [
            best([client_rate(client, servers, address, calls, payload) for _ in range(ROUNDS)])
            for payload in PAYLOADS])
    show("assay load", [
        best([own_rate(servers, address, payload) for _ in range(ROUNDS)]) for payload in PAYLOADS])
    print(f"load {os.getloadavg()[0]:.1f} at the end")


def best(rates):
    return Rate(max(rate.answers for rate in rates), min(rate.processor for rate in rates))


def show(name, rates):
    print(f"{name:20}" + "".join(
        f" {rate.answers:12,.0f} {rate.processor * 1e6:8,.1f}" for rate in rates), flush=True)


def client_rate(client, servers, address, calls, payload, program=None):
    program = program or os.path.join(client.folder, client.program)
    before = processor_seconds()
    done = subprocess.run(
        [program, address, servers.file("transaction"), str(calls), str(IN_FLIGHT), payload],
        cwd=client.folder, capture_output=True, text=True, timeout=READY_SECONDS)
    if done.returncode:
        raise SystemExit(f"throughput: {client.name} failed: {done.stdout}{done.stderr}")
    measured = json.loads(done.stdout)
    # The program's start and its calls before the measurement are in its processor time.
    return Rate(measured["answers"] / measured["seconds"],
                (processor_seconds() - before) / (measured["answers"] * (1 + WARM_UP)))


def processor_seconds():
    """Returns the processor time of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_overload(clients, servers, seconds=5):
    """Prints the goodput of clients at twice the server's capacity over one connection: answers in time,
    as a part of the most that the client gets, with its default limits and without any."""
    # Without key tables the server is slower than any client.
    address = servers.slow_address()
    print(f"{processor()}; load {os.getloadavg()[0]:.1f} at the start; {seconds} s of calls at twice the capacity")
    print(f"{'':20} {'most /s':>10}" + "".join(
        f" {limits:>12} {'p50 ms':>9}" for limits in LIMITS), flush=True)
    for client in clients:
        folder = client.folder
        most = best([client_rate(
            client, servers, address, 5_000, "bare", os.path.join(folder, "throughput"))
            for _ in range(ROUNDS)]).answers
        line = f"{client.name:20} {most:10,.0f}"
        for limits in LIMITS:
            done = subprocess.run(
                [os.path.join(folder, client.program), address, servers.file("transaction"),
                 str(2 * most), str(seconds), limits],
                cwd=folder, capture_output=True, text=True, timeout=READY_SECONDS)
            if done.returncode:
                raise SystemExit(f"overload: {client.name} failed: {done.stdout}{done.stderr}")
            measured = json.loads(done.stdout)
            goodput = measured["answers"] / seconds / most
            line += f" {goodput:12.2f} {measured['p50']:9,.0f}"
        print(line, flush=True)


def own_rate(servers, address, payload):
    """Returns the rate that the load generator reaches over one connection."""
    arguments = [
        servers.assay, "load", address, "--ca", servers.file("ca"), "--closed", "--depth", str(IN_FLIGHT),
        "--may-wait", "--app-apple-id", "1234567890", "--warm-up", "1", "--duration", "3", "--quiet",
        "--json", servers.file("load.json"), *(["--no-payload"] if payload == "bare" else [])]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"throughput: assay load failed: {done.stdout}{done.stderr}")
    with open(servers.file("load.json"), encoding="utf-8") as file:
        result = json.load(file)
    # The tool does not write over a file.
    os.remove(servers.file("load.json"))
    return Rate(result["throughput"], result["processorsGenerator"] / result["throughput"])


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else f"{os.cpu_count()} processors"
