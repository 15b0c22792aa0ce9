"""The client for asyncio."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple, Union

from . import _calls as calls
from ._address import parse_addresses
from ._calls import Evidence, FetchAnswer, Item, Moment, Resolved, Verified
from ._channel import LONGEST_TIMEOUT, Channel, options_of
from ._checks import check_seconds
from .messages import (
    EntitlementPolicy, EvidenceKind, Expectations, HealthCall, InAppSelection, InfoCall, PingCall, RequestHead,
    ResponseHead, ServerInfo, StoreList)


class AsyncClient:
    """A client of a server, or of several that take over from each other, for asyncio.

    All tasks of one event loop share it: their calls share one connection, and answers arrive in
    any order. It connects at the first call, repeats a call once after a lost connection, and
    continues with the next address when a server fails or drains.

    `addresses` are tcp://HOST:PORT, tls://HOST:PORT or unix:PATH; without them, the variable
    ASSAY_ADDRESS has them. `options` are the members of `Options`, such as timeout=2 and tls=TLS(...).
    """

    def __init__(self, addresses: Union[str, Sequence[str], None] = None, **options: Any) -> None:
        self._channel = Channel(parse_addresses(addresses), options_of(options))

    async def verify(
        self, evidence: Evidence, kind: Optional[EvidenceKind] = EvidenceKind.TRANSACTION, *,
        expectations: Optional[Expectations] = None, json: bool = False, typed: bool = True,
        in_app: Optional[InAppSelection] = None, in_app_product_id: Optional[str] = None, app: str = "",
        may_wait: bool = False, timeout: Optional[float] = None,
    ) -> Verified:
        """Verifies evidence. A refused purchase is a result, not an error: check `is_valid`.

        `json` returns the signed JSON as well, `typed=False` leaves the typed payload out. `app` names
        the server's app entry. `may_wait` is for bulk work: a busy server queues the call instead of
        refusing it; set a long timeout. `timeout` is in seconds, at most 30.
        """
        head, body = calls.verify_request(
            evidence, kind, expectations, json, typed, in_app, in_app_product_id, app, may_wait)
        return calls.verified(await self._perform(head, body, timeout))

    async def resolve(
        self, items: Sequence[Union[Item, Evidence]], *, at: Optional[Moment] = None,
        policy: Optional[EntitlementPolicy] = None, expectations: Optional[Expectations] = None,
        json: bool = False, typed: bool = False, app: str = "", may_wait: bool = False,
        timeout: Optional[float] = None,
    ) -> Resolved:
        """Verifies all evidence of a customer, and returns what the customer owns. A refused item
        is a result, not an error. `at` is the moment of the decision; None for the server's clock."""
        head, body = calls.resolve_request(items, at, policy, expectations, json, typed, app, may_wait)
        count = len(head.resolve.items) if head.resolve is not None else 0
        return calls.resolved(await self._perform(head, body, timeout), count)

    async def fetch(
        self, transaction_id: str, *, lists: Sequence[StoreList] = (), at: Optional[Moment] = None,
        policy: Optional[EntitlementPolicy] = None, typed: bool = False, app: str = "",
        timeout: Optional[float] = None,
    ) -> FetchAnswer:
        """Asks the App Store for a customer's purchases, and returns what the customer owns.

        `transaction_id` is any transaction of the customer; `lists` are all unless the call names
        some. The server needs a key of Apple's for this. A StatusError has Apple's own code, if it
        sent one, as `app_store_error_code`. Apple takes its time: without a `timeout` it is 30 s.
        """
        head = calls.fetch_request(transaction_id, lists, at, policy, typed, app)
        seconds = LONGEST_TIMEOUT if timeout is None else timeout
        return calls.fetched(await self._perform(head, b"", seconds))

    async def fetch_by_evidence(
        self, evidence: Evidence, *, lists: Sequence[StoreList] = (), at: Optional[Moment] = None,
        policy: Optional[EntitlementPolicy] = None, typed: bool = False, app: str = "",
        timeout: Optional[float] = None,
    ) -> FetchAnswer:
        """As `fetch`, for the customer whom a token, a notification or a receipt names.

        The newest transaction in `evidence` counts, which is at most 1 MiB. The server does not verify
        it, but each answer of the App Store.
        """
        head = calls.fetch_request("", lists, at, policy, typed, app)
        seconds = LONGEST_TIMEOUT if timeout is None else timeout
        return calls.fetched(await self._perform(head, calls.data_of(evidence), seconds))

    async def health(self, *, timeout: Optional[float] = None) -> bool:
        """Returns whether the server accepts requests."""
        return calls.is_serving(await self._perform(calls.request(health=HealthCall()), b"", timeout))

    async def info(self, *, timeout: Optional[float] = None) -> ServerInfo:
        """Returns the server's version, kinds of evidence, limits and roots."""
        return calls.server_info(await self._perform(calls.request(info=InfoCall()), b"", timeout))

    async def ping(self, *, timeout: Optional[float] = None) -> None:
        """Returns when the server has answered."""
        head = calls.request(ping=PingCall())
        calls.pong(await self._perform(head, b"", timeout))

    async def close(self) -> None:
        """Closes the connection. Calls in flight and later ones raise ClientClosed."""
        self._channel.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def _perform(
        self, head: RequestHead, body: bytes, timeout: Optional[float]
    ) -> Tuple[ResponseHead, bytes]:
        if timeout is not None:
            check_seconds("timeout", timeout)
        return await self._send(head, body, timeout)

    async def _send(
        self, head: RequestHead, body: bytes, timeout: Optional[float]
    ) -> Tuple[ResponseHead, bytes]:
        return await self._channel.perform(head, body, timeout)
