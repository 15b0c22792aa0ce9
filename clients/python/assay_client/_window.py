"""How many calls a connection has in flight."""

from __future__ import annotations

# Of the refusals of one turn of the server's queue, one counts. In seconds.
SHRINK_PAUSE = 0.05
# One batch of signatures.
SMALLEST = 8.0


class InFlightWindow:
    """It learns how many calls the server can take, as TCP does: it shrinks by a quarter when the
    server refuses calls because of its load, and grows by one with each window of answers. A refusal
    costs the server a part of an answer; a call that waits in the client costs it nothing."""

    def __init__(self, limit: int) -> None:
        self._limit = float(limit)
        self._size = float(limit)
        self._shrunk_at = float("-inf")

    @property
    def count(self) -> int:
        return int(self._size)

    def grow(self) -> None:
        self._size = min(self._limit, self._size + 1 / self._size)

    def shrink(self, now: float) -> None:
        if now - self._shrunk_at < SHRINK_PAUSE:
            return
        self._shrunk_at = now
        self._size = min(self._limit, max(SMALLEST, self._size * 0.75))
