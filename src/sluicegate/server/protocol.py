"""HTTP/1.1 connections: uvicorn's protocol with the service's own bounds, and a short way for short requests.

Beyond what uvicorn does: heads are bounded in size, number of fields and time; a request whose client goes away is
cancelled at once; a connection that ends with unread data lets its answer arrive first. A request that has arrived
as a whole and can be answered without waiting is answered at once, without a task.
"""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import Any, NoReturn, cast
from urllib.parse import unquote

import httptools
from uvicorn._types import ASGI3Application, ASGIReceiveEvent, ASGISendEvent, HTTPScope
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from .application import Application
from .connections import Connections

MAX_HEADERS = 100
MAX_HEAD_BYTES = 64 * 1024
MAX_TARGET_BYTES = 16 * 1024
LINGER_SECONDS = 2.0
_UPGRADE_HEADERS = (b"connection", b"upgrade", b"http2-settings")

_log = logging.getLogger("sluicegate.protocol")


class _HeadRefused(Exception):
    """The head of a request is over a bound."""

    def __init__(self, status: int) -> None:
        self.status = status


class Exchange:
    """One request and its answer; what uvicorn calls a cycle."""

    __slots__ = (
        "_delivered",
        "_expected",
        "_head",
        "_wake",
        "body",
        "connection",
        "disconnected",
        "headers",
        "keep_alive",
        "method",
        "more_body",
        "path",
        "query",
        "response_complete",
        "waiting_for_100_continue",
    )

    def __init__(
        self,
        connection: Connection,
        method: str,
        path: bytes,
        query: bytes,
        headers: list[tuple[bytes, bytes]],
        *,
        keep_alive: bool,
        expect_100_continue: bool,
    ) -> None:
        self.connection = connection
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.keep_alive = keep_alive
        self.waiting_for_100_continue = expect_100_continue
        self._wake: asyncio.Event | None = None
        self.body = bytearray()
        self.more_body = True
        self.disconnected = False
        self.response_complete = False
        self._delivered = False  # the end of the body was received
        self._head: list[bytes] | None = None  # not sent yet; empty when it was sent
        self._expected: int | None = None  # bytes of the body that are still to come; None: sent in chunks

    @property
    def message_event(self) -> Exchange:
        """What uvicorn wakes when the connection is lost: `receive`."""
        return self

    def set(self) -> None:
        """Something has come for `receive`: body, or the end of the connection."""
        if self._wake is not None:
            self._wake.set()

    async def run(self, application: ASGI3Application) -> None:
        """Answer the request."""
        scope = self.connection.make_scope(self.method, self.path, self.query, self.headers)
        try:
            await application(scope, self.receive, self.send)
        except asyncio.CancelledError:
            if not self.disconnected:
                raise
        except Exception:
            _log.exception("request failed")
        if not self.response_complete and not self.disconnected:
            self.connection.refuse(500) if self._head is None else self.connection.transport.close()

    async def receive(self) -> ASGIReceiveEvent:
        """ASGI: the next piece of the body."""
        connection = self.connection
        if self.waiting_for_100_continue and not connection.transport.is_closing():
            connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.waiting_for_100_continue = False
        while not (self.disconnected or self.response_complete) and (
            self._delivered or (self.more_body and not self.body)
        ):
            connection.flow.resume_reading()
            self._wake = asyncio.Event()
            await self._wake.wait()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = bytes(self.body), bytearray()
        self._delivered = not self.more_body
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def send(self, message: ASGISendEvent) -> None:
        """ASGI: the head of the answer, or a piece of its body."""
        connection = self.connection
        if self.disconnected:
            return
        if connection.flow.write_paused:
            await connection.flow.drain()
        if message["type"] == "http.response.start":
            self._head = self._start(message["status"], list(message.get("headers", [])))
            return
        if message["type"] != "http.response.body" or self._head is None or self.response_complete:
            raise RuntimeError(f"Unexpected ASGI message '{message['type']}'")
        body, more_body = message.get("body", b""), message.get("more_body", False)
        parts, self._head = self._head, []
        if self.method != "HEAD":
            if self._expected is None:
                parts += [b"%x\r\n" % len(body), body, b"\r\n"] if body else []
                parts += [] if more_body else [b"0\r\n\r\n"]
            else:
                self._expected -= len(body)
                if self._expected < 0 or (self._expected and not more_body):
                    raise RuntimeError("The body of the answer is not as long as its content-length says")
                parts.append(body)
        connection.transport.write(b"".join(parts))
        if not more_body:
            self.response_complete = True
            self.set()
            connection.answered(self)

    def write(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        """Send a whole answer, without waiting for a slow reader."""
        head = self._start(status, headers)
        if self.method != "HEAD":
            head.append(body)
        self._head = []
        self.response_complete = True
        self.connection.transport.write(b"".join(head))
        self.connection.answered(self)

    def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> list[bytes]:
        head = [STATUS_LINE[status], self.connection.all.date]
        has_length = False
        for name, value in headers:
            if name == b"content-length":
                has_length, self._expected = True, int(value)
            elif name == b"connection" and value.lower() == b"close":
                self.keep_alive = False
                continue
            head += [name, b": ", value, b"\r\n"]
        if not has_length and self.method != "HEAD" and status not in (204, 304):
            head.append(b"transfer-encoding: chunked\r\n")
        elif not has_length:
            self._expected = 0
        if not self.keep_alive:
            head.append(b"connection: close\r\n")
        head.append(b"\r\n")
        return head


class Connection(HttpToolsProtocol):
    """One connection. `since` is when it became what it is: waiting for a request, or reading its head."""

    cycle: Exchange  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self, config: Config, state: ServerState, connections: Connections, application: Application | None = None
    ) -> None:
        super().__init__(config, state, {})
        self.all = connections
        self._application = application
        self._asgi = cast(ASGI3Application, self.app)  # pyright: ignore[reportUnknownMemberType]
        self._running: asyncio.Task[None] | None = None
        self._unstarted: Exchange | None = None
        self._head_bytes = 0
        self._plain_head = b""
        self.waits_for_head = True
        self.has_begun = False
        self.since = monotonic()
        self.lingers_until = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether an answer is still to go out."""
        return self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.all.remove(self)
        for cycle, _ in self.pipeline:
            cycle.disconnected = True
        self.pipeline.clear()
        super().connection_lost(exc)
        if self._running is not None and not self._running.done():
            self._running.cancel()

    # ------------------------------------------------------------ a request arrives

    def data_received(self, data: bytes) -> None:
        if self.lingers_until:
            return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self._should_upgrade():
                self.all.remove(self)
                self.handle_websocket_upgrade()
                return
            if self._plain_head:
                self._read_as_plain(data[upgrade.args[0] :])
                return
        except httptools.HttpParserError as error:
            cause = error.__context__
            self.refuse(cause.status if isinstance(cause, _HeadRefused) else 400)
            return
        if self._unstarted is not None:
            self._start_or_queue(self._unstarted)

    def _read_as_plain(self, rest: bytes) -> None:
        """Go on with a request that offers another protocol as if it did not: the parser leaves its body unread."""
        head, self._plain_head = self._plain_head, b""
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(head + rest)

    def on_message_begin(self) -> None:
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._head_bytes = 0
        self.waits_for_head = self.has_begun = True
        self.since = monotonic()

    def on_url(self, url: bytes) -> None:
        self.url += url
        if len(self.url) > MAX_TARGET_BYTES:
            raise _HeadRefused(414)

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self.headers.append((name, value))
        self._head_bytes += len(name) + len(value)
        if len(self.headers) > MAX_HEADERS or self._head_bytes > MAX_HEAD_BYTES:
            raise _HeadRefused(431)
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True

    def on_headers_complete(self) -> None:
        self.waits_for_head = self.has_begun = False
        path, _, query = self.url.partition(b"?")
        if not path.startswith(b"/"):
            path = self._path_of_other_target()
        version = self.parser.get_http_version()
        if version not in ("1.1", "1.0"):
            raise _HeadRefused(400)
        method = self.parser.get_method().decode("ascii")
        if self.parser.should_upgrade() and method != "CONNECT":
            if self._should_upgrade():
                self.scope = self.make_scope(method, path, query, self.headers)
            else:
                lines = [name + b": " + value for name, value in self.headers if name not in _UPGRADE_HEADERS]
                request_line = b"%b %b HTTP/%b" % (method.encode(), self.url, version.encode())
                self._plain_head = b"\r\n".join([request_line, *lines, b"", b""])
            return
        if self._unstarted is not None:  # the request before came whole in the same piece
            self._start_or_queue(self._unstarted)
        self._unstarted = Exchange(
            self,
            method,
            path,
            query,
            self.headers,
            keep_alive=version != "1.0"
            and method != "CONNECT"
            and self.parser.should_keep_alive()
            and not self.all.draining,
            expect_100_continue=self.expect_100_continue,
        )

    def make_scope(self, method: str, path: bytes, query: bytes, headers: list[tuple[bytes, bytes]]) -> HTTPScope:
        """What ASGI applications get to know of a request."""
        scope: Any = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme or "http",
            "root_path": "",
            "headers": headers,
            "method": method,
            "path": unquote(path.decode("latin-1")),
            "raw_path": path,
            "query_string": query,
            "state": {},
            "extensions": {},
        }
        return cast(HTTPScope, scope)

    def _path_of_other_target(self) -> bytes:
        """The path of a target in absolute form; of `*` and of an authority the target itself."""
        if b"://" not in self.url:
            return self.url
        try:
            return httptools.parse_url(self.url).path or b"/"
        except httptools.HttpParserInvalidURLError:
            raise _HeadRefused(400) from None

    def on_body(self, body: bytes) -> None:
        exchange = self._latest()
        if exchange is None or exchange.response_complete:
            return
        exchange.body += body
        if len(exchange.body) > HIGH_WATER_LIMIT and exchange is not self._unstarted:
            self.flow.pause_reading()
        exchange.set()

    def on_message_complete(self) -> None:
        exchange = None if self._plain_head else self._latest()
        if exchange is None or exchange.response_complete:
            return
        exchange.more_body = False
        exchange.set()
        if exchange is self._unstarted and not self.is_busy:
            self._answer_now(exchange)

    def _latest(self) -> Exchange | None:
        """The exchange whose request is arriving."""
        if self._unstarted is not None:
            return self._unstarted
        if self.pipeline:
            return cast(Exchange, self.pipeline[0][0])
        return self.cycle

    # ------------------------------------------------------------ it is answered

    def _answer_now(self, exchange: Exchange) -> None:
        """Answer a request that has arrived as a whole without a task, if nothing has to be waited for."""
        application = self._application
        if application is None or self.flow.write_paused:
            return
        answer = application.answer_now(
            exchange.method, exchange.path, exchange.headers, self.client[0] if self.client else "", exchange.body
        )
        if answer is None:
            return
        self._unstarted = None
        if callable(answer):
            self._start(exchange, cast(ASGI3Application, answer))
            return
        self.cycle = exchange
        response, headers = answer
        exchange.write(response.status, headers, response.body)

    def _start_or_queue(self, exchange: Exchange) -> None:
        self._unstarted = None
        if self.is_busy or self.pipeline:
            self.flow.pause_reading()
            self.pipeline.appendleft((exchange, self._asgi))  # type: ignore[arg-type]
        else:
            self._start(exchange, self._asgi)

    def _start(self, exchange: Exchange, application: ASGI3Application) -> None:
        self.cycle = exchange  # pyright: ignore[reportIncompatibleVariableOverride]
        task = self.loop.create_task(exchange.run(application))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        self._running = task

    def answered(self, exchange: Exchange) -> None:
        """An answer has gone out: go on with the next request, or end the connection."""
        self.since = monotonic()
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if not exchange.keep_alive:
            if exchange.more_body:
                self._linger()
            else:
                self.transport.close()
            return
        self.flow.resume_reading()
        if self.pipeline:
            following, _ = self.pipeline.pop()
            self._start(cast(Exchange, following), self._asgi)

    def refuse(self, status: int) -> None:
        """Answer what is no request, or cannot be answered, with a status alone; the connection ends."""
        if self.transport.is_closing():
            return
        self.transport.write(STATUS_LINE[status] + self.all.date + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self._linger()

    def _linger(self) -> None:
        """End the connection so that the other side, which may still be sending, can read the answer first."""
        self.lingers_until = monotonic() + LINGER_SECONDS
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        if self._running is not None and asyncio.current_task(self.loop) is not self._running:
            self._running.cancel()

    def shutdown(self) -> None:
        """End the connection, after the answer that is in progress."""
        if self.is_busy:
            self.cycle.keep_alive = False
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> NoReturn:
        """Not used: `refuse` answers what is no request."""
        raise NotImplementedError(msg)

    def _unset_keepalive_if_required(self) -> None:
        """Not used: one sweep closes all idle connections."""
