"""Tests of the clients beside the conformance suite: threads, tasks, forks, errors, the fake."""
import asyncio
import copy
import multiprocessing
import os
import pickle
import threading
import unittest
from datetime import datetime, timezone

import assay_client
from assay_client import (
    AddressError, AsyncClient, Client, ClientClosed, ConnectError, DeadlineExceeded, Entitlements,
    EvidenceKind, Item, RequestTooLarge, Status, StatusError, StoreList, Verdict)
from assay_client._address import parse_address, parse_addresses
from assay_client._calls import PAYLOADS
from assay_client._codec import decode, encode
from assay_client.messages import (
    EvidenceItem, GooglePurchase, JWSTransactionDecodedPayload, Pong, RequestHead, ResponseHead, Verification)
from assay_client.testing import AsyncFakeClient, FakeClient

ADDRESS = os.environ.get("ASSAY_ADDRESS")
TOKEN = os.environ.get("ASSAY_EXAMPLE_TOKEN")


class AddressTests(unittest.TestCase):
    def test_addresses(self):
        for text, shown in [
            ("tcp://127.0.0.1:7443", None), ("tls://assay.example.com:7443", None), ("tcp://[::1]:1", None),
            ("unix:/run/assay.sock", None), ("unix:@abstract", None), ("tcp://h:0", None),
        ]:
            self.assertEqual(str(parse_address(text)), shown or text)
        for text in ["", "tcp://", "tcp://:1", "tcp://h", "tcp://h:", "tcp://h:65536", "tcp://h:x", "tcp://h:-1",
                     "tcp://h:\u0661", "tcp://::1:7443", "unix:", "http://h:1", "h:7443", "TCP://h:1"]:
            with self.subTest(text), self.assertRaises(AddressError):
                parse_address(text)

    def test_several(self):
        both = ["tcp://a:1", "unix:/b"]
        for given in ["tcp://a:1,unix:/b", "tcp://a:1 unix:/b", both, tuple(both)]:
            self.assertEqual([str(one) for one in parse_addresses(given)], both)
        for given in ["", [], ","]:
            with self.assertRaises(AddressError):
                parse_addresses(given)


class ErrorTests(unittest.TestCase):
    def test_errors_survive_a_copy(self):
        # A pool of processes pickles errors.
        for error in [
            StatusError("busy", int(Status.RESOURCE_EXHAUSTED), 0.25), StatusError("", 99), ConnectError("no"),
            RequestTooLarge("large"), StatusError("unknown", int(Status.NOT_FOUND), None, 4040010),
        ]:
            for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
                self.assertEqual(
                    (type(again), str(again), again.retryable, again.retry_after, vars(again)),
                    (type(error), str(error), error.retryable, error.retry_after, vars(error)))

    def test_statuses(self):
        for number, name, pause, retryable in [
            (8, "RESOURCE_EXHAUSTED", 0.1, True), (8, "RESOURCE_EXHAUSTED", None, False),
            (14, "UNAVAILABLE", None, True), (5, "NOT_FOUND", None, False), (99, "UNKNOWN", None, False),
            (-1, "UNKNOWN", None, False),
        ]:
            error = StatusError("", number, pause)
            self.assertEqual((error.status.name, error.retryable), (name, retryable))
            self.assertIn(name, str(error))


class FakeTests(unittest.TestCase):
    def setUp(self):
        self.fake = FakeClient()
        self.fake.accept("token", transaction=JWSTransactionDecodedPayload(product_id="gold"))
        self.fake.refuse(b"old", Verdict.INVALID_SIGNATURE)
        self.fake.fail("busy", StatusError("busy", 8, 0.1))

    def test_blocking(self):
        answer = self.fake.verify("token", EvidenceKind.TRANSACTION, app="game")
        self.assertTrue(answer.is_valid)
        self.assertEqual(answer.payload.product_id, "gold")
        self.assertEqual(self.fake.calls[-1][0].app, "game")
        self.assertEqual(self.fake.calls[-1][1], b"token")
        self.assertEqual(self.fake.verify("old").verdict, Verdict.INVALID_SIGNATURE)
        self.assertEqual(self.fake.verify("other").verdict, Verdict.MALFORMED)
        with self.assertRaises(StatusError) as caught:
            self.fake.verify("busy")
        self.assertEqual(caught.exception.retry_after, 0.1)

    def test_the_payload_of_each_kind(self):
        self.assertEqual(
            [kind.name.lower() for kind in EvidenceKind if kind != EvidenceKind.UNSPECIFIED], list(PAYLOADS))
        self.fake.accept("purchase", google_purchase=GooglePurchase(product_ids=["gold"]))
        answer = self.fake.verify("purchase", EvidenceKind.GOOGLE_PURCHASE)
        self.assertEqual(answer.payload.product_ids, ["gold"])

    def test_other_calls(self):
        self.assertTrue(self.fake.health())
        self.fake.fake.is_serving = False
        self.assertFalse(self.fake.health())
        self.assertEqual(self.fake.info().version, "0.0.0")
        self.fake.ping()
        answer = self.fake.resolve(["token", Item("old", label="second")])
        self.assertEqual([item.is_valid for item in answer.items], [True, False])
        self.assertEqual(answer.items[1].label, "second")
        self.assertFalse(answer.items[0].is_superseded)
        self.fake.name("token", is_superseded=True, original_transaction_id="470001", subtype="UPGRADE")
        first, second = self.fake.resolve(["token", "old"]).items
        self.assertEqual(
            (first.is_superseded, first.original_transaction_id, first.subtype), (True, "470001", "UPGRADE"))
        self.assertEqual((second.is_superseded, second.original_transaction_id), (False, None))
        self.fake.close()
        with self.assertRaises(ClientClosed):
            self.fake.ping()

    def test_fetch(self):
        self.fake.own("470001", Entitlements(is_stale=True), environment="Sandbox")
        self.fake.fail_fetch("1", StatusError("unknown", Status.NOT_FOUND, None, 4040010))
        moment = datetime(2026, 11, 22, tzinfo=timezone.utc)
        answer = self.fake.fetch("470001", lists=[StoreList.HISTORY], at=moment, app="game")
        self.assertEqual((answer.environment, answer.items, answer.revision), ("Sandbox", [], None))
        self.assertTrue(answer.entitlements.is_stale)
        head, body = self.fake.calls[-1]
        self.assertEqual((head.app, body, head.fetch.lists), ("game", b"", [StoreList.HISTORY]))
        self.assertEqual(head.fetch.at, 1_795_305_600_000)
        for transaction_id, status, code in [
            ("1", Status.NOT_FOUND, 4040010), ("2", Status.FAILED_PRECONDITION, None),
        ]:
            with self.assertRaises(StatusError) as caught:
                self.fake.fetch(transaction_id)
            self.assertEqual((caught.exception.status, caught.exception.app_store_error_code), (status, code))

    def test_fetch_by_evidence(self):
        self.fake.own_by_evidence("token", Entitlements(is_stale=True), environment="Sandbox")
        answer = self.fake.fetch_by_evidence(b"token", lists=[StoreList.HISTORY], app="game")
        self.assertEqual((answer.environment, answer.entitlements.is_stale), ("Sandbox", True))
        head, body = self.fake.calls[-1]
        self.assertEqual((head.app, body, head.fetch.transaction_id), ("game", b"token", ""))
        with self.assertRaises(StatusError) as caught:
            self.fake.fetch_by_evidence("another")
        self.assertEqual(caught.exception.status, Status.FAILED_PRECONDITION)
        with self.assertRaises(TypeError):
            self.fake.fetch_by_evidence(470001)

    def test_many(self):
        verdicts = [one.is_valid for one in self.fake.verify_many(["token", "old"] * 5, window=3)]
        self.assertEqual(verdicts, [True, False] * 5)
        with self.assertRaises(StatusError):
            list(self.fake.verify_many(["token", "busy"]))
        self.assertEqual(list(self.fake.verify_many([])), [])

    def test_asyncio(self):
        async def run():
            fake = AsyncFakeClient()
            fake.accept("token")
            return (await fake.verify("token")).is_valid, (await fake.verify("other")).is_valid

        self.assertEqual(asyncio.run(run()), (True, False))


class RequestTests(unittest.TestCase):
    def test_moments(self):
        fake = FakeClient()
        for moment in (1_700_000_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)):
            fake.resolve(["a"], at=moment)
            self.assertEqual(fake.calls[-1][0].resolve.at, 1_700_000_000_000)

    def test_absent_is_not_zero(self):
        for head in (RequestHead(), RequestHead(id=0, app=""), ResponseHead(pong=Pong())):
            self.assertEqual(decode(type(head), encode(head)), head)
        self.assertEqual(encode(EvidenceItem(length=0)), b"\x10\0")

    def test_unknown_enumerators(self):
        verification = decode(Verification, b"\x08\x63")
        self.assertEqual(verification.verdict, 99)
        self.assertFalse(assay_client.Verified(verification).is_valid)


async def silent_server():
    """Returns a server that never answers."""
    return await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)


class LoopTests(unittest.TestCase):
    def test_a_client_belongs_to_one_loop(self):
        client = AsyncClient("tcp://127.0.0.1:1")
        for expected in (ConnectError, RuntimeError):
            with self.assertRaises(expected):
                asyncio.run(client.ping())

    def test_a_closed_client(self):
        client = Client("tcp://127.0.0.1:1")
        client.close()
        client.close()
        with self.assertRaises(ClientClosed):
            client.ping()

    def test_close_ends_calls_in_flight(self):
        async def run():
            server = await silent_server()
            client = AsyncClient(f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            call = asyncio.ensure_future(client.ping())
            await asyncio.sleep(0.1)
            await client.close()
            with self.assertRaises(ClientClosed):
                await call
            server.close()

        asyncio.run(run())

    def test_a_deadline_ends_a_connection_attempt(self):
        async def run():
            server = await silent_server()
            # The server speaks no TLS, so the handshake never ends.
            client = AsyncClient(f"tls://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            with self.assertRaises(DeadlineExceeded):
                await client.ping(timeout=0.1)
            await client.close()
            server.close()

        asyncio.run(run())


def ping_in_child(client, results):
    client.ping()
    results.put(os.getpid())


@unittest.skipUnless(ADDRESS and TOKEN, "no server: ASSAY_ADDRESS and ASSAY_EXAMPLE_TOKEN are not set")
class ServerTests(unittest.TestCase):
    def test_threads_share_a_client(self):
        with open(TOKEN, "rb") as file:
            token = file.read()
        failures = []

        def work(client):
            for _ in range(25):
                if not client.verify(token).is_valid or client.verify(b"x").is_valid:
                    failures.append(1)

        with Client() as client:
            threads = [threading.Thread(target=work, args=(client,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])

    def test_a_forked_process_connects_anew(self):
        context = multiprocessing.get_context("fork")
        with Client() as client:
            client.ping()
            results = context.Queue()
            child = context.Process(target=ping_in_child, args=(client, results))
            child.start()
            self.assertEqual(results.get(timeout=20), child.pid)
            child.join()
            client.ping()

    def test_many(self):
        with open(TOKEN, "rb") as file:
            token = file.read()
        with Client() as client:
            verdicts = [one.is_valid for one in client.verify_many([token, b"x"] * 500, window=200, typed=False)]
        self.assertEqual(verdicts, [True, False] * 500)


if __name__ == "__main__":
    unittest.main()
