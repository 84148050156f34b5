"""Markers and patterns that can be searched for in text that is still growing.

`Markers` finds the next of several literals and says what suffix may still become one. `Pattern` is a short
sequence that must follow a marker; it answers yes, no, or "needs more text". Both compile to `re` patterns
once, when a format's table is made, and never look at text twice but for a bounded suffix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Final, TypeAlias

from sluicegate.core.errors import InvalidDialect
from sluicegate.core.window import Window

WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode White_Space; `str.isspace` differs (U+001C to U+001F)."""

SPACE_CLASS: Final = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""The same as the inside of a regular expression's character class."""

JSON_SPACE: Final = "[ \t\n\r]*"
"""An expression for the white space that JSON may hold."""

_STRETCH: Final = 512
"""How far is searched for one of several characters at a time, in code points."""

_CANDIDATES: Final = 4
"""How many places with a first character are looked at one by one."""

RUN_LIMIT: Final = 256
"""Longest variable part of a marker, in code points; a longer one is not a marker."""

Steps: TypeAlias = Generator[None, None, None]
"""A reader at work: it yields when it needs more text and ends when it is done."""


class Cut(Enum):
    """What a reader returns when the text ended before something was decided."""

    CUT = "cut"


CUT: Final = Cut.CUT


@dataclass(frozen=True)
class Run:
    """A run of characters: `characters` is the inside of a character class, captured under `name` if given."""

    characters: str
    at_least: int = 0
    at_most: int = RUN_LIMIT
    name: str = ""


@dataclass(frozen=True)
class LineBreakSpace:
    """Optional white space that holds a line break."""


@dataclass(frozen=True)
class Either:
    """One of several alternatives, tried in order; each is an element or a sequence of elements."""

    alternatives: tuple[str | tuple[Element, ...], ...]


@dataclass(frozen=True)
class Unless:
    """Nothing, where none of these literals follows."""

    literals: tuple[str, ...]


Element: TypeAlias = "str | Run | LineBreakSpace | Either | Unless"

SPACE: Final = Run(SPACE_CLASS)
SOME_SPACE: Final = Run(SPACE_CLASS, 1)


_BREAK: Final = r"[\n-\r\x85\u2028\u2029]"
_NO_BREAK: Final = r"[\t \xa0\u1680\u2000-\u200a\u202f\u205f\u3000]"
_CAPPED: Final = rf"(?=[{SPACE_CLASS}]{{1,{RUN_LIMIT}}}(?![{SPACE_CLASS}]))"
_TO_BREAK: Final = rf"{_CAPPED}{_NO_BREAK}*+"


def either(*alternatives: str | tuple[Element, ...]) -> Either:
    """One of several alternatives, tried in order."""
    return Either(alternatives)


def _sequence(alternative: str | tuple[Element, ...]) -> tuple[Element, ...]:
    return (alternative,) if isinstance(alternative, str) else alternative


def stands_at(text: str, literal: str, pos: int) -> bool:
    """Whether the literal stands at a position. A compiled core calls `str.startswith` with a position slowly."""
    return text[pos : pos + len(literal)] == literal


def beginnings(literals: Iterable[str]) -> list[str]:
    """The proper beginnings of the literals, longest first."""
    return sorted({literal[:end] for literal in literals for end in range(1, len(literal))}, key=len, reverse=True)


def _any(literals: Iterable[str]) -> str:
    return "|".join(map(re.escape, literals))


def _whole(elements: Sequence[Element]) -> str:
    """The regular expression of a whole match."""
    parts: list[str] = []
    for element in elements:
        if isinstance(element, str):
            parts.append(re.escape(element))
        elif isinstance(element, Run):
            run = f"[{element.characters}]{{{element.at_least},{element.at_most}}}"
            parts.append(f"(?P<{element.name}>{run})" if element.name else run)
        elif isinstance(element, LineBreakSpace):
            parts.append(rf"(?:{_TO_BREAK}{_BREAK}[{SPACE_CLASS}]*+)?")
        elif isinstance(element, Unless):
            parts.append(rf"(?!{_any(element.literals)}|(?:{_any(beginnings(element.literals))})\Z)")
        else:
            parts.append("(?:" + "|".join(_whole(_sequence(a)) for a in element.alternatives) + ")")
    return "".join(parts)


def _beginning(elements: Sequence[Element]) -> str:
    r"""The regular expression of every beginning of a match that reaches to the end of the text."""
    if not elements:
        return r"(?!)"
    first, rest = elements[0], elements[1:]
    if isinstance(first, str):
        expression = _beginning(rest)
        for character in reversed(first):
            expression = rf"(?:\Z|{re.escape(character)}{expression})"
        return expression
    if isinstance(first, Run):
        run = f"[{first.characters}]"
        more = rf"{run}{{{first.at_least},{first.at_most}}}(?:\Z|{_beginning(rest)})"
        return rf"(?:{run}{{0,{first.at_least - 1}}}\Z|{more})" if first.at_least else more
    if isinstance(first, LineBreakSpace):
        following = _beginning(rest)
        return rf"(?:{_TO_BREAK}(?:\Z|{_BREAK}[{SPACE_CLASS}]*+(?:\Z|{following}))|{following})"
    if isinstance(first, Unless):
        return rf"(?:(?:{_any(beginnings(first.literals))})\Z|(?!{_any(first.literals)}){_beginning(rest)})"
    return "(?:" + "|".join(_beginning((*_sequence(a), *rest)) for a in first.alternatives) + ")"


Matcher: TypeAlias = Callable[[str, int], "re.Match[str] | None"]


@cache
def search_any(literals: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    """The search for one of these literals, compiled once; it finds nothing if there are none."""
    return re.compile(_any(literals) or r"(?!)").search


class Pattern:
    """A sequence of literals, capped runs and alternatives that may match at a place.

    Its two expressions are compiled when they are first needed: a process uses few of the formats that it imports.
    """

    __slots__ = ("_match", "_may_match", "elements")

    def __init__(self, *elements: Element) -> None:
        self.elements = elements
        self._match: Matcher | None = None
        self._may_match: Matcher | None = None

    @property
    def expression(self) -> str:
        """The regular expression of a whole match."""
        return _whole(self.elements)

    @property
    def beginning(self) -> str:
        """The regular expression of every beginning of a match that reaches to the end of the text."""
        return _beginning(self.elements)

    def match(self, text: str, pos: int) -> re.Match[str] | None:
        """The whole match at a position, if there is one."""
        match = self._match
        if match is None:
            match = self._match = re.compile(self.expression).match
        return match(text, pos)

    def may_match(self, text: str, pos: int) -> re.Match[str] | None:
        """The rest of the text from a position on, if more text could make it a match."""
        may_match = self._may_match
        if may_match is None:
            may_match = self._may_match = re.compile(self.beginning).match
        return may_match(text, pos)

    def expect(self, window: Window) -> Generator[None, None, re.Match[str] | Cut | None]:
        """Match at the window's position, waiting for text as long as it may match.

        Nothing is consumed. Returns the match (its positions are those of `window.text`), None if it cannot match,
        `CUT` if the text ended before that was decided.
        """
        while True:
            found = self.match(window.text, window.pos)
            if found is not None:
                return found
            if self.may_match(window.text, window.pos) is None:
                return None
            if window.final:
                return CUT
            yield


class Markers:
    """A set of literals to search for; like a pattern's, its expressions are compiled when they are first needed."""

    __slots__ = ("_beginning", "_firsts", "_growing", "_heads", "_search", "_shortest", "literals", "longest")

    def __init__(self, literals: Iterable[str]) -> None:
        self.literals = tuple(sorted(set(literals), key=lambda literal: (-len(literal), literal)))
        if not self.literals or not all(self.literals):
            raise InvalidDialect(f"markers must be non-empty literals: {self.literals!r}")
        self.longest = len(self.literals[0])
        # A marker that begins a longer one is undecided while the text may go on to the longer one.
        self._growing = frozenset(a for a in self.literals if any(b != a and b.startswith(a) for b in self.literals))
        firsts = {literal[0] for literal in self.literals}
        # Only few characters are worth a search for each of them.
        self._firsts = tuple(firsts) if len(firsts) < 4 else ()
        # The literals by what they begin with, longest first.
        self._shortest = len(self.literals[-1])
        self._heads: dict[str, list[str]] = {}
        for literal in self.literals:
            self._heads.setdefault(literal[: self._shortest], []).append(literal)
        self._search: Matcher | None = None
        self._beginning: Matcher | None = None

    def find(self, text: str, pos: int, final: bool) -> tuple[str | None, int]:
        """Search from `pos`: the next literal and where it starts, or None and from where text must be held.

        Text before the returned position holds no literal and no beginning of one.
        """
        found = ""
        start = pos
        if self._firsts:
            start = pos = self._candidate(text, pos)
            if pos < 0:
                return None, len(text)
            # Mostly it is a marker, or one of the next is. Where many are none the expression is quicker.
            found = self.literal_at(text, pos)
            tried = 1
            while not found and pos >= 0 and tried < _CANDIDATES:
                pos = self._candidate(text, pos + 1)
                found = self.literal_at(text, pos) if pos >= 0 else ""
                tried += 1
        if not found and pos >= 0:
            search = self._search
            if search is None:
                # No groups: they cost the search its skip over first characters.
                search = self._search = re.compile(_any(self.literals)).search
            match = search(text, pos)
            if match is not None:
                found = match[0]
                pos = match.start()
        if found:
            if found in self._growing and not final and len(text) - pos < self.longest:
                tail = text[pos:]
                if any(longer.startswith(tail) for longer in self.literals if len(longer) > len(tail)):
                    return None, pos
            return found, pos
        if final or self.longest == 1:
            return None, len(text)
        beginning = self._beginning
        if beginning is None:
            beginning = self._beginning = re.compile(rf"(?:{_any(beginnings(self.literals))})\Z").search
        held = beginning(text, max(start, len(text) - self.longest + 1))
        return None, held.start() if held is not None else len(text)

    def find_here(self, text: str, pos: int, final: bool) -> tuple[str | None, int]:
        """The same where only what stands at `pos` matters, as an offset from there: little text is searched."""
        return self.find(text[pos : pos + self.longest], 0, final)

    def _candidate(self, text: str, pos: int) -> int:
        """Where from `pos` on the first character of a literal stands, -1 if nowhere."""
        firsts = self._firsts
        if len(firsts) == 1:
            return text.find(firsts[0], pos)
        size = len(text)
        # Stretch by stretch: a search for a rare character must not run over the text again at each frequent one.
        while pos < size:
            limit = end = min(pos + _STRETCH, size)
            for first in firsts:
                at = text.find(first, pos, end)
                if at >= 0:
                    end = at
            if end < limit:
                return end
            pos = limit
        return -1

    def literal_at(self, text: str, pos: int) -> str:
        """The longest literal that stands at a position, "" if none does."""
        literals = self._heads.get(text[pos : pos + self._shortest])
        if literals is not None:
            piece = text[pos : pos + self.longest]
            for literal in literals:
                if piece.startswith(literal):
                    return literal
        return ""
