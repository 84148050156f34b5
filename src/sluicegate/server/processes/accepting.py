"""Accepts connections on a socket that several processes share."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl

from sluicegate.server.application import Mounted
from sluicegate.server.connections import Connections
from sluicegate.server.listeners import Listener
from sluicegate.server.logs import get_logger

from .connection_counts import ABSENT, ConnectionCounts

RETRY_SECONDS = 0.1
"""Pause after a connection could not be accepted: as a rule there are too many open files."""
YIELD_SECONDS = 0.001
"""Time that a process with fewer connections has to be faster."""


class SharedListener(Listener):
    """Takes one connection at a time, and lets processes go first that have fewer.

    `number` is that of this process in `counts`.
    """

    def __init__(
        self,
        sock: socket.socket,
        application: Mounted,
        connections: Connections,
        counts: ConnectionCounts,
        number: int,
    ) -> None:
        super().__init__(sock, application, connections)
        self._counts = counts
        self._number = number
        self._factory = self.connection_factory()
        self._tls: ssl.SSLContext | None = None
        self._arriving: set[asyncio.Task[None]] = set()
        self._accepts = False

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        """Accept connections from now on."""
        self.socket.setblocking(False)
        self._tls = tls
        self._accepts = True
        self.count()
        self._resume()

    def stop_accepting(self) -> None:
        """Leave further connections to the other processes."""
        if self._accepts:
            self._accepts = False
            self._counts.set(self._number, ABSENT)
            asyncio.get_running_loop().remove_reader(self.socket)
            self.socket.close()

    def count(self) -> None:
        """Tell the other processes how many connections there are here."""
        if self._accepts:
            self._counts.set(self._number, len(self.connections.open) + len(self._arriving))

    def _resume(self) -> None:
        if self._accepts:
            asyncio.get_running_loop().add_reader(self.socket, self._look)

    def _pause(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self.socket)
        loop.call_later(seconds, self._resume)

    def _look(self) -> None:
        """A connection is there."""
        if self._counts.has_more_than_others(self._number):
            self._pause(YIELD_SECONDS)
            asyncio.get_running_loop().call_later(YIELD_SECONDS, self._accept)
        else:
            self._accept()

    def _accept(self) -> None:
        if not self._accepts:
            return
        try:
            connection, _ = self.socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another process was faster, or the other side has gone
        except OSError as error:
            get_logger().error("connection_not_accepted", reason=error.strerror)
            self._pause(RETRY_SECONDS)
            return
        connection.setblocking(False)
        task = asyncio.get_running_loop().create_task(self._serve(connection))
        self._arriving.add(task)
        self.count()
        task.add_done_callback(self._arrived)

    async def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            await asyncio.get_running_loop().connect_accepted_socket(self._factory, connection, ssl=self._tls)

    def _arrived(self, task: asyncio.Task[None]) -> None:
        self._arriving.discard(task)
        self.count()
