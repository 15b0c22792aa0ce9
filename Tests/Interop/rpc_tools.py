"""Speaks HTTP/2 to a server with h2load, nghttp and curl."""
import json
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys

BUNDLE = "com.example.game"


def output(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


def farewell(url, process):
    """Ends the server, and checks the frames of its drain."""
    host, port = url.removeprefix("http://").split(":")
    ping, goaway, acknowledges = 6, 7, 1
    with socket.create_connection((host, int(port)), 10) as connection:
        frames = connection.makefile("rb")
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        seen, is_ending = [], False
        while head := frames.read(9):
            size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            content = frames.read(size)
            if kind == goaway:
                seen.append(struct.unpack(">II", content[:8]))
            elif kind == ping and not flags & acknowledges:
                connection.sendall(head[:4] + bytes([acknowledges]) + head[5:] + content)
            elif not is_ending:
                # A second signal would not wait for the drain.
                is_ending = True
                process.terminate()
    # First with the largest stream, so that what is on its way is served; then with the last one.
    if seen != [(2 ** 31 - 1, 0), (0, 0)] or process.wait(20) != 0:
        sys.exit(f"FAILED: GOAWAY: {seen}, exit status {process.poll()}")
    print("passed: GOAWAY twice, and the end of the connection")


def check(url, token, folder):
    """Verdicts by HTTP/JSON over both versions, and many requests in flight."""
    body = pathlib.Path(folder) / "verify.json"
    body.write_text(json.dumps({"kind": "transaction", "evidence": token.decode()}))
    path, field = url + "/v1/verify", "content-type: application/json"
    for option, version in (("--http1.1", "1.1"), ("--http2-prior-knowledge", "2"),
                            ("--http2", "1.1")):
        # The last one asks to upgrade, which the server ignores as it may.
        text = output("curl", "-s", option, "-w", "\n%{http_version}", "-H", field, "--data-binary",
                      f"@{body}", path)
        answer, found = text.rsplit("\n", 1)
        if json.loads(answer)["verdict"] != "VALID" or found != version:
            sys.exit(f"FAILED: curl {option}: {text}")
        print(f"passed: curl {option}: HTTP/{found}")
    for tool in ("nghttp", "h2load"):
        if not shutil.which(tool):
            print(f"skipped: {tool}: apt-get install nghttp2-client")
            return
    text = output("nghttp", "-d", body, "-H", field, path)
    if json.loads(text)["verdict"] != "VALID":
        sys.exit(f"FAILED: nghttp: {text}")
    print("passed: nghttp")
    # Few enough in flight for a busy machine to refuse none.
    count = 10_000
    text = output("h2load", "-n", count, "-c", 4, "-m", 4, "-d", body, "-H", field, path)
    if not re.search(f"{count} succeeded, 0 failed, 0 errored", text):
        sys.exit(f"FAILED: h2load: {text}")
    rate = re.search(r"finished in .*", text)
    print(f"passed: h2load: {count} requests, {rate[0]}")
