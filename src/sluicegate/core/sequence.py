"""A tag that is certain to be one, read part by part as it comes: nothing in it is too long.

A `Pattern` decides with a bounded look ahead whether something is a tag; a `Sequence` reads a tag where the grammar
allows nothing else, consumes it, and captures its variable parts.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Final, TypeAlias

from msgspec import Struct

from sluicegate.core.patterns import CUT, SPACE_CLASS, WHITE_SPACE, Cut, Markers, Run
from sluicegate.core.window import Window

SUFFIX: Final = "\0"
"""Stands in a literal for the suffix that all tags of one call carry."""


class Text(Struct, frozen=True):
    """One or more of the `characters` (the inside of a character class), none of the literals `without` in them."""

    name: str
    characters: str
    without: tuple[str, ...] = ()


class Until(Struct, frozen=True):
    """Any text up to `literal`, which is consumed, too; one of the literals `without` may not stand in it."""

    name: str
    literal: str
    without: tuple[str, ...] = ()


class OneOf(Struct, frozen=True):
    """One of several words; none begins another one."""

    name: str
    words: tuple[str, ...]


class Attributes(Struct, frozen=True):
    """Attributes `word="…"` in any order up to `literal`, captured by the names of `captures` (word -> name).

    `&quot;` and `&amp;` are decoded in their values. Those in `required` must be there; other words are passed over.
    """

    literal: str
    captures: dict[str, str]
    required: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


Part: TypeAlias = "str | Run | Text | Until | OneOf | Attributes"


class Captured(Struct, frozen=True, gc=False):
    """A captured part: its text and its place, as offsets in the raw text."""

    text: str
    start: int
    end: int

    def trimmed(self) -> Captured:
        """The same without white space around it."""
        text = self.text.strip(WHITE_SPACE)
        if not text:
            return Captured("", self.start, self.start)
        begin = len(self.text) - len(self.text.lstrip(WHITE_SPACE))
        return Captured(text, self.start + begin, self.end - (len(self.text) - begin - len(text)))


Captures: TypeAlias = dict[str, Captured]

_ATTRIBUTE: Final = re.compile(rf'(?<=[{SPACE_CLASS}])(\w+)="([^"]*)"').finditer


class Sequence:
    """Parts that follow one another."""

    __slots__ = ("_readers", "_texts", "_whole", "parts")

    def __init__(self, *parts: Part) -> None:
        self.parts = parts
        self._readers: list[_Literal | _Run | _UntilLiteral | _OneOf] = [_reader(part) for part in parts]
        # A tag that lies in the window as a whole is matched at once; most do.
        expressions = [_expression(part) for part in parts]
        self._whole = None if None in expressions else re.compile("".join(filter(None, expressions))).match
        self._texts = [part for part in parts if isinstance(part, Text | Until | OneOf)]

    def read(self, window: Window, suffix: str = "") -> Generator[None, None, Captures | Cut | None]:
        """Read and consume the parts: what they captured, None where the text does not go on so, `CUT` at its end.

        The window must keep what is consumed.
        """
        captures: Captures = {}
        found = None if self._whole is None else self._whole(window.text, window.pos)
        if found is not None and found.end() < len(window.text):
            for part in self._texts:
                text = found[part.name]
                if not isinstance(part, OneOf) and any(literal in text for literal in part.without):
                    return None
                captures[part.name] = Captured(
                    text, window.base + found.start(part.name), window.base + found.end(part.name)
                )
            window.pos = found.end()
            return captures
        for reader in self._readers:
            done = yield from reader.read(window, suffix, captures)
            if done is CUT:
                return CUT
            if not done:
                return None
        return captures


def _expression(part: Part) -> str | None:
    """The regular expression of a part that is wholly there; it may match less than the part, never something else."""
    if isinstance(part, str):
        return None if SUFFIX in part else re.escape(part)
    if isinstance(part, Run):
        return f"[{part.characters}]{{{part.at_least},}}+"
    if isinstance(part, Text):
        return f"(?P<{part.name}>[{part.characters}]++)"
    if isinstance(part, OneOf):
        return f"(?P<{part.name}>{'|'.join(map(re.escape, part.words))})"
    if isinstance(part, Until):
        return f"(?P<{part.name}>[^{re.escape(part.literal[0])}]*+){re.escape(part.literal)}"
    return None


def _reader(part: Part) -> _Literal | _Run | _UntilLiteral | _OneOf:
    if isinstance(part, str):
        return _Literal(part)
    if isinstance(part, Run):
        return _Run(part.characters, part.at_least, part.name, ())
    if isinstance(part, Text):
        return _Run(part.characters, 1, part.name, part.without)
    if isinstance(part, OneOf):
        return _OneOf(part)
    return _UntilLiteral(part)


Done: TypeAlias = "bool | Cut"


class _Literal:
    def __init__(self, literal: str) -> None:
        self.literal = literal

    def read(self, window: Window, suffix: str, _captures: Captures) -> Generator[None, None, Done]:
        literal = self.literal.replace(SUFFIX, suffix)
        while not window.text.startswith(literal, window.pos):
            if not literal.startswith(window.text[window.pos : window.pos + len(literal)]):
                return False
            if window.final:
                return CUT
            yield
        window.pos += len(literal)
        return True


class _Run:
    def __init__(self, characters: str, at_least: int, name: str, without: tuple[str, ...]) -> None:
        self.run = re.compile(f"[{characters}]*").match
        self.at_least = at_least
        self.name = name
        self.without = without

    def read(self, window: Window, _suffix: str, captures: Captures) -> Generator[None, None, Done]:
        start = window.offset
        while True:
            found = self.run(window.text, window.pos)
            assert found is not None
            window.pos = found.end()
            ended = window.pos < len(window.text)
            if ended or window.final:
                break
            yield
        end = window.offset
        if self.name:
            text = window.slice(start, end)
            if any(literal in text for literal in self.without):
                return False
            captures[self.name] = Captured(text, start, end)
        if not ended:
            return CUT
        return end - start >= self.at_least


class _OneOf:
    def __init__(self, part: OneOf) -> None:
        self.part = part

    def read(self, window: Window, _suffix: str, captures: Captures) -> Generator[None, None, Done]:
        while True:
            text, pos = window.text, window.pos
            for word in self.part.words:
                if text.startswith(word, pos):
                    captures[self.part.name] = Captured(word, window.offset, window.offset + len(word))
                    window.pos += len(word)
                    return True
            rest = text[pos : pos + max(map(len, self.part.words))]
            if not any(word.startswith(rest) for word in self.part.words):
                return False
            if window.final:
                return CUT
            yield


class _UntilLiteral:
    def __init__(self, part: Until | Attributes) -> None:
        self.part = part
        self.markers = Markers((part.literal, *part.without))

    def read(self, window: Window, _suffix: str, captures: Captures) -> Generator[None, None, Done]:
        start = window.offset
        while True:
            literal, at = self.markers.find(window.text, window.pos, window.final)
            window.pos = at
            if literal is not None:
                break
            if window.final:
                return CUT
            yield
        if literal != self.part.literal:
            return False
        text = window.slice(start, window.offset)
        window.pos += len(literal)
        if isinstance(self.part, Until):
            captures[self.part.name] = Captured(text, start, start + len(text))
            return True
        return self._attributes(self.part, text, start, captures)

    @staticmethod
    def _attributes(part: Attributes, text: str, start: int, captures: Captures) -> bool:
        for found in _ATTRIBUTE(text):
            name = part.captures.get(found[1])
            if name is not None and name not in captures:
                value = found[2].replace("&quot;", '"').replace("&amp;", "&")
                captures[name] = Captured(value, start + found.start(2), start + found.end(2))
        return all(name in captures for name in part.required)
