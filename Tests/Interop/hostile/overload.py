"""Load above the server's capacity from few connections."""
import json
import os
import pathlib
import statistics
import subprocess
import time

from hostile.trial import attack
from server import load_command

# The share of a run that the generator may wait for its processor: a measured one runs alone there.
MOST_WAITED = 0.15


def waiting_seconds(process):
    """Returns how long the threads of a process were ready to run, but did not; 0 if unknown."""
    nanoseconds = 0
    for path in pathlib.Path(f"/proc/{process}/task").glob("*/schedstat"):
        try:
            nanoseconds += int(path.read_text().split()[1])
        except (OSError, IndexError):
            continue  # the thread has ended, or the kernel does not count
    return nanoseconds / 1e9


@attack("overload", "88")
def overload(trial):
    """Twice the server's capacity with 1, 4, 16 and 64 connections, transactions and notifications;
    in the short form, which runs beside builds, 1.5 times with 4 connections and notifications.
    Server and client have a processor each. Goodput is 0.9 of the capacity, and every request has
    an answer, of the server or of a client as docs/operations.md recommends it. bench/run measures
    the same for longer. Goodput is the median of three runs (one in the short form), each between
    two runs at capacity.
    """
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        trial.note("skipped: it needs two processors")
        return
    server, client = processors[0], processors[1]
    trial.serve("--workers", "1", before=["taskset", "-c", str(server)])

    def load(*arguments):
        path = trial.folder / "load.json"
        path.unlink(missing_ok=True)
        generator = subprocess.Popen(
            ["taskset", "-c", str(client), *load_command(
                trial.tool, f"tcp://{trial.server.address('tcp')}", trial.evidence.ca, path,
                "--no-payload", "--warm-up", "1", "--duration", "2", *arguments)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        began, waited = time.monotonic(), 0
        while generator.poll() is None:
            waited = max(waited, waiting_seconds(generator.pid))
            time.sleep(0.05)
        share = waited / (time.monotonic() - began)
        if not path.exists():
            raise SystemExit("assay load ended without a result")
        return json.loads(path.read_text()) | {"waited": share}

    kinds = trial.scale(["transaction", "notification"], ["notification"])
    for kind in kinds:
        for connections in trial.scale([1, 4, 16, 64], [4]):
            options = ["--mix", kind, "-c", str(connections)]
            closed = options + ["--closed", "--depth", str(max(8, 512 // connections))]
            most, runs, ratios = [load(*closed)["throughput"]], [], []
            for _ in range(trial.scale(3, 1)):
                rate = str(int(trial.scale(2, 1.5) * most[-1]))
                runs.append(load(*options, "--depth", "256", "--longest-wait", "50", "--rate", rate))
                most.append(load(*closed)["throughput"])
                ratios.append(2 * runs[-1]["throughput"] / (most[-2] + most[-1]))
            goodput = statistics.median(ratios)
            over = runs[ratios.index(goodput)]
            label = f"{kind} {connections}"
            # On a shared machine the capacity is not stable, so the short form is lenient.
            trial.measure(f"{label} goodput", goodput, least=trial.scale(0.9, 0.5))
            trial.measure(f"{label} p50", over["latency"]["p50"], "ms")
            # Other processes on the generator's processor keep its requests back, and its answers.
            is_judged = over["waited"] < MOST_WAITED
            if not is_judged:
                trial.note(f"{label}: the generator waited for its processor {over['waited']:.0%} of "
                           "the time, so p99 is not judged")
            trial.measure(f"{label} p99", over["latency"]["p99"], "ms",
                          most=trial.scale(200, 1000) if is_judged else None)
            trial.measure(f"{label} refused", over["refused"])
            trial.measure(f"{label} wrong", sum(run["wrong"] for run in runs), most=0)
            trial.measure(f"{label} without an answer",
                          sum(run["errors"] + run["unanswered"] for run in runs),
                          most=trial.scale(0, over["sent"] // 100))
    trial.memory()
