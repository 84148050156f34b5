"""The outer loop of all tool formats: text, markers, openers with their conditions, blocks, faults.

A format says which literals open a block and what must follow them, which literals are markers of its own, and
how a block is read (`read_block`, the shape). Everything outside blocks is the same for all of them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from re import Match
from typing import Final, TypeAlias

from sluicegate.core.call import CallBuilder
from sluicegate.core.context import Context
from sluicegate.core.errors import InvalidDialect
from sluicegate.core.outline import Layout, Outline
from sluicegate.core.patterns import CUT, SPACE_CLASS, Cut, Markers, Pattern, Steps
from sluicegate.core.window import Window


@dataclass(frozen=True, kw_only=True)
class Opener:
    """A literal that opens a block where `condition` follows it (no condition: always).

    Where the condition is contradicted the literal is a mention, plain text. Its reach ends behind the first of
    `reach`, or before the next opener that counts: inside it other markers are text, too. A block with a `problem` is
    never readable. `bare_header` lets the block begin with a word before the literal, if that is the call's name.
    A `trial` is a bracket that may begin a call: the reader of the block says whether it is one, or text.
    """

    literal: str
    condition: Pattern | None = None
    reach: tuple[str, ...] = ()
    problem: str = ""
    bare_header: bool = False
    trial: bool = False

    def decide(self, window: Window) -> Generator[None, None, tuple[Match[str] | None] | Cut | None]:
        """Whether the literal, which is next in the window, opens a block: the match of the condition in a tuple,
        `CUT` if the text ends before that is decided, or None. It stays in the window: it is text if it does not count.
        """
        condition = self.condition
        if condition is None:
            return (None,)
        size = len(self.literal)
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


_SPACE: Final = re.compile(f"[{SPACE_CLASS}]").search

Found: TypeAlias = "Match[str] | Cut | None"


class Session:
    """One output at work in one tool format."""

    __slots__ = ("context", "header_start", "outline", "window", "word_start")

    def __init__(self, context: Context, layout: Layout) -> None:
        self.context = context
        self.window = context.window
        self.outline = Outline(context, layout)
        # Raw offsets of what was read before an opener and may belong to its block; -1 if nothing was.
        self.header_start = -1
        self.word_start = -1

    def call(self, start: int | None = None) -> CallBuilder:
        """A block begins at raw offset `start`, by default where the window stands, or with the header before it."""
        if start is None:
            start = self.window.offset if self.header_start < 0 else self.header_start
        call = CallBuilder(self.context, self.outline, start)
        call.word_start = self.word_start
        self.header_start = self.word_start = -1
        return call

    def take(self, length: int) -> None:
        """Consume `length` code points of a block."""
        self.window.pos += length


@dataclass(kw_only=True, eq=False)
class BlockFormat(ABC):
    """A tool format: the table that all shapes share.

    `openers` begin blocks, `closers` are the other markers (stray ones are markup), `stray_tags` are markers with a
    variable part behind the literal, `wrappers` are markup also in a text without a call. `stops` end a fault:
    behind a closing one (`closing_stops`), before an opening one; with `unstopped_is_cut` a fault without a stop counts
    as cut off by the end. `sections` pairs section openers with their closers, for diagnostics.
    `headed` are wrappers with a header, the text up to the next marker; behind it a block begins with that wrapper.
    `bare_header_behind` are the wrappers behind which, as at the start of the output, a word may be a header by itself.
    """

    names: tuple[str, ...]
    openers: tuple[Opener, ...]
    closers: tuple[str, ...] = ()
    stray_tags: Mapping[str, Pattern] = field(default_factory=dict)
    wrappers: tuple[str, ...] = ()
    headed: tuple[str, ...] = ()
    bare_header_behind: tuple[str, ...] = ()
    sections: Mapping[str, str] = field(default_factory=dict)
    closing_stops: tuple[str, ...] = ()
    opening_stops: tuple[str, ...] = ()
    unstopped_is_cut: bool = False
    layout: Layout = Layout()

    def __post_init__(self) -> None:
        if not self.names:
            raise InvalidDialect("a format needs a name")
        self._openers = {opener.literal: opener for opener in self.openers}
        end_tokens = self.layout.end_tokens
        sections = (*self.sections, *self.sections.values())
        everything = (
            *self._openers,
            *self.closers,
            *sections,
            *self.stray_tags,
            *self.wrappers,
            *self.headed,
            *end_tokens,
        )
        self._outside = Markers(everything)
        self._end_tokens = frozenset(end_tokens)
        self._wrappers = frozenset(self.wrappers)
        self._headed = frozenset(self.headed)
        self._section_ends = frozenset(self.sections.values())
        # In the reach of a mention only openers, its closers and end-of-turn tokens mean anything.
        closers = {closer for opener in self.openers for closer in opener.reach}
        self._in_reach = Markers((*self._openers, *closers, *self.wrappers, *end_tokens))
        self._stops = Markers((*self.closing_stops, *self.opening_stops, *self._openers))

    @property
    def markers(self) -> tuple[str, ...]:
        """The literals that open a section or a call."""
        return (*self.sections, *(opener.literal for opener in self.openers if not opener.trial))

    def read_start(self, session: Session) -> Iterable[None]:
        """Read what counts only at the very start of an output; by default nothing does."""
        return ()

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
        yield from self.read_start(session)
        while True:
            if outline.exhausted:
                reach, searched = frozenset(), None
                literal, at = None, len(window.text)
            else:
                if self.bare_header_behind and (
                    window.offset == 0 or window.text.endswith(self.bare_header_behind, 0, window.pos)
                ):
                    yield from self._read_word(session)
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
                found = yield from opener.decide(window)
                if found is not None:
                    reach = frozenset()
                    if session.word_start < 0 and not opener.trial:
                        outline.block()
                    if found is CUT:
                        call = session.call()
                        window.pos = len(window.text)
                        call.fault("incomplete_call", f"the text ends behind {literal!r}", incomplete=True)
                    elif opener.problem:
                        call = session.call()
                        session.take(len(literal))
                        yield from self.resynchronise(session, call, window.offset, "malformed_call", opener.problem)
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
            elif literal in self._headed:
                yield from self._read_headed(session, literal)
            elif reach:
                outline.text(window.pos + len(literal))
                if literal in reach:
                    reach = frozenset()
            else:
                if literal in self.sections:
                    open_section, section_start = literal, window.offset
                elif literal in self._section_ends:
                    open_section = ""
                else:
                    start = window.offset
                    context.report(
                        "stray_marker", "info", start, start + len(literal), f"{literal!r} belongs to no call"
                    )
                yield from self._marker(session, literal)
        if open_section:
            end = section_start + len(open_section)
            context.report("unclosed_wrapper", "warning", section_start, end, f"{open_section!r} is never closed")
        outline.finish()

    def _read_word(self, session: Session) -> Steps:
        """Consume a first word: it may be the header of the block behind it; anything else is text."""
        window = session.window
        start = window.offset
        window.keep(start)
        while True:
            literal, at = self._outside.find(window.text, window.pos, window.final)
            space = _SPACE(window.text, window.pos, at)
            window.pos = at if space is None else space.start()
            if space is not None or literal is not None or window.final:
                break
            yield
        if window.offset > start:
            opener = self._openers.get(literal) if literal is not None and space is None else None
            if opener is not None and opener.bare_header:
                session.word_start = start
                return
            session.outline.passage(start, window.slice(start, window.offset))
        window.release()

    def _read_headed(self, session: Session, literal: str) -> Steps:
        """Consume a wrapper and its header; they belong to the block if one begins behind them."""
        window = session.window
        start = window.offset
        window.keep(start)
        window.pos += len(literal)
        while True:
            following, at = self._outside.find(window.text, window.pos, window.final)
            window.pos = at
            if following is not None or window.final:
                break
            yield
        if following in self._openers:
            session.header_start = start
        else:
            session.outline.wrapped(start, window.offset)
            window.release()

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
            found = yield from opener.decide(window)
            if found is not None:
                break
            window.pos += len(literal)
        if literal is not None and code == "incomplete_call":
            code = "malformed_call"
        call.fault(code, message, incomplete=self.unstopped_is_cut and literal is None)
