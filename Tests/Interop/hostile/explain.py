"""Attacks on the page that explains evidence."""
import base64
import contextlib
import socket
import threading
import time

from hostile.forge import records, unsigned_receipt
from hostile.trial import MB, attack

# The form's limit, and the memory beside it: bodies that arrive while a page is made, and the page.
FORM_BYTES = 24 * MB
# The bodies of one page and of two that arrive, and what a page makes of a receipt.
MEMORY_BYTES = 256 * MB


def form(evidence):
    head = b"--x\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n"
    return (head % b"app" + b"\r\n" + head % b"evidence" + evidence + b"\r\n--x--\r\n")


def ask(path, request):
    """Returns the status of one request, and what follows it."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(str(path))
        # The listener answers before the body where it refuses.
        with contextlib.suppress(OSError):
            connection.sendall(request)
        answer = b""
        with contextlib.suppress(OSError):
            while part := connection.recv(1 << 16):
                answer += part
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else None


def post(path, body):
    return ask(path, b"POST /explain HTTP/1.1\r\nHost: localhost\r\n"
               b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n%s"
               % (len(body), body))


def post_in_turn(path, bodies, is_over):
    """Posts the bodies in turn, on three connections at a time."""
    counts = {}

    def run(number):
        while not is_over():
            for body in bodies[number:] + bodies[:number]:
                status = post(path, body)
                counts[status] = counts.get(status, 0) + 1
                if is_over():
                    return
                if status == 503:
                    time.sleep(0.1)

    threads = [threading.Thread(target=run, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts


@attack("expensive-explanations", "133")
def expensive_explanations(trial):
    """Three clients post forms for /explain as large as they may be: JSON with long names above long
    lists, millions of lines, a receipt of minimal in-app records. Probes of health and metrics are
    answered meanwhile, and honest clients' transactions.
    """
    trial.serve("--admin-explain")
    alone = trial.alone()
    path = trial.server.admin
    long = b"n" * (500 << 10)
    receipt = unsigned_receipt(records(b"com.example.product.0", trial.scale(16, 4) * 1_000_000))
    bodies = [form(evidence) for evidence in [
        b'{"%s":[%s]}' % (long, b",".join([b"1"] * (250 << 10))),
        b'{"%s":[%s]}' % (long, b",".join([b'"ey.a.b"'] * (50 << 10))),
        b'{"%s":[%s]}' % (long, b",".join([b"1"] * (1500 << 10))),
        b"x\n" * (FORM_BYTES // 2 - 200), b"ey.a.b\n" * (FORM_BYTES // 7 - 200),
        base64.b64encode(receipt),
    ]]
    attackers = trial.attackers(post_in_turn, path, bodies)
    honest = trial.honest()
    times, failed = [], 0
    until = time.monotonic() + trial.scale(30, 5)
    while time.monotonic() < until:
        for target in [b"/healthz", b"/metrics"]:
            begin = time.monotonic()
            status = ask(path, b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % target)
            times.append((time.monotonic() - begin) * 1000)
            failed += status != 200
        time.sleep(0.01)
    counts = attackers.stop() or {}
    times.sort()
    trial.measure("pages", counts.get(200, 0), least=1)
    trial.measure("pages refused for another", counts.get(503, 0))
    trial.measure("no answer to a form", counts.get(None, 0))
    trial.measure("probes failed", failed, most=0)
    trial.measure("probes p99", times[len(times) * 99 // 100], "ms", most=trial.p99_bound(250, 0))
    trial.saw(honest.result(), p99_most=trial.p99_bound(250, alone))
    trial.memory(most=trial.watch.before + MEMORY_BYTES)
