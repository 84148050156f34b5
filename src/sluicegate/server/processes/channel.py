"""A stream of messages between two processes, over a pair of Unix sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

Incoming = TypeVar("Incoming")
Outgoing = TypeVar("Outgoing")
_encode = msgspec.msgpack.Encoder().encode
_HEAD = 4  # bytes in which the length of each message is written


class Channel(asyncio.Protocol, Generic[Incoming, Outgoing]):
    """Sends messages in order, and hands those that come to `receive`; `closed` is called once, at the end."""

    def __init__(
        self, read: Callable[[bytes], Incoming], receive: Callable[[Incoming], None], closed: Callable[[], None]
    ) -> None:
        self._read = read
        self._receive = receive
        self._closed = closed
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    async def open(self, end: socket.socket) -> None:
        """Begin to send and receive over this end of the pair."""
        await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=end)

    def send(self, message: Outgoing) -> None:
        """Send a message; once the other side is gone, nothing happens."""
        if self._transport is not None and not self._transport.is_closing():
            content = _encode(message)
            self._transport.write(len(content).to_bytes(_HEAD, "big") + content)

    def close(self) -> None:
        """End the stream, after what has been sent."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        buffer = self._buffer
        buffer += data
        start = 0
        while len(buffer) - start >= _HEAD:
            end = start + _HEAD + int.from_bytes(buffer[start : start + _HEAD], "big")
            if len(buffer) < end:
                break
            message = self._read(bytes(buffer[start + _HEAD : end]))
            start = end
            self._receive(message)
        del buffer[:start]

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        del exc
        self._closed()
