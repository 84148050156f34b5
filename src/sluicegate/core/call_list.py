"""The bare-list shape: call objects one by one, as elements of a list or as a chain.

What begins with a bracket may be text. Behind a marker of the format it is a call or a fault; without one it is tried,
and it is text unless it has begun as a call. Nothing is said about it before that is certain.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum
from re import Match
from typing import Final

from sluicegate.core.blocks import BlockFormat, Opener, Session
from sluicegate.core.brackets import Brackets
from sluicegate.core.call import report_fault
from sluicegate.core.call_object import CallObject, ReadObject, TypicalObject, read_call_object
from sluicegate.core.events import CallFault
from sluicegate.core.json_reader import JsonBroken, JsonCut, JsonReader, complete_value
from sluicegate.core.named_call import NamedCall
from sluicegate.core.patterns import CUT, WHITE_SPACE, Pattern, Steps, either, stands_at
from sluicegate.core.white_space import pass_space

_NO_OBJECT: Final = re.compile(r'\{[ \t\n\r]*(?=[^ \t\n\r"}])').match
_BRACKETS: Final = frozenset("{[")
_NO_CALL: Final = "the element is no call object"


class Read(Enum):
    """What was read."""

    BLOCK = "a call or a fault, or a list of them; it is told"
    LAST = "the same, and nothing of the wrapper is left"
    OTHER = "readable, but no call"
    BROKEN = "not readable, and it had not begun as a call"


class Between:
    """What stands before and between the elements of one wrapper: told once one of them is a call or a fault."""

    __slots__ = ("_session", "certain", "others", "start", "told")

    def __init__(self, session: Session, told: int, *, certain: bool) -> None:
        self._session = session
        self.start = self.told = told
        self.certain = certain
        # Elements that are no calls, as start and end: faults if another one is a call.
        self.others: list[tuple[int, int]] = []
        session.window.keep(told)

    def settle(self, start: int) -> None:
        """A call or a fault stands at raw offset `start`: what stands before it is decided."""
        session = self._session
        if not self.certain:
            self.certain = True
            session.outline.block()
        for other_start, other_end in self.others:
            self._markup(other_start)
            fault = CallFault(None, "malformed_call", False, None, "", other_start, other_end)
            raw = session.window.slice(other_start, other_end)
            report_fault(session.context, session.outline, fault, raw, _NO_CALL)
            self.told = other_end
        self.others.clear()
        self._markup(start)

    def done(self) -> None:
        """Everything up to where the window stands is told."""
        window = self._session.window
        self.told = window.offset
        window.keep(self.told)

    def end(self) -> None:
        """The wrapper ends where the window stands."""
        self._markup(self._session.window.offset)
        self._session.window.release()

    def _markup(self, end: int) -> None:
        if end > self.told:
            self._session.outline.markup(self.told, self._session.window.slice(self.told, end))
            self.told = end


def _nothing(_piece: str) -> None:
    """Read and forget."""


@dataclass(kw_only=True, eq=False)
class CallList(BlockFormat):
    """A format of this shape.

    `call_object` is the object behind a marker, `bare_object` the one without. `named_call` reads a block whose
    condition captured a `name`. With a `separator` the objects form a chain, which may also begin the output, without
    marker; without it there is one object or a list. A `tail` must follow the JSON of a block; the text may end before
    it, or the next opener come, but anything else makes the rest of the block a fault, as an unreadable element does.
    Without a tail a list is read past its bad elements.
    """

    call_object: CallObject | None = None
    bare_object: CallObject | None = None
    named_call: NamedCall | None = None
    separator: str = ""
    tail: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        openers = [opener for opener in self.openers if not opener.trial]
        self._brackets = Brackets(openers)
        literals = [opener.literal for opener in openers]
        self._name_markers = (*literals, *self.closers, *self.wrappers, *self.layout.end_tokens)
        self._typical = self._typical_object(self.call_object)
        self._typical_bare = self._typical_object(self.bare_object)
        list_ends = (*literals, *self.closers, *self.layout.end_tokens)
        self._list_ends = Pattern(either(*list_ends))
        self._list_end_firsts = frozenset(literal[0] for literal in list_ends)
        self._tail_or_opener = Pattern(either(self.tail, *literals)) if self.tail else None

    def _typical_object(self, shape: CallObject | None) -> TypicalObject | None:
        return None if shape is None else TypicalObject(shape, self._name_markers)

    def read_start(self, session: Session) -> Steps:
        """A chain may begin the output."""
        if not self.separator:
            return
        window = session.window
        window.keep(0)
        while not pass_space(window):
            yield
        if window.text.startswith("{", window.pos):
            yield from self._read_chain(session, 0, certain=False)
        else:
            if window.offset:
                session.outline.passage(0, window.slice(0, window.offset))
            window.release()

    def read_block(self, session: Session, opener: Opener, found: Match[str] | None) -> Steps:
        """Read the objects of one block."""
        window = session.window
        start = window.offset
        if opener.trial:
            yield from self._read_trial(session, start)
            return
        if self.named_call is not None and found is not None and found["name"] is not None:
            yield from self.named_call.read(self, self._brackets, session, found)
            return
        window.keep(start)
        session.take(len(opener.literal))
        while not pass_space(window):
            yield
        if self.separator:
            yield from self._read_chain(session, start, certain=True)
            return
        between = Between(session, start, certain=True)
        read = Read.BLOCK
        shape = self.call_object
        assert shape is not None
        if window.text[window.pos : window.pos + 1] in _BRACKETS and not self._read_typical(session, between, shape):
            read = yield from self._read_value(session, between, shape)
        if read is Read.BLOCK and self._tail_or_opener is not None and not self._take_tail(session):
            yield from self._read_tail(session, between, self._tail_or_opener)
        between.end()

    def _read_trial(self, session: Session, start: int) -> Steps:
        """A bracket in the text: calls, or text as far as it was read."""
        window = session.window
        while window.pos + 1 == len(window.text) and not window.final:
            yield
        # Most braces in a text begin no object.
        found = _NO_OBJECT(window.text, window.pos)
        if found is not None:
            session.outline.text(found.end())
            return
        between = Between(session, start, certain=False)
        shape = self.bare_object
        assert shape is not None
        if not self._read_typical(session, between, shape):
            yield from self._read_value(session, between, shape)
        if between.certain:
            between.end()
        else:
            session.outline.passage(start, window.slice(start, window.offset))
            window.release()

    def _read_value(self, session: Session, between: Between, shape: CallObject) -> Generator[None, None, Read]:
        if session.window.text[session.window.pos] == "[":
            return self._read_list(session, between, shape)
        return self._read_element(session, between, shape, certain=between.certain, listed=False)

    def _read_chain(self, session: Session, told: int, *, certain: bool) -> Steps:
        """Read objects one after another; before the first, whose `{` is next, everything from `told` on is markup."""
        window, outline = session.window, session.outline
        kept = told
        while True:
            between = Between(session, told, certain=certain)
            shape = self.call_object if certain else self.bare_object
            assert shape is not None
            if self._read_typical(session, between, shape):
                read = Read.BLOCK
            else:
                read = yield from self._read_element(session, between, shape, certain=certain, listed=False)
            if read is Read.OTHER:
                end = window.offset
                break
            if read is Read.BROKEN:
                end = kept
                break
            certain = False
            told = kept = window.offset
            while True:
                while not pass_space(window):
                    yield
                if not window.text.startswith(self.separator, window.pos):
                    break
                session.take(len(self.separator))
                kept = window.offset if kept == told else kept
            if not window.text.startswith("{", window.pos):
                end = kept
                break
        # The chain is over. A separator behind a call is markup also where no object follows.
        if kept > told:
            outline.markup(told, window.slice(told, kept))
        if end > kept:
            outline.passage(kept, window.slice(kept, end))
        window.rewind(end)
        window.release()

    def _read_list(self, session: Session, between: Between, shape: CallObject) -> Generator[None, None, Read]:
        """Read the list whose `[` is next."""
        window = session.window
        if not between.certain and not session.context.details:
            # Most lists in a text are data.
            complete = complete_value(window.text, window.pos, 0)
            if complete is not None and not any(f'"{key}"' in complete[0] for key in shape.name_keys):
                window.pos = complete[1]
                return Read.OTHER
        strict = bool(self.tail)
        reader = JsonReader(session.context)
        start = window.offset
        window.pos += 1
        behind = "["
        while True:
            following = reader.following() or (yield from reader.space())
            lenient = between.certain and not strict
            if lenient and following in WHITE_SPACE:
                while not pass_space(window):
                    yield
                following = window.text[window.pos : window.pos + 1]
            may_end = between.certain and following in self._list_end_firsts
            if not following or (may_end and (yield from self._at_list_end(session))):
                if not between.certain:
                    return Read.BROKEN
                if not strict:
                    session.context.report("unclosed_wrapper", "warning", start, start + 1, "the list is never closed")
                return Read.BLOCK
            if following == "]" and (behind != "," or lenient):
                window.pos += 1
                return Read.BLOCK if between.certain else Read.OTHER
            if (following == "," and behind == "element") or (lenient and following in ",}"):
                window.pos += 1
                behind = ","
                continue
            if (behind == "element" and not lenient) or following in ",]":
                return Read.BLOCK if between.certain else Read.BROKEN
            element = window.offset
            if not between.certain and following != "{":
                try:
                    yield from reader.value(_nothing)
                except JsonBroken:
                    return Read.BROKEN
                between.others.append((element, window.offset))
                behind = "element"
                continue
            if self._read_typical(session, between, shape):
                behind = "element"
                continue
            read = yield from self._read_element(session, between, shape, certain=between.certain, listed=True)
            if read is Read.OTHER:
                between.others.append((element, window.offset))
            elif read is not Read.BLOCK:
                return read
            behind = "element"

    def _at_list_end(self, session: Session) -> Generator[None, None, bool]:
        """Whether a marker or an end-of-turn token is next, which ends a list that has no bracket there."""
        return isinstance((yield from self._list_ends.expect(session.window)), Match)

    def _read_typical(self, session: Session, between: Between, shape: CallObject) -> bool:
        """Read the call object that is next at once, if it is what models mostly write and is there as a whole."""
        window = session.window
        typical = self._typical if shape is self.call_object else self._typical_bare
        if typical is None or session.context.details or not stands_at(window.text, "{", window.pos):
            return False
        call = session.call(window.offset)
        call.settle = between.settle
        if not typical.read(session, call):
            return False
        between.done()
        return True

    def _read_element(
        self, session: Session, between: Between, shape: CallObject, *, certain: bool, listed: bool
    ) -> Generator[None, None, Read]:
        """Read one value. If it is `certain` that it is a call or a fault, it is told whatever it is."""
        window, context = session.window, session.context
        start = window.offset
        call = session.call(start)
        call.settle = between.settle
        reader = JsonReader(context)
        found = ReadObject()
        try:
            if window.text.startswith("{", window.pos):
                yield from read_call_object(context, reader, call, shape, found, markers=self._name_markers)
            else:
                found.problem = _NO_CALL
                yield from reader.value(_nothing)
        except JsonCut:
            window.pos = len(window.text)
            if not (certain or found.begun or found.name_started):
                return Read.BROKEN
            call.name = shape.counting_name(found.names) if found.begun else call.name
            call.fault("incomplete_call", "the text ends inside the call", incomplete=True)
        except JsonBroken as problem:
            if not (certain or found.begun):
                return Read.BROKEN
            call.name = shape.counting_name(found.names) if found.begun else call.name
            if self.tail:
                yield from self.resynchronise(session, call, problem.token, problem.code, problem.message)
                between.done()
                return Read.LAST
            quote = '"' if problem.in_string else ""
            yield from self._brackets.skip(session, start, problem.open, quote, element=listed)
            call.fault(problem.code, problem.message)
        else:
            if not found.problem and found.name is not None:
                call.end(found.name, found.arguments, repeated=reader.duplicates)
            elif certain or found.begun:
                call.fault("malformed_call", found.problem)
            else:
                return Read.OTHER
        between.done()
        return Read.BLOCK

    def _take_tail(self, session: Session) -> bool:
        """Consume the tail directly behind the JSON, if it is there as a whole."""
        window = session.window
        if not stands_at(window.text, self.tail, window.pos):
            return False
        session.take(len(self.tail))
        return True

    def _read_tail(self, session: Session, between: Between, tail_or_opener: Pattern) -> Steps:
        """Consume white space and the tail, or what may stand in its place."""
        window = session.window
        while not pass_space(window):
            yield
        start = between.start
        found = yield from tail_or_opener.expect(window)
        if found is None:
            call = session.call(window.offset)
            call.settle = between.settle
            message = f"something other than {self.tail!r} follows the JSON"
            yield from self.resynchronise(session, call, window.offset, "malformed_call", message)
            between.done()
        elif isinstance(found, Match) and found[0] == self.tail:
            session.take(len(self.tail))
        else:
            if found is CUT:
                window.pos = len(window.text)
            session.context.report("unclosed_wrapper", "warning", start, start + 1, f"no {self.tail!r} follows")
