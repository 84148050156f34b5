"""A typed client of the service, synchronous and asynchronous. Tokenizing and parsing work against an SMG gateway, too.

    with Client("http://127.0.0.1:30000") as client:
        client.tokenize("Hello world", model="qwen3").tokens

Requests that can be sent again without harm are: after a connection error, 429, 502, 503 and 504, with growing
pauses, honouring `Retry-After`. Needs `pip install 'sluicegate[client]'`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import httpx
import msgspec
import stamina
from msgspec import Struct

Answer = TypeVar("Answer")

OK = 200
RETRIED_STATUSES = frozenset({429, 502, 503, 504})


class ServiceError(Exception):
    """The service refused a request: HTTP `status`, error `code` if it gave one, `message`, and the whole `body`."""

    def __init__(self, status: int, code: str | None, message: str, body: Any) -> None:
        super().__init__(f"{status} {code or ''}: {message}".replace(" :", ":"))
        self.status = status
        self.code = code
        self.message = message
        self.body = body


class Busy(ServiceError):
    """The service has no room just now. `retry_after` is what it asks to wait, in seconds, None if it does not say."""

    retry_after: float | None = None


class Tokens(Struct, frozen=True):
    """Token ids of one text, or of each text of a batch; counts in tokens and in code points."""

    tokens: list[int | list[int]]
    count: int | list[int]
    char_count: int | list[int]
    pieces: list[Any] | None = None


class DecodedText(Struct, frozen=True):
    """Text of token ids, or of each sequence of a batch."""

    text: str | list[str]
    pieces: list[Any] | None = None
    incomplete: bool | list[bool] | None = None


class Function(Struct, frozen=True):
    """Name and arguments of a call; `arguments` is JSON text."""

    name: str
    arguments: str


class FunctionCall(Struct, frozen=True):
    """A call. `id` and `index` are there in answers of the unified parse."""

    function: Function
    id: str | None = None
    index: int | None = None


class FunctionCalls(Struct, frozen=True):
    """Answer of `parse_function_call`."""

    remaining_text: str
    tool_calls: list[FunctionCall]
    spans: list[dict[str, Any]] = []
    diagnostics: list[dict[str, Any]] = []


class ReasoningSplit(Struct, frozen=True):
    """Answer of `parse_reasoning`."""

    normal_text: str
    reasoning_text: str
    spans: list[dict[str, Any]] = []
    diagnostics: list[dict[str, Any]] = []


class Parsed(Struct, frozen=True):
    """Answer of `parse`: all of one output."""

    reasoning_text: str
    content: str
    tool_calls: list[FunctionCall]
    finish: str
    faults: list[dict[str, Any]] = []
    parsers: dict[str, Any] = {}
    spans: list[dict[str, Any]] = []
    diagnostics: list[dict[str, Any]] = []


class _Call(Struct, Generic[Answer], frozen=True):
    """One request and the type of its answer."""

    path: str
    body: dict[str, Any]
    answer: type[Answer]


def _given(**members: Any) -> dict[str, Any]:
    """The members that were given: None is absent."""
    return {name: value for name, value in members.items() if value is not None}


def _tokenize(prompt: str | Sequence[str], model: str, options: Mapping[str, Any]) -> _Call[Tokens]:
    texts = prompt if isinstance(prompt, str) else list(prompt)
    return _Call("/v1/tokenize", {"model": model, "prompt": texts, **_given(**options)}, Tokens)


def _detokenize(
    tokens: Sequence[int] | Sequence[Sequence[int]], model: str, options: Mapping[str, Any]
) -> _Call[DecodedText]:
    return _Call("/v1/detokenize", {"model": model, "tokens": list(tokens), **_given(**options)}, DecodedText)


def _function_call(text: str, parser: str, tools: Sequence[Any], options: Mapping[str, Any]) -> _Call[FunctionCalls]:
    body = {"text": text, "tool_call_parser": parser, "tools": list(tools), **_given(**options)}
    return _Call("/parse/function_call", body, FunctionCalls)


def _reasoning(text: str, parser: str, options: Mapping[str, Any]) -> _Call[ReasoningSplit]:
    return _Call("/parse/reasoning", {"text": text, "reasoning_parser": parser, **_given(**options)}, ReasoningSplit)


def _parse(text: str, options: Mapping[str, Any]) -> _Call[Parsed]:
    return _Call("/parse", {"text": text, **_given(**options)}, Parsed)


def _stream_body(text: str, chunk_size: int, options: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": text, "chunk_size": chunk_size, **_given(**options)}


def _headers(api_key: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {api_key}"} if api_key else {}


def _read(response: httpx.Response, answer: type[Answer]) -> Answer:
    """The answer as its type. Raises `ServiceError`, `Busy` where a retry can help."""
    if response.status_code == OK:
        return msgspec.json.decode(response.content, type=answer)
    try:
        body: Any = msgspec.json.decode(response.content)
    except msgspec.DecodeError:
        body = response.text
    code = response.headers.get("x-smg-error-code")
    message = _message_of(body)
    if response.status_code in RETRIED_STATUSES:
        busy = Busy(response.status_code, code, message, body)
        wait = response.headers.get("retry-after", "")
        busy.retry_after = float(wait) if wait.isdigit() else None
        raise busy
    raise ServiceError(response.status_code, code, message, body)


def _message_of(body: Any) -> str:
    """What an error says, in whichever of the shapes of an error it comes."""
    try:
        error = body["error"]
    except (TypeError, KeyError):
        return str(body)
    try:
        return str(error["message"])
    except (TypeError, KeyError):
        return str(error)


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith("data:"):
            yield msgspec.json.decode(line[5:])


def _retry_pause(error: Exception) -> bool | float:
    """Whether, and after how many seconds, a request is sent again."""
    if isinstance(error, Busy):
        return error.retry_after if error.retry_after is not None else True
    return isinstance(error, httpx.TransportError)


class Client:
    """Synchronous client.

    `timeout` is for one attempt, in seconds; `attempts` is how often a request is sent at most. `transport` replaces
    the network, for tests. Every method raises `ServiceError` for a refusal and `httpx.TransportError` if
    the service cannot be reached.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:30000",
        *,
        api_key: str | None = None,
        timeout: float = 60,
        attempts: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(base_url=base_url, headers=_headers(api_key), timeout=timeout, transport=transport)
        self._attempts = attempts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _send(self, call: _Call[Answer]) -> Answer:
        content = msgspec.json.encode(call.body)
        headers = {"content-type": "application/json"}
        for attempt in stamina.retry_context(on=_retry_pause, attempts=self._attempts, timeout=None):
            with attempt:
                return _read(self._http.post(call.path, content=content, headers=headers), call.answer)
        raise AssertionError("an attempt returns or raises")

    def tokenize(self, prompt: str | Sequence[str], *, model: str, **options: Any) -> Tokens:
        """Token ids of a text, or of each of several; `options` are further members of the request."""
        return self._send(_tokenize(prompt, model, options))

    def detokenize(self, tokens: Sequence[int] | Sequence[Sequence[int]], *, model: str, **options: Any) -> DecodedText:
        """Text of token ids, or of each of several sequences."""
        return self._send(_detokenize(tokens, model, options))

    def parse_function_call(
        self, text: str, parser: str, *, tools: Sequence[Any] = (), **options: Any
    ) -> FunctionCalls:
        """Read the tool calls of a raw output with the parser of this name."""
        return self._send(_function_call(text, parser, tools, options))

    def parse_reasoning(self, text: str, parser: str, **options: Any) -> ReasoningSplit:
        """Split a raw output into reasoning and answer with the parser of this name."""
        return self._send(_reasoning(text, parser, options))

    def parse(self, text: str, **options: Any) -> Parsed:
        """Read all of a raw output; `model`, `tools`, … are members of the request."""
        return self._send(_parse(text, options))

    def stream(self, text: str, *, chunk_size: int = 4, **options: Any) -> Iterator[dict[str, Any]]:
        """Events of a raw output that is read in chunks, in their order, the outcome last."""
        with self._http.stream("POST", "/parse/stream", json=_stream_body(text, chunk_size, options)) as response:
            if response.status_code != OK:
                response.read()
                _read(response, dict)
            yield from _events(response.iter_lines())


class AsyncClient:
    """Asynchronous client; the parameters are those of `Client`."""

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:30000",
        *,
        api_key: str | None = None,
        timeout: float = 60,
        attempts: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(
            base_url=base_url, headers=_headers(api_key), timeout=timeout, transport=transport
        )
        self._attempts = attempts

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _send(self, call: _Call[Answer]) -> Answer:
        content = msgspec.json.encode(call.body)
        headers = {"content-type": "application/json"}
        async for attempt in stamina.retry_context(on=_retry_pause, attempts=self._attempts, timeout=None):
            with attempt:
                return _read(await self._http.post(call.path, content=content, headers=headers), call.answer)
        raise AssertionError("an attempt returns or raises")

    async def tokenize(self, prompt: str | Sequence[str], *, model: str, **options: Any) -> Tokens:
        """As `Client.tokenize`."""
        return await self._send(_tokenize(prompt, model, options))

    async def detokenize(
        self, tokens: Sequence[int] | Sequence[Sequence[int]], *, model: str, **options: Any
    ) -> DecodedText:
        """As `Client.detokenize`."""
        return await self._send(_detokenize(tokens, model, options))

    async def parse_function_call(
        self, text: str, parser: str, *, tools: Sequence[Any] = (), **options: Any
    ) -> FunctionCalls:
        """As `Client.parse_function_call`."""
        return await self._send(_function_call(text, parser, tools, options))

    async def parse_reasoning(self, text: str, parser: str, **options: Any) -> ReasoningSplit:
        """As `Client.parse_reasoning`."""
        return await self._send(_reasoning(text, parser, options))

    async def parse(self, text: str, **options: Any) -> Parsed:
        """As `Client.parse`."""
        return await self._send(_parse(text, options))

    async def stream(self, text: str, *, chunk_size: int = 4, **options: Any) -> AsyncIterator[dict[str, Any]]:
        """As `Client.stream`."""
        body = _stream_body(text, chunk_size, options)
        async with self._http.stream("POST", "/parse/stream", json=body) as response:
            if response.status_code != OK:
                await response.aread()
                _read(response, dict)
            async for line in response.aiter_lines():
                for event in _events(iter((line,))):
                    yield event
