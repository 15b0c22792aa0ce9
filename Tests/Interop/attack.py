"""Runs attacks on a server in its own process, and prints what honest clients see meanwhile."""
import argparse
import json
import os
import pathlib
import resource
import signal
import sys
import tempfile
import time

from hostile import (  # they register themselves
    bodies, chains, edges, explain, http2, memory, overload, peers, process, shares, work)
from hostile.trial import ATTACKS, Evidence, Measure, Trial

assert all([bodies, chains, edges, explain, http2, memory, overload, peers, process, shares, work])

COLUMNS = ["sent", "valid", "wrong", "refused", "lost", "p50", "p99", "before", "peak", "held",
           "after"]
UNITS = {"p50": "ms", "p99": "ms", "before": "MB", "peak": "MB", "held": "MB",
         "after": "MB"}


def number(value):
    if value is None:
        return "-"
    if isinstance(value, int) or value == int(value) and abs(value) < 1e6:
        return f"{int(value)}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}"


def bound(measure):
    if measure.most is None and measure.least is None:
        return ""
    if measure.most == measure.least:
        return number(measure.most)
    if measure.most is None:
        return f"≥ {number(measure.least)}"
    return f"≤ {number(measure.most)}"


def cell(measure):
    return (number(measure.value) if measure else "") + (
        "!" if measure and not measure.holds else "")


def lines_of(trial):
    """The rows of the table: an honest client's, its bounds, and the other measures."""
    groups, rest = {}, []
    for measure in trial.measures:
        label, _, name = measure.name.rpartition(" ")
        if name in COLUMNS:
            groups.setdefault(label, {})[name] = measure
        else:
            rest.append(measure)
    # The memory is that of the server; it is shown with the first client.
    memory_of_server = {name: measure for name, measure in groups.get("", {}).items()
                        if name in COLUMNS[-4:]}
    lines = []
    for index, (label, measures) in enumerate(groups.items()):
        own = {name: m for name, m in measures.items() if name not in memory_of_server or label}
        if index == 0:
            own |= memory_of_server
        if not own:
            continue
        lines.append(row("  " + (label or "known tokens"), [cell(own.get(c)) for c in COLUMNS]))
        bounds = [bound(own[c]) if c in own else "" for c in COLUMNS]
        if any(bounds):
            lines.append(row("    bound", bounds))
    for measure in rest:
        mark = "!" if not measure.holds else ""
        text = f"  {measure.name}: {number(measure.value)}{mark} {measure.unit}".rstrip()
        lines.append(text + (f"  ({bound(measure)})" if bound(measure) else ""))
    return lines + [f"  {note}" for note in trial.notes]


def row(name, cells):
    return f"{name:<26}" + "".join(f"{text:>10}" for text in cells)


def header():
    return row("", [f"{c} {UNITS[c]}" if c in UNITS else c for c in COLUMNS])


def run(attack, evidence, folder, options):
    """Runs an attack; returns its trial and whether all bounds were met."""
    trial = Trial(evidence, pathlib.Path(folder) / attack.name, options.short, options.one_host)
    begin = time.monotonic()
    try:
        attack.run(trial)
        trial.end()
    except (Exception, SystemExit) as error:
        # A server that ended causes many kinds of errors. The other attacks still run.
        trial.measures.append(Measure(f"could not be measured: {error!r}", 1, most=0))
    finally:
        trial.close()
    trial.seconds = time.monotonic() - begin
    return trial


def report(results):
    print()
    print(header())
    for attack, trial in results:
        held = all(measure.holds for measure in trial.measures)
        print(f"{attack.line}  {attack.name}: {'passed' if held else 'FAILED'}")
        for line in lines_of(trial):
            print(line)
    failed = [attack.name for attack, trial in results
              if not all(measure.holds for measure in trial.measures)]
    print()
    print(f"{len(results) - len(failed)} of {len(results)} passed")
    if failed:
        print("FAILED: " + ", ".join(failed))
    return not failed


def save(results, path):
    document = [{
        "attack": attack.name, "line": attack.line, "seconds": trial.seconds,
        "holds": all(measure.holds for measure in trial.measures), "notes": trial.notes,
        "measures": [dict(vars(measure), holds=measure.holds) for measure in trial.measures],
    } for attack, trial in results]
    pathlib.Path(path).write_text(json.dumps(document, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(prog="script/attack", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these attacks alone")
    parser.add_argument("--server", metavar="BINARY", help="instead of a release build")
    parser.add_argument("--short", action="store_true", help="the form of script/test attack")
    parser.add_argument("--one-host", action="store_true",
                        help="attackers have the address of the honest clients, where they had "
                        "another: shares by client do not help")
    parser.add_argument("--list", action="store_true", help="what there is")
    parser.add_argument("--json", metavar="FILE", help="write all measures there")
    options = parser.parse_args()
    attacks = sorted(ATTACKS, key=lambda attack: int(attack.line))
    if options.list:
        for attack in attacks:
            form = "" if attack.short else " (long form only)"
            print(f"{attack.name}, line {attack.line}{form}\n    {attack.description}")
        return
    unknown = set(options.names) - {attack.name for attack in ATTACKS}
    if unknown:
        parser.error(f"unknown attack: {', '.join(sorted(unknown))}; --list shows all")
    chosen = [attack for attack in attacks if attack.name in options.names
              or not options.names and (attack.short or not options.short)]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384), hard))
    # Ends the servers when this process is terminated.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        evidence = Evidence(os.path.abspath(options.server), folder)
        results = []
        for index, attack in enumerate(chosen, 1):
            print(f"{index}/{len(chosen)} {attack.name} ...", end=" ", flush=True)
            trial = run(attack, evidence, folder, options)
            results.append((attack, trial))
            held = all(measure.holds for measure in trial.measures)
            print(f"{'passed' if held else 'FAILED'}, {trial.seconds:.0f} s", flush=True)
        if options.json:
            save(results, options.json)
        sys.exit(0 if report(results) else 1)


if __name__ == "__main__":
    main()
