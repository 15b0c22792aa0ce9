"""Mistakes of callers: each is an error that names the argument, and nothing is sent."""
import asyncio
import dataclasses
import json
import pathlib
import ssl
import unittest
from datetime import date, datetime, timedelta, timezone

import assay_client
from assay_client import (
    ABSENT, TLS, AsyncClient, Client, EntitlementPolicy, EvidenceKind, Expectations, InAppSelection, Item,
    ProtocolError, StatusError, StoreList, Verdict)
from assay_client._codec import decode, encode
from assay_client.messages import Verification
from assay_client.testing import FakeClient

BUNDLE = "com.example.game"
KINDS = "there are TRANSACTION, RENEWAL_INFO, APP_TRANSACTION, .*, HUAWEI_NOTIFICATION"
HTTP = "^the peer is not an Assay server: this is HTTP: the port of --listen http://; a client needs"
TLS_PORT = "^the peer is not an Assay server: this is TLS: write tls://"


def misspelt(message, **members):
    for name, value in members.items():
        setattr(message, name, value)
    return message


class ArgumentTests(unittest.TestCase):
    def setUp(self):
        self.fake = FakeClient()
        self.fake.accept("a")

    def refuses(self, error, table):
        for call, message in table:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                call()
        self.assertEqual(self.fake.calls, [])

    def test_names_that_there_are_not(self):
        verify = self.fake.verify
        self.refuses(TypeError, [
            (lambda: Expectations(bundleId=BUNDLE), "bundleId"),
            (lambda: EntitlementPolicy(max_age=1), "max_age"),
            (lambda: Item("a", king=EvidenceKind.TRANSACTION), "king"),
            (lambda: verify("a", expectation=Expectations(bundle_id=BUNDLE)), "expectation"),
            (lambda: verify("a", bundle_id=BUNDLE), "bundle_id"),
            (lambda: verify("a", expectations=misspelt(Expectations(), bundleId=BUNDLE)),
             r"^expectations\.bundleId: do you mean bundle_id\?$"),
            (lambda: verify("a", expectations=misspelt(Expectations(), color=1)),
             r"^expectations\.color: unknown; there are bundle_id, "),
            (lambda: self.fake.resolve([misspelt(Item("a"), kinds=1)]), r"^items\[0\]\.kinds: do you mean kind\?$"),
            (lambda: self.fake.fetch("1", list=[StoreList.HISTORY]), "list"),
            (lambda: self.fake.ping(app="game"), "app"),
            (lambda: list(self.fake.verify_many(["a"], expectation=1)), "expectation"),
            (lambda: Client("unix:/a", time_out=1), r"^time_out: do you mean timeout\?$"),
            (lambda: AsyncClient("unix:/a", timeouts=1), r"^timeouts: do you mean timeout\?$"),
            (lambda: Client("unix:/a", options=1), "^options: unknown; there are timeout, "),
        ])

    def test_evidence(self):
        verify, resolve = self.fake.verify, self.fake.resolve
        self.refuses(TypeError, [
            (lambda: verify(None), "^evidence is None, not bytes or a str$"),
            (lambda: verify(7), "^evidence is an int, not bytes"),
            (lambda: verify(["a"]), "^evidence is a list, not bytes or a str: resolve takes several items"),
            (lambda: verify({"signedPayload": "a"}), "^evidence is a dict, .*: pass the member that"),
            (lambda: verify(Item("a")), "^evidence is an Item, .*: pass its evidence and its kind$"),
            (lambda: verify(pathlib.Path("a")), "^evidence is a .*Path, .*: read the file$"),
            (lambda: resolve("token"), "^items is a str, not a list of evidence: put it into a list$"),
            (lambda: resolve(b"token"), "^items is bytes, not a list of evidence: put it into a list$"),
            (lambda: resolve(Item("a")), "^items is an Item, not a list of evidence: put it into a list$"),
            (lambda: resolve({"evidence": "a"}), "^items is a dict, not a list"),
            (lambda: resolve(None), "^items is None, not a list of evidence$"),
            (lambda: resolve(7), "^items is an int, not a list of evidence$"),
            (lambda: resolve(["a", {"evidence": "a"}]),
             r"^items\[1\] is a dict, not bytes, a str or an Item: write Item\(evidence, kind, label\)$"),
            (lambda: resolve([("a", EvidenceKind.TRANSACTION)]), r"^items\[0\] is a tuple, .*: write Item"),
            (lambda: resolve([None]), r"^items\[0\] is None, not bytes, a str or an Item$"),
            (lambda: resolve(["a", Item(None)]), r"^items\[1\]\.evidence is None, not bytes or a str$"),
            (lambda: resolve([Item("a", "transaction")]), r"^items\[0\]\.kind is a str, not an EvidenceKind"),
            (lambda: resolve([Item("a", label=7)]), r"^items\[0\]\.label is an int, not a str$"),
            (lambda: self.fake.verify_many("token"), "^evidence is a str, not an iterable of evidence: put it"),
            (lambda: self.fake.verify_many(7), "^evidence is an int, not an iterable of evidence$"),
            (lambda: self.fake.verify_many(["a"], window="7"), "^window is a str, not an int$"),
            (lambda: list(self.fake.verify_many([None])), "^evidence is None, not bytes"),
        ])
        self.refuses(ValueError, [(lambda: self.fake.verify_many(["a"], window=0), "^window is not above 0: 0$")])

    def test_kinds(self):
        verify = self.fake.verify
        self.refuses(TypeError, [
            (lambda: verify("a", "TRANSACTION"),
             f"^kind is a str, not an EvidenceKind: write EvidenceKind.TRANSACTION; {KINDS}$"),
            (lambda: verify("a", kind="transaction"), "^kind is a str, .*: write EvidenceKind.TRANSACTION; there"),
            (lambda: verify("a", kind="app-receipt"), "^kind is a str, .*: write EvidenceKind.APP_RECEIPT; there"),
            (lambda: verify("a", kind="auto"), f"^kind is a str, not an EvidenceKind: {KINDS} of EvidenceKind$"),
            (lambda: verify("a", kind=EvidenceKind), "^kind is the class EvidenceKind, not an EvidenceKind: there"),
            (lambda: verify("a", kind=True), "^kind is True, not an EvidenceKind"),
            (lambda: verify("a", kind=StoreList.HISTORY), "^kind is StoreList.HISTORY, not an EvidenceKind"),
            (lambda: verify("a", kind=Expectations(bundle_id=BUNDLE)), "^kind is an Expectations, not an"),
            (lambda: verify("a", in_app="latest"), r"^in_app is a str, not an InAppSelection: write .*\.LATEST; "),
            (lambda: self.fake.fetch("1", lists=["HISTORY"]),
             r"^lists\[0\] is a str, not a StoreList: write StoreList.HISTORY; there are STATUSES, HISTORY$"),
            (lambda: self.fake.fetch("1", lists="HISTORY"), "^lists is a str, not a list of StoreList: put it"),
            (lambda: self.fake.fetch("1", lists=StoreList.HISTORY), "^lists is StoreList.HISTORY, not a list of"),
            (lambda: self.fake.fetch("1", lists=None), "^lists is None, not a list of StoreList$"),
        ])
        # The number of a newer version, and no kind at all, are for the server to refuse.
        for kind in (99, None, EvidenceKind.TRANSACTION):
            self.assertTrue(self.fake.verify("a", kind, in_app=InAppSelection.LATEST).is_valid)

    def test_messages(self):
        verify, resolve = self.fake.verify, self.fake.resolve
        self.refuses(TypeError, [
            (lambda: verify("a", expectations={"bundle_id": BUNDLE, "environment": "Sandbox"}),
             r"^expectations is a dict, not an Expectations: write Expectations\(bundle_id=\.\.\., environments="),
            (lambda: verify("a", expectations={"bundleId": BUNDLE}), r": write Expectations\(bundle_id=\.\.\.\)$"),
            (lambda: verify("a", expectations={}), r"^expectations is a dict, .*: write Expectations\(bundle_id="),
            (lambda: verify("a", expectations=BUNDLE), "^expectations is a str, not an Expectations: write"),
            (lambda: verify("a", expectations=Expectations), "^expectations is the class Expectations, not an"),
            (lambda: verify("a", expectations=EntitlementPolicy()), "^expectations is an EntitlementPolicy, not"),
            (lambda: verify("a", expectations=Expectations(environments="Production")),
             r"^expectations\.environments is a str, not a list: write \['Production'\]$"),
            (lambda: verify("a", expectations=Expectations(bundle_id=7)), r"^expectations\.bundle_id is an int, not"),
            (lambda: verify("a", expectations=Expectations(bundle_id=b"x")), "is bytes, not a str: decode them$"),
            (lambda: verify("a", expectations=Expectations(product_ids=[7])), r"product_ids\[0\] is an int, not a str"),
            (lambda: verify("a", expectations=Expectations(app_apple_id="7")), "app_apple_id is a str, not an int$"),
            (lambda: verify("a", expectations=Expectations(not_older_than=7.5)), "not_older_than is a float, not an"),
            (lambda: verify("a", expectations=Expectations(device_identifier="7E")), "is a str, not bytes$"),
            (lambda: resolve(["a"], policy={"max_age_ms": 1}),
             r"^policy is a dict, not an EntitlementPolicy: write EntitlementPolicy\(max_age_ms=\.\.\.\)$"),
            (lambda: resolve(["a"], policy=EntitlementPolicy(durations=[{"product_id": "x"}])),
             r"^policy\.durations\[0\] is a dict, not a ProductDuration: write ProductDuration\(product_id="),
            (lambda: resolve(["a"], policy=EntitlementPolicy(durations={"x": 1})), "durations is a dict, not a list"),
            (lambda: resolve(["a"], policy=EntitlementPolicy(refuse_family_sharing="no")), "is a str, not a bool$"),
        ])
        self.refuses(ValueError, [
            (lambda: verify("a", expectations=Expectations(app_apple_id=1 << 63)), "app_apple_id is out of range"),
        ])
        self.assertTrue(verify("a", expectations=Expectations(
            bundle_id=BUNDLE, environments=("Production",), app_apple_id=(1 << 63) - 1)).is_valid)

    def test_expectations_that_are_given_and_empty(self):
        remedy = ": give a value, or leave it out to accept any$"
        accept = lambda **members: lambda: self.fake.verify("a", expectations=Expectations(**members))
        assign = lambda name, value: lambda: self.fake.resolve(
            ["a"], expectations=misspelt(Expectations(bundle_id=BUNDLE), **{name: value}))
        fields = [name for name, _, _ in Expectations.FIELDS.values()]
        self.assertGreater(len(fields), 9)
        for name in fields:
            for given in (accept(**{name: None}), assign(name, None)):
                self.refuses(TypeError, [(given, rf"^expectations\.{name} is None" + remedy)])
            empty = {int: (), str: ("",), bytes: (b"", bytearray())}
            values = {"environments": ([],), "product_ids": ((), []), "other_device_identifiers": ([],)}
            kind = {"string": str, "bytes": bytes}.get(
                next(of for known, of, _ in Expectations.FIELDS.values() if known == name), int)
            for value in values.get(name, empty[kind]):
                for given in (accept(**{name: value}), assign(name, value)):
                    self.refuses(ValueError, [(given, rf"^expectations\.{name} is empty" + remedy)])
        self.refuses(ValueError, [
            (accept(product_ids=["gold", ""]), r"^expectations\.product_ids\[1\] is empty" + remedy),
            (lambda: self.fake.resolve(["a"], policy=EntitlementPolicy(expected_app_account_token="")),
             r"^policy\.expected_app_account_token is empty" + remedy),
            (lambda: self.fake.fetch("1", policy=EntitlementPolicy(expected_app_account_token="")),
             r"^policy\.expected_app_account_token is empty" + remedy),
        ])
        self.refuses(TypeError, [
            (accept(product_ids=[None]), r"^expectations\.product_ids\[0\] is None" + remedy),
            (lambda: self.fake.resolve(["a"], policy=EntitlementPolicy(expected_app_account_token=None)),
             r"^policy\.expected_app_account_token is None" + remedy),
        ])
        # What is absent stays absent, in a copy as well.
        absent = dataclasses.replace(Expectations(app_account_token="7e3fb204"), app_account_token=ABSENT)
        self.assertEqual(absent, Expectations())
        self.assertFalse(ABSENT)
        self.assertEqual(encode(absent), b"")
        for expectations in (None, absent, Expectations(app_account_token="7e3fb204", app_apple_id=0)):
            self.assertTrue(self.fake.verify("a", expectations=expectations).is_valid)

    def test_other_arguments(self):
        verify, resolve, fetch = self.fake.verify, self.fake.resolve, self.fake.fetch
        self.refuses(TypeError, [
            (lambda: verify("a", app=7), "^app is an int, not a str$"),
            (lambda: verify("a", app=None), "^app is None, not a str$"),
            (lambda: verify("a", app=b"game"), "^app is bytes, not a str: decode them$"),
            (lambda: verify("a", json="no"), "^json is a str, not a bool$"),
            (lambda: verify("a", typed=0), "^typed is an int, not a bool$"),
            (lambda: verify("a", may_wait=None), "^may_wait is None, not a bool$"),
            (lambda: verify("a", in_app_product_id=7), "^in_app_product_id is an int, not a str$"),
            (lambda: verify("a", timeout="2"), "^timeout is a str, not a number of seconds$"),
            (lambda: verify("a", timeout=timedelta(seconds=2)), r"^timeout is a timedelta, .*: write its total_sec"),
            (lambda: self.fake.ping(timeout=True), "^timeout is True, not a number of seconds$"),
            (lambda: resolve(["a"], json=1), "^json is an int, not a bool$"),
            (lambda: resolve(["a"], typed="yes"), "^typed is a str, not a bool$"),
            (lambda: resolve(["a"], at="2026-11-22"), "^at is a str, not a datetime or an int, milliseconds since"),
            (lambda: resolve(["a"], at=1.7e9), r"^at is a float, .*: write int\(1000 \* seconds\)$"),
            (lambda: resolve(["a"], at=date(2026, 11, 22)), "^at is a date, not a datetime"),
            (lambda: fetch(1), "^transaction_id is an int, not a str$"),
            (lambda: fetch(None), "^transaction_id is None, not a str$"),
            (lambda: fetch(b"1"), "^transaction_id is bytes, not a str: decode them$"),
            (lambda: fetch("1", typed="yes"), "^typed is a str, not a bool$"),
            (lambda: fetch("1", at="now"), "^at is a str, not a datetime"),
        ])
        self.refuses(ValueError, [(lambda: self.fake.ping(timeout=float("nan")), "^timeout is not a number: nan$")])
        self.assertTrue(verify("a", app="", json=True, typed=False, may_wait=True, timeout=2).is_valid)
        moment = datetime(2026, 11, 22, tzinfo=timezone.utc)
        self.assertEqual(len(resolve((one for one in ["a", "a"]), at=moment, timeout=0.5).items), 2)

    def test_clients(self):
        self.refuses(TypeError, [
            (lambda: Client(7), "^addresses is an int, not a str or a list of them$"),
            (lambda: Client(b"unix:/a"), "^addresses is bytes, not a str"),
            (lambda: Client({"unix:/a": 1}), "^addresses is a dict, not a str"),
            (lambda: Client(["unix:/a", None]), r"^addresses\[1\] is None, not a str$"),
            (lambda: Client([b"unix:/a"]), r"^addresses\[0\] is bytes, not a str: decode them$"),
            (lambda: Client("unix:/a", timeout="2"), "^timeout is a str, not a number of seconds$"),
            (lambda: Client("unix:/a", timeout=None), "^timeout is None, not a number of seconds$"),
            (lambda: Client("unix:/a", longest_wait="1"), "^longest_wait is a str, not a number of seconds$"),
            (lambda: Client("unix:/a", in_flight_limit=1.5), "^in_flight_limit is a float, not an int$"),
            (lambda: Client("unix:/a", retries_once="no"), "^retries_once is a str, not a bool$"),
            (lambda: Client("tls://a:1", tls="ca.pem"), r"^tls is a str, .*: write TLS\(authority=FILE\)$"),
            (lambda: Client("tls://a:1", tls=True), "^tls is True, not a TLS or an ssl.SSLContext"),
            (lambda: Client("tls://a:1", tls={"authority": "ca.pem"}), "^tls is a dict, not a TLS"),
            (lambda: TLS(authority=b"ca.pem"), r"^tls\.authority is bytes, not a str: decode them$"),
            (lambda: TLS(server_name=7), r"^tls\.server_name is an int, not a str$"),
            (lambda: self.fake.refuse("b", "WRONG_BUNDLE"), r"^verdict is a str, .*: write Verdict.WRONG_BUNDLE; "),
            (lambda: self.fake.accept("b", transaction={"product_id": "gold"}), "^transaction is a dict, not a JWS"),
            (lambda: self.fake.fail("b", "busy"), "^error is a str, not an AssayError"),
            (lambda: self.fake.own("1", None), "^entitlements is None, not an Entitlements"),
            (lambda: self.fake.fail_fetch(1, StatusError("busy", 8)), "^transaction_id is an int"),
        ])
        self.refuses(ValueError, [
            (lambda: Client("unix:/a", timeout=0), "^timeout is not above 0: 0$"),
            (lambda: Client("unix:/a", waiting_limit=0), "^waiting_limit is not above 0: 0$"),
            (lambda: TLS(certificate="-----BEGIN CERTIFICATE-----"), r"^tls\.certificate is the text of a PEM file"),
        ])
        context = ssl.create_default_context()
        for made in (Client(("unix:/a",), longest_wait=None), Client("tls://a:1", tls=context, timeout=1)):
            made.close()


class EnumerationTests(unittest.TestCase):
    def test_an_enumerator_is_written_as_its_name(self):
        verdict = Verdict.VALID
        for text, written in [
            (str(verdict), "VALID"), (f"{verdict}", "VALID"), (f"{verdict:>7}|", "  VALID|"), ("%s" % verdict, "VALID"),
            ("{}".format(EvidenceKind.APP_RECEIPT), "APP_RECEIPT"), (f"{Verdict.MISMATCH:d}", "15"),
            (f"{Verdict.MISMATCH:02x}", "0f"), ("%d" % verdict, "1"), (repr(verdict), "<Verdict.VALID: 1>"),
            (json.dumps({"verdict": verdict}), '{"verdict": 1}'), (json.dumps([verdict.name]), '["VALID"]'),
        ]:
            with self.subTest(written):
                self.assertEqual(text, written)

    def test_an_enumerator_is_a_number(self):
        self.assertTrue(Verdict.VALID == 1 and 1 == Verdict.VALID and Verdict.MALFORMED > Verdict.VALID)
        self.assertEqual((int(Verdict.VALID), Verdict(1), {1: "a"}[Verdict.VALID]), (1, Verdict.VALID, "a"))
        # A verdict of a newer server has no name here.
        self.assertEqual(str(assay_client.Verified(decode(Verification, b"\x08\x63")).verdict), "99")


class OtherProtocolTests(unittest.TestCase):
    def test_a_peer_of_another_protocol_is_named(self):
        for answer, message in [
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", HTTP), (b"HTTP/1.0 400 Bad Request\r\n\r\n", HTTP),
            (b"HTTP", HTTP), (bytes.fromhex("15030300020228"), TLS_PORT), (bytes.fromhex("16030100"), TLS_PORT),
            (b"HTTQ", "not a frame: its length would be 1213486161$"), (b"SSH-2.0-x", "its length would be"),
        ]:
            with self.subTest(answer), self.assertRaisesRegex(ProtocolError, message):
                asyncio.run(ask(answer))


async def ask(answer):
    """Pings a peer that answers the first bytes with these."""
    gone = asyncio.Event()

    async def play(reader, writer):
        await reader.read(1)
        writer.write(answer)
        while await reader.read(1024):
            pass
        writer.close()
        gone.set()

    server = await asyncio.start_server(play, "127.0.0.1", 0)
    async with server:
        try:
            async with AsyncClient(f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}") as client:
                await client.ping(timeout=5)
        finally:
            await gone.wait()


if __name__ == "__main__":
    unittest.main()
