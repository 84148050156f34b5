"""HTTP/1.1 connections: uvicorn's protocol with the service's own bounds, and a short way for short requests.

Beyond what uvicorn does: heads are bounded in size, number of fields and time; a request whose client goes away is
cancelled at once; a connection that ends with unread data lets its answer arrive first. A request that has arrived
as a whole and can be answered without waiting is answered at once, without a task; if its head was read before, it is
not read again.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any, NoReturn, cast
from urllib.parse import unquote

import httptools
from uvicorn._types import ASGI3Application, HTTPScope
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from .application import Application
from .connections import Connections
from .exchange import Exchange
from .head import Head
from .outbox import LONG_REQUEST
from .response import Response

MAX_HEADERS = 100
MAX_HEAD_BYTES = 64 * 1024
MAX_TARGET_BYTES = 16 * 1024
LINGER_SECONDS = 2.0
_UPGRADE_HEADERS = (b"connection", b"upgrade", b"http2-settings")


class _HeadRefused(Exception):
    """The head of a request is over a bound."""

    def __init__(self, status: int) -> None:
        self.status = status


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
        self._between_requests = True
        self._requests_in_piece = 0
        self._read_head: Head | None = None
        self._latest_head: Head | None = None
        self._head_bytes = 0
        self._plain_head = b""
        self._becomes_session = False
        self._ignores_data = False
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

    def eof_received(self) -> None:
        """Nothing more comes: what waits goes out before the transport begins to close."""
        self.all.outbox.flush()

    # ------------------------------------------------------------ a request arrives

    def data_received(self, data: bytes) -> None:
        if self.lingers_until or self._ignores_data:
            return
        if len(data) > LONG_REQUEST:
            self.all.outbox.flush()
        starts_request = self._between_requests and self._unstarted is None and not self.is_busy
        if starts_request:
            known = self.all.heads.find(data, self._latest_head)
            if known is not None:
                self._latest_head = known[0]
                if self._answer_at_once(*known):
                    return
        self._requests_in_piece = 0
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self._plain_head:
                self._read_as_plain(data[upgrade.args[0] :])
                return
            if self._becomes_session:
                self.all.remove(self)
                self.all.outbox.flush()
                self.handle_websocket_upgrade()
                return
        except httptools.HttpParserError as error:
            cause = error.__context__
            self._end_with(cause.status if isinstance(cause, _HeadRefused) else 400)
            return
        if self._unstarted is not None:
            self._start_or_queue(self._unstarted)
        elif starts_request and self._read_head is not None and self._is_one_request():
            self.all.heads.add(data, self._read_head)

    def _is_one_request(self) -> bool:
        """Whether the piece that was just read has one request, and nothing of another."""
        return self._requests_in_piece == 1 and self._between_requests

    def _end_with(self, status: int) -> None:
        """Refuse what cannot be read; requests that came whole before it are answered first, and end the connection."""
        latest = self._latest()
        if latest is None or latest.more_body or latest.response_complete:
            self._unstarted = None
            self.refuse(status)
            return
        self._ignores_data = True
        latest.keep_alive = False
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
        self._between_requests = False
        self._requests_in_piece += 1
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
            # A session has the connection for itself. Behind a request that is still to be answered, the offer is
            # ignored, as any server may do.
            is_free = self._unstarted is None and not self.is_busy and not self.pipeline
            self._becomes_session = is_free and self._should_upgrade() and self._has_session(path)
            if self._becomes_session:
                self.scope = self.make_scope(method, path, query, self.headers)
            else:
                lines = [name + b": " + value for name, value in self.headers if name not in _UPGRADE_HEADERS]
                request_line = b"%b %b HTTP/%b" % (method.encode(), self.url, version.encode())
                self._plain_head = b"\r\n".join([request_line, *lines, b"", b""])
            return
        if self._unstarted is not None:  # the request before came whole in the same piece
            self._start_or_queue(self._unstarted)
        head = Head(
            method,
            path,
            query,
            self.headers,
            keep_alive=version != "1.0" and method != "CONNECT" and self.parser.should_keep_alive(),
            expects_continue=self.expect_100_continue,
        )
        self._unstarted = Exchange(self, head, keep_alive=head.keep_alive and not self.all.draining)

    def _has_session(self, path: bytes) -> bool:
        return self._application is not None and path.decode("latin-1") in self._application.sessions

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
        exchange.add(body)
        if len(exchange.body) > HIGH_WATER_LIMIT and exchange is not self._unstarted:
            self.flow.pause_reading()
        exchange.set()

    def on_message_complete(self) -> None:
        self._between_requests = True
        exchange = None if self._plain_head else self._latest()
        if exchange is None or exchange.response_complete:
            return
        exchange.more_body = False
        exchange.set()
        if (
            exchange is self._unstarted
            and not self.is_busy
            and self._answer_at_once(exchange.head, bytes(exchange.body))
        ):
            self._unstarted = None
            self._read_head = exchange.head

    def _latest(self) -> Exchange | None:
        """The exchange whose request is arriving."""
        if self._unstarted is not None:
            return self._unstarted
        if self.pipeline:
            return cast(Exchange, self.pipeline[0][0])
        return self.cycle

    # ------------------------------------------------------------ it is answered

    def _answer_at_once(self, head: Head, body: bytes) -> bool:
        """Answer a request that has arrived as a whole without a task, if nothing has to be waited for."""
        application = self._application
        if application is None or self.flow.write_paused:
            return False
        answer = application.answer_now(head, self.client[0] if self.client else "", body)
        if answer is None:
            return False
        self.waits_for_head = False
        keep_alive = head.keep_alive and not self.all.draining
        if callable(answer):
            exchange = Exchange(self, head, keep_alive=keep_alive)
            exchange.more_body = False
            self._start(exchange, cast(ASGI3Application, answer))
        else:
            self._write(head, *answer, keep_alive=keep_alive)
        return True

    def _write(self, head: Head, response: Response, header_lines: bytes, *, keep_alive: bool) -> None:
        """Send a whole answer to a whole request, without waiting for a slow reader."""
        keep_alive = keep_alive and not response.close
        self.send(
            b"%b%b%b%b%b"
            % (
                STATUS_LINE[response.status],
                self.all.date,
                header_lines,
                b"\r\n" if keep_alive else b"connection: close\r\n\r\n",
                b"" if head.method == "HEAD" else response.body,
            )
        )
        self._answered(keep_alive=keep_alive)

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

    def send(self, data: bytes) -> None:
        """Write a short answer, together with others."""
        self.all.outbox.post(self.loop, self.transport, data)

    def write(self, data: bytes | memoryview) -> None:
        """Write at once."""
        self.all.outbox.flush()
        self.transport.write(data)

    def end(self) -> None:
        """Close the connection once everything has been written."""
        self.all.outbox.flush()
        self.transport.close()

    def answered(self, exchange: Exchange) -> None:
        """An answer has gone out: go on with the next request, or end the connection."""
        if exchange.more_body and not exchange.keep_alive and not self.transport.is_closing():
            self.since = monotonic()
            self._linger()
            return
        self._answered(keep_alive=exchange.keep_alive)

    def _answered(self, *, keep_alive: bool) -> None:
        self.since = monotonic()
        if self.transport.is_closing():
            return
        if not keep_alive:
            self.end()
            return
        self.flow.resume_reading()
        if self.pipeline:
            following, _ = self.pipeline.pop()
            self._start(cast(Exchange, following), self._asgi)

    def refuse(self, status: int) -> None:
        """Answer what is no request, or cannot be answered, with a status alone; the connection ends."""
        if self.transport.is_closing():
            return
        self.write(STATUS_LINE[status] + self.all.date + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self._linger()

    def _linger(self) -> None:
        """End the connection so that the other side, which may still be sending, can read the answer first."""
        self.lingers_until = monotonic() + LINGER_SECONDS
        self.all.outbox.flush()
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
            self.end()

    def send_400_response(self, msg: str) -> NoReturn:
        """Not used: `refuse` answers what is no request."""
        raise NotImplementedError(msg)

    def _unset_keepalive_if_required(self) -> None:
        """Not used: one sweep closes all idle connections."""
