"""A tag that is certain to be one, read part by part as it comes: nothing in it is too long.

A `Pattern` decides with a bounded look ahead whether something is a tag; a `Sequence` reads a tag where the grammar
allows nothing else, consumes it, and captures its variable parts.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final, TypeAlias

from sluicegate.core.patterns import CUT, RUN_LIMIT, SPACE_CLASS, WHITE_SPACE, Cut, Markers, Run
from sluicegate.core.window import Window

SUFFIX: Final = "\0"
"""Stands in a literal for the suffix that all tags of one call carry."""


@dataclass(frozen=True)
class Text:
    """One or more of the `characters` (the inside of a character class), none of the literals `without` in them."""

    name: str
    characters: str
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Until:
    """Any text up to `literal`, which is consumed, too; one of the literals `without` may not stand in it."""

    name: str
    literal: str
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class OneOf:
    """One of several words; none begins another one."""

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Attributes:
    """White space and attributes `word="…"` up to `literal`, in any order, captured by the names of `captures`
    (word -> name).

    `&quot;` and `&amp;` are decoded in their values. Those in `required` must be there; other words are passed over.
    """

    literal: str
    captures: dict[str, str]
    required: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


Part: TypeAlias = "str | Run | Text | Until | OneOf | Attributes"


class Captured:
    """A captured part: its text and its place, as offsets in the raw text."""

    __slots__ = ("end", "start", "text")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text = text
        self.start = start
        self.end = end

    def trimmed(self) -> Captured:
        """The same without white space around it."""
        text = self.text.strip(WHITE_SPACE)
        if len(text) == len(self.text):
            return self
        if not text:
            return Captured("", self.start, self.start)
        begin = len(self.text) - len(self.text.lstrip(WHITE_SPACE))
        return Captured(text, self.start + begin, self.end - (len(self.text) - begin - len(text)))


Captures: TypeAlias = dict[str, Captured]

_ATTRIBUTE: Final = re.compile(rf'(?<=[{SPACE_CLASS}])(\w+)="([^"]*)"').finditer


class Sequence:
    """Parts that follow one another.

    `expression` is the regular expression of parts that are wholly there; it may match less than they do, never
    something else. What it matches is a tag if `captured` says so. `usual` is the same where attributes are written as
    models mostly do, and captures them, too; what it matches is a tag if its suffix is right (`suffixed`).
    """

    __slots__ = (
        "_attributes",
        "_names",
        "_readers",
        "_usual_attributes",
        "_whole",
        "expression",
        "parts",
        "suffixed",
        "usual",
    )

    def __init__(self, *parts: Part) -> None:
        self.parts = parts
        self._readers: list[_Literal | _Run | _UntilLiteral | _OneOf] = [_reader(part) for part in parts]
        self.expression = _expressions(parts)
        self.usual = _expressions(parts, usual=True)
        # A tag that lies in the window as a whole is matched at once; most do.
        self._whole = re.compile(self.expression).match
        self.suffixed = _SUFFIX_GROUP in self.expression
        self._names = [part.name for part in parts if isinstance(part, Text | Until | OneOf)]
        self._attributes = next((part for part in parts if isinstance(part, Attributes)), None)
        self._usual_attributes = (
            None if self._attributes is None else re.compile(_usual_attributes(self._attributes)).fullmatch
        )

    def captured(self, found: re.Match[str], suffix: str, base: int) -> Captures | None:
        """What the parts captured in a match of `expression`, None if it is no tag with this `suffix`.

        `base` is the raw offset at which the text starts.
        """
        if self.suffixed and found["suffix"] != suffix:
            return None
        captures = {
            name: Captured(found[name], base + found.start(name), base + found.end(name)) for name in self._names
        }
        if self._attributes is None:
            return captures
        start = base + found.start(_ATTRIBUTES)
        assert self._usual_attributes is not None
        usual = self._usual_attributes(found[_ATTRIBUTES])
        if usual is not None:
            for name, text in usual.groupdict().items():
                if text is not None:
                    captures[name] = Captured(text, start + usual.start(name), start + usual.end(name))
            return captures
        return captures if _capture_attributes(self._attributes, found[_ATTRIBUTES], start, captures) else None

    def read(self, window: Window, suffix: str = "") -> Generator[None, None, Captures | Cut | None]:
        """Read and consume the parts: what they captured, None where the text does not go on so, `CUT` at its end.

        The window must keep what is consumed.
        """
        found = self._whole(window.text, window.pos)
        if found is not None and found.end() < len(window.text):
            captured = self.captured(found, suffix, window.base)
            if captured is not None:
                window.pos = found.end()
                return captured
        captures: Captures = {}
        for reader in self._readers:
            start = window.offset
            while (done := reader.read(window, suffix, captures, start)) is None:
                yield
            if done is CUT:
                return CUT
            if not done:
                return None
        return captures


_ATTRIBUTES: Final = "attributes"
_SUFFIX_GROUP: Final = f"(?P<suffix>(?::.{{1,{RUN_LIMIT}}}?)?)"


def _expressions(parts: tuple[Part, ...], *, usual: bool = False) -> str:
    """The regular expression of parts that follow one another; all their suffixes are the same."""
    expression = "".join(
        _usual_attributes(part) + re.escape(part.literal)
        if usual and isinstance(part, Attributes)
        else _expression(part)
        for part in parts
    )
    return expression.replace(SUFFIX, _SUFFIX_GROUP, 1).replace(SUFFIX, "(?P=suffix)")


def _expression(part: Part) -> str:
    """The regular expression of a part that is wholly there; a suffix stays as it is written in the part."""
    if isinstance(part, str):
        return SUFFIX.join(map(re.escape, part.split(SUFFIX)))
    if isinstance(part, Run):
        return f"[{part.characters}]{{{part.at_least},}}+"
    if isinstance(part, OneOf):
        return f"(?P<{part.name}>{'|'.join(map(re.escape, part.words))})"
    if isinstance(part, Text):
        return f"(?P<{part.name}>(?>{_without(part.characters, part.without)}+))"
    name = _ATTRIBUTES if isinstance(part, Attributes) else part.name
    characters = f"^{re.escape(part.literal[0])}"
    without = tuple(literal for literal in part.without if literal[0] != part.literal[0])
    return f"(?P<{name}>(?>{_without(characters, without)}*)){re.escape(part.literal)}"


def _without(characters: str, literals: tuple[str, ...]) -> str:
    """The expression of one of the characters at which none of the literals begins."""
    return f"(?:(?!{'|'.join(map(re.escape, literals))})[{characters}])" if literals else f"[{characters}]"


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


Done: TypeAlias = "bool | Cut | None"
"""What a reader of a part says: whether the part is there, `CUT` at the end of the text, None if it takes more text."""


class _Literal:
    def __init__(self, literal: str) -> None:
        self.literal = literal

    def read(self, window: Window, suffix: str, _captures: Captures, _start: int) -> Done:
        literal = self.literal.replace(SUFFIX, suffix)
        if window.text.startswith(literal, window.pos):
            window.pos += len(literal)
            return True
        if not literal.startswith(window.text[window.pos : window.pos + len(literal)]):
            return False
        return CUT if window.final else None


class _Run:
    def __init__(self, characters: str, at_least: int, name: str, without: tuple[str, ...]) -> None:
        self.run = re.compile(f"[{characters}]*").match
        self.at_least = at_least
        self.name = name
        self.without = without

    def read(self, window: Window, _suffix: str, captures: Captures, start: int) -> Done:
        found = self.run(window.text, window.pos)
        assert found is not None
        window.pos = found.end()
        ended = window.pos < len(window.text)
        if not (ended or window.final):
            return None
        end = window.offset
        if self.name:
            text = window.slice(start, end)
            if any(literal in text for literal in self.without):
                return False
            captures[self.name] = Captured(text, start, end)
        return end - start >= self.at_least if ended else CUT


class _OneOf:
    def __init__(self, part: OneOf) -> None:
        self.part = part

    def read(self, window: Window, _suffix: str, captures: Captures, start: int) -> Done:
        text, pos = window.text, window.pos
        for word in self.part.words:
            if text.startswith(word, pos):
                captures[self.part.name] = Captured(word, start, start + len(word))
                window.pos += len(word)
                return True
        rest = text[pos : pos + max(map(len, self.part.words))]
        if not any(word.startswith(rest) for word in self.part.words):
            return False
        return CUT if window.final else None


class _UntilLiteral:
    def __init__(self, part: Until | Attributes) -> None:
        self.part = part
        self.markers = Markers((part.literal, *part.without))

    def read(self, window: Window, _suffix: str, captures: Captures, start: int) -> Done:
        literal, window.pos = self.markers.find(window.text, window.pos, window.final)
        if literal is None:
            return CUT if window.final else None
        if literal != self.part.literal:
            return False
        text = window.slice(start, window.offset)
        window.pos += len(literal)
        if isinstance(self.part, Until):
            captures[self.part.name] = Captured(text, start, start + len(text))
            return True
        return _capture_attributes(self.part, text, start, captures)


def _find_attributes(part: Attributes, text: str) -> dict[str, re.Match[str]] | None:
    """The attributes in a text by the names they are captured under, the first of each; None if one is missing."""
    found: dict[str, re.Match[str]] = {}
    if text and text[0] not in WHITE_SPACE:  # the word before is another, longer one
        return None
    for attribute in _ATTRIBUTE(text):
        name = part.captures.get(attribute[1])
        if name is not None and name not in found:
            found[name] = attribute
    return found if all(name in found for name in part.required) else None


def _usual_attributes(part: Attributes) -> str:
    """The expression of attributes that stand one after another, those that are captured first and in order, and need
    no decoding; what it captures is what `_find_attributes` finds.
    """
    space = f"[{SPACE_CLASS}]+"
    # The first characters of what ends the attributes, or may not stand in them.
    firsts = re.escape("".join(sorted({literal[0] for literal in (part.literal, *part.without)})))
    expression = ""
    for word, name in part.captures.items():
        attribute = f'{space}{re.escape(word)}="(?P<{name}>[^"&{firsts}]*)"'
        expression += attribute if name in part.required else f"(?:{attribute})?"
    others = rf'{space}(?!(?:{"|".join(map(re.escape, part.captures))})=)\w+="[^"{firsts}]*"'
    return f"{expression}(?:{others})*[{SPACE_CLASS}]*"


def _capture_attributes(part: Attributes, text: str, start: int, captures: Captures) -> bool:
    """Capture the attributes in a text that starts at raw offset `start`; whether those that must be there are."""
    attributes = _find_attributes(part, text)
    if attributes is None:
        return False
    for name, attribute in attributes.items():
        captures[name] = Captured(_decoded(attribute[2]), start + attribute.start(2), start + attribute.end(2))
    return True


def _decoded(value: str) -> str:
    return value.replace("&quot;", '"').replace("&amp;", "&") if "&" in value else value
