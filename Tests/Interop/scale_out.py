"""Three servers behind HAProxy while servers come and go, and what each server more brings.

Prints four tables: what clients of gRPC see of a drain, what clients that retry see of each change, how connections spread, and
throughput with the processor time of each part. Exits with 1 when a check fails.
"""
import argparse
import base64
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

from haproxy import Balancer, command, wait
from server import BUNDLE, Server, load_command, mint

HERE = pathlib.Path(__file__).parent
# Of the retrying clients: processes, the requests per second of each, distinct tokens.
CLIENTS, RATE, TOKENS = 2, 150, 40
# assay load beside them, which does not retry.
LOAD_RATE = 500
# The time that a draining server goes on serving. HAProxy notices within its check's interval.
DRAIN_SECONDS = 2
# A call may take this long in ms, repetitions included: a try's time-out and a pause.
WORST_MS = 4000


class Fleet:
    """Servers on loopback addresses of their own, each with the same port."""

    def __init__(self, tool, work):
        self.tool, self.work, self.servers = tool, work, {}
        self.scheme = "tcp"
        mint(tool, "ca", str(work / "ca"))
        self.cores = sorted(os.sched_getaffinity(0))

    def start(self, name, *arguments, before=()):
        """Starts a server, or starts it again on its former ports."""
        host, port, admin = self.servers[name][1:] if name in self.servers else free_ports(
            f"127.0.0.{11 + ord(name) - ord('a')}")
        server = Server(
            self.tool, self.work / f"{name}.log", "--listen", f"{self.scheme}://{host}:{port}", "--admin",
            f"tcp://{host}:{admin}", "--root", str(self.work / "ca/root.pem"), *arguments,
            before=before).wait_ready()
        self.servers[name] = (server, host, port, admin)

    def start_pinned(self, name, core):
        """A server with one worker on one processor."""
        self.start(name, "--workers", "1", before=["taskset", "-c", str(core)])

    def rows(self, names):
        return [(name, *self.servers[name][1:]) for name in names]

    def handled(self, name):
        """Verify calls that this server has answered; 0 when it does not run."""
        _, host, _, admin = self.servers[name]
        try:
            with socket.create_connection((host, admin), 2) as connection:
                connection.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
                page = b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()
        except OSError:
            return 0
        return int(sum(float(line.rsplit(" ", 1)[1]) for line in page.splitlines()
                       if line.startswith("grpc_server_handled_total{") and "Verify" in line))

    def signal(self, name, number):
        """Returns the seconds until the server has ended, and its status."""
        process, begin = self.servers[name][0].process, time.monotonic()
        process.send_signal(number)
        status = process.wait(20)
        return time.monotonic() - begin, status

    def stop(self):
        for server, *_ in self.servers.values():
            server.stop()


def free_ports(host):
    """Two ports that are free now."""
    sockets = [socket.socket() for _ in range(2)]
    for one in sockets:
        one.bind((host, 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return host, *ports


class Retrying:
    """A process of retrying.py."""

    def __init__(self, port, evidence, **settings):
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "retrying.py")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        settings = dict(settings, host="127.0.0.1", port=port, evidence=evidence, per_second=RATE)
        self.send(json.dumps(settings))

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def read(self):
        if not select.select([self.process.stdout], [], [], 30)[0]:
            raise SystemExit("a retrying client does not answer")
        return json.loads(self.process.stdout.readline())


def identity(purchase):
    """Names a subscription's period by its original and its line item, else by its transaction."""
    line_item = purchase.get("webOrderLineItemId", "0")
    if line_item == "0":
        return purchase["transactionId"]
    return f"{purchase['originalTransactionId']}/{line_item}"


def evidence(tool, ca):
    """Tokens with the keys of their answers, and of each tenth one with another signature."""
    tokens = mint(tool, "transaction", "--ca", str(ca), "--count", str(TOKENS)).split()
    rows = []
    for index, token in enumerate(tokens):
        payload = token.split(b".")[1]
        purchase = json.loads(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
        key = f"Production/{BUNDLE}/{identity(purchase)}"
        if index % 10 == 9:
            at = len(token) - 40
            token, key = token[:at] + (b"B" if token[at:at + 1] == b"A" else b"A") \
                + token[at + 1:], None
        rows.append((base64.b64encode(token).decode(), key))
    return rows


class Report:
    def __init__(self):
        self.failures = []

    def check(self, holds, what):
        if not holds:
            self.failures.append(what)
        return holds

    def row(self, *cells, widths=(34,)):
        print("".join(f"{str(cell):<{widths[0]}}" if index == 0 else f"{str(cell):>11}"
                      for index, cell in enumerate(cells)), flush=True)


# ---- Servers come and go ---------------------------------------------------------------------


def changes(fleet, program, report, seconds):
    for name in "abc":
        fleet.start(name, "--drain-delay", str(DRAIN_SECONDS))
    port = free_ports("127.0.0.1")[1]
    balancer = Balancer(program, fleet.work, port, fleet.rows("abc"))
    tokens = evidence(fleet.tool, fleet.work / "ca")
    # The first keeps its connections, the second replaces each after some seconds.
    clients = [Retrying(port, tokens, lifetime_seconds=1.0 * index) for index in range(CLIENTS)]
    load = subprocess.Popen(
        load_command(fleet.tool, f"tcp://127.0.0.1:{port}", fleet.work / "ca",
                     fleet.work / "load.json", "--rate", str(LOAD_RATE), "-c", "6", "--forged", "5",
                     "--late-limit", "1000", "--duration", str(5 * seconds + 12)),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        phases(fleet, balancer, clients, report, seconds)
        load.send_signal(signal.SIGINT)
        load.wait(20)
        result = json.loads((fleet.work / "load.json").read_text())
        report.check(result["wrong"] == 0, "a wrong verdict for assay load")
        print(f"\nassay load, which does not retry: {result['sent']} sent, "
              f"{result['correct']} right, {result['wrong']} wrong, "
              f"{result['refused'] + result['errors']} without a verdict, "
              f"{result['unanswered']} unanswered")
    finally:
        for process in [load, *(client.process for client in clients)]:
            if process.poll() is None:
                process.kill()
            process.wait()
        balancer.stop()
        fleet.stop()


def phases(fleet, balancer, clients, report, seconds):
    names = list("abc")
    columns = ["calls", "wrong", "lost", "repeated", "p99 ms", "worst ms"]
    report.row("what happened", *columns, "  answers by server")

    def phase(what, busy, command="mark"):
        """Lets it run, then prints what clients and servers have counted since the last time."""
        time.sleep(seconds)
        for client in clients:
            client.send(command)
        seen = [client.read() for client in clients]
        total = {key: sum(one[key] for one in seen) for key in ["calls", "right", "wrong", "lost"]}
        repeated = sum(sum(one["repeated"].values()) for one in seen)
        slowest = {key: max(one[key] or 0 for one in seen) for key in ["p99", "worst"]}
        now = {name: fleet.handled(name) for name in names}
        shares = {name: max(0, now[name] - before.get(name, 0)) for name in names}
        report.row(what, total["calls"], total["wrong"], total["lost"], repeated,
                   f"{slowest['p99']:.1f}", f"{slowest['worst']:.0f}",
                   "  " + " ".join(f"{name} {shares[name]}" for name in names))
        before.clear()
        before.update(now)
        report.check(total["right"] > 0, f"{what}: no answers")
        report.check(total["wrong"] == 0, f"{what}: {total['wrong']} wrong verdicts")
        report.check(total["lost"] == 0, f"{what}: {total['lost']} calls lost")
        report.check(slowest["worst"] < WORST_MS, f"{what}: a call took {slowest['worst']:.0f} ms")
        for name in busy:
            report.check(shares[name] > 0, f"{what}: {name} answered nothing")

    before = {}
    for name in names:
        balancer.wait_for(name, up=True)
    phase("three servers", "abc")
    took, status = fleet.signal("a", signal.SIGTERM)
    report.check(status == 0, f"the drained server ended with status {status}")
    report.check(took < DRAIN_SECONDS + 2, f"the drain took {took:.1f} s")
    balancer.wait_for("a", up=False)
    phase(f"a drained (SIGTERM, {took:.1f} s)", "bc")
    fleet.signal("b", signal.SIGKILL)
    down = balancer.wait_for("b", up=False)
    phase(f"b killed (SIGKILL, down {down:.1f} s)", "c")
    fleet.start("d", "--drain-delay", str(DRAIN_SECONDS))
    names.append("d")
    balancer.add(*fleet.rows("d")[0])
    balancer.wait_for("d", up=True)
    phase("d added", "cd")
    for name in "ab":
        fleet.start(name, "--drain-delay", str(DRAIN_SECONDS))
        balancer.wait_for(name, up=True)
    phase("a and b started again", "abcd", command="stop")


# ---- Connections -----------------------------------------------------------------------------


def grpc_drains(fleet, program, report, seconds):
    """Drains each server in turn under calls of gRPC that are not repeated."""
    fleet.scheme = "http"
    tokens = evidence(fleet.tool, fleet.work / "ca")
    for name in "abc":
        fleet.start(name)
    port = free_ports("127.0.0.1")[1]
    balancer = Balancer(program, fleet.work, port, fleet.rows("abc"), balance="roundrobin")
    for name in "abc":
        balancer.wait_for(name, True)
    client = subprocess.Popen(
        [sys.executable, str(HERE / "honest_grpc.py"), f"127.0.0.1:{port}", "4"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    client.stdin.write(base64.b64decode(tokens[0][0]) + b"\n")
    client.stdin.flush()
    report.check(client.stdout.readline() == b"ready\n", "the client of gRPC is ready")
    for name in "abc":
        time.sleep(seconds)
        took, status = fleet.signal(name, signal.SIGTERM)
        report.check(status == 0, f"{name} ends normally after its drain, in {took:.1f} s")
        fleet.start(name)
        balancer.wait_for(name, True)
    client.stdin.write(b"stop\n")
    client.stdin.flush()
    seen = json.loads(client.stdout.readline())
    print()
    report.row("gRPC, three drains", *(f"{seen[key]} {key}" for key in (
        "sent", "valid", "wrong", "refused", "late", "lost")))
    bad = sum(seen[key] for key in ("wrong", "refused", "late", "lost"))
    report.check(seen["valid"] == seen["sent"] and not bad, f"no call of gRPC is lost: {seen}")
    balancer.stop()
    fleet.stop()


def open_to(count, clients, port, balancer):
    """Opens connections up to a number, each after the balancer has counted the last: its threads
    place connections of the same moment without each other's. Returns the counts."""
    counts = []
    while len(clients) < count:
        clients.append(connect(port))
        counts = spread(balancer, len(clients))
    return counts


def balance(fleet, program, report):
    """Idle connections while a server restarts: 12, then 6 more."""
    print("\nopen connections by server        12 opened   a restarts  6 opened  highest/lowest")
    for method in ["roundrobin", "leastconn"]:
        for name in "abc":
            fleet.start(name)
        port = free_ports("127.0.0.1")[1]
        balancer = Balancer(program, fleet.work, port, fleet.rows("abc"), balance=method)
        for name in "abc":
            balancer.wait_for(name, up=True)
        clients = []
        counts = [open_to(12, clients, port, balancer)]
        fleet.signal("a", signal.SIGTERM)
        balancer.wait_for("a", up=False)
        # A closed connection is opened again, as clients do.
        for client in [client for client in clients if is_closed(client)]:
            client.close()
            clients.remove(client)
        open_to(12, clients, port, balancer)
        fleet.start("a")
        balancer.wait_for("a", up=True)
        counts.append(spread(balancer, 12))
        counts.append(open_to(18, clients, port, balancer))
        low, high = min(counts[-1]), max(counts[-1])
        print(f"{method:<34}" + "".join(f"{'/'.join(map(str, row)):<12}" for row in counts)
              + f"{high}/{low}")
        if method == "leastconn":
            report.check(high - low <= 1, f"leastconn left {counts[-1]}")
        for client in clients:
            client.close()
        balancer.stop()
        fleet.stop()


def connect(port):
    return socket.create_connection(("127.0.0.1", port))


def is_closed(client):
    """Whether the other side has closed, after the drain's frame perhaps."""
    while select.select([client], [], [], 0.05)[0]:
        try:
            if not client.recv(1 << 16):
                return True
        except ConnectionError:
            return True
    return False


def spread(balancer, count):
    def opened():
        return [row["open"] for row in balancer.servers().values()]
    wait(lambda: sum(opened()) == count, f"{count} connections")
    return opened()


# ---- Throughput ------------------------------------------------------------------------------


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def throughput(fleet, program, report, seconds):
    cores = fleet.cores
    print(f"\nclosed loop, 64 in flight on each connection; {len(cores)} processor"
          f"{'s' * (len(cores) > 1)} for servers, balancer and generator together")
    report.row("servers", "answers/s", "server µs", "HAProxy µs", "p99 ms", "  by server")
    cost = {}
    for label, count, connections in [
            ("1, without HAProxy", 1, 12), ("1", 1, 12), ("2", 2, 12), ("3", 3, 12),
            ("3, one connection", 3, 1)]:
        names = "abc"[:count]
        for index, name in enumerate(names):
            fleet.start_pinned(name, cores[index % len(cores)])
        port = free_ports("127.0.0.1")[1]
        balancer = Balancer(program, fleet.work, port, fleet.rows(names))
        for name in names:
            balancer.wait_for(name, up=True)
        address = f"127.0.0.1:{port}"
        if "without" in label:
            address = "{1}:{2}".format(*fleet.rows("a")[0])
        pids = [fleet.servers[name][0].pid for name in names]
        begin = [processor_seconds(pid) for pid in [*pids, balancer.pid]]
        path = fleet.work / f"{len(cost)}.json"
        done = subprocess.run(
            load_command(fleet.tool, f"tcp://{address}", fleet.work / "ca", path, "--closed", "-c",
                         str(connections), "--depth", "64", "--warm-up", "0", "--duration",
                         str(seconds)), capture_output=True, text=True)
        if not path.exists():
            raise SystemExit(f"assay load: {done.stderr}")
        result = json.loads(path.read_text())
        used = [processor_seconds(pid) - was for pid, was in zip([*pids, balancer.pid], begin)]
        each = [fleet.handled(name) for name in names]
        answers = max(1, sum(each))
        cost[label] = sum(used[:-1]) / answers * 1e6
        report.row(label, f"{result['throughput']:.0f}", f"{cost[label]:.1f}",
                   f"{used[-1] / answers * 1e6:.1f}", f"{result['latency']['p99']:.1f}",
                   "  " + "/".join(map(str, each)))
        report.check(result["wrong"] + result["errors"] == 0, f"{label}: not all right")
        if connections > 1:
            report.check(min(each) * 2 * count > answers, f"{label}: uneven: {each}")
        balancer.stop()
        fleet.stop()


def main():
    parser = argparse.ArgumentParser(prog="script/scale-out", description=__doc__)
    parser.add_argument("--server", metavar="BINARY", help="instead of a release build")
    parser.add_argument("--haproxy", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--short", action="store_true", help="less of each, for script/test scale-out")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report, seconds = Report(), 1.5 if options.short else 4
    program = command(options.haproxy)
    tool = os.path.abspath(options.server)
    with tempfile.TemporaryDirectory() as folder:
        for number, part in enumerate([
                lambda fleet: changes(fleet, program, report, seconds),
                lambda fleet: grpc_drains(fleet, program, report, seconds),
                lambda fleet: balance(fleet, program, report),
                lambda fleet: throughput(fleet, program, report, 1 if options.short else 6)]):
            work = pathlib.Path(folder) / str(number)
            work.mkdir()
            part(Fleet(tool, work))
    print()
    for failure in report.failures:
        print(f"FAILED: {failure}")
    print("all checks hold" if not report.failures else f"{len(report.failures)} checks failed")
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
