"""Compares the entitlements after each step of each built-in scenario with the expected ones, in
the tool's process and by a server.

usage: scenarios.py ASSAY
"""
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

from server import Server, mint, roots

# Members that the expected answer leaves out: readable texts, and what tests of the rules cover.
LEFT_OUT = {"dedupKey", "message", "seats", "purchases", "refresh"}
ITEM = {"index", "kind", "verdict"}


def plain(value):
    """The answer without texts."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items() if name not in LEFT_OUT}
    return [plain(element) for element in value] if isinstance(value, list) else value


def answer(tool, step, evidence, trust):
    """The entitlements that the tool prints for all evidence up to a step."""
    options = (step / "options").read_text().split()
    command = [tool, "entitlements", *options, *trust, *map(str, evidence)]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout:
        return {"error": done.stderr.strip()}
    return comparable(json.loads(done.stdout))


def comparable(value):
    """The answer without what the expected one leaves out or names in another way: texts, the paths
    of files, and the items of warnings.
    """
    value = plain(value)
    value["items"] = [
        {name: item[name] for name in item if name in ITEM} for item in value.get("items", [])]
    for warning in value.get("warnings", []):
        warning.pop("item", None)
    return value


def main(tool):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ca = folder / "ca"
        # Lives in the past: a server does not verify evidence of the future.
        start = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=600)
        mint(tool, "ca", "--date", start.strftime("%Y-%m-%dT%H:%M:%SZ"), str(ca))
        names = [line.split()[0] for line in mint(tool, "scenario", "--list").decode().splitlines()
                 if line.strip()]
        server = Server(tool, folder / "log", "--listen", f"unix:{folder}/socket", *roots(ca))
        server.wait_ready()
        ways = {"in process": roots(ca), "by a server": ["--server", f"unix:{folder}/socket"]}
        steps, wrong = 0, 0
        try:
            for name in names:
                mint(tool, "scenario", name, "--ca", str(ca), "--out", str(folder / name))
                evidence = []
                for step in sorted((folder / name).glob("step-*")):
                    evidence += sorted((step / "evidence").glob("*"))
                    if not evidence:
                        continue
                    expected = comparable(json.loads((step / "expected.json").read_text()))
                    steps += 1
                    for way, trust in ways.items():
                        seen = answer(tool, step, evidence, trust)
                        if seen != expected:
                            wrong += 1
                            print(f"{name}, {step.name}, {way}: {json.dumps(seen)}\n"
                                  f"  expected: {json.dumps(expected)}")
        finally:
            server.stop()
    print(f"{len(names)} scenarios, {steps} steps, {2 * steps} answers, {wrong} unexpected")
    return 1 if wrong or not steps else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
