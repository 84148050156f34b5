"""Strict JSON, read as it comes (RFC 8259), written out compact.

The reader takes one value from the window and hands its text on in pieces, without insignificant white space
and with strings in one spelling: only `"`, `\\` and U+0000 to U+001F are escaped. Numbers keep the model's spelling.
Refused are NaN, Infinity, numbers that overflow a double, lone surrogate escapes, raw control characters,
unknown escapes, trailing commas, and more than 127 open containers.

A value that lies in the window as a whole is decoded in C; the result is the same (tests hold the two equal).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from json.encoder import encode_basestring
from math import isinf
from typing import Any, Final, TypeAlias

import msgspec

from sluicegate.core.context import Context
from sluicegate.core.patterns import JSON_SPACE, Steps

DEPTH_LIMIT: Final = 127
"""Most containers open at once; the next one is a fault."""

_FIRST_TRIAL: Final = 4096
_LONGEST_TOKEN: Final = 12
"""More than what the scanner may go back at the end of its text: an escape or a literal; in code points."""

Write: TypeAlias = Callable[[str], object]

_encode: Final[Callable[[Any], bytes]] = msgspec.json.Encoder().encode

_SPACES: Final = " \t\n\r"
_FEW: Final = 16
"""How much white space mostly is the most; in code points."""
_SPACE: Final = re.compile(JSON_SPACE).match
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]+').match
_SIMPLE_STRING: Final = re.compile(r'"[^"\\\x00-\x1f]*"').match
_ESCAPE: Final = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})').match
_ESCAPE_BEGINNING: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z").match
_LOW_SURROGATE: Final = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match
_LOW_SURROGATE_BEGINNING: Final = re.compile(r"(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?\Z").match
_NUMBER_CHARACTERS: Final = re.compile(r"[-+.0-9eE]+").match
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?").fullmatch
_NUMBER_BEGINNING: Final = re.compile(
    r"-?(?:(?:0|[1-9][0-9]*)(?:\.(?:[0-9]+(?:[eE][-+]?[0-9]*)?)?|[eE][-+]?[0-9]*)?)?"
).fullmatch
_LITERAL_BEGINNINGS: Final = {word[:end]: word for word in ("true", "false", "null") for end in range(1, len(word) + 1)}
_LETTERS: Final = re.compile(r"[a-z]{1,5}").match


def quote(text: str) -> str:
    """Text as a JSON string: the one spelling of strings that we write."""
    # Both write the same, in C. The first is quicker where its bytes are the text's, and refuses lone surrogates; the
    # second typeshed knows, and the documentation of `json` does not.
    return _encode(text).decode() if text.isascii() else encode_basestring(text)


def quote_inside(text: str) -> str:
    """Text as the inside of a JSON string."""
    return quote(text)[1:-1]


class JsonBroken(Exception):
    """The text is no JSON value.

    `token` is the offset of the start of the last token read, the one in trouble if the trouble is inside a token.
    The window stands at the break. `open` counts the brackets open there, `in_string` tells whether it lies in a
    string.
    """

    def __init__(self, code: str, token: int, opened: int, in_string: bool, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.token = token
        self.open = opened
        self.in_string = in_string
        self.message = message


class JsonCut(JsonBroken):
    """The text ended inside a value that was readable so far."""


def _as_written(number: str) -> msgspec.Raw:
    """A number with a fraction or an exponent: it is to be encoded as it was written."""
    if isinf(float(number)):
        raise ValueError("the number overflows a double")
    return msgspec.Raw(number)


_decode: Final[Callable[[str], Any]] = msgspec.json.Decoder(float_hook=_as_written).decode
_compact: Final[Any] = msgspec.json.format
# Only to find the end of a value.
_scanner: Final[Any] = json.JSONDecoder()
_scan: Final = _scanner.scan_once


def _cut_short(problem: Exception, size: int) -> bool:
    """Whether the scanner may have failed only because its text of `size` code points ended."""
    if isinstance(problem, json.JSONDecodeError):
        return problem.pos > size - _LONGEST_TOKEN or problem.msg.startswith("Unterminated string")
    return isinstance(problem, StopIteration) and problem.value > size - _LONGEST_TOKEN


def _is_deeper(value: Any, limit: int) -> bool:
    """Whether a container nests more than `limit` containers, itself included."""
    level: list[Any] = [value]
    for _ in range(limit):
        inner: list[Any] = []
        for container in level:
            inner += container.values() if type(container) is dict else container
        level = [value for value in inner if type(value) is dict or type(value) is list]
        if not level:
            return False
    return True


def whole_container(text: str, start: int, end: int, depth: int) -> str | None:
    """The container that reaches from the bracket at `start` to the one before `end`, as compact JSON text.

    None if there is none, or if the reader has to look at it. `depth` containers are open around it.
    """
    raw = text[start:end]
    try:
        value = _decode(raw)
        written = _encode(value).decode()
        # What is decoded and encoded comes out the same only if it repeats no key and spells all strings as we do.
        if written != raw and written != _compact(raw, indent=-1):
            return None
    except (ValueError, RecursionError):
        return None
    limit = DEPTH_LIMIT - depth
    # Every container takes two brackets.
    return None if len(written) > 2 * limit and _is_deeper(value, limit) else written


def complete_value(text: str, pos: int, depth: int) -> tuple[str, int] | None:
    """The container at `pos` as compact JSON text, and where it ends, if it is wholly there and plain; else None.

    `depth` containers are open around it.
    """
    size = _FIRST_TRIAL
    while True:
        # An error of the scanner costs a count of the lines before it: what it sees must not be much longer than
        # what it reads.
        piece = text[pos : pos + size]
        try:
            _, length = _scan(piece, 0)
            break
        except (ValueError, StopIteration, RecursionError) as problem:
            if len(piece) < size or not _cut_short(problem, size):
                return None
        size *= 8
    end: int = pos + length
    written = whole_container(text, pos, end, depth)
    return None if written is None else (written, end)


# What may come next inside a container.
_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _COLON, _COMMA_OR_END = range(6)


class JsonReader:
    """Reads JSON from a context's window; `open` counts brackets that the caller has consumed and not closed.

    `around` counts the containers around the value that count for the depth. `members` collects the places of keys and
    values of the outermost object if the context asks for details.
    Its methods raise `JsonBroken` or `JsonCut`.
    """

    __slots__ = ("_around", "_context", "_token", "duplicates", "members", "open")

    def __init__(self, context: Context, *, around: int = 0) -> None:
        self._context = context
        self._around = around
        self._token = context.window.offset
        self.open = 0
        self.duplicates: list[str] = []
        self.members: list[tuple[int, int, int, int]] = []

    def broken(
        self, message: str, *, code: str = "malformed_call", opened: int = 0, in_string: bool = False
    ) -> JsonBroken:
        """The error for the place where the window stands."""
        return JsonBroken(code, self._token, self.open + opened, in_string, message)

    def _cut(self, opened: int = 0, *, in_string: bool = False) -> JsonCut:
        return JsonCut(
            "incomplete_call", self._token, self.open + opened, in_string, "the text ends inside a JSON value"
        )

    def token(self) -> None:
        """A token of the caller's starts where the window stands."""
        self._token = self._context.window.offset

    def following(self) -> str:
        """Consume the white space that is there; the next character, "" if there is none yet."""
        window = self._context.window
        text, pos = window.text, window.pos
        if pos < len(text) and text[pos] not in _SPACES:
            return text[pos]
        ahead = text[pos : pos + _FEW]
        behind = ahead.lstrip(_SPACES)
        if behind:
            window.pos = pos + len(ahead) - len(behind)
            return behind[0]
        found = _SPACE(text, pos)
        assert found is not None
        window.pos = found.end()
        return text[window.pos : window.pos + 1]

    def space(self) -> Generator[None, None, str]:
        """Consume white space; return the next character, or "" at the end of the text."""
        window = self._context.window
        while True:
            found = _SPACE(window.text, window.pos)
            assert found is not None
            window.pos = found.end()
            if window.pos < len(window.text):
                return window.text[window.pos]
            if window.final:
                return ""
            yield

    def expect(self, character: str) -> Steps:
        """Consume white space and the one character that must come."""
        found = yield from self.space()
        if not found:
            raise self._cut()
        if found != character:
            raise self.broken(f"expected {character!r}, found {found!r}")
        self.token()
        self._context.window.pos += 1

    def string(self, write: Write, opened: int = 0) -> Steps:
        """Read the string whose quote is next; writes it with its quotes."""
        window = self._context.window
        self._token = window.base + window.pos
        found = _SIMPLE_STRING(window.text, window.pos)
        if found is not None:
            write(found[0])
            window.pos = found.end()
            return
        window.pos += 1
        write('"')
        while True:
            text, pos = window.text, window.pos
            found = _PLAIN(text, pos)
            if found is not None:
                write(found[0])
                pos = window.pos = found.end()
            if pos == len(text):
                if window.final:
                    raise self._cut(opened, in_string=True)
                yield
                continue
            character = text[pos]
            if character == '"':
                write('"')
                window.pos = pos + 1
                return
            if character != "\\":
                raise self.broken(
                    f"a raw control character U+{ord(character):04X} in a string", opened=opened, in_string=True
                )
            found = _ESCAPE(text, pos)
            if found is None:
                if _ESCAPE_BEGINNING(text, pos) is None:
                    raise self.broken("an unknown escape in a string", opened=opened, in_string=True)
                if window.final:
                    raise self._cut(opened, in_string=True)
                yield
                continue
            escape = found[0]
            end = found.end()
            if escape[1] == "u":
                code = int(escape[2:], 16)
                if 0xD800 <= code <= 0xDFFF:
                    low = _LOW_SURROGATE(text, end) if code < 0xDC00 else None
                    if low is None:
                        if code >= 0xDC00 or _LOW_SURROGATE_BEGINNING(text, end) is None:
                            raise self.broken("a lone surrogate escape in a string", opened=opened, in_string=True)
                        if window.final:
                            raise self._cut(opened, in_string=True)
                        yield
                        continue
                    code = 0x10000 + ((code - 0xD800) << 10) + (int(low[1], 16) - 0xDC00)
                    end = low.end()
                escape = quote_inside(chr(code))
            elif escape == "\\/":
                escape = "/"
            write(escape)
            window.pos = end

    def _number(self, write: Write, opened: int) -> Steps:
        window = self._context.window
        self._token = window.offset
        pieces: list[str] = []
        while True:
            found = _NUMBER_CHARACTERS(window.text, window.pos)
            if found is not None:
                pieces.append(found[0])
                window.pos = found.end()
            if window.pos < len(window.text) or window.final:
                break
            yield
        number = "".join(pieces)
        if _NUMBER(number) is not None:
            at_end = window.final and window.pos == len(window.text)
            if at_end and opened + self.open:
                raise self._cut(opened)
            if ("." in number or "e" in number or "E" in number) and isinf(float(number)):
                raise self.broken(f"the number {number[:40]} overflows a double", opened=opened)
            write(number)
            return
        if window.pos == len(window.text) and _NUMBER_BEGINNING(number) is not None:
            raise self._cut(opened)
        raise self.broken(f"{number[:40]} is no JSON number", opened=opened)

    def _literal(self, write: Write, opened: int) -> Steps:
        window = self._context.window
        self._token = window.offset
        while True:
            found = _LETTERS(window.text, window.pos)
            word = found[0] if found is not None else ""
            for end in range(len(word), 0, -1):
                whole = word[:end]
                if _LITERAL_BEGINNINGS.get(whole) == whole:
                    write(whole)
                    window.pos += end
                    return
            if word not in _LITERAL_BEGINNINGS or window.pos + len(word) < len(window.text):
                shown = window.text[window.pos : window.pos + 1]
                raise self.broken(f"{shown!r} begins no JSON value", opened=opened)
            if window.final:
                raise self._cut(opened)
            yield

    def value(self, write: Write) -> Steps:
        """Read one value, without white space before it. Its outermost container is the first of the depth."""
        window = self._context.window
        context = self._context
        following = yield from self.space()
        if not following:
            raise self._cut()
        if following in "{[" and not context.details:
            complete = complete_value(window.text, window.pos, self._around)
            if complete is not None:
                text, end = complete
                write(text)
                window.pos = end
                self._token = window.base + end - 1
                return
        elif following == '"':
            yield from self.string(write)
            return
        keys: list[set[str] | None] = []
        expected = _VALUE
        key_start = key_end = value_start = 0  # of the member of the outermost object that is being read
        while True:
            following = yield from self.space()
            depth = len(keys)
            if not following:
                raise self._cut(depth)
            if following == '"':
                if expected <= _VALUE_OR_END:
                    if depth == 1:
                        value_start = window.base + window.pos
                    yield from self.string(write, depth)
                    expected = _COMMA_OR_END
                elif expected <= _KEY_OR_END:
                    start = window.base + window.pos
                    pieces: list[str] = []
                    yield from self.string(pieces.append, depth)
                    if depth == 1:
                        key_start, key_end = start, window.base + window.pos
                    key = "".join(pieces)
                    seen = keys[-1]
                    assert seen is not None
                    if key in seen:
                        self.duplicates.append(key)
                    seen.add(key)
                    write(key)
                    expected = _COLON
                    continue
                else:
                    raise self.broken("a string where the JSON needs a comma, a colon or an end", opened=depth)
            elif following in "{[":
                if expected > _VALUE_OR_END:
                    raise self.broken(f"{following!r} where the JSON does not allow it", opened=depth)
                self.token()
                if depth + self._around == DEPTH_LIMIT:
                    raise self.broken(
                        f"more than {DEPTH_LIMIT} containers are open", code="depth_exceeded", opened=depth
                    )
                if depth == 1:
                    value_start = window.base + window.pos
                window.pos += 1
                write(following)
                keys.append(set() if following == "{" else None)
                expected = _KEY_OR_END if following == "{" else _VALUE_OR_END
                continue
            elif following in "}]":
                ends = (_COMMA_OR_END, _KEY_OR_END if following == "}" else _VALUE_OR_END)
                if not keys or expected not in ends or (keys[-1] is None) != (following == "]"):
                    raise self.broken(f"{following!r} where the JSON does not allow it", opened=depth)
                self.token()
                window.pos += 1
                write(following)
                keys.pop()
                expected = _COMMA_OR_END
                if not keys:
                    return
            elif following == ",":
                if expected != _COMMA_OR_END:
                    raise self.broken("a comma where the JSON does not allow it", opened=depth)
                self.token()
                window.pos += 1
                write(",")
                expected = _KEY if keys[-1] is not None else _VALUE
                continue
            elif following == ":":
                if expected != _COLON:
                    raise self.broken("a colon where the JSON does not allow it", opened=depth)
                self.token()
                window.pos += 1
                write(":")
                expected = _VALUE
                continue
            elif expected <= _VALUE_OR_END:
                if depth == 1:
                    value_start = window.base + window.pos
                if following == "-" or "0" <= following <= "9":
                    yield from self._number(write, depth)
                else:
                    yield from self._literal(write, depth)
                if not keys:
                    return
                expected = _COMMA_OR_END
            else:
                raise self.broken(f"{following!r} where the JSON does not allow it", opened=depth)
            if len(keys) == 1 and keys[0] is not None and context.details:
                self.members.append((key_start, key_end, value_start, window.base + window.pos))
