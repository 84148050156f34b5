"""Short answers that go out together at the end of a turn of the event loop.

Each write to a socket may wake the client that waits for it, which takes longer than many a request; and between two
writes the processor's caches fill with what the system needs. So the answers to the requests of one turn are made
first and written afterwards.
"""

from __future__ import annotations

import asyncio

MOST_TOGETHER = 16
"""Answers that are written together: the first one waits for the others to be made."""
LONG_REQUEST = 4 * 1024
"""Bytes of a request that no answer waits for."""


class Outbox:
    """The answers that wait. Whoever writes to a transport or closes it by another way flushes first."""

    def __init__(self) -> None:
        self._waiting: list[tuple[asyncio.Transport, bytes]] = []

    def post(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, data: bytes) -> None:
        """Write `data` soon."""
        if not self._waiting:
            loop.call_soon(self.flush)
        self._waiting.append((transport, data))
        if len(self._waiting) >= MOST_TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        waiting, self._waiting = self._waiting, []
        for transport, data in waiting:
            if not transport.is_closing():
                transport.write(data)
