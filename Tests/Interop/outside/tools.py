"""The outside tools: each runs against the server if it is installed."""
import json
import os
import pathlib
import re
import shutil
import socket
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

# The scripts that apply to TLS 1.2 and 1.3 with a certificate of RSA, ECDHE and AEAD alone, without
# client certificates, resumption and renegotiation.
TLS13 = """0rtt-garbage ccs conversation count-tickets ecdhe-curves empty-alert finished finished-plaintext
    hrr invalid-ciphers keyshare-omitted keyupdate large-number-of-extensions legacy-version
    multiple-ccs-messages no-unknown-groups nociphers obsolete-curves pkcs-signature record-layer-limits
    record-padding rsa-signatures rsapss-signatures shuffled-extentions signature-algorithms
    symetric-ciphers unencrypted-alert unrecognised-groups version-negotiation zero-content-type
    zero-length-data""".split()
TLS12 = """aes-gcm-nonces alpn-negotiation ccs conversation cve-2004-0079 cve-2016-6309
    downgrade-protection early-application-data ecdhe-rsa-key-exchange-with-bad-messages extensions
    hello-request-by-client interleaved-CKE-with-CCS invalid-cipher-suites invalid-client-hello
    invalid-client-hello-w-record-overflow invalid-compression-methods invalid-content-type
    invalid-session-id invalid-version message-skipping no-mlkem-in-old-tls point-extension
    record-layer-fragmentation renegotiation-disabled signature-algorithms truncating-of-client-hello
    version-numbers zero-length-data""".split()
CIPHER = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
# What the server offers (TLSContext.swift), for the server of openssl.
OFFERED = ["-min_protocol", "TLSv1.2", "-groups", "X25519:P-256:P-384", "-num_tickets", "0", "-no_ticket",
           "-cipher", "ECDHE+AESGCM:ECDHE+CHACHA20", "-no_cache", "-no_renegotiation", "-sigalgs",
           "ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:ed25519:ed448:RSA-PSS+SHA256:RSA-PSS+SHA384:"
           "RSA-PSS+SHA512:RSA+SHA256:RSA+SHA384:RSA+SHA512"]


class Reference:
    """`openssl s_server` with the same certificate, groups and ciphers."""

    def __init__(self, server):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.process = subprocess.Popen(
            ["openssl", "s_server", "-accept", f"127.0.0.1:{self.port}", "-www", "-quiet", "-cert",
             server.certificate, "-key", server.path("server-key.pem"), "-alpn", "http/1.1", *OFFERED],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        self.process.kill()
        self.process.wait()


def tlsfuzzer(suite, server):
    """Each probe of each script is a case. What OpenSSL's own server fails too is none: the script
    wants what is not offered, or what OpenSSL has not.
    """
    folder = os.environ.get("TLSFUZZER")
    if not folder:
        raise Skipped(f"TLSFUZZER names no folder with tlsfuzzer; {TLSFUZZER}")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])}
    text = output(sys.executable, "-c", "import tlslite; print(tlslite.__version__)",
                  env=environment)
    if not re.fullmatch(r"[\w.-]+\n", text):
        raise Skipped("tlsfuzzer's scripts need tlslite-ng; https://pypi.org/project/tlslite-ng")
    reference = Reference(server)
    others = 0
    try:
        for name in [f"tls13-{name}" for name in TLS13] + TLS12:
            others += script(
                suite.under(name), pathlib.Path(folder) / "scripts" / f"test-{name}.py",
                server.port("https"), reference.port, environment)
    finally:
        reference.stop()
    suite.version = f"with tlslite-ng {text.strip()}, beside openssl s_server ({others} fail there too)"


def script(suite, file, port, reference, environment):
    """Records the probes of a script. Returns the number of those that the reference fails."""
    found, expected = (probes(file, one, environment) for one in (port, reference))
    if not found:
        suite.record("the script", "it has no probes")
    # A probe whose name has a random part is there once.
    both = {name for name, passed in found.items() if not passed and not expected.get(name)}
    for name, passed in found.items():
        if name not in both:
            suite.record(name, None if passed else "failed, and openssl s_server does not")
    return len(both)


def probes(file, port, environment):
    """The probes of a script by name, and whether they passed."""
    command = [sys.executable, file, "-h", "127.0.0.1", "-p", port]
    usage = output(sys.executable, file, "--help", env=environment)
    # All: a script chooses a hundred of more probes anew each time, so that the reference lacks most.
    if " -n num" in usage:
        command += ["-n", "0"]
    if "tls13" not in file.name and " -C " in usage:
        command += ["-C", CIPHER]
    try:
        text = output(*command, env=environment, timeout=120)
    except subprocess.TimeoutExpired:
        return {}
    text, _, summary = text.partition("\nTest end\n")
    failed = {line.strip().strip("'\"") for line in summary.partition("FAILED:")[2].splitlines()}
    return {name: name not in failed for name in re.findall(r"^(.*) \.\.\.$", text, re.MULTILINE)}


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
