"""A service without sockets: requests go through its connections, answers come back as they would on the wire."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import time
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from uvicorn.config import Config
from uvicorn.server import ServerState

from sluicegate.server.connections import Connections, Timeouts
from sluicegate.server.protocol import Connection
from sluicegate.server.service import Service
from sluicegate.settings import Settings
from sluicegate.tokenizers.sources import load_path

T = TypeVar("T")

TINY = Path(__file__).parent.parent / "fixtures" / "http" / "tiny"


class _Transport(asyncio.Transport):
    """Keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.7", 4711), "sockname": ("192.0.2.1", 30000)})
        self.written = bytearray()
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def can_write_eof(self) -> bool:
        return False

    def pause_reading(self) -> None:
        """Nothing comes by itself."""

    def resume_reading(self) -> None:
        """Nothing comes by itself."""


class _Answer(io.BytesIO):
    """What `http.client` takes for a socket."""

    def makefile(self, _mode: str) -> io.BytesIO:
        return self


class Reply:
    """Status, headers (names in lower case) and body."""

    def __init__(self, method: str, raw: bytes) -> None:
        response = http.client.HTTPResponse(_Answer(raw), method=method)  # type: ignore[arg-type]
        response.begin()
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    def json(self) -> Any:
        return json.loads(self.body)


class InProcess:
    """A service with these settings; `tiny` gives it the tokenizer of the fixtures under that name."""

    def __init__(self, settings: Settings | None = None, *, tiny: bool = False) -> None:
        self._loop = asyncio.new_event_loop()
        try:
            self.service = self._loop.run_until_complete(self._make(settings or Settings(host="127.0.0.1")))
        except BaseException:
            self._loop.close()
            raise
        if tiny:
            self.service.state.store.add("tiny", load_path(TINY), "tiny")
        self._config = Config(
            self.service.application, loop="none", ws="none", lifespan="off", log_config=None, proxy_headers=False
        )
        self._config.load()

    async def _make(self, settings: Settings) -> Service:
        return Service(settings)

    def close(self) -> None:
        """End the service."""
        self._loop.run_until_complete(self.service.stop())
        self.service.state.threads.shutdown()
        self._loop.close()

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        pieces: int = 1,
    ) -> Reply:
        """Send one request, whose body (bytes, or a value as JSON) comes in so many pieces."""
        return self._loop.run_until_complete(self._ask(method, path, body, dict(headers or {}), pieces))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` returns, in the event loop of the service."""
        return self._loop.run_until_complete(work)

    def raw(self, connections: Connections, pieces: Sequence[bytes]) -> tuple[bytes, bool]:
        """What a new connection answers to these pieces of requests, and whether it ends then."""
        return self._loop.run_until_complete(self._raw(connections, pieces))

    def connection(self, connections: Connections) -> Connection:
        """A new connection. Needs a running event loop."""
        connection = Connection(self._config, ServerState(), connections, self.service.application)
        connection.connection_made(_Transport())
        return connection

    async def _raw(self, connections: Connections, pieces: Sequence[bytes]) -> tuple[bytes, bool]:
        connection = self.connection(connections)
        transport = cast(_Transport, connection.transport)
        for piece in pieces:
            if not transport.closed:
                connection.data_received(piece)
            async with asyncio.timeout(30):
                while (
                    connection.pipeline or (connection.is_busy and not connection.cycle.more_body)
                ) and not connection.lingers_until:
                    await asyncio.sleep(0.001)
            await asyncio.sleep(0)
        ends = transport.closed or connection.lingers_until > 0
        connection.connection_lost(None)
        return bytes(transport.written), ends

    async def _ask(self, method: str, path: str, body: Any, headers: dict[str, str], pieces: int) -> Reply:
        connections = Connections(Timeouts(0, 0))
        connections.sweep(0, time.time())
        connection = self.connection(connections)
        transport = cast(_Transport, connection.transport)
        raw = b""
        if body is not None:
            raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
            headers.setdefault("content-type", "application/json")
            headers.setdefault("content-length", str(len(raw)))
        headers["connection"] = "close"
        lines = [f"{method} {path} HTTP/1.1", "host: x", *(f"{name}: {value}" for name, value in headers.items())]
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        if pieces == 1:
            connection.data_received(head + raw)
        else:
            connection.data_received(head)
            size = max(1, len(raw) // pieces)
            for start in range(0, len(raw), size):
                await asyncio.sleep(0)
                connection.data_received(raw[start : start + size])
        async with asyncio.timeout(30):
            while not (transport.closed or connection.lingers_until):
                await asyncio.sleep(0.002)
        connection.connection_lost(None)
        return Reply(method, bytes(transport.written))
