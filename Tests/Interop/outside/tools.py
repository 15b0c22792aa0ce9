"""The outside tools: each runs against the server if it is installed."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

from outside.suite import Skipped


def found(program, source):
    """The path of a program; skips the suite without it."""
    path = shutil.which(program)
    if not path:
        raise Skipped(f"{program} is not on PATH; {source}")
    return path


def output(*command, **options):
    """What a command prints, whatever its exit status."""
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **options).stdout


# ---- HTTP/2 --------------------------------------------------------------------------------------

def h2spec(suite, server, scheme="http", *options):
    """All cases, also the strict ones. A case is its section, number and description."""
    program = found("h2spec", "https://github.com/summerwind/h2spec")
    suite.version = output(program, "--version").split("(")[0].replace("Version:", "").strip()
    report = pathlib.Path(server.folder) / "h2spec.xml"
    text = output(program, "--host", "127.0.0.1", "--port", server.port(scheme), "--strict",
                  "--path", "/v1/health", "--junit-report", report, *options)
    if not report.exists():
        raise SystemExit(f"FAILED: h2spec: {text}")
    for group in xml.etree.ElementTree.parse(report).iter("testsuite"):
        for number, case in enumerate(group.iter("testcase"), 1):
            failure = next((one for one in case if one.tag in ("failure", "error")), None)
            name = f"{case.get('package')}/{number}: {case.get('classname')}"
            suite.record(name, None if failure is None else " ".join((failure.text or "").split()))
    report.unlink()


def h2spec_tls(suite, server):
    h2spec(suite, server, "https", "--tls", "--insecure")


# ---- TLS -----------------------------------------------------------------------------------------

TLSFUZZER = "https://github.com/tlsfuzzer/tlsfuzzer"

# The scripts that apply to a server with a certificate of P-256, TLS 1.2 and 1.3, and no client
# certificates, renegotiation or resumption; with their arguments.
SCRIPTS = {
}


def tlsfuzzer(suite, server):
    """Each probe of each script is a case."""
    folder = os.environ.get("TLSFUZZER")
    if not folder:
        raise Skipped(f"TLSFUZZER names no folder with tlsfuzzer; {TLSFUZZER}")
    path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path}
    text = output(sys.executable, "-c", "import tlslite; print(tlslite.__version__)",
                  env=environment)
    if not re.fullmatch(r"[\w.-]+\n", text):
        raise Skipped("tlsfuzzer's scripts need tlslite-ng; https://pypi.org/project/tlslite-ng")
    suite.version = f"with tlslite-ng {text.strip()}"
    for name, arguments in SCRIPTS.items():
        script = pathlib.Path(folder) / "scripts" / name
        if not script.exists():
            suite.record(f"{name}: the script", "it is not there")
            continue
        text = output(sys.executable, script, "-h", "127.0.0.1", "-p", server.port("https"),
                      *arguments, env=environment, timeout=600)
        record_probes(suite, name.removesuffix(".py").removeprefix("test-"), text)


def record_probes(suite, script, text):
    """Records the probes of a script: lines NAME ..., and those of its list of failures."""
    probes, end, summary = text.partition("\nTest end\n")
    failed = {line.strip().strip("'\"") for line in summary.partition("FAILED:")[2].splitlines()}
    for probe in re.findall(r"^(.*) \.\.\.$", probes, re.MULTILINE):
        suite.record(f"{script}: {probe}", "failed" if probe in failed else None)
    suite.record(f"{script}: its end", None if end else text[-300:])


def testssl(suite, server):
    """Each finding of testssl.sh that is worse than "low" is a failure."""
    program = shutil.which("testssl") or shutil.which("testssl.sh")
    if not program:
        raise Skipped("testssl is not on PATH; apt-get install testssl.sh, https://testssl.sh")
    report = pathlib.Path(server.folder) / "testssl.json"
    text = output(program, "--quiet", "--color", "0", "--warnings", "off", "--add-ca",
                  server.certificate, "--jsonfile", report, f"localhost:{server.port('https')}")
    if not report.exists():
        raise SystemExit(f"FAILED: testssl: {text[-2000:]}")
    suite.version = re.search(r"[0-9]\S*", re.sub(r"\x1b\S*?m", "", output(
        program, "--version")).partition("testssl")[2])[0]
    for finding in json.loads(report.read_text()):
        bad = finding["severity"] in ("LOW", "MEDIUM", "HIGH", "CRITICAL", "FATAL", "WARN")
        suite.record(finding["id"], f"{finding['severity']}: {finding['finding']}" if bad else None)


# ---- RPC -----------------------------------------------------------------------------------------

def interop_client(suite, server):
    """gRPC's interop client. The server has none of the test service: two cases need none."""
    program = found("interop_client", "https://github.com/grpc/grpc, test/cpp/interop")
    for case in ("unimplemented_method", "unimplemented_service"):
        done = subprocess.run(
            [program, "--server_host=127.0.0.1", f"--server_port={server.port('http')}",
             f"--test_case={case}"], capture_output=True, text=True)
        suite.record(case, None if done.returncode == 0 else done.stderr[-300:])


def connectconformance(suite, server):
    del suite, server
    raise Skipped(
        "connectconformance calls connectrpc.conformance.v1.ConformanceService, which no part of "
        "the server has: its cases are those of the suite `connect`; "
        "https://github.com/connectrpc/conformance")


def conformance_test_runner(suite, server):
    del suite, server
    raise Skipped(
        "conformance_test_runner sends protobuf_test_messages, which the contract has not: its "
        "binary and JSON cases are those of the suite `protobuf`; "
        "https://github.com/protocolbuffers/protobuf/tree/main/conformance")
