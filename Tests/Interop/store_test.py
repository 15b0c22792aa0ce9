"""Tests a backend against a local App Store. Needs assay in PATH; run it with python3."""
import http.server
import json
import pathlib
import subprocess
import tempfile
import threading
import unittest
import urllib.request


class Backend(http.server.BaseHTTPRequestHandler):
    """A backend that keeps the notifications it gets. Yours takes its place."""

    folder = None  # the evidence that it has
    failures = 0  # notifications that it refuses

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(503 if Backend.failures else 200)
        if Backend.failures:
            Backend.failures -= 1
        else:
            count = len(list(Backend.folder.iterdir()))
            (Backend.folder / f"{count}.json").write_bytes(body)
        self.end_headers()

    def log_message(self, *arguments):
        pass


class StoreTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.ca = scratch.name + "/ca"
        Backend.folder = pathlib.Path(scratch.name, "evidence")
        Backend.folder.mkdir()
        # An authority of the past, so that no evidence is from the future.
        subprocess.run(["assay", "mint", "ca", "--date", "2025-01-01T00:00:00Z", self.ca],
                       check=True)
        backend = http.server.HTTPServer(("127.0.0.1", 0), Backend)
        self.addCleanup(backend.server_close)
        threading.Thread(target=backend.serve_forever, daemon=True).start()
        self.addCleanup(backend.shutdown)
        notify = f"http://127.0.0.1:{backend.server_port}/notifications"
        store = subprocess.Popen(
            ["assay", "store", "--ca", self.ca, "--listen", "http://127.0.0.1:0",
             "--notify", notify],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(store.stdout.close)
        self.addCleanup(store.wait)
        self.addCleanup(store.terminate)
        self.url = store.stdout.readline().split()[-1]  # assay store ready http://…

    def call(self, path, body):
        """A call of the store. It returns when all notifications that are due were sent."""
        request = urllib.request.Request(self.url + path, json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            self.answer = json.load(answer)

    def advance(self, duration):
        self.call("/advance", {"duration": duration})
        self.time = self.answer["time"]

    def may_use(self):
        """What the backend decides, from the notifications that it has."""
        answer = subprocess.run(
            ["assay", "entitlements", "--root", self.ca + "/root.pem", "--at", self.time,
             str(Backend.folder)], capture_output=True, check=True).stdout
        return json.loads(answer)["apps"][0]["subscriptionGroups"][0]["entitled"]

    def test_grace_period(self):
        self.call("/customers", {"scenario": "grace-period"})
        self.advance("29d")
        self.assertTrue(self.may_use(), "a paid period")
        self.advance("10d")
        self.assertTrue(self.may_use(), "the payment failed: the grace period")
        self.advance("7d")
        self.assertFalse(self.may_use(), "the grace period is over")

    def test_refund(self):
        self.call("/customers", {"scenario": "refund"})
        self.advance("0d")
        self.assertTrue(self.may_use())
        self.advance("29d")
        self.assertFalse(self.may_use(), "refunded")

    def test_notification_is_sent_again(self):
        Backend.failures = 1
        self.call("/customers", {"scenario": "subscribe"})
        self.assertEqual(list(Backend.folder.iterdir()), [])
        self.advance("1h")
        self.assertEqual([sent["result"] for sent in self.answer["sent"]], ["SUCCESS"])
        self.assertTrue(self.may_use())


if __name__ == "__main__":
    unittest.main()
