"""Python literals, read as they come and written as JSON.

Strings of all kinds, numbers of all bases, True/true, False/false, None/null, lists and tuples (arrays), dicts
(objects, with scalar keys in JSON spelling), parentheses around a value. Nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from math import isinf
from typing import Final

from sluicegate.core.context import Context
from sluicegate.core.json_reader import DEPTH_LIMIT, Write, quote
from sluicegate.core.patterns import WHITE_SPACE, Steps
from sluicegate.core.python_strings import PREFIXES, StringReader
from sluicegate.core.words import WORD_START

CONSTANTS: Final = {
    "None": "null",
    "null": "null",
    "True": "true",
    "true": "true",
    "False": "false",
    "false": "false",
}
LONGEST_CONVERTED: Final = 14_000
"""Most bits of a hexadecimal, octal or binary integer: Python limits the decimal digits it writes."""

_DIGITS: Final = r"[0-9](?>(?:_?[0-9])*)"
_INTEGER: Final = re.compile(r"0(?>(?:_?0)*)|[1-9](?>(?:_?[0-9])*)").fullmatch
_BASED: Final = re.compile(r"0[xX](?>(?:_?[0-9a-fA-F])+)|0[oO](?>(?:_?[0-7])+)|0[bB](?>(?:_?[01])+)").fullmatch
_FLOAT: Final = re.compile(
    rf"(?P<whole>{_DIGITS})?(?P<point>\.(?P<fraction>{_DIGITS})?)?(?P<exponent>[eE][-+]?{_DIGITS})?"
).fullmatch
_NUMBER_RUN: Final = re.compile(r"(?>(?:[eE][-+]|[0-9A-Za-z_.])+)").match
_WORD_START: Final = re.compile(WORD_START).match
_MAYBE_SPACE: Final = WHITE_SPACE + "#\\"
_PLAIN_SCALAR: Final = re.compile(
    r"""(?:-?(?:0|[1-9][0-9]{0,300}+)(?:\.[0-9]{1,300}+)?|'[^'"\\\x00-\x1f]*+'|"[^"\\\x00-\x1f]*+")(?=[,:\]})])"""
).match


def number_to_json(number: str) -> str | None:
    """A Python number without sign as JSON of the same value; None if it is no number, "" if it is out of range."""
    if _INTEGER(number) is not None:
        return number.replace("_", "").lstrip("0") or "0"
    if _BASED(number) is not None:
        value = int(number, 0)
        return str(value) if value.bit_length() <= LONGEST_CONVERTED else ""
    found = _FLOAT(number)
    if found is None or (found["whole"] or found["fraction"]) is None or (found["point"] or found["exponent"]) is None:
        return None
    json = (found["whole"] or "").lstrip("0_") or "0"
    if found["point"] is not None:
        json += "." + (found["fraction"] or "0")
    json = (json + (found["exponent"] or "")).replace("_", "")
    return "" if isinf(float(json)) else json


# What may come next inside a bracket.
_VALUE, _VALUE_OR_END, _KEY_OR_END, _COLON, _COMMA_OR_END = range(5)
_CLOSERS: Final = {"[": "]", "{": "}", "(": ")"}


class _Frame:
    """One open bracket. `held` is what is written behind a round one until a comma shows that it is a tuple."""

    __slots__ = ("closer", "held", "is_dict", "items", "keys", "outer", "write")

    def __init__(self, bracket: str, outer: Write) -> None:
        self.closer = _CLOSERS[bracket]
        self.outer = outer
        self.items = 0
        self.is_dict = bracket == "{"
        self.keys: set[str] = set()
        self.held: list[str] | None = [] if bracket == "(" else None
        self.write: Write = outer if self.held is None else self.held.append


class PythonReader(StringReader):
    """Reads literals from a context's window.

    `bare_words` makes other words strings of their spelling; `free_signs` allows one sign before a number or a number
    in parentheses, with space between; else it is one `-`, or any number of `+`, directly before the number.
    `members` collects the places of keys and values of the outermost dict, `duplicates` the keys written again.
    """

    __slots__ = ("_bare_words", "_free_signs", "_room", "duplicates", "members")

    def __init__(self, context: Context, *, newlines: bool, bare_words: bool, free_signs: bool) -> None:
        super().__init__(context, newlines=newlines)
        self._bare_words = bare_words
        self._free_signs = free_signs
        self._room = DEPTH_LIMIT
        self.duplicates: list[str] = []
        self.members: list[tuple[int, int, int, int]] = []

    def value(self, write: Write, depth: int = 0) -> Steps:
        """Read one value and write it; `depth` brackets around it count for the limit."""
        self._room = DEPTH_LIMIT - depth
        frames: list[_Frame] = []
        window = self._window
        expected = _VALUE
        key = (0, 0)
        start = window.offset
        while True:
            following = window.text[window.pos : window.pos + 1]
            if following in _MAYBE_SPACE:
                following = yield from self.space()
            self.depth = len(frames)
            if not following:
                raise self.cut()
            if following == ",":
                if expected != _COMMA_OR_END:
                    raise self.broken("a comma where no value ends")
                self.take()
                expected = self._after_comma(frames[-1])
                continue
            if following == ":":
                if expected != _COLON:
                    raise self.broken("a colon where no key ends")
                self.take()
                write(":")
                expected = _VALUE
                continue
            if following in ")]}":
                if not frames or following != frames[-1].closer or expected in {_COLON, _VALUE}:
                    raise self.broken(f"{following!r} where no bracket of its kind may end")
                self.take()
                self._close(frames.pop())
            elif expected in {_COLON, _COMMA_OR_END}:
                raise self.broken(f"{following!r} where a separator or an end must come")
            elif expected == _KEY_OR_END:
                key_start = window.offset
                pieces: list[str] = []
                if not self.plain_scalar(pieces.append):
                    yield from self.scalar(pieces.append)
                self._key(frames[-1], "".join(pieces))
                if len(frames) == 1:
                    key = key_start, self.end
                write = frames[-1].write
                expected = _COLON
                continue
            else:
                if expected == _VALUE_OR_END:
                    self._separate(frames[-1])
                    write = frames[-1].write
                if len(frames) == 1:
                    start = window.offset
                if following in "[{(":
                    self.token = window.offset
                    if len(frames) >= self._room:
                        raise self.broken(f"more than {DEPTH_LIMIT} containers are open", "depth_exceeded")
                    self.take()
                    frames.append(_Frame(following, write))
                    if following != "(":
                        write(following)
                    write = frames[-1].write
                    expected = _KEY_OR_END if following == "{" else _VALUE_OR_END
                    continue
                if not self.plain_scalar(write):
                    yield from self.scalar(write)
            if not frames:
                self.depth = 0
                return
            write = frames[-1].write
            expected = _COMMA_OR_END
            if len(frames) == 1 and frames[0].is_dict and self._context.details:
                self.members.append((key[0], key[1], start, self.end))

    def plain_scalar(self, write: Write) -> bool:
        """Read at once what stands for itself, and whole, in the window; the same as `scalar`, or nothing."""
        window = self._window
        found = _PLAIN_SCALAR(window.text, window.pos)
        if found is None:
            return False
        self.token = window.offset
        text = found[0]
        write(f'"{text[1:-1]}"' if text[0] == "'" else text)
        window.pos = found.end()
        self.end = window.offset
        return True

    def scalar(self, write: Write) -> Steps:
        """Read a string, a number or a word and write it as JSON."""
        window = self._window
        self.token = window.offset
        following = window.text[window.pos]
        if following in "'\"":
            yield from self.string("", write)
        elif following in "+-":
            yield from self._signed(write)
        elif "0" <= following <= "9" or following == ".":
            yield from self._number("", write)
        elif _WORD_START(following) is None:
            raise self.broken(f"{following!r} begins no value")
        else:
            word = yield from self.word()
            following = window.text[window.pos : window.pos + 1]
            if not following:
                raise self.cut()
            if following in "'\"":
                if word.lower() not in PREFIXES:
                    raise self.broken(f"a string with the prefix {word[:8]!r}")
                yield from self.string(word.lower(), write)
            elif word in CONSTANTS:
                write(CONSTANTS[word])
            elif self._bare_words:
                write(quote(word))
            else:
                raise self.broken(f"the word {word[:40]!r} is no value")

    def take(self) -> None:
        """Consume a bracket or a separator."""
        self.token = self._window.offset
        self._window.pos += 1
        self.end = self._window.offset

    def _separate(self, frame: _Frame) -> None:
        if frame.items:
            frame.write(",")
        frame.items += 1

    def _after_comma(self, frame: _Frame) -> int:
        if frame.held is not None:
            # A tuple after all.
            frame.outer("[" + "".join(frame.held))
            frame.held = None
            frame.write = frame.outer
        return _KEY_OR_END if frame.is_dict else _VALUE_OR_END

    def _close(self, frame: _Frame) -> None:
        if frame.held is None:
            frame.outer("}" if frame.is_dict else "]")
        else:
            frame.outer("".join(frame.held) if frame.items else "[]")

    def _key(self, frame: _Frame, key: str) -> None:
        """Write a key as a string."""
        if not key.startswith('"'):
            key = f'"{key}"'
        self._separate(frame)
        if key in frame.keys:
            self.duplicates.append(key)
        frame.keys.add(key)
        frame.write(key)

    def _signed(self, write: Write) -> Steps:
        window = self._window
        sign = "-" if window.text[window.pos] == "-" else ""
        window.pos += 1
        brackets = 0
        if self._free_signs:
            while (following := (yield from self.space())) == "(":
                if self.depth + brackets >= self._room:
                    self.depth += brackets
                    raise self.broken(f"more than {DEPTH_LIMIT} containers are open", "depth_exceeded")
                brackets += 1
                window.pos += 1
        else:
            while (following := (yield from self._next())) == "+" and not sign:
                window.pos += 1
        if not following:
            raise self.cut()
        if not ("0" <= following <= "9" or following == "."):
            self.depth += brackets
            raise self.broken("a sign before something other than a number")
        yield from self._number(sign, write)
        for open_brackets in range(brackets, 0, -1):
            following = yield from self.space()
            self.depth += open_brackets
            if not following:
                raise self.cut()
            if following != ")":
                raise self.broken("something other than a number behind a sign")
            self.depth -= open_brackets
            window.pos += 1
        self.end = window.offset

    def _next(self) -> Generator[None, None, str]:
        """The next character, or "" at the end."""
        window = self._window
        while window.pos == len(window.text) and not window.final:
            yield
        return window.text[window.pos : window.pos + 1]

    def _number(self, sign: str, write: Write) -> Steps:
        window = self._window
        pieces: list[str] = []
        while True:
            text = window.text
            if pieces and pieces[-1][-1] in "eE" and text[window.pos : window.pos + 1] in {"+", "-"}:
                pieces.append(text[window.pos])
                window.pos += 1
            found = _NUMBER_RUN(text, window.pos)
            if found is not None:
                pieces.append(found[0])
                window.pos = found.end()
            if window.pos < len(text) or window.final:
                break
            yield
        number = "".join(pieces)
        self.end = window.offset
        json = number_to_json(number)
        if self._at_end() and any(number_to_json(number + more) is not None for more in ("", "0", ".0")):
            raise self.cut()
        if json is None:
            raise self.broken(f"{number[:40]!r} is no number")
        if not json:
            raise self.broken(f"the number {number[:40]} is out of range")
        write(sign + json)
