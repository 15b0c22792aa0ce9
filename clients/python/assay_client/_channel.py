"""The connection to a server, its replacement after a loss, and the calls that wait for either."""

from __future__ import annotations

import asyncio
import copy
import itertools
import random
import ssl
from dataclasses import dataclass, fields
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

from ._address import TLS, Address
from ._checks import check_bool, check_count, check_seconds, unknown, wrong
from ._codec import FRAME_BYTES
from ._connection import Call, Connection
from .errors import (
    AssayError, ClientClosed, ConnectError, ConnectionLost, DeadlineExceeded, StatusError, TLSError, TooManyWaiting)
from .messages import RequestHead, ResponseHead

LONGEST_TIMEOUT = 30.0
# How much later than the server the client ends a call, in seconds. The server's answer, which
# shows that the server was slow, then comes first.
GRACE = 0.25
# A server answers every request, even late. Without an answer for this long after the deadline, in
# seconds, the connection counts as lost.
OVERDUE = 10.0
# How many times in the longest wait the channel looks for calls that have waited longer.
LOOKS_PER_WAIT = 10

_NO_TLS = "the peer does not speak TLS: write tcp://HOST:PORT, or the port of --listen tls://"


@dataclass(frozen=True)
class Options:
    """Times are in seconds."""

    timeout: float = 5.0
    connect_timeout: float = 5.0
    retries_once: bool = True
    in_flight_limit: int = 256
    """The number of calls on the connection at once. Others wait."""
    longest_wait: Optional[float] = 1.0
    """How long a call waits at most for a free slot on an open connection. Then it raises
    TooManyWaiting, and the server learns nothing of it: above a server's capacity some calls fail
    early instead of all calls late. Calls with may_wait wait until their deadline; with None all do."""
    waiting_limit: int = 65_536
    """The number of calls that wait at once. Others raise TooManyWaiting."""
    shortest_pause: float = 0.05
    longest_pause: float = 2.0
    frame_bytes: int = FRAME_BYTES
    tls: Union[TLS, ssl.SSLContext, None] = None

    def __post_init__(self) -> None:
        for name in ("timeout", "connect_timeout", "longest_wait", "shortest_pause", "longest_pause"):
            seconds = getattr(self, name)
            if seconds is None and name == "longest_wait":
                continue
            check_seconds(name, seconds)
            if seconds <= 0:
                raise ValueError(f"{name} is not above 0: {seconds}")
        for name in ("in_flight_limit", "waiting_limit", "frame_bytes"):
            check_count(name, getattr(self, name))
        check_bool("retries_once", self.retries_once)
        if self.tls is not None and not isinstance(self.tls, (TLS, ssl.SSLContext)):
            raise wrong("tls", self.tls, "a TLS or an ssl.SSLContext", "write TLS(authority=FILE)")


def options_of(options: Dict[str, Any]) -> Options:
    """Makes the options of a client from its arguments."""
    names = [field.name for field in fields(Options)]
    for name in options:
        if name not in names:
            raise unknown(name, name, names)
    return Options(**options)


class Channel:
    def __init__(self, addresses: List[Address], options: Options) -> None:
        self.addresses = addresses
        self.options = options
        tls = options.tls
        self._server_name = tls.server_name if isinstance(tls, TLS) else None
        self._context: Optional[ssl.SSLContext] = None
        if any(address.scheme == "tls" for address in addresses):
            self._context = tls if isinstance(tls, ssl.SSLContext) else (tls or TLS()).context()
        self._ids = itertools.count(1)
        self._waiting: Dict[int, Call] = {}
        self._connection: Optional[Connection] = None
        self._draining: List[Connection] = []
        self._connecting: Optional["asyncio.Task[None]"] = None
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._is_closed = False
        # The index of the address of the current or next connection.
        self._position = 0
        # Addresses that failed one after the other, since one has answered.
        self._failures = 0
        self._next_attempt = 0.0
        self._alarm: Optional[asyncio.TimerHandle] = None
        # Since when there is a connection, and the timer of calls that wait for a free slot on it.
        self._opened_at = 0.0
        self._wait_alarm: Optional[asyncio.TimerHandle] = None

    async def perform(
        self, head: RequestHead, body: bytes = b"", timeout: Optional[float] = None
    ) -> Tuple[ResponseHead, bytes]:
        loop = self._loop = self._loop or asyncio.get_running_loop()
        if loop is not asyncio.get_running_loop():
            raise RuntimeError("an AsyncClient belongs to the event loop of its first call")
        if self._is_closed:
            raise ClientClosed("the client is closed")
        if len(self._waiting) >= self.options.waiting_limit:
            raise TooManyWaiting(f"{len(self._waiting)} calls wait already")
        seconds = min(self.options.timeout if timeout is None else timeout, LONGEST_TIMEOUT)
        call = Call(
            next(self._ids), head, body, loop.time() + seconds, self.options.retries_once,
            loop.create_future())
        self._put_last(call)
        call.timer = loop.call_at(call.deadline, self._reached_deadline, call)
        self.pump()
        try:
            return await call.future
        finally:
            call.timer.cancel()
            self._waiting.pop(call.id, None)
            self._close_drained()

    def close(self) -> None:
        self._is_closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        error = ClientClosed("the client was closed")
        for connection in [*self._draining, *([self._connection] if self._connection else [])]:
            connection.end(error)
        self._fail(self._waiting.values(), error)
        for alarm in (self._alarm, self._wait_alarm):
            if alarm is not None:
                alarm.cancel()

    # ---- Calls -----------------------------------------------------------------------------------

    def pump(self) -> None:
        """Moves waiting calls to the connection up to its limits, and connects if necessary."""
        if self._connection is not None:
            while self._waiting and self._connection is not None and self._connection.can_send:
                call = self._waiting.pop(next(iter(self._waiting)))
                if self._has_waited_too_long(call):
                    self._fail_waiting(call)
                elif not call.is_over:
                    self._connection.send(call, self._now)
            if self._waiting:
                self._watch_waiting()
        elif self._waiting and self._connecting is None and not self._is_closed:
            if self._now >= self._next_attempt:
                self._connecting = asyncio.get_running_loop().create_task(self._connect())
            elif self._alarm is None:
                self._alarm = asyncio.get_running_loop().call_at(self._next_attempt, self._pause_ended)

    def _has_waited_too_long(self, call: Call) -> bool:
        """Time without a connection does not count, and bulk work can wait until its deadline."""
        longest = self.options.longest_wait
        if longest is None or call.head.may_wait:
            return False
        return self._now - max(call.queued_at, self._opened_at) > longest

    def _watch_waiting(self) -> None:
        """Ends calls that wait too long, also while the server answers nothing."""
        longest = self.options.longest_wait
        if longest is not None and self._wait_alarm is None:
            self._wait_alarm = asyncio.get_running_loop().call_later(
                longest / LOOKS_PER_WAIT, self._look_at_waiting)

    def _look_at_waiting(self) -> None:
        self._wait_alarm = None
        if self._connection is None:
            return
        late = []
        for call in self._waiting.values():
            if call.head.may_wait:
                continue
            if not self._has_waited_too_long(call):
                break
            late.append(call)
        for call in late:
            del self._waiting[call.id]
            self._fail_waiting(call)
        self.pump()

    def _fail_waiting(self, call: Call) -> None:
        call.fail(TooManyWaiting(f"no free slot on the connection within {self.options.longest_wait} s"))

    def _pause_ended(self) -> None:
        self._alarm = None
        self.pump()

    @property
    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    @staticmethod
    def _fail(calls: Iterable[Call], error: AssayError) -> None:
        for call in list(calls):
            # Each call raises an error of its own: a traceback belongs to one.
            call.fail(copy.copy(error))

    def _reached_deadline(self, call: Call) -> None:
        if self._waiting.pop(call.id, None) is not None:
            call.fail(DeadlineExceeded("the deadline passed before the call was sent"))
        else:
            call.timer = asyncio.get_running_loop().call_later(GRACE, self._is_late, call)

    def _is_late(self, call: Call) -> None:
        call.fail(DeadlineExceeded("the deadline passed without an answer"))
        asyncio.get_running_loop().call_later(OVERDUE, self._is_overdue, call)

    def _is_overdue(self, call: Call) -> None:
        for connection in [*self._draining, *([self._connection] if self._connection else [])]:
            if connection.in_flight.get(call.id) is call:
                connection.end(ConnectionLost("the server does not answer"))

    # ---- Connections -----------------------------------------------------------------------------

    async def _connect(self) -> None:
        address = self.addresses[self._position]
        error: Optional[AssayError] = None
        try:
            await asyncio.wait_for(self._open(address), self.options.connect_timeout)
        except ssl.SSLError as reason:
            # OpenSSL's reasons for bytes that are no record of TLS.
            is_plain = reason.reason in ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG")
            error = TLSError(f"no connection to {address}: {_NO_TLS if is_plain else reason}")
        except asyncio.TimeoutError:
            error = ConnectError(f"no connection to {address} within {self.options.connect_timeout} s")
        except (OSError, ValueError) as reason:
            is_handshake = address.scheme == "tls" and isinstance(
                reason, (ConnectionResetError, ConnectionAbortedError))
            error = (TLSError if is_handshake else ConnectError)(f"no connection to {address}: {reason}")
        finally:
            self._connecting = None
        if error is not None and not self._is_closed and self._connection is None:
            self._leave_address(has_failed=True)
            if not self._has_address_left:
                self._fail(self._waiting.values(), error)
                self._waiting.clear()
        if not self._is_closed:
            self.pump()

    async def _open(self, address: Address) -> None:
        loop, options = asyncio.get_running_loop(), self.options

        def connection() -> Connection:
            return Connection(self, options.in_flight_limit, options.frame_bytes)

        if address.scheme == "unix":
            # A path that begins with @ is an abstract name, which has no file.
            path = "\0" + address.path[1:] if address.path.startswith("@") else address.path
            await loop.create_unix_connection(connection, path)
        elif address.scheme == "tls":
            await loop.create_connection(
                connection, address.host, address.port, ssl=self._context,
                server_hostname=self._server_name or address.host)
        else:
            await loop.create_connection(connection, address.host, address.port)

    def opened(self, connection: Connection) -> None:
        self._connection = connection
        self._opened_at = self._now
        if self._is_closed:
            connection.end(ClientClosed("the client was closed"))
        else:
            self.pump()

    def received(self, connection: Connection) -> None:
        if connection.has_answered:
            self._failures, self._next_attempt = 0, 0.0
        self.pump()
        self._close_drained()

    def drained(self, connection: Connection) -> None:
        self._connection = None
        self._draining.append(connection)
        # A server that drains before its first answer counts as a failed attempt.
        self._leave_address(has_failed=not connection.has_answered)

    def refused_by_drain(self, call: Call) -> None:
        call.can_retry = False
        self._put_last(call)

    def _close_drained(self) -> None:
        for connection in list(self._draining):
            if all(call.is_over for call in connection.in_flight.values()):
                connection.end(ConnectionLost("drained"))

    def ended(self, connection: Connection, reason: AssayError) -> None:
        calls = [call for call in connection.in_flight.values() if not call.is_over]
        connection.in_flight = {}
        if connection in self._draining:
            self._draining.remove(connection)
        else:
            self._connection = None
            self._leave_address(has_failed=not connection.has_answered)
        if isinstance(reason, ConnectionLost):
            self._repeat(calls, reason)
        elif isinstance(reason, TLSError):
            self._put_first(calls)
            if not self._has_address_left:
                self._fail(self._waiting.values(), reason)
                self._waiting.clear()
        else:
            if isinstance(reason, StatusError) and reason.retry_after:
                pause = min(reason.retry_after, self.options.longest_pause)
                self._next_attempt = max(self._next_attempt, self._now + pause)
            self._fail(calls, reason)
        if not self._is_closed:
            self.pump()

    def _repeat(self, calls: List[Call], reason: AssayError) -> None:
        self._fail((call for call in calls if not call.can_retry), reason)
        again = [call for call in calls if call.can_retry]
        for call in again:
            call.can_retry = False
        self._put_first(again)

    def _put_last(self, call: Call) -> None:
        call.queued_at = self._now
        self._waiting[call.id] = call

    def _put_first(self, calls: List[Call]) -> None:
        for call in calls:
            call.queued_at = self._now
        self._waiting = {**{call.id: call for call in calls}, **self._waiting}

    def _leave_address(self, has_failed: bool) -> None:
        """Continues with the next address, after a pause once all have failed."""
        self._position = (self._position + 1) % len(self.addresses)
        if not has_failed:
            return
        self._failures += 1
        if not self._has_address_left:
            rounds = self._failures // len(self.addresses) - 1
            pause = min(self.options.shortest_pause * 2 ** min(rounds, 16), self.options.longest_pause)
            # A random part is left out, so that the clients of a server spread out.
            self._next_attempt = self._now + pause - random.uniform(0, pause / 2)

    @property
    def _has_address_left(self) -> bool:
        """Whether an address has not failed since the last pause."""
        return self._failures % len(self.addresses) != 0
