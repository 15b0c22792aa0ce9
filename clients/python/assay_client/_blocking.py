"""The blocking client."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import Iterable as IterableOf, Mapping
from concurrent.futures import Future
from typing import Any, Callable, Coroutine, Iterable, Iterator, List, Optional, Sequence, TypeVar, Union

from ._aio import AsyncClient
from ._calls import Evidence, FetchAnswer, Item, Moment, Resolved, Verified
from ._checks import check_count, wrong
from .messages import (
    EntitlementPolicy, EvidenceKind, Expectations, InAppSelection, ServerInfo, StoreList)

T = TypeVar("T")

_lock = threading.Lock()
_loop: Optional[asyncio.AbstractEventLoop] = None
_process = 0


def _background_loop() -> asyncio.AbstractEventLoop:
    """Returns the event loop of all blocking clients. It runs in a thread of its own. A forked
    process gets a new one, because threads do not survive a fork."""
    global _loop, _process
    with _lock:
        if _loop is None or _process != os.getpid():
            _loop, _process = asyncio.new_event_loop(), os.getpid()
            threading.Thread(target=_loop.run_forever, name="assay-client", daemon=True).start()
        return _loop


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class Client:
    """A client of a server, or of several that take over from each other. All threads share it:
    their calls share one connection. Its methods and options are those of AsyncClient."""

    def __init__(self, addresses: Union[str, Sequence[str], None] = None, **options: Any) -> None:
        self._make: Callable[[], AsyncClient] = lambda: AsyncClient(addresses, **options)
        self._client = self._make()
        self._process = os.getpid()

    def verify(
        self, evidence: Evidence, kind: Optional[EvidenceKind] = EvidenceKind.TRANSACTION, *,
        expectations: Optional[Expectations] = None, json: bool = False, typed: bool = True,
        in_app: Optional[InAppSelection] = None, in_app_product_id: Optional[str] = None, app: str = "",
        may_wait: bool = False, timeout: Optional[float] = None,
    ) -> Verified:
        """Verifies evidence. A refused purchase is a result, not an error: check `is_valid`."""
        return self._run(self._mine.verify(
            evidence, kind, expectations=expectations, json=json, typed=typed, in_app=in_app,
            in_app_product_id=in_app_product_id, app=app, may_wait=may_wait, timeout=timeout))

    def verify_many(
        self, evidence: Iterable[Evidence], kind: Optional[EvidenceKind] = EvidenceKind.TRANSACTION, *,
        window: int = 512, **options: Any,
    ) -> Iterator[Verified]:
        """Verifies many items, pipelined, and yields their results in order. It reads at most two
        windows ahead, and raises the error of the first item that has one. `options` are those of
        `verify`; `may_wait` is set and the timeout is 30 s, unless they say otherwise."""
        check_count("window", window)
        # A text is an iterable of its characters.
        if isinstance(evidence, (str, bytes, bytearray, memoryview, Mapping)):
            raise wrong("evidence", evidence, "an iterable of evidence", "put it into a list")
        if not isinstance(evidence, IterableOf):
            raise wrong("evidence", evidence, "an iterable of evidence")
        return self._results(iter(evidence), kind, window, {"may_wait": True, "timeout": 30.0, **options})

    def _results(
        self, rest: Iterator[Evidence], kind: Optional[EvidenceKind], window: int, options: Any
    ) -> Iterator[Verified]:
        before: Optional["Future[List[Verified]]"] = None
        while chunk := list(itertools.islice(rest, window)):
            current = self._start(self._verify_chunk(self._mine, chunk, kind, options))
            if before is not None:
                yield from before.result()
            before = current
        if before is not None:
            yield from before.result()

    @staticmethod
    async def _verify_chunk(
        client: AsyncClient, chunk: List[Evidence], kind: Optional[EvidenceKind], options: Any
    ) -> List[Verified]:
        return await asyncio.gather(*(client.verify(one, kind, **options) for one in chunk))

    def resolve(
        self, items: Sequence[Union[Item, Evidence]], *, at: Optional[Moment] = None,
        policy: Optional[EntitlementPolicy] = None, expectations: Optional[Expectations] = None,
        json: bool = False, typed: bool = False, app: str = "", may_wait: bool = False,
        timeout: Optional[float] = None,
    ) -> Resolved:
        """Verifies all evidence of a customer, and returns what the customer owns."""
        return self._run(self._mine.resolve(
            items, at=at, policy=policy, expectations=expectations, json=json, typed=typed, app=app,
            may_wait=may_wait, timeout=timeout))

    def fetch(
        self, transaction_id: str, *, lists: Sequence[StoreList] = (), at: Optional[Moment] = None,
        policy: Optional[EntitlementPolicy] = None, typed: bool = False, app: str = "",
        timeout: Optional[float] = None,
    ) -> FetchAnswer:
        """Asks the App Store for a customer's purchases, and returns what the customer owns."""
        return self._run(self._mine.fetch(
            transaction_id, lists=lists, at=at, policy=policy, typed=typed, app=app, timeout=timeout))

    def fetch_by_evidence(
        self, evidence: Evidence, *, lists: Sequence[StoreList] = (), at: Optional[Moment] = None,
        policy: Optional[EntitlementPolicy] = None, typed: bool = False, app: str = "",
        timeout: Optional[float] = None,
    ) -> FetchAnswer:
        """As `fetch`, for the customer whom a token, a notification or a receipt names."""
        return self._run(self._mine.fetch_by_evidence(
            evidence, lists=lists, at=at, policy=policy, typed=typed, app=app, timeout=timeout))

    def health(self, *, timeout: Optional[float] = None) -> bool:
        """Returns whether the server accepts requests."""
        return self._run(self._mine.health(timeout=timeout))

    def info(self, *, timeout: Optional[float] = None) -> ServerInfo:
        """Returns the server's version, kinds of evidence, limits and roots."""
        return self._run(self._mine.info(timeout=timeout))

    def ping(self, *, timeout: Optional[float] = None) -> None:
        """Returns when the server has answered."""
        self._run(self._mine.ping(timeout=timeout))

    def close(self) -> None:
        """Closes the connection. Calls in flight and later ones raise ClientClosed."""
        self._run(self._mine.close())

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def _mine(self) -> AsyncClient:
        """The client of this process: a forked one does not use its parent's connection."""
        if self._process != os.getpid():
            self._client, self._process = self._make(), os.getpid()
        return self._client

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        future = self._start(work)
        try:
            return future.result()
        except BaseException:
            # Of a thread that was interrupted; no effect on a call that has ended.
            future.cancel()
            raise

    @staticmethod
    def _start(work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, _background_loop())
