"""A server with minted evidence, and a local App Store for its fetches."""
import json
import os
import subprocess
import sys
import urllib.request

BUNDLE = "com.example.game"
# What signs.
KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"


class Server:
    """A server with minted evidence, and a local App Store for its fetches."""

    def __init__(self, tool, folder, listen=("http://127.0.0.1:0",), tables=""):
        """
        listen: the addresses of the server
        tables: lines of the configuration before the app entries
        """
        self.tool, self.folder, self.processes = tool, folder, []
        self.run("mint", "ca", "--date", "2025-01-01T00:00:00Z", self.path("ca"))
        subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-out", self.path("SubscriptionKey_2X9R4HXF34.p8")], check=True, capture_output=True)
        # Makes Google's key beside the authority, which the configuration names.
        self.purchase = self.mint("google-purchase")
        self.store = self.start("store", "--ca", self.path("ca"), "--listen", "http://127.0.0.1:0")
        apps = [("game", None), ("shop", self.store), ("closed", "http://127.0.0.1:9")]
        with open(self.path("assay.toml"), "w") as file:
            file.write(f"listen = {json.dumps(listen)}\n{tables}" + "".join(map(self.app, apps)))
        os.chmod(self.path("SubscriptionKey_2X9R4HXF34.p8"), 0o600)
        os.chmod(self.path("assay.toml"), 0o600)
        self.url = self.serve()

    def serve(self):
        return self.start("serve", "--config", self.path("assay.toml"))

    def fault(self, fault):
        request = urllib.request.Request(self.store + "/faults", json.dumps(fault).encode())
        urllib.request.urlopen(request).close()

    @staticmethod
    def app(named):
        """The lines of an app entry, which asks the App Store at an address."""
        name, store = named
        lines = f"""[[app]]
name = "{name}"
bundle-id = "{BUNDLE}"
app-apple-id = 1234567890
roots = ["ca/root.pem", "ca/receipt-root.pem"]
default = {str(store is None).lower()}
"""
        if store is None:
            return lines + f"""sign-api-keys = ["{KEY}"]
[app.google]
licence-keys = ["ca/google-licence-key.txt"]
[app.keys.main]
file = "SubscriptionKey_2X9R4HXF34.p8"
key-id = "2X9R4HXF34"
issuer-id = "57246542-96fe-1a63-e053-0824d011072a"
"""
        return lines + f"""[app.store]
key-file = "SubscriptionKey_2X9R4HXF34.p8"
issuer-id = "57246542-96fe-1a63-e053-0824d011072a"
base-url = "{store}"
proxy = ""
"""

    def start(self, *arguments):
        """Starts the tool, and returns the first address of HTTP that it prints."""
        with open(self.path("log"), "a+") as log:
            process = subprocess.Popen(
                [self.tool, *arguments], stdout=subprocess.PIPE, stderr=log, text=True)
            self.processes.append(process)
            line = process.stdout.readline()
            if "http://" not in line:
                process.kill()
                log.seek(0)
                sys.exit(f"FAILED: {arguments}: {line} {log.read()}")
        self.addresses = line.split()[2:]
        return line[line.index("http://"):].split()[0]

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments):
        return subprocess.run([self.tool, *arguments], check=True, capture_output=True).stdout

    def mint(self, kind, *arguments):
        return self.run("mint", kind, "--ca", self.path("ca"), "--bundle-id", BUNDLE, *arguments)

    def evidence(self):
        receipt = ["--base64", "none"]
        return {
            "transaction": self.mint("transaction").strip(),
            "renewal-info": self.mint("renewal-info").strip(),
            "google-purchase": self.purchase,
            "receipt": self.mint("receipt", *receipt),
            "4 MB receipt": self.mint("receipt", "--size", "4MB", *receipt),
            "16 MB receipt": self.mint("receipt", "--size", "16MB", *receipt),
        }

    def stop(self):
        for process in self.processes:
            process.terminate()
            process.wait()
