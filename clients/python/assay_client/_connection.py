"""One connection, and the calls that it carries."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Dict, List, Optional, Tuple

from ._codec import decode_frame, encode_frame
from ._window import InFlightWindow
from .errors import AssayError, ConnectionLost, ProtocolError, RequestTooLarge, TLSError, error_of
from .messages import RequestHead, ResponseHead, Status

if TYPE_CHECKING:
    from ._channel import Channel

# Above this number of bytes that the system has not taken, calls wait.
UNWRITTEN_BYTES = 1024 * 1024


class Call:
    """A request, and the future of its answer."""

    __slots__ = ("id", "head", "body", "deadline", "can_retry", "future", "timer", "queued_at")

    def __init__(
        self, number: int, head: RequestHead, body: bytes, deadline: float, can_retry: bool,
        future: "asyncio.Future[Tuple[ResponseHead, bytes]]",
    ) -> None:
        self.id = number
        self.head = head
        self.body = body
        self.deadline = deadline
        self.can_retry = can_retry
        self.future = future
        self.timer: Optional[asyncio.TimerHandle] = None
        # When it began to wait for a free slot on the connection.
        self.queued_at = 0.0

    @property
    def is_over(self) -> bool:
        return self.future.done()

    def fail(self, error: AssayError) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Connection(asyncio.Protocol):
    def __init__(self, channel: "Channel", in_flight_limit: int, frame_bytes: int) -> None:
        self.in_flight: Dict[int, Call] = {}
        self.has_answered = False
        self.is_draining = False
        self._channel = channel
        self._window = InFlightWindow(in_flight_limit)
        self._frame_bytes = frame_bytes
        self._transport: Optional[asyncio.Transport] = None
        self._is_paused = False
        self._buffer = bytearray()
        # The frames of this turn of the loop, written together at its end.
        self._output: List[bytes] = []
        self._output_bytes = 0

    # ---- Sending ---------------------------------------------------------------------------------

    @property
    def can_send(self) -> bool:
        return (
            not self._is_paused and len(self.in_flight) < self._window.count
            and self._output_bytes < UNWRITTEN_BYTES
        )

    def send(self, call: Call, now: float) -> None:
        call.head.id = call.id
        call.head.timeout_ms = max(1, int((call.deadline - now) * 1000))
        try:
            frame = encode_frame(call.head, call.body, self._frame_bytes)
        except RequestTooLarge as error:
            return call.fail(error)
        self.in_flight[call.id] = call
        if not self._output:
            asyncio.get_running_loop().call_soon(self._flush)
        self._output.append(frame)
        self._output_bytes += len(frame)

    def _flush(self) -> None:
        output, self._output, self._output_bytes = self._output, [], 0
        if self._transport is not None and output:
            self._transport.write(b"".join(output) if len(output) > 1 else output[0])
            self._channel.pump()

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._channel.pump()

    # ---- Receiving -------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._channel.opened(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        start = 0
        try:
            while self._transport is not None:
                found = decode_frame(self._buffer, start)
                if found is None:
                    break
                head, body, start = found
                self._take(head, body)
        except ProtocolError as error:
            return self.end(error)
        del self._buffer[:start]
        self._channel.received(self)

    def _take(self, head: ResponseHead, body: bytes) -> None:
        if not head.id:
            return self._take_notice(head)
        call = self.in_flight.pop(head.id, None)
        if call is None:
            raise ProtocolError(f"an answer to no call: id {head.id}")
        self.has_answered = True
        if not head.status:
            self._window.grow()
        elif head.status == Status.RESOURCE_EXHAUSTED and head.retry_after_ms:
            # Without a pause, the status is about the call and not about the server's load.
            self._window.shrink(asyncio.get_running_loop().time())
        if call.is_over:
            return
        if not head.status:
            call.future.set_result((head, body))
        elif head.status == Status.UNAVAILABLE and self.is_draining and call.can_retry:
            self._channel.refused_by_drain(call)
        else:
            call.fail(error_of(head))

    def _take_notice(self, notice: ResponseHead) -> None:
        """Takes a frame with id 0, which is about the whole connection."""
        if not notice.status:
            raise ProtocolError("an answer without an id")
        if notice.status != Status.UNAVAILABLE:
            return self.end(error_of(notice))
        if not self.is_draining:
            self.is_draining = True
            self._channel.drained(self)

    # ---- The end ---------------------------------------------------------------------------------

    def connection_lost(self, error: Optional[Exception]) -> None:
        # A server refuses a client certificate after the client's part of the handshake.
        if isinstance(error, ssl.SSLError) and not self.has_answered:
            return self.end(TLSError(f"the server refused the connection: {error}"))
        self.end(ConnectionLost("the connection ended before the answer"))

    def end(self, reason: AssayError) -> None:
        """Closes the connection. The channel decides about its calls."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()
            self._output = []
            self._buffer = bytearray()
            self._channel.ended(self, reason)
