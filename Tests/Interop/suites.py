"""Runs suites that others wrote against a server, and cases that follow the standards.

usage: script/interop suites [SUITE]...

Each outside tool that is installed is run; one that is not is named, with where it is to be had.
Nothing is built or downloaded. outside/differences lists what differs on purpose, with the reason;
any other failure is one of this command. Environment: TLSFUZZER is a folder with the sources of
tlsfuzzer, whose scripts need tlslite-ng on PYTHONPATH.
"""
import contextlib
import os
import sys
import tempfile

from assay.v1 import assay_pb2 as wire

from outside import connect_cases, grpc_cases, http_cases, protobuf_cases, tools
from outside.server import SuiteServer
from outside.suite import Skipped, Suite


def grpc_suite(suite, server):
    grpc_cases.run(suite, server.grpc_targets(), server.files)


def connect_suite(suite, server):
    connect_cases.run(suite, server.url, server.files["transaction"])


def http_suite(suite, server):
    host, port = server.url.removeprefix("http://").split(":")
    http_cases.run(suite, (host, int(port)))


def protobuf_suite(suite, server):
    token = server.files["transaction"]
    protobuf_cases.run(suite, server.url, server.address("tcp"), token, {
        "transaction": (wire.EVIDENCE_KIND_TRANSACTION, token),
        "renewal info": (wire.EVIDENCE_KIND_RENEWAL_INFO, server.files["renewal-info"]),
        "app transaction": (wire.EVIDENCE_KIND_APP_TRANSACTION, server.mint("app-transaction").strip()),
        "notification": (wire.EVIDENCE_KIND_NOTIFICATION, server.mint("notification").strip()),
        "realtime request": (
            wire.EVIDENCE_KIND_REALTIME_REQUEST, server.mint("realtime-request").strip()),
        "app receipt": (wire.EVIDENCE_KIND_APP_RECEIPT, server.files["receipt"]),
        "purchase of Google Play": (wire.EVIDENCE_KIND_GOOGLE_PURCHASE, server.purchase),
    }, server.customer())


# The suites in the order of the report.
SUITES = {
    "h2spec": tools.h2spec, "h2spec-tls": tools.h2spec_tls, "tlsfuzzer": tools.tlsfuzzer,
    "testssl": tools.testssl, "interop_client": tools.interop_client,
    "connectconformance": tools.connectconformance,
    "conformance_test_runner": tools.conformance_test_runner,
    "grpc": grpc_suite, "connect": connect_suite, "protobuf": protobuf_suite, "http": http_suite,
}


def main():
    tool, *names = sys.argv[1:]
    unknown = sorted(set(names) - set(SUITES))
    if unknown:
        sys.exit(f"no such suite: {', '.join(unknown)}; there are: {', '.join(SUITES)}")
    holds = True
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        server = SuiteServer(tool, os.path.join(folder, "server"))
        stack.callback(server.stop)
        for name in names or SUITES:
            suite = Suite(name)
            try:
                SUITES[name](suite, server)
            except Skipped as skipped:
                print(f"skipped: {skipped}", flush=True)
                continue
            holds = suite.report() and holds
        if not server.is_running():
            print("FAILED: the server has ended")
            holds = False
    sys.exit(not holds)


main()
