"""What can go wrong with a call. A refused purchase is a result, not an error."""

from __future__ import annotations

from typing import Optional, Union

from .messages import ResponseHead, Status


class AssayError(Exception):
    """A call without an answer."""

    kind = "error"
    """The name of the kind, the same in the clients of all languages."""
    retryable = False
    """Whether the same call can succeed later. Every call is safe to repeat."""
    retry_after: Optional[float] = None
    """Seconds to wait before a retry, if the server said it."""


class ConnectError(AssayError):
    """No connection to any of the addresses."""

    kind, retryable = "connect", True


class TLSError(AssayError):
    """The handshake failed at all addresses: an unknown authority, a wrong name, no permission."""

    kind = "tls"


class ConnectionLost(AssayError):
    """The connection ended before the answer, and so did that of the retry."""

    kind, retryable = "lost", True


class DeadlineExceeded(AssayError):
    """The deadline passed."""

    kind, retryable = "deadline", True


class StatusError(AssayError):
    """The server could not perform the call."""

    kind = "status"

    def __init__(
        self, message: str, number: int, retry_after: Optional[float] = None,
        app_store_error_code: Optional[int] = None,
    ) -> None:
        # All arguments, so that the error can be pickled and copied.
        super().__init__(message, number, retry_after, app_store_error_code)
        self.status: Status = Status._value2member_map_.get(number, Status.UNKNOWN)  # type: ignore[assignment]
        """The status; UNKNOWN for one that this version does not know."""
        self.retry_after = retry_after
        self.app_store_error_code = app_store_error_code
        """Apple's errorCode, if the App Store refused a Fetch: 4040010 for an unknown transaction."""
        self.retryable = retry_after is not None or self.status == Status.UNAVAILABLE

    def __str__(self) -> str:
        return self.args[0] or f"the server answered {self.status.name}"


class ProtocolError(AssayError):
    """The peer does not follow the protocol."""

    kind = "protocol"


class ClientClosed(AssayError):
    """The client was closed."""

    kind = "closed"


class RequestTooLarge(AssayError):
    """The request is larger than the largest frame, or its head larger than 64 KiB."""

    kind = "too-large"


class TooManyWaiting(AssayError):
    """Too many calls wait, or this one has waited for `longest_wait`."""

    kind, retryable = "too-many", True


class AddressError(AssayError, ValueError):
    """Not the address of a server."""

    kind = "address"


def error_of(head: ResponseHead) -> Union[DeadlineExceeded, StatusError]:
    """The error of an answer whose status is not OK."""
    if head.status == Status.DEADLINE_EXCEEDED:
        return DeadlineExceeded(head.message or "the deadline passed")
    pause = head.retry_after_ms / 1000 if head.retry_after_ms else None
    return StatusError(head.message or "", int(head.status or 0), pause, head.app_store_error_code)
