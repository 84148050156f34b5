"""The open connections of a listener, and the time limits that one sweep looks after for all of them."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from email.utils import formatdate
from typing import TYPE_CHECKING, NamedTuple

from .head import KnownHeads
from .outbox import Outbox

if TYPE_CHECKING:
    from .protocol import Connection


SETTLED_SECONDS = 0.5
SWEPT_AT_ONCE = 1000


class Timeouts(NamedTuple):
    """Seconds: for the head of a request, and for a connection without a request. 0: no bound."""

    head: float
    idle: float


class Connections:
    """`date` is the `date` header of answers, `draining` says that they end their connections.

    `heads` are those that their requests had, `outbox` the answers that go out together.
    """

    def __init__(self, timeouts: Timeouts, changed: Callable[[int], None] = lambda _change: None) -> None:
        self.open: set[Connection] = set()
        self._unswept: list[Connection] = []
        self.draining = False
        self.date = b""
        self.heads = KnownHeads()
        self.outbox = Outbox()
        self._timeouts = timeouts
        self._changed = changed

    def add(self, connection: Connection) -> None:
        """A connection was made."""
        self.open.add(connection)
        self._changed(1)

    def remove(self, connection: Connection) -> None:
        """A connection has ended, or speaks another protocol from now on."""
        if connection in self.open:
            self.open.remove(connection)
            self._changed(-1)

    def in_progress(self, now: float) -> int:
        """Number of connections that still have something to do: a request or an answer is on its way, or may be.

        A connection that has just been made, or has just answered, may bring a request that was sent already.
        """
        return sum(
            connection.is_busy
            or connection.has_begun
            or connection.lingers_until > 0
            or connection.transport.get_write_buffer_size() > 0
            or now - connection.since < SETTLED_SECONDS
            for connection in self.open
        )

    def sweep(self, now: float, wall_clock: float) -> None:
        """Close the connections that have outlived a limit.

        Of very many only some are looked at each time, so that nobody's request has to wait for all of them.
        `now` is a reading of the monotonic clock, `wall_clock` the seconds since 1970 for `date`.
        """
        self.date = b"date: " + formatdate(wall_clock, usegmt=True).encode() + b"\r\n"
        head, idle = self._timeouts
        if not self._unswept:
            self._unswept = list(self.open)
        some, self._unswept = self._unswept[:SWEPT_AT_ONCE], self._unswept[SWEPT_AT_ONCE:]
        for connection in some:
            if connection not in self.open:
                continue
            if connection.lingers_until:
                if now >= connection.lingers_until:
                    connection.transport.abort()
            elif connection.is_busy:
                if connection.flow.read_paused and _has_lost_its_peer(connection.transport):
                    connection.transport.abort()
            elif connection.waits_for_head:
                if head and now - connection.since >= head:
                    connection.end()
            elif idle and now - connection.since >= idle:
                connection.end()

    def close_idle(self, now: float) -> None:
        """Close the connections that have had no request for a moment."""
        for connection in list(self.open):
            if not connection.is_busy and not connection.has_begun and now - connection.since >= SETTLED_SECONDS:
                connection.end()


def _has_lost_its_peer(transport: asyncio.Transport) -> bool:
    """Whether the other side is gone: while reading is paused, as it is in a queue, nothing else tells."""
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLRDHUP | select.POLLHUP | select.POLLERR)
    return bool(poll.poll(0))
