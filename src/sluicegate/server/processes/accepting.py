"""Accepts connections on a socket that several processes share."""

from __future__ import annotations

import asyncio
import contextlib
import ssl

from sluicegate.server.listeners import Listener
from sluicegate.server.logs import get_logger

RETRY_SECONDS = 0.1
"""Pause after a connection could not be accepted: as a rule there are too many open files."""


class SharedListener(Listener):
    """Takes one connection at a time, so that those that come together are spread over the processes."""

    _accepting = False

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        """Accept connections from now on."""
        self.socket.setblocking(False)
        self._factory = self.connection_factory()
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepting = True
        self._resume()

    def stop_accepting(self) -> None:
        """Leave further connections to the other processes."""
        if self._accepting:
            self._accepting = False
            asyncio.get_running_loop().remove_reader(self.socket)
            self.socket.close()

    def _resume(self) -> None:
        if self._accepting:
            asyncio.get_running_loop().add_reader(self.socket, self._accept)

    def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            connection, _ = self.socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another process was faster, or the other side has gone
        except OSError as error:
            get_logger().error("connection_not_accepted", reason=error.strerror)
            loop.remove_reader(self.socket)
            loop.call_later(RETRY_SECONDS, self._resume)
            return
        connection.setblocking(False)
        task = loop.create_task(self._serve(loop, connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, loop: asyncio.AbstractEventLoop, connection: object) -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            await loop.connect_accepted_socket(self._factory, connection, ssl=self._tls)  # type: ignore[arg-type]
