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
from sluicegate.core.patterns import Steps

DEPTH_LIMIT: Final = 127
"""Most containers open at once; the next one is a fault."""

_FIRST_TRIAL: Final = 4096
_LONGEST_TOKEN: Final = 12
"""More than what the decoder may go back at the end of its text: an escape or a literal; in code points."""

Write: TypeAlias = Callable[[str], object]

_SPACES: Final = " \t\n\r"
_SPACE: Final = re.compile(r"[ \t\n\r]*").match
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

# Exactly the escapes that we write, in C where it is there; typeshed knows it, the documentation of `json` does not.
quote: Final[Callable[[str], str]] = encode_basestring
"""Text as a JSON string: the one spelling of strings that we write."""


def quote_inside(text: str) -> str:
    """Text as the inside of a JSON string."""
    return encode_basestring(text)[1:-1]


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


class _Undecided(Exception):
    """The C decoder's result would need a second look: let the reader do it."""


def _object(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _Undecided


# Asks for a dictionary without narrowing the type of its members.
_PLAIN_OBJECT: Final[Any] = dict


def _keys_of(value: Any) -> int:
    """How many keys the objects in a container have, itself included."""
    count = 0
    level: list[Any] = [value]
    while level:
        inner: list[Any] = []
        for container in level:
            if type(container) is _PLAIN_OBJECT:
                count += len(container)
                inner += container.values()
            else:
                inner += container
        level = [value for value in inner if type(value) is dict or type(value) is list]
    return count


def _keys_in(compact: str) -> int:
    """How many keys stand in a compact JSON text, without those that end with a backslash; in a string a quote stands
    behind one.
    """
    count = compact.count('":')
    return count - compact.count('\\":') if "\\" in compact else count


def _float(text: str) -> None:
    if isinf(float(text)):
        raise _Undecided


def _refuse(_word: str) -> None:
    raise _Undecided


# Integers stay text: Python refuses to convert very long ones.
_decoder: Final[Any] = json.JSONDecoder(parse_float=_float, parse_int=str, parse_constant=_refuse)
_decode: Final = _decoder.scan_once
# The same, but refuses repeated keys: a call of Python for each object.
_pairs_decoder: Final[Any] = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_float, parse_int=str, parse_constant=_refuse
)
_decode_pairs: Final = _pairs_decoder.scan_once


def _cut_short(problem: Exception, size: int) -> bool:
    """Whether the decoder may have failed only because its text of `size` code points ended."""
    if isinstance(problem, json.JSONDecodeError):
        return problem.pos > size - _LONGEST_TOKEN or problem.msg.startswith("Unterminated string")
    return isinstance(problem, StopIteration) and problem.value > size - _LONGEST_TOKEN


_compact: Final = msgspec.json.format


def _is_deeper(value: Any, limit: int) -> bool:
    """Whether a container nests more than `limit` containers, itself included; `limit` is at least 1."""
    level: list[Any] = [value]
    for _ in range(limit):
        inner: list[Any] = []
        for container in level:
            inner += container.values() if type(container) is dict else container
        level = [value for value in inner if type(value) is dict or type(value) is list]
        if not level:
            return False
    return True


def complete_value(text: str, pos: int, depth: int) -> tuple[str, int] | None:
    """The container at `pos` as compact JSON text, and where it ends, if it is wholly there and plain; else None.

    `depth` containers are open around it.
    """
    size = _FIRST_TRIAL
    while True:
        # An error of the decoder costs a count of the lines before it: what it sees must not be much longer than
        # what it reads.
        piece = text[pos : pos + size]
        try:
            value, end = _decode(piece, 0)
            break
        except (ValueError, StopIteration, RecursionError, _Undecided) as problem:
            if len(piece) < size or not _cut_short(problem, size):
                return None
        size *= 8
    raw = piece[:end]
    if "\\" in raw and ("\\u" in raw or "\\/" in raw):
        return None
    brackets = raw.count("{") + raw.count("[")
    limit = DEPTH_LIMIT - depth
    if brackets > limit and _is_deeper(value, limit):
        return None
    if " " in raw or "\n" in raw or "\t" in raw or "\r" in raw:
        try:
            raw = _compact(raw, indent=-1)
        except UnicodeEncodeError:
            return None
    # An object that lost no key repeats none. Where that is not certain the decoder looks again.
    if "{" not in raw:
        return raw, pos + end
    keys = len(value) if brackets == 1 else _keys_of(value)
    if keys != _keys_in(raw) or '\\\\":' in raw:
        try:
            _decode_pairs(piece, 0)
        except (RecursionError, _Undecided):
            return None
    return raw, pos + end


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
