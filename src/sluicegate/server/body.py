"""JSON bodies, read strictly: from bytes to a struct, or to an error that names the member and the place."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from time import monotonic
from types import UnionType
from typing import Any, Generic, NamedTuple, TypeVar, get_args

import msgspec

from .long_strings import STAND_IN, Pause, shorten
from .request import Request
from .response import ErrorShape, Refused, Response, error_response

T = TypeVar("T", bound=msgspec.Struct)

_JSON_TYPE = re.compile(rb"application/(?:json|[!#$&^_.+0-9a-z-]+\+json)[ \t]*(?:;.*)?", re.IGNORECASE | re.DOTALL)
_LONE_SURROGATE = re.compile(
    rb"(?<!\\)(?:\\\\)*\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|[c-fC-F][0-9a-fA-F]{2})"
)
_NAME = re.compile(rb"[0-9A-Za-z_]+")
_ESCAPED_CHARACTER_OF_NAME = re.compile(
    rb"\\u00(?:3[0-9]|4[1-9a-fA-F]|5[0-9aAfF]|6[1-9a-fA-F]|7[0-9aA])"  # digits, letters, underscore
)
_LENGTH_OF_ESCAPE = len("\\u0000")
SEARCHED_AT_ONCE = 64 * 1024
"""Bytes that are searched in one step: in between, a thread that reads a long body gives way to the others."""
LONG_BODY = 256 * 1024
"""Bytes of a body from which it is read in a thread, and a long string in it in parts."""
_DUPLICATES_ARE_FREE: Mapping[str, Any] = {}
_WORDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "a boolean",
    "null": "null",
    "array": "an array",
    "object": "an object",
}


class Disconnected(Exception):
    """The other side went away before its request was complete."""


class Limits(NamedTuple):
    """Bounds of a body: `size` in bytes, `seconds` for all of it, `stall` seconds between two pieces (0: no bound)."""

    size: int
    seconds: float
    stall: float


class InvalidJson(Exception):
    """The body is not JSON, or not UTF-8."""


class InvalidBody(Exception):
    """The body is JSON of the wrong shape. `param` is the top-level member, None for the body as a whole."""

    def __init__(self, message: str, param: str | None) -> None:
        super().__init__(message)
        self.param = param


def content_refusal(request: Request) -> Response | None:
    """The refusal of a body that is not sent as plain JSON, if it is not."""
    content_type = request.headers.get(b"content-type")
    encoding = request.headers.get(b"content-encoding")
    if encoding is not None and encoding.strip().lower() not in (b"identity", b""):
        return error_response(
            request.route.shape,
            415,
            "unsupported_content_encoding",
            f"content-encoding '{encoding.decode('latin-1')}' is not supported: send the body as it is",
            headers=((b"accept-encoding", b"identity"),),
        )
    if content_type == b"application/json" or (
        content_type is not None and _JSON_TYPE.fullmatch(content_type.strip(b" \t"))
    ):
        return None
    return error_response(request.route.shape, 415, "unsupported_media_type", "content-type must be application/json")


def too_large(limit: int) -> Response:
    """The refusal of a body over the limit; what was not read of it goes with the connection."""
    return error_response(
        "api",
        413,
        "request_body_too_large",
        f"request body exceeds the limit of {limit} bytes (--max-payload-size)",
        close=True,
    )


async def read_body(
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]], limits: Limits, shape: ErrorShape
) -> bytes:
    """The whole body. Raises `Refused` when it is too large or too slow, `Disconnected` when it will never end."""
    pieces: list[bytes] = []
    size = 0
    deadline = monotonic() + limits.seconds
    while True:
        left = deadline - monotonic()
        try:
            async with asyncio.timeout(min(limits.stall or left, left)):
                message = await receive()
        except TimeoutError:
            raise Refused(_too_slow(limits, shape, stalled=0 < limits.stall < left)) from None
        if message["type"] != "http.request":
            raise Disconnected
        piece: bytes = message["body"]
        size += len(piece)
        if size > limits.size:
            raise Refused(too_large(limits.size))
        pieces.append(piece)
        if not message["more_body"]:
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _too_slow(limits: Limits, shape: ErrorShape, *, stalled: bool) -> Response:
    if stalled:
        code, message = "request_body_stalled", f"no request body bytes for {limits.stall:g} seconds"
    else:
        code, message = "request_body_timeout", f"request body not complete after {limits.seconds:g} seconds"
    return error_response(shape, 408, code, message, close=True)


def go_on() -> None:
    """No pause."""


class BodyReader(Generic[T]):
    """Reads bodies of one type.

    `nested` names the members inside known members that must not come twice either: for the member `tools`
    of tool definitions `{"tools": {"type": {}, "function": {"name": {}, …}}}`.
    """

    def __init__(self, type: type[T], nested: Mapping[str, Any] = _DUPLICATES_ARE_FREE) -> None:  # noqa: A002
        self._decode = msgspec.json.Decoder(type).decode
        names = [field.encode_name for field in msgspec.structs.fields(type)]
        self._known: dict[str, Any] = {name: nested.get(name, _DUPLICATES_ARE_FREE) for name in names}
        all_names = [name.encode() for name in {*names, *_names_in(nested)}]
        assert all(map(_NAME.fullmatch, all_names)), all_names  # see _ESCAPED_CHARACTER_OF_NAME
        self._longest_name = max(map(len, all_names)) + 2
        pattern = re.compile(b'"(?:%b)"' % b"|".join(map(re.escape, all_names)))
        self._find_names, self._names_in_turn = pattern.findall, pattern.finditer
        texts = [field for field in msgspec.structs.fields(type) if _may_be_text(field.type)]
        self._texts = [field.name for field in texts]
        text_names = b"|".join(re.escape(field.encode_name.encode()) for field in texts)
        self._opens_text = re.compile(rb'"(?:%b)"[ \t\r\n]*:[ \t\r\n]*"' % text_names)

    def read(self, body: bytes, pause: Pause = go_on) -> T:
        """The body as a struct. Raises `InvalidJson` and `InvalidBody`.

        `pause` is called in between where a body is longer than `SEARCHED_AT_ONCE` bytes: such a body is read in a
        thread, or with a pause that does nothing.
        """
        if len(body) >= LONG_BODY:
            value = self._read_in_parts(body, pause)
            if value is not None:
                return value
        return self._read(body, pause)

    def _read_in_parts(self, body: bytes, pause: Pause) -> T | None:
        """The body of which one string is long, None for all others."""
        shortened = shorten(body, self._opens_text, pause)
        if shortened is None:
            return None
        short, string = shortened
        try:
            value = self._read(short, pause)
        except (InvalidJson, InvalidBody):
            return None  # the places that errors name are those of the whole body
        for name in self._texts:
            if getattr(value, name) == STAND_IN:
                return msgspec.structs.replace(value, **{name: string})
        return None

    def _read(self, body: bytes, pause: Pause) -> T:
        try:
            value = self._decode(body)
        except msgspec.ValidationError as error:
            check_json(body)
            self._refuse_duplicates(body)
            raise _invalid(str(error)) from None
        except msgspec.DecodeError as error:
            raise _malformed(body, str(error)) from None
        except RecursionError:
            raise InvalidJson("request body is not valid JSON: it is nested too deeply") from None
        if not body.isascii():
            check_text(body)
        if self._may_have_duplicates(body, pause):
            self._refuse_duplicates(body)
        return value

    def _may_have_duplicates(self, body: bytes, pause: Pause) -> bool:
        """Cheap and never wrong when false: no known member's name comes twice as a whole string."""
        found: list[bytes]
        if len(body) <= SEARCHED_AT_ONCE:
            if b"\\u00" in body and _ESCAPED_CHARACTER_OF_NAME.search(body):
                return True
            found = self._find_names(body)
            return len(found) != len(set(found))
        found = []
        for start in range(0, len(body), SEARCHED_AT_ONCE):
            pause()
            end = start + SEARCHED_AT_ONCE
            if _ESCAPED_CHARACTER_OF_NAME.search(body, start, end + _LENGTH_OF_ESCAPE - 1):
                return True
            # A name that begins here may end behind.
            names = self._names_in_turn(body, start, end + self._longest_name - 1)
            found += [name[0] for name in names if name.start() < end]
        return len(found) != len(set(found))

    def _refuse_duplicates(self, body: bytes) -> None:
        try:
            members = json.loads(body, object_pairs_hook=_members)
        except (ValueError, RecursionError):  # what Python refuses beyond JSON, such as numbers of 5,000 digits
            return
        _refuse_duplicates_in(members, self._known, "")


def _may_be_text(type: Any) -> bool:  # noqa: A002
    return type is str or (isinstance(type, UnionType) and str in get_args(type))


class _Members(list[tuple[str, Any]]):
    """The members of an object, duplicates included."""


def _members(pairs: list[tuple[str, Any]]) -> _Members:
    # A function, not the class alone: where a function is called, other threads may take the interpreter lock.
    return _Members(pairs)


def _names_in(known: Mapping[str, Any]) -> set[str]:
    names: set[str] = set()
    for value in known.values():
        names |= set(value) | _names_in(value)
    return names


def _refuse_duplicates_in(value: Any, known: Mapping[str, Any], place: str) -> None:
    if isinstance(value, _Members):
        seen: set[str] = set()
        for name, inner in value:
            if name not in known:
                continue
            if name in seen:
                where = f"{place}.{name}" if place else name
                raise InvalidBody(f"field '{where}' appears twice", where.split(".")[0].split("[")[0])
            seen.add(name)
            _refuse_duplicates_in(inner, known[name], f"{place}.{name}" if place else name)
    elif isinstance(value, list) and known:
        for index, inner in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            _refuse_duplicates_in(inner, known, f"{place}[{index}]")


# ---------------------------------------------------------------- errors in words


def check_text(body: bytes) -> None:
    """Raise `InvalidJson` unless the body is UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise InvalidJson(f"request body is not valid UTF-8 (byte {error.start})") from None


def check_json(body: bytes) -> None:
    """Raise `InvalidJson` unless the body is JSON."""
    check_text(body)
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        raise _malformed(body, str(error)) from None
    except RecursionError:
        raise InvalidJson("request body is not valid JSON: it is nested too deeply") from None


def _malformed(body: bytes, reason: str) -> InvalidJson:
    try:
        check_text(body)
    except InvalidJson as error:
        return error
    found = re.fullmatch(r"(?:JSON is malformed: )?(.*?)(?: \(byte (\d+)\))?", reason)
    words, offset = (found[1], found[2]) if found else (reason, None)
    if words == "trailing characters" and offset is not None:
        offset = str(int(offset) - 1)  # msgspec has taken the first of them
    if words.startswith("Input data was truncated"):
        lone = _LONE_SURROGATE.search(body)
        words, offset = (
            ("lone surrogate escape in a string", str(lone.start()))
            if lone
            else ("unexpected end of input", str(len(body)))
        )
    if "surrogate" in words:
        words = "lone surrogate escape in a string"
    return InvalidJson(f"request body is not valid JSON: {words} at byte {offset or 0}")


def _invalid(reason: str) -> InvalidBody:
    """What msgspec says about a wrong shape, in terms of members."""
    words, _, path = reason.partition(" - at `$")
    place = path.rstrip("`").removeprefix(".")
    param = re.split(r"[.\[]", place, maxsplit=1)[0] or None
    missing = re.fullmatch(r"Object missing required field `(.+)`", words)
    if missing:
        if param is None:
            return InvalidBody(f"field '{missing[1]}' is required", missing[1])
        return InvalidBody(f"{place}: field '{missing[1]}' is required", param)
    expected = re.fullmatch(r"Expected `(.+?)`(?: ([<>]=) (\S+))?(?:, got `(.+)`)?", words)
    if expected is None:
        return InvalidBody(f"field '{place}': {words}" if place else words, param)
    if param is None:
        return InvalidBody("request body must be a JSON object", None)
    wanted = " or ".join(_WORDS.get(kind, kind) for kind in expected[1].split(" | "))
    bound = f" {'at least' if expected[2] == '>=' else 'at most'} {expected[3]}" if expected[2] else ""
    got = f", not {_WORDS.get(expected[4], expected[4])}" if expected[4] else ""
    return InvalidBody(f"field '{param}' has the wrong shape: {place} must be {wanted}{bound}{got}", param)


def body_refusal(shape: ErrorShape, error: InvalidJson | InvalidBody) -> Response:
    """The answer to a body that cannot be read."""
    if shape == "workers":
        return error_response(shape, 400, "BAD_REQUEST", str(error))
    if isinstance(error, InvalidBody):
        return error_response(shape, 422, "invalid_body", str(error), param=error.param)
    return error_response(shape, 400, "invalid_json", str(error))


def refuse_field(shape: ErrorShape, message: str, param: str) -> Refused:
    """A refusal of a body whose members do not go together."""
    return Refused(error_response(shape, 422, "invalid_body", message, param=param))
