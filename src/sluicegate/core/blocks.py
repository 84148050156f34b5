"""The outer loop of all tool formats: text, markers, openers with their conditions, blocks, faults.

A format says which literals open a block and what must follow them, which literals are markers of its own, and
how a block is read (`read_block`, the shape). Everything outside blocks is the same for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from re import Match
from typing import Final, TypeAlias

from sluicegate.core.call import CallBuilder
from sluicegate.core.context import Context
from sluicegate.core.errors import InvalidDialect
from sluicegate.core.outline import Layout, Outline
from sluicegate.core.patterns import CUT, Cut, Markers, Pattern, Steps


@dataclass(frozen=True, kw_only=True)
class Opener:
    """A literal that opens a block where `condition` follows it (no condition: always).

    Where the condition is contradicted the literal is a mention, plain text. Its reach ends behind the first of
    `reach`, or before the next opener that counts: inside it other markers are text, too.
    """

    literal: str
    condition: Pattern | None = None
    reach: tuple[str, ...] = ()


Found: TypeAlias = "Match[str] | Cut | None"


class Session:
    """One output at work in one tool format."""

    __slots__ = ("context", "outline", "window")

    def __init__(self, context: Context, layout: Layout) -> None:
        self.context = context
        self.window = context.window
        self.outline = Outline(context, layout)

    def call(self, start: int | None = None) -> CallBuilder:
        """A block begins at raw offset `start`, by default where the window stands."""
        return CallBuilder(self.context, self.outline, self.window.offset if start is None else start)

    def take(self, length: int) -> None:
        """Consume `length` code points of a block."""
        self.window.pos += length


@dataclass(kw_only=True, eq=False)
class BlockFormat(ABC):
    """A tool format: the table that all shapes share.

    `openers` begin blocks, `closers` are the other markers (stray ones are markup), `stray_tags` are markers with a
    variable part behind the literal, `wrappers` are markup also in a text without a call. `stops` end a fault:
    behind a closing one (`closing_stops`), before an opening one. `sections` pairs section openers with their closers, for diagnostics.
    """

    names: tuple[str, ...]
    openers: tuple[Opener, ...]
    closers: tuple[str, ...] = ()
    stray_tags: Mapping[str, Pattern] = field(default_factory=dict)
    wrappers: tuple[str, ...] = ()
    sections: Mapping[str, str] = field(default_factory=dict)
    closing_stops: tuple[str, ...] = ()
    opening_stops: tuple[str, ...] = ()
    layout: Layout = Layout()

    def __post_init__(self) -> None:
        if not self.names:
            raise InvalidDialect("a format needs a name")
        self._openers: Final = {opener.literal: opener for opener in self.openers}
        end_tokens = self.layout.end_tokens
        sections = (*self.sections, *self.sections.values())
        everything = (*self._openers, *self.closers, *sections, *self.stray_tags, *self.wrappers, *end_tokens)
        self._outside: Final = Markers(everything)
        self._end_tokens: Final = frozenset(end_tokens)
        self._wrappers: Final = frozenset(self.wrappers)
        # In the reach of a mention only openers, its closers and end-of-turn tokens mean anything.
        closers = {closer for opener in self.openers for closer in opener.reach}
        self._in_reach: Final = Markers((*self._openers, *closers, *self.wrappers, *end_tokens))
        self._stops: Final = Markers((*self.closing_stops, *self.opening_stops, *self._openers))

    @property
    def markers(self) -> tuple[str, ...]:
        """The literals that open a section or a call."""
        return (*self.sections, *self._openers)

    @abstractmethod
    def read_block(self, session: Session, opener: Opener, found: Match[str] | None) -> Steps:
        """Read the block whose opener is next in the window; `found` is the match of its condition.

        Ends when the block's calls and faults are done. The window then stands behind it.
        """

    def read(self, context: Context) -> Steps:
        """Read one output."""
        session = Session(context, self.layout)
        window, outline = session.window, session.outline
        reach: frozenset[str] = frozenset()
        open_section = ""
        section_start = 0
        while True:
            if outline.exhausted:
                reach, searched = frozenset(), None
                literal, at = None, len(window.text)
            else:
                searched = self._in_reach if reach else self._outside
                literal, at = searched.find(window.text, window.pos, window.final)
            outline.text(at)
            if literal is None:
                if window.final:
                    break
                yield
                continue
            opener = self._openers.get(literal)
            if opener is not None:
                found = yield from self._decide(session, opener)
                if found is not None:
                    reach = frozenset()
                    outline.block()
                    if found is CUT:
                        call = session.call()
                        window.pos = len(window.text)
                        call.fault("incomplete_call", f"the text ends behind {literal!r}", incomplete=True)
                    else:
                        yield from self.read_block(session, opener, found[0])
                    continue
                start = window.offset
                context.report(
                    "stray_marker", "info", start, start + len(literal), f"no call begins at {literal!r}: it is text"
                )
                outline.text(window.pos + len(literal))
                closers = frozenset(opener.reach)
                reach = (reach & closers) or reach if reach else closers
            elif literal in self._end_tokens:
                outline.end_token(len(literal))
            elif literal in self._wrappers:
                outline.wrapper(len(literal))
            elif reach:
                outline.text(window.pos + len(literal))
                if literal in reach:
                    reach = frozenset()
            else:
                if literal in self.sections:
                    open_section, section_start = literal, window.offset
                elif open_section and literal == self.sections[open_section]:
                    open_section = ""
                elif literal not in self.sections.values():
                    start = window.offset
                    context.report(
                        "stray_marker", "info", start, start + len(literal), f"{literal!r} belongs to no call"
                    )
                yield from self._marker(session, literal)
        if open_section:
            end = section_start + len(open_section)
            context.report("unclosed_wrapper", "warning", section_start, end, f"{open_section!r} is never closed")
        outline.finish()

    def _decide(self, session: Session, opener: Opener) -> Generator[None, None, tuple[Match[str] | None] | Cut | None]:
        """Whether the opener that is next counts: the match of its condition in a tuple, `CUT`, or None."""
        if opener.condition is None:
            return (None,)
        window = session.window
        size = len(opener.literal)
        # The literal stays in the window: it is text if the condition does not hold.
        condition = opener.condition
        while True:
            at = window.pos + size
            found = condition.match(window.text, at)
            if found is not None:
                return (found,)
            if condition.may_match(window.text, at) is None:
                return None
            if window.final:
                return CUT
            yield

    def _marker(self, session: Session, literal: str) -> Steps:
        """A marker outside blocks: markup, with its variable part if it is written as the format says."""
        window = session.window
        size = len(literal)
        tag = self.stray_tags.get(literal)
        if tag is not None:
            while True:
                found = tag.match(window.text, window.pos + size)
                if found is not None:
                    size = found.end() - window.pos
                    break
                if window.final or tag.may_match(window.text, window.pos + size) is None:
                    break
                yield
        session.outline.marker(size)

    def resynchronise(self, session: Session, call: CallBuilder, start: int, code: str, message: str) -> Steps:
        """The block cannot be read: its fault ends at the first stop from raw offset `start` on, or with the text."""
        window = session.window
        window.rewind(start)
        while True:
            literal, at = self._stops.find(window.text, window.pos, window.final)
            window.pos = at
            if literal is None:
                if window.final:
                    break
                yield
                continue
            if literal in self.closing_stops:
                window.pos += len(literal)
                break
            opener = self._openers.get(literal)
            if opener is None:
                break
            found = yield from self._decide(session, opener)
            if found is not None:
                break
            window.pos += len(literal)
        call.fault(code, message)
