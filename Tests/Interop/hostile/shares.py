"""One client that takes more than its share of the queue, of TLS, or of the fetches."""
import time

from assay.v1 import assay_pb2 as assay
from hostile.crowd import Crowd
from hostile.trial import MB, attack
from wire import frame, verify

# The honest client beside a greedy one: its requests a second, and the bound of its p99 in ms.
PER_SECOND = 50
P99 = 250


def beside(trial, crowd, label="", **plan):
    """Runs a crowd, and measures an honest client meanwhile: it is not refused."""
    attackers = trial.attackers(crowd.run)
    time.sleep(0.5)
    honest = trial.honest(per_second=PER_SECOND, warm_up=False, **plan)
    time.sleep(trial.scale(15, 3))
    # Refusals are counted for an attack that the short form must notice, too.
    trial.saw(honest.result(), p99_most=P99 if not trial.is_short else 2 * P99, label=label)
    counts = attackers.stop()
    if counts:
        trial.note(f"{label}: {counts['connections']} connections, {counts['bytes'] / MB:.0f} MB")


def forever(data):
    def script(_):
        while True:
            yield data
    return script


@attack("greedy-queue", "120")
def greedy_queue(trial):
    """8 connections of pipelined genuine tokens, 4 of Resolves of 1,000 junk items, and 64 HTTP
    connections of genuine tokens, one after the other. An honest client with 50 requests a second
    is never refused.
    """
    trial.serve(listen=["tcp://127.0.0.1:0", "http://127.0.0.1:0"])
    greedy_tokens(trial)
    greedy_resolves(trial)
    greedy_http(trial)
    trial.memory()


def greedy_tokens(trial):
    token = trial.evidence.token
    data = b"".join(frame(*verify(id, assay.EVIDENCE_KIND_TRANSACTION, token))
                    for id in range(1, 201))
    beside(trial, Crowd(trial.server.address("tcp"), 8, forever(data)), "greedy tokens")


def greedy_resolves(trial):
    # Each item has the form of a token, so that its signature is what is junk.
    item = trial.evidence.token[:-8] + b"AAAAAAAA"
    frames = []
    for id in range(1, 9):
        head = assay.RequestHead(id=id, timeout_ms=30_000)
        for _ in range(1000):
            head.resolve.items.add(kind=assay.EVIDENCE_KIND_TRANSACTION, length=len(item))
        frames.append(frame(head, item * 1000))
    beside(trial, Crowd(trial.server.address("tcp"), 4, forever(b"".join(frames))),
           "greedy resolves")


def greedy_http(trial):
    token = trial.evidence.token
    request = (b"POST /v1/verify?kind=transaction HTTP/1.1\r\nHost: localhost\r\n"
               b"Content-Type: application/jose\r\nContent-Length: %d\r\n\r\n" % len(token) + token)
    beside(trial, Crowd(trial.server.address("http"), 64, forever(request * 64)), "greedy http")
