"""Floods of unknown certificate chains."""
import time

from assay.v1 import assay_pb2 as assay
from hostile.flood import HOLD, Flood
from hostile.trial import attack
from wire import frame, verify

CONNECTIONS = 50
# The rate that one process can encode and send beside the server on two processors.
PER_SECOND = 2500


def flood(trial, forged):
    """Forged chains with the longest timeout from 50 connections, and genuine new ones."""
    trial.serve()
    total, tries = trial.scale((100_000, 20), (12_000, 4))
    evidence = [trial.evidence.authority.genuine() for _ in range(tries)]

    def script(_):
        for id in range(1, total // CONNECTIONS + 1):
            yield frame(*verify(id, assay.EVIDENCE_KIND_TRANSACTION, next(forged)))
            yield CONNECTIONS / PER_SECOND
        yield HOLD

    known = trial.honest()
    # Wait until the queue is full.
    attackers = trial.attackers(Flood(trial.server.address("tcp"), CONNECTIONS, script).run)
    time.sleep(trial.scale(3, 1.5))
    new = trial.honest(evidence=evidence, in_turn=True, warm_up=False, per_second=0.6)
    seen = new.wait()
    trial.saw(seen, refused_most=None, p99_most=2000, label="new chains")
    trial.saw(known.result(), p99_most=trial.p99_bound(50, 0))
    attackers.stop()
    trial.memory()


@attack("forged-chains", "82")
def forged_chains(trial):
    """100,000 forged chains with long timeouts from 50 connections, under the pinned root's own
    intermediate. A genuine new chain is valid within 2 s in 20 of 20 tries.
    """
    flood(trial, trial.evidence.authority.forged())


@attack("self-made-chains", "82")
def self_made_chains(trial):
    """The same with the attackers' own intermediates, which have the genuine one's name."""
    flood(trial, trial.evidence.authority.self_made())
