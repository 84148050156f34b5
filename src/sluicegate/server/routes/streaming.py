"""Streams: `POST /parse/stream` (Server-Sent Events), the WebSocket `/parse/session`, and `POST /parse/check`."""

from __future__ import annotations

import asyncio
import random
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from sluicegate.core.errors import ConflictingStart, TextLimitExceeded, UnknownDialect
from sluicegate.core.events import Event, Outcome
from sluicegate.dialects.detection import Choice
from sluicegate.parsing import Machine
from sluicegate.server.body import BodyReader, InvalidBody, InvalidJson
from sluicegate.server.long_inputs import read
from sluicegate.server.request import Request
from sluicegate.server.response import Response, StreamedResponse, encode_json
from sluicegate.server.routing import Route, post
from sluicegate.server.state import ServiceState

from .unified import Parsing, UnifiedRoutes, machine_for, parse_refusal

SESSION_PATH: Final = "/parse/session"
EVENT_STREAM: Final = b"text/event-stream"
SLICE: Final = 16 * 1024
"""Code points that are read, or bytes of events that are collected, before others get their turn."""
CHECK_LIMIT: Final = 1_000_000
"""Longest text of `POST /parse/check`, in code points: it is read many times."""
SIZES: Final = (1, 2, 3, 5, 7, 11, 23)

Positive = Annotated[int, msgspec.Meta(ge=1)]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class StreamBody(Parsing, gc=False, kw_only=True):
    """Body of `POST /parse/stream`: chunks, or a text and the size of its chunks in code points (4 by default)."""

    text: str | UnsetType = UNSET
    chunks: list[str] | UnsetType = UNSET
    chunk_size: Positive | UnsetType = UNSET


class CheckBody(Parsing, gc=False, kw_only=True):
    """Body of `POST /parse/check`. `cuttings` is how many random cuttings are tried beside those of fixed sizes."""

    text: str
    cuttings: Annotated[int, msgspec.Meta(ge=0, le=100)] = 8


class Difference(msgspec.Struct):
    """The first cutting whose outcome is not that of the whole text, and the members that differ."""

    chunks: list[str]
    members: list[str]
    whole: Any
    in_chunks: Any


class CheckAnswer(msgspec.Struct):
    """Answer of `POST /parse/check`."""

    same: bool
    cuttings: int
    difference: Difference | None


_STREAM = BodyReader(StreamBody)
_CHECK = BodyReader(CheckBody)
_CONFIGURATION = BodyReader(Parsing)


class StreamingRoutes:
    """The handlers. They choose parsers and answer as `POST /parse` does."""

    def __init__(self, state: ServiceState, unified: UnifiedRoutes) -> None:
        self._state = state
        self._unified = unified
        self._stall = state.settings.stream_body_stall_timeout_secs

    def routes(self) -> list[Route]:
        """The HTTP routes; `session` is the WebSocket."""
        return [
            post("/parse/stream", "control", self.stream, "parse"),
            post("/parse/check", "control", self.check, "parse"),
        ]

    async def stream(self, _request: Request, body: bytes) -> Response:
        """The events of an output that comes in chunks, in their order, and the outcome at the end."""
        response = read(self._state, _STREAM.read, body, self._stream)
        return response if isinstance(response, Response) else await response

    def _stream(self, wanted: StreamBody) -> Response:
        chunks = _chunks(wanted)
        choice = self._unified.choice(wanted)
        try:
            machine = machine_for(wanted, choice)
        except (UnknownDialect, ConflictingStart) as error:
            return parse_refusal(error)
        pieces = self._pieces(machine, chunks, wanted, choice)
        return StreamedResponse(pieces, content_type=EVENT_STREAM, headers=((b"cache-control", b"no-store"),))

    async def _pieces(
        self, machine: Machine, chunks: Iterator[str], wanted: Parsing, choice: Choice
    ) -> AsyncIterator[bytes]:
        waiting: list[bytes] = []
        size = fed = read = 0
        try:
            for chunk in chunks:
                fed += len(chunk)
                read += len(chunk) + 1
                for event in machine.feed(chunk):
                    waiting.append(b"data: " + encoded(event, fed) + b"\n\n")
                    size += len(waiting[-1])
                if size >= SLICE:
                    yield b"".join(waiting)
                    waiting, size = [], 0
                if read >= SLICE:
                    read = 0
                    await asyncio.sleep(0)
            waiting.extend(b"data: " + encoded(event, fed) + b"\n\n" for event in machine.finish())
        except TextLimitExceeded as error:
            yield b"".join(waiting) + b"event: error\ndata: " + parse_refusal(error).body + b"\n\n"
            return
        answer = self._answer(machine, wanted, choice, fed)
        yield b"".join(waiting) + b"event: outcome\ndata: " + answer + b"\n\n"

    def _answer(self, machine: Machine, wanted: Parsing, choice: Choice, length: int) -> bytes:
        outcome = machine.finish_outcome(keep_frame=wanted.keep_frame)
        answer = encode_json(self._unified.answer(wanted, outcome, choice, length))
        return b'{"type":"outcome",' + answer[1:]

    # ------------------------------------------------------------ the WebSocket

    async def session(self, _scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """One output of a model while it is written.

        The first message is the configuration, then every text message is a chunk as it came from the model, and
        every binary message a chunk in UTF-8, which may end inside a character. An empty message ends the output.
        """
        await receive()
        await send({"type": "websocket.accept"})
        message = await receive()
        if message["type"] != "websocket.receive":
            return
        try:
            given = message.get("text")
            wanted = _CONFIGURATION.read(given.encode() if given is not None else message.get("bytes") or b"")
            choice = self._unified.choice(wanted)
            machine = machine_for(wanted, choice)
        except (InvalidJson, InvalidBody) as error:
            await self._fail(send, str(error))
            return
        except (UnknownDialect, ConflictingStart) as error:
            await self._fail(send, str(error))
            return
        await self._read_session(machine, wanted, choice, receive, send)

    async def _read_session(
        self, machine: Machine, wanted: Parsing, choice: Choice, receive: Receive, send: Send
    ) -> None:
        decoder = getincrementaldecoder("utf-8")("strict")
        fed = 0
        while True:
            message = await receive()
            if message["type"] != "websocket.receive":
                return
            try:
                chunk = message.get("text")
                data = message.get("bytes")
                if chunk is None:
                    chunk = decoder.decode(data or b"", final=not data)
                elif not chunk:
                    decoder.decode(b"", final=True)
                ends = not data and not message.get("text")
                fed += len(chunk)
                events = machine.feed(chunk)
                if ends:
                    events += machine.finish()
            except UnicodeDecodeError as error:
                await self._fail(send, f"the chunks are no UTF-8: {error.reason}")
                return
            except TextLimitExceeded as error:
                await self._fail(send, str(error))
                return
            for event in events:
                if not await self._say(send, encoded(event, fed)):
                    return
            if ends:
                await self._say(send, self._answer(machine, wanted, choice, fed))
                await send({"type": "websocket.close", "code": 1000})
                return

    async def _say(self, send: Send, data: bytes) -> bool:
        """Send one message; False if the other side does not read."""
        try:
            async with asyncio.timeout(self._stall or None):
                await send({"type": "websocket.send", "text": data.decode()})
        except TimeoutError:
            await send({"type": "websocket.close", "code": 1008, "reason": "events are not read"})
            return False
        return True

    async def _fail(self, send: Send, message: str) -> None:
        await self._say(send, encode_json({"type": "error", "error": message}))
        await send({"type": "websocket.close", "code": 1008})

    # ------------------------------------------------------------ the check

    def check(self, _request: Request, body: bytes) -> Response | Awaitable[Response]:
        """Read a text in many cuttings and compare the outcomes."""
        return read(self._state, _CHECK.read, body, self._check_wanted)

    def _check_wanted(self, wanted: CheckBody) -> Awaitable[Response]:
        if len(wanted.text) > CHECK_LIMIT:
            raise InvalidBody(f"field 'text' has {len(wanted.text)} code points, more than {CHECK_LIMIT}", "text")
        choice = self._unified.choice(wanted)
        return self._state.in_thread(partial(_check, wanted, choice))


def encoded(event: Event, fed: int) -> bytes:
    """An event as JSON, with the number of code points that were fed when it came."""
    return b'{"fed":%d,' % fed + encode_json(event)[1:]


def _chunks(wanted: StreamBody) -> Iterator[str]:
    if isinstance(wanted.chunks, list):
        if wanted.text is not UNSET or wanted.chunk_size is not UNSET:
            raise InvalidBody("field 'chunks' excludes 'text' and 'chunk_size'", "chunks")
        return iter(wanted.chunks)
    if not isinstance(wanted.text, str):
        raise InvalidBody("field 'text' is required (or 'chunks')", "text")
    size = wanted.chunk_size if isinstance(wanted.chunk_size, int) else 4
    text = wanted.text
    return (text[start : start + size] for start in range(0, len(text), size))


def _check(wanted: CheckBody, choice: Choice) -> Response:
    try:
        whole = _outcome(wanted, choice, [wanted.text])
        tried = 0
        for chunks in _cuttings(wanted.text, wanted.cuttings):
            tried += 1
            other = _outcome(wanted, choice, chunks)
            if other != whole:
                return Response(encode_json(CheckAnswer(False, tried, _difference(chunks, whole, other))))
    except (UnknownDialect, TextLimitExceeded, ConflictingStart) as error:
        return parse_refusal(error)
    return Response(encode_json(CheckAnswer(True, tried, None)))


def _cuttings(text: str, randoms: int) -> Iterator[list[str]]:
    for size in SIZES:
        yield [text[start : start + size] for start in range(0, len(text), size)]
    for seed in range(randoms):
        source = random.Random(seed)  # noqa: S311 - the same cuttings each time
        cuts = [0]
        while cuts[-1] < len(text):
            cuts.append(cuts[-1] + source.randint(1, 40))
        yield [text[start:end] for start, end in pairwise(cuts)]


def _outcome(wanted: Parsing, choice: Choice, chunks: list[str]) -> Outcome:
    machine = machine_for(wanted, choice)
    for chunk in chunks:
        machine.feed(chunk)
    return machine.finish_outcome(keep_frame=wanted.keep_frame)


def _difference(chunks: list[str], whole: Outcome, other: Outcome) -> Difference:
    one, two = msgspec.to_builtins(whole), msgspec.to_builtins(other)
    members = [name for name in one if one[name] != two[name]]
    return Difference(chunks, members, {name: one[name] for name in members}, {name: two[name] for name in members})
