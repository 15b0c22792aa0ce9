"""Tests the HTTP listener by its OpenAPI document, with schemathesis.

usage: script/interop --run openapi.py TOOL SECONDS [SCHEMATHESIS OPTION]...

Checks the document with openapi-spec-validator, starts the tool's server with an app entry that has
API keys and a key to sign with, and runs schemathesis for that long. The exit status is 1 if either
finds a fault.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

from server import APP_ID, BUNDLE, Server, mint

KEY = "key-0123456789abcdef"
HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = HERE.parent.parent / "proto/openapi.json"
CONFIGURATION = """listen = ["http://127.0.0.1:0"]
[[app]]
name = "game"
bundle-id = "{bundle}"
app-apple-id = {app}
environments = ["Production", "Sandbox"]
roots = ["ca/root.pem", "ca/receipt-root.pem"]
api-keys = ["{key}"]
sign-api-keys = ["{key}"]
default = true
[app.keys.main]
file = "SubscriptionKey_2X9R4HXF34.p8"
issuer-id = "57246542-96fe-1a63-e053-0824d011072a"
"""


def main():
    tool, seconds, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        mint(tool, "ca", str(folder / "ca"))
        key = folder / "SubscriptionKey_2X9R4HXF34.p8"
        subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-out", key], check=True)
        key.chmod(0o600)
        configuration = folder / "assay.toml"
        configuration.write_text(CONFIGURATION.format(bundle=BUNDLE, app=APP_ID, key=KEY))
        configuration.chmod(0o600)
        server = Server(tool, folder / "log", "--config", str(configuration)).wait_ready()
        try:
            failed = check("http://" + server.address("http"), folder, seconds, options)
        finally:
            problem = server.stop()
        if problem:
            print(server.log.read_text()[-4000:])
        sys.exit(problem or failed)


def check(url, folder, seconds, options):
    """Returns the exit status of the first program that finds a fault, or 0."""
    document = folder / "openapi.json"
    with urllib.request.urlopen(url + "/v1/openapi.json") as answer:
        document.write_bytes(answer.read())
    if json.loads(document.read_text()) != json.loads(DOCUMENT.read_text()):
        sys.exit("the served document is not proto/openapi.json")
    programs = pathlib.Path(sys.executable).parent
    status = subprocess.run([programs / "openapi-spec-validator", document]).returncode
    return status or subprocess.run(
        [programs / "st", "--config-file", HERE / "schemathesis.toml", "run", document,
         "--url", url, "--max-time", seconds, "--header", f"Authorization: Bearer {KEY}",
         *options], cwd=folder, env=os.environ | {"PYTHONPATH": str(HERE)}).returncode


main()
