"""One serving process, as the supervisor sees it: from its start to its end."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from typing import IO, Any

from .channel import Channel
from .messages import Family, Measure, Measured, ToProcess, ToSupervisor, read_to_supervisor
from .shared_admission import Holder
from .shared_tokenizers import Keeper

_PROGRAM = "from sluicegate.server.processes.serving import main; main()"
END_SECONDS = 5.0
"""Time to end for a process that has closed its stream."""


class Member:
    """A process. `receive` gets its messages, but for the metrics; `number` is 1 or more, and outlives the process."""

    def __init__(self, number: int, receive: Callable[[Member, ToSupervisor], None]) -> None:
        self.number = number
        self.accepts = False
        """Whether it serves requests."""
        self.pid = 0
        self.families: list[Family] = []
        """Its metrics, as far as they are known."""
        self._receive = receive
        self._closed = asyncio.Event()
        self._channel: Channel[ToSupervisor, ToProcess] = Channel(read_to_supervisor, self._handle, self._closed.set)
        self.send = self._channel.send
        self.holder = Holder(self.send)
        self.keeper = Keeper(self.send)
        self._process: asyncio.subprocess.Process | None = None
        self._measured: asyncio.Future[None] | None = None
        self._measures = 0

    async def start(self, listening: socket.socket, counts: IO[bytes]) -> None:
        """Start the process, which is to serve on this socket, and to keep its number in `counts`. Raises `OSError`."""
        ours, theirs = socket.socketpair()
        with theirs:
            passed = (theirs.fileno(), listening.fileno(), counts.fileno())
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-c",
                _PROGRAM,
                *map(str, passed),
                pass_fds=passed,
                stdin=asyncio.subprocess.DEVNULL,
                # It finds the same modules, however this process was started.
                env={**os.environ, "PYTHONPATH": os.pathsep.join(entry or os.getcwd() for entry in sys.path)},
            )
        self.pid = self._process.pid
        await self._channel.open(ours)

    async def closed(self) -> None:
        """Wait until the process has closed its stream, which is how it ends, whatever ends it."""
        await self._closed.wait()

    async def status(self) -> int:
        """The exit status of a process that has closed its stream; negative: the number of a signal."""
        assert self._process is not None
        try:
            return await asyncio.wait_for(self._process.wait(), END_SECONDS)
        except TimeoutError:
            self.kill()
            return await self._process.wait()

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def measure(self) -> None:
        """Bring `families` up to date, or wait until the process has ended."""
        if self._measured is None:
            self._measured = asyncio.get_running_loop().create_future()
            self._measures += 1
            self.send(Measure(self._measures))
        closed = asyncio.ensure_future(self._closed.wait())
        either: set[asyncio.Future[Any]] = {self._measured, closed}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        closed.cancel()

    def _handle(self, message: Any) -> None:
        if not isinstance(message, Measured):
            self._receive(self, message)
            return
        self.families = message.families
        if message.number and self._measured is not None:
            self._measured.set_result(None)
            self._measured = None
