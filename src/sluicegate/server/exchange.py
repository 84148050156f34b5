"""One request and its answer on a connection: what ASGI applications receive from and send to."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from uvicorn._types import ASGI3Application, ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from .head import Head

if TYPE_CHECKING:
    from .protocol import Connection

SLICE = 128 * 1024
"""Bytes of an answer's body that are written at once."""

_log = logging.getLogger("sluicegate.protocol")


class Exchange:
    """One request and its answer; what uvicorn calls a cycle."""

    __slots__ = (
        "_answer_head",
        "_delivered",
        "_expected",
        "_wake",
        "body",
        "connection",
        "disconnected",
        "head",
        "keep_alive",
        "more_body",
        "response_complete",
        "waiting_for_100_continue",
    )

    def __init__(self, connection: Connection, head: Head, *, keep_alive: bool) -> None:
        self.connection = connection
        self.head = head
        self.keep_alive = keep_alive
        self.waiting_for_100_continue = head.expects_continue
        self._wake: asyncio.Event | None = None
        self.body: bytes | bytearray = b""
        self.more_body = True
        self.disconnected = False
        self.response_complete = False
        self._delivered = False  # the end of the body was received
        self._answer_head: list[bytes] | None = None  # not sent yet; empty when it was sent
        self._expected: int | None = None  # bytes of the body that are still to come; None: sent in chunks

    @property
    def message_event(self) -> Exchange:
        """What uvicorn wakes when the connection is lost: `receive`."""
        return self

    def add(self, data: bytes) -> None:
        """A piece of the body has come; mostly the one before was received already, and nothing has to be copied."""
        if not self.body:
            self.body = data
        elif isinstance(self.body, bytearray):
            self.body += data
        else:
            self.body = bytearray(self.body) + data

    def set(self) -> None:
        """Something has come for `receive`: body, or the end of the connection."""
        if self._wake is not None:
            self._wake.set()

    async def run(self, application: ASGI3Application) -> None:
        """Answer the request."""
        head = self.head
        scope = self.connection.make_scope(head.method, head.raw_path, head.query, head.headers)
        try:
            await application(scope, self.receive, self.send)
        except asyncio.CancelledError:
            if not self.disconnected:
                raise
        except Exception:
            _log.exception("request failed")
        if not self.response_complete and not self.disconnected:
            self.connection.refuse(500) if self._answer_head is None else self.connection.end()

    async def receive(self) -> ASGIReceiveEvent:
        """ASGI: the next piece of the body."""
        connection = self.connection
        if self.waiting_for_100_continue and not connection.transport.is_closing():
            connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.waiting_for_100_continue = False
        while not (self.disconnected or self.response_complete) and (
            self._delivered or (self.more_body and not self.body)
        ):
            connection.flow.resume_reading()
            self._wake = asyncio.Event()
            await self._wake.wait()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = bytes(self.body), b""
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
            self._answer_head = self._start(message["status"], list(message.get("headers", [])))
            return
        if message["type"] != "http.response.body" or self._answer_head is None or self.response_complete:
            raise RuntimeError(f"Unexpected ASGI message '{message['type']}'")
        body, more_body = message.get("body", b""), message.get("more_body", False)
        before, self._answer_head = self._answer_head, []
        after: list[bytes] = []
        if self.head.method == "HEAD":
            body = b""
        elif self._expected is None:
            if body:
                before.append(b"%x\r\n" % len(body))
                after.append(b"\r\n")
            if not more_body:
                after.append(b"0\r\n\r\n")
        else:
            self._expected -= len(body)
            if self._expected < 0 or (self._expected and not more_body):
                raise RuntimeError("The body of the answer is not as long as its content-length says")
        if len(body) <= SLICE:
            connection.write(b"".join([*before, body, *after]))
        else:
            await self._write_slices(b"".join(before), body, b"".join(after))
        if not more_body:
            self.response_complete = True
            self.set()
            connection.answered(self)

    async def _write_slices(self, before: bytes, body: bytes, after: bytes) -> None:
        """Write a long body and what stands around it; in between, other connections get their turn.

        Does not wait for a slow reader, who would keep the request in progress.
        """
        data = memoryview(body)
        self.connection.write(before + data[:SLICE])
        for start in range(SLICE, len(data), SLICE):
            await asyncio.sleep(0)
            if self.disconnected:
                return
            self.connection.write(data[start : start + SLICE])
        if after:
            self.connection.write(after)

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
        if not has_length and self.head.method != "HEAD" and status not in (204, 304):
            head.append(b"transfer-encoding: chunked\r\n")
        elif not has_length:
            self._expected = 0
        if not self.keep_alive:
            head.append(b"connection: close\r\n")
        head.append(b"\r\n")
        return head
