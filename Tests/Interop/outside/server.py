"""The server of the suites: HTTP over TCP, TLS and a Unix socket, and frames."""
import json
import os
import subprocess
import urllib.request

import grpc

import rpc_server


class SuiteServer(rpc_server.Server):
    """A server with all listeners, TLS from 1.2 on, minted evidence and a local App Store."""

    def __init__(self, tool, folder):
        os.makedirs(folder)
        self.certificate = os.path.join(folder, "server.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048",
             "-nodes", "-days", "90", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
             os.path.join(folder, "server-key.pem"), "-out", self.certificate],
            check=True, capture_output=True)
        self.socket = os.path.join(folder, "http.sock")
        super().__init__(tool, folder, [
            "http://127.0.0.1:0", "https://127.0.0.1:0", "tcp://127.0.0.1:0",
            f"unix-http:{self.socket}"], TLS)
        self.files = self.evidence()
        self.files["1 MB receipt"] = self.mint("receipt", "--size", "1MB", "--base64", "none")

    def address(self, scheme):
        """HOST:PORT of a listener."""
        return next(one for one in self.addresses if one.startswith(scheme + ":")).partition("//")[2]

    def port(self, scheme):
        return self.address(scheme).rpartition(":")[2]

    def grpc_targets(self):
        with open(self.certificate, "rb") as file:
            credentials = grpc.ssl_channel_credentials(file.read())
        return [("TCP", self.address("http"), None), ("TLS", self.address("https"), credentials),
                ("Unix socket", f"unix:{self.socket}", None)]

    def customer(self):
        """A transaction of a new customer of the local App Store."""
        request = urllib.request.Request(
            self.store + "/customers", json.dumps({"scenario": "grace-period"}).encode())
        urllib.request.urlopen(request).close()
        with urllib.request.urlopen(self.store + "/customers") as answer:
            text = json.dumps(json.load(answer))
        return text.partition('"transactionId": "')[2].partition('"')[0]

    def is_running(self):
        return all(process.poll() is None for process in self.processes)


TLS = """[tls]
certificate = "server.pem"
key = "server-key.pem"
minimum-version = "1.2"
"""
