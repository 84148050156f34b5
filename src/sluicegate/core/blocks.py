"""The outer loop of all tool formats: text, markers, openers with their conditions, blocks, faults.

A format says which literals open a block and what must follow them, which literals are markers of its own, and
how a block is read (`read_block`, the shape). Everything outside blocks is the same for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from re import Match
from typing import Final

from sluicegate.core.call import CallBuilder
from sluicegate.core.context import Context
from sluicegate.core.errors import InvalidDialect
from sluicegate.core.json_reader import complete_value, whole_container
from sluicegate.core.outline import Layout, Outline
from sluicegate.core.patterns import SPACE_CLASS, Markers, Steps
from sluicegate.core.tags import Form, Opener, Recognised, Tag, is_certain, recognise, suffix_of
from sluicegate.core.thinking import Channel, ChannelReader

__all__ = ["BlockFormat", "Opener", "Session", "Tag"]


_SPACE: Final = re.compile(f"[{SPACE_CLASS}]").search


class Session:
    """One output at work in one tool format."""

    __slots__ = (
        "_looked_ahead",
        "context",
        "header_start",
        "known",
        "outline",
        "passed_keys",
        "section",
        "window",
        "word_start",
    )

    def __init__(self, context: Context, layout: Layout) -> None:
        self.context = context
        self.window = context.window
        self.outline = Outline(context, layout)
        # The suffix of the section that is open, None outside.
        self.section: str | None = None
        # Up to which raw offset no open value ends; the keys that were met behind a call closer, and where last.
        self.known = -1
        self.passed_keys: dict[str, int] = {}
        # Raw offsets of what was read before an opener and may belong to its block; -1 if nothing was.
        self.header_start = -1
        self.word_start = -1
        # Up to which raw offset `find_object` has looked ahead in vain.
        self._looked_ahead = 0

    def call(self, start: int | None = None) -> CallBuilder:
        """A block begins at raw offset `start`, by default where the window stands, or with the header before it."""
        if start is None:
            start = self.window.offset if self.header_start < 0 else self.header_start
        call = CallBuilder(self.context, self.outline, start)
        call.word_start = self.word_start
        self.header_start = self.word_start = -1
        return call

    def find_object(self, start: int, ending: re.Pattern[str]) -> tuple[str, int, int] | None:
        """The JSON object at position `start` of the window and what must follow it, if they are there as a whole: the
        object as compact text, where it ends, and where all of it ends. Nothing is consumed.

        `ending` matches the object's closing brace and what must follow.
        """
        window = self.window
        text = window.text
        if window.base + start >= self._looked_ahead:
            # Mostly what must follow is nowhere within the object, so that its end is known before it is read.
            found = ending.search(text, start)
            if found is None:
                self._looked_ahead = window.base + len(text)
                return None
            end = found.start() + 1
            written = whole_container(text, start, end, 0)
            if written is not None:
                return written, end, found.end()
            # Once is enough: what was looked at in vain for each of many calls would make that quadratic.
            self._looked_ahead = window.base + end
        complete = complete_value(text, start, 0)
        if complete is None:
            return None
        written, end = complete
        found = ending.match(text, end - 1)
        return None if found is None else (written, end, found.end())

    def take(self, length: int) -> None:
        """Consume `length` code points of a block."""
        self.window.pos += length

    def consume(self, run: re.Pattern[str]) -> Generator[None, None, bool]:
        """Consume a run of characters, however long: `run` matches also where there is none. Whether there was any."""
        window = self.window
        start = window.offset
        while True:
            found = run.match(window.text, window.pos)
            assert found is not None
            window.pos = found.end()
            if window.pos < len(window.text) or window.final:
                return window.offset > start
            yield


@dataclass(kw_only=True, eq=False)
class BlockFormat:
    """A tool format: the table that all shapes share.

    `openers` begin blocks, `closers` are the other markers (stray ones are markup), `tags` are markers with a
    variable part behind the literal, `wrappers` are markup also in a text without a call. A fault ends
    behind a closing stop (`closing_stops`), before an opening one; with `unstopped_is_cut` a fault without a stop
    counts as cut off by the end. `sections` pairs section openers with their closers; with `sectioned` markers
    outside count only if they carry a suffix, and inside if it is the section's. `lent_sections` are openers that
    another format writes, by its name: they are read alike, and reported. A `channel` holds reasoning.
    `headed` are wrappers with a header, the text up to the next marker; behind it a block begins with that wrapper.
    `bare_header_behind` are the wrappers behind which, as at the start of the output, a word may be a header by itself.
    """

    names: tuple[str, ...]
    openers: tuple[Opener, ...]
    closers: tuple[str, ...] = ()
    tags: tuple[Tag, ...] = ()
    wrappers: tuple[str, ...] = ()
    headed: tuple[str, ...] = ()
    bare_header_behind: tuple[str, ...] = ()
    sections: Mapping[str, str] = field(default_factory=dict[str, str])
    lent_sections: Mapping[str, str] = field(default_factory=dict[str, str])
    sectioned: bool = False
    channel: Channel | None = None
    closing_stops: tuple[str, ...] = ()
    opening_stops: tuple[str, ...] = ()
    unstopped_is_cut: bool = False
    layout: Layout = field(default_factory=Layout)

    def __post_init__(self) -> None:
        if not self.names:
            raise InvalidDialect("a format needs a name")
        self._openers = {opener.literal: opener for opener in self.openers}
        forms: list[Form] = [*self.openers, *self.tags]
        if self.channel is not None:
            forms.append(self.channel.opener)
        forms += [Tag(literal=literal) for literal in self.closers]
        forms += [Tag(literal=literal, role="section") for literal in self.sections]
        forms += [Tag(literal=literal, role="section_end") for literal in self.sections.values()]
        forms += [Tag(literal=literal, role="wrapper") for literal in self.wrappers]
        forms += [Tag(literal=literal, role="headed") for literal in self.headed]
        forms += [Tag(literal=literal, role="end_token") for literal in self.layout.end_tokens]
        self._forms: dict[str, list[Form]] = {}
        for form in forms:
            self._forms.setdefault(form.literal, []).append(form)
        # What a literal is where nothing has to follow it.
        self._certain = {
            literal: Recognised("counts", forms[0], len(literal))
            for literal, forms in self._forms.items()
            if not self.sectioned and is_certain(forms[0])
        }
        self._outside = Markers(self._forms)
        # In the reach of a mention only openers, its closers and end-of-turn tokens mean anything.
        closers = {closer for opener in self.openers for closer in opener.reach}
        self._in_reach = Markers((*self._openers, *closers, *self.wrappers, *self.layout.end_tokens))
        closing = (*self.closing_stops, *(stop for opener in self.openers for stop in opener.closing_stops))
        stops = (tag.literal for tag in self.tags if tag.stop)
        self._stops = Markers((*closing, *self.opening_stops, *self._openers, *stops))

    @property
    def markers(self) -> tuple[str, ...]:
        """The literals that open a section or a call."""
        tags = (tag.literal for tag in self.tags if tag.role == "section")
        openers = (opener.literal for opener in self.openers if not opener.trial and not self.sectioned)
        return tuple(dict.fromkeys((*self.sections, *tags, *openers)))

    def read_start(self, session: Session) -> Iterable[None]:  # noqa: ARG002 - for those who override it
        """Read what counts only at the very start of an output; by default nothing does."""
        return ()

    def read_block(self, session: Session, opener: Opener, found: Match[str] | None) -> Steps:
        """Read the block whose opener is next in the window; `found` is the match of its condition.

        Ends when the block's calls and faults are done. The window then stands behind it.
        """
        raise NotImplementedError

    def read(self, context: Context) -> Steps:
        """Read one output."""
        session = Session(context, self.layout)
        window, outline = session.window, session.outline
        reach = frozenset[str]()
        channel = None if self.channel is None else ChannelReader(self.channel)
        open_section = ""
        section_start = 0
        yield from self.read_start(session)
        while True:
            if outline.exhausted:
                reach = frozenset[str]()
                literal, at = None, len(window.text)
            else:
                if (
                    self.bare_header_behind
                    and (window.offset == 0 or window.text.endswith(self.bare_header_behind, 0, window.pos))
                    and not self._outside.literal_at(window.text, window.pos)
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
            if outline.exhausted:
                # The text before the marker was too much to wait for: the marker is text, too.
                continue
            found = self._recognise(session, literal)
            while found is None:
                yield
                found = self._recognise(session, literal)
            form = found.form
            if isinstance(form, Opener):
                if found.verdict == "mention":
                    if not form.trial:
                        start, end = window.offset, window.offset + found.size
                        context.report("stray_marker", "info", start, end, f"no call begins at {literal!r}: it is text")
                    outline.text(window.pos + len(literal))
                    yield from self._report_other_body(session, form)
                    closers = frozenset(form.reach)
                    reach = (reach & closers) or reach if reach else closers
                    continue
                reach = frozenset[str]()
                if self.sections and not open_section and not form.trial:
                    start, message = window.offset, f"{literal!r} opens a call outside a section"
                    context.report("missing_wrapper", "info", start, start + found.size, message)
                if session.word_start < 0 and not (form.trial and found.verdict == "counts"):
                    outline.block()
                if found.verdict == "cut":
                    call = session.call()
                    window.pos = len(window.text)
                    call.fault("incomplete_call", f"the text ends behind {literal!r}", incomplete=True)
                elif form.problem:
                    call = session.call()
                    session.take(found.size)
                    yield from self.resynchronise(session, call, window.offset, "malformed_call", form.problem)
                else:
                    yield from self.read_block(session, form, found.match)
            elif form is None:
                outline.text(window.pos + len(literal))
            elif form.role == "end_token":
                outline.end_token(found.size)
            elif form.role == "wrapper":
                outline.wrapper(found.size)
            elif form.role == "headed":
                yield from self._read_headed(session, literal)
            elif form.role == "channel":
                assert channel is not None
                read = yield from channel.read(window, outline, found.size)
                if not read:
                    outline.text(window.pos + len(literal))
            elif reach:
                outline.text(window.pos + found.size)
                if literal in reach:
                    reach = frozenset[str]()
            else:
                start = window.offset
                if form.role == "section":
                    open_section, section_start = window.text[window.pos : window.pos + found.size], start
                    session.section = suffix_of(found.match)
                    if literal in self.lent_sections:
                        owner = self.lent_sections[literal]
                        message = f"{literal} is a marker of {owner}, which {self.names[0]} reads, too"
                        end = start + found.size
                        context.report("other_format_markers", "warning", start, end, message, raw=literal)
                elif form.role == "section_end":
                    open_section = ""
                    session.section = None
                else:
                    context.report("stray_marker", "info", start, start + found.size, f"{literal!r} belongs to no call")
                outline.marker(found.size, section=form.role == "section")
        if open_section:
            end = section_start + len(open_section)
            context.report("unclosed_wrapper", "warning", section_start, end, f"{open_section!r} is never closed")
        outline.finish()

    @staticmethod
    def _report_other_body(session: Session, opener: Opener) -> Steps:
        """Say so if behind a mention, which has been consumed, stands what another format writes there."""
        window = session.window
        for name, body in opener.other_bodies:
            if isinstance((yield from body.expect(window)), Match):
                end = window.offset
                message = f"what follows {opener.literal!r} is a call as the format {name} writes it"
                start = end - len(opener.literal)
                session.context.report("other_format_markers", "warning", start, end, message, raw=opener.literal)
                return

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

    def _recognise(self, session: Session, literal: str) -> Recognised | None:
        """What stands at the literal that is next in the window, None if that takes more text."""
        found = self._certain.get(literal)
        if found is None:
            forms = self._forms[literal]
            found = recognise(session.window, literal, forms, session.section, sectioned=self.sectioned)
        return found

    def resynchronise(
        self, session: Session, call: CallBuilder, start: int, code: str, message: str, *, opener: Opener | None = None
    ) -> Steps:
        """The block cannot be read: its fault ends at the first stop from raw offset `start` on, or with the text."""
        window = session.window
        closing = self.closing_stops if opener is None else (*self.closing_stops, *opener.closing_stops)
        window.rewind(start)
        while True:
            literal, at = self._stops.find(window.text, window.pos, window.final)
            window.pos = at
            if literal is None:
                if window.final:
                    break
                yield
                continue
            found = self._recognise(session, literal)
            if found is None:
                yield
                continue
            form = found.form
            if isinstance(form, Opener) and found.verdict != "mention":
                break
            if isinstance(form, Tag):
                if form.stop == "behind" or literal in closing:
                    window.pos += found.size
                    break
                if form.stop == "before" or literal in self.opening_stops:
                    break
            window.pos += len(literal)
        if literal is not None and code == "incomplete_call":
            code = "malformed_call"
        call.fault(code, message, incomplete=self.unstopped_is_cut and literal is None)
