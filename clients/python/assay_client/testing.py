"""Fakes for unit tests: clients without a server.

    fake = FakeClient()
    fake.accept("token", transaction=JWSTransactionDecodedPayload(product_id="gold"))
    fake.name("token", original_transaction_id="470001", is_superseded=True)
    fake.fail("later", StatusError("busy", Status.RESOURCE_EXHAUSTED, 0.1))
    assert fake.verify("token").is_valid

What a test did not announce is MALFORMED; a Fetch is FAILED_PRECONDITION, as by a server without a
key of Apple's. `calls` lists the requests: head and body.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union

from ._aio import AsyncClient
from ._blocking import Client
from ._calls import Evidence, data_of
from ._checks import check, check_text, wrong
from .errors import AssayError, ClientClosed, StatusError
from .messages import (
    Entitlements, EvidenceKind, Fetched, HealthResult, Pong, RequestHead, Resolution, ResolvedItem,
    ResponseHead, ServerInfo, ServingStatus, Status, Verdict, Verification)

Outcome = Union[Verification, AssayError]


class AsyncFakeClient(AsyncClient):
    """An AsyncClient that answers as the test says."""

    def __init__(self) -> None:
        self.calls: List[Tuple[RequestHead, bytes]] = []
        self.outcomes: Dict[bytes, Outcome] = {}
        self.names: Dict[bytes, Dict[str, Any]] = {}
        self.is_serving = True
        self.server_info = ServerInfo(version="0.0.0")
        self.entitlements = Entitlements()
        """The answer to every Resolve."""
        self.customers: Dict[Union[str, bytes], Union[Fetched, AssayError]] = {}
        """The answers to a Fetch, by transaction or evidence."""
        self._is_closed = False

    def accept(self, evidence: Evidence, **members: Any) -> None:
        """Answers VALID for this evidence. `members` are those of Verification."""
        self.outcomes[data_of(evidence)] = _checked(Verification(verdict=Verdict.VALID, **members))

    def name(self, evidence: Evidence, **members: Any) -> None:
        """Answers a Resolve of this evidence with these members of ResolvedItem."""
        self.names[data_of(evidence)] = members

    def refuse(self, evidence: Evidence, verdict: Verdict, detail: str = "refused by the test") -> None:
        """Answers with this verdict for this evidence."""
        self.outcomes[data_of(evidence)] = _checked(Verification(verdict=verdict, detail=detail))

    def fail(self, evidence: Evidence, error: AssayError) -> None:
        """Raises this error for this evidence; in a Resolve, for the whole call."""
        _check_error(error)
        self.outcomes[data_of(evidence)] = error

    def own(
        self, transaction_id: str, entitlements: Entitlements, environment: str = "Production"
    ) -> None:
        """Answers a Fetch of this transaction with these entitlements."""
        check_text("transaction_id", transaction_id)
        self._own(transaction_id, entitlements, environment)

    def own_by_evidence(
        self, evidence: Evidence, entitlements: Entitlements, environment: str = "Production"
    ) -> None:
        """Answers a Fetch by this evidence with these entitlements."""
        self._own(data_of(evidence), entitlements, environment)

    def _own(self, name: Union[str, bytes], entitlements: Entitlements, environment: str) -> None:
        check(entitlements, Entitlements, "entitlements")
        self.customers[name] = Fetched(environment=environment, entitlements=entitlements)

    def fail_fetch(self, transaction_id: str, error: AssayError) -> None:
        """Raises this error for a Fetch of this transaction."""
        check_text("transaction_id", transaction_id)
        _check_error(error)
        self.customers[transaction_id] = error

    async def close(self) -> None:
        self._is_closed = True

    async def _send(
        self, head: RequestHead, body: bytes, timeout: Optional[float]
    ) -> Tuple[ResponseHead, bytes]:
        if self._is_closed:
            raise ClientClosed("the client is closed")
        self.calls.append((head, body))
        if head.verify is not None:
            return ResponseHead(verification=self._verification(body, head.verify.kind)), b""
        if head.resolve is not None:
            items, start = [], 0
            for item in head.resolve.items:
                end = start + (item.length or 0)
                evidence = body[start:end]
                items.append(ResolvedItem(
                    label=item.label, verification=self._verification(evidence, item.kind),
                    **self.names.get(evidence, {})))
                start = end
            return ResponseHead(resolution=Resolution(items=items, entitlements=self.entitlements)), b""
        if head.fetch is not None:
            return ResponseHead(fetched=self._customer(head.fetch.transaction_id or body)), b""
        status = ServingStatus.SERVING if self.is_serving else ServingStatus.NOT_SERVING
        return ResponseHead(health=HealthResult(status=status), info=self.server_info, pong=Pong()), b""

    def _verification(self, evidence: bytes, kind: Union[EvidenceKind, int, None]) -> Verification:
        outcome = self.outcomes.get(evidence)
        if isinstance(outcome, AssayError):
            raise outcome
        return outcome or Verification(verdict=Verdict.MALFORMED, detail="unknown to the fake", kind=kind)

    def _customer(self, name: Union[str, bytes]) -> Fetched:
        customer = self.customers.get(name) or StatusError(
            "Fetch is not configured", Status.FAILED_PRECONDITION)
        if isinstance(customer, AssayError):
            raise customer
        return customer


def _checked(verification: Verification) -> Verification:
    check(verification, Verification, "")
    return verification


def _check_error(error: AssayError) -> None:
    if not isinstance(error, AssayError):
        raise wrong("error", error, "an AssayError", "write StatusError(message, status)")


class FakeClient(Client):
    """A Client that answers as the test says: `fake` has what it answers and what it was asked."""

    def __init__(self) -> None:
        self.fake = AsyncFakeClient()
        self.accept, self.refuse, self.fail = self.fake.accept, self.fake.refuse, self.fake.fail
        self.name = self.fake.name
        self.own, self.fail_fetch = self.fake.own, self.fake.fail_fetch
        self.own_by_evidence = self.fake.own_by_evidence
        self.calls = self.fake.calls

    @property
    def _mine(self) -> AsyncClient:
        return self.fake
