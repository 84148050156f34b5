"""The payload shape: a header, one JSON value, a tail.

Either the header holds the name and the JSON is the arguments, or the JSON is a call object.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from re import Match
from typing import Final, Literal

from sluicegate.core.block_fault import CutOff, Malformed, or_fault
from sluicegate.core.blocks import BlockFormat, Opener, Session
from sluicegate.core.call import CallBuilder
from sluicegate.core.call_object import CallObject, ReadObject, TypicalObject, read_call_object
from sluicegate.core.errors import InvalidDialect
from sluicegate.core.json_reader import JsonBroken, JsonCut, JsonReader
from sluicegate.core.patterns import JSON_SPACE, SPACE_CLASS, WHITE_SPACE, Markers, Steps, stands_at
from sluicegate.core.white_space import skip_space

_SPACE: Final = re.compile(f"[{SPACE_CLASS}]*").match


@dataclass(frozen=True, kw_only=True)
class Header:
    """The text between opener and JSON: `begins`, then up to `until` text of the `form` that names the call in `name`.

    A marker or end-of-turn token inside is a fault.
    """

    until: str
    form: str
    begins: str = ""


@dataclass(kw_only=True, eq=False)
class Payload(BlockFormat):
    """A format of this shape.

    Exactly one of `header` (the JSON is the arguments) and `call_object` is given. `value_member` wraps arguments that
    are no object; without it they are a fault. `tail` must follow the JSON after white space, which must end with
    `tail_behind` if given. With `optional_tail` the call is also complete before the next opener, an end-of-turn token,
    or the end of the text (a cut tail included). Without a tail the call ends with its JSON, and white space and one of
    `ends_behind_json` behind it are markup.
    `resume_at` says from where a fault's end is searched when the JSON is broken.
    """

    header: Header | None = None
    call_object: CallObject | None = None
    value_member: str = ""
    tail: str = ""
    tail_behind: str = ""
    optional_tail: bool = False
    ends_behind_json: tuple[str, ...] = ()
    resume_at: Literal["opener", "json", "token"] = "json"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.header is None) == (self.call_object is None):
            raise InvalidDialect(f"{self.names[0]}: a payload has either a header or a call object")
        inside = (
            *(*self._openers, *self.closers, *self.sections, *self.sections.values()),
            *(*self.wrappers, *self.headed, *self.layout.end_tokens),
        )
        self._name_markers = inside
        if self.header is not None:
            self._header_end = Markers((self.header.until, *inside))
            self._header_form = re.compile(self.header.form, re.DOTALL).fullmatch
        endings = (self.tail, *self._openers, *self.layout.end_tokens) if self.optional_tail else (self.tail,)
        self._endings = Markers(endings if self.tail else self.ends_behind_json)
        longer = any(ending != self.tail and ending.startswith(self.tail) for ending in endings)
        # What must follow the JSON of a call that is read at once; None if nothing is certain at first sight.
        tail = f"{JSON_SPACE}{re.escape(self.tail_behind + self.tail)}" if self.tail else ""
        certain = not (self.tail and (self.ends_behind_json or longer))
        self._typical_object: TypicalObject | None = None
        self._typical_end: re.Pattern[str] | None = None
        if certain and self.call_object is not None:
            self._typical_object = TypicalObject(self.call_object, self._name_markers, tail)
        elif certain:
            self._typical_end = re.compile(f"}}{tail}")

    def read_block(self, session: Session, opener: Opener, found: Match[str] | None) -> Steps:  # noqa: ARG002
        """Read one call."""
        window = session.window
        call = session.call()
        session.take(len(opener.literal))
        if not session.context.details and self._read_typical(session, call):
            if self.ends_behind_json and not self._take_end(session):
                yield from self._read_end(session)
            return
        body = window.offset
        if self.header is not None:
            reading = self._read_arguments(session, call, self.header, body)
        else:
            reading = self._read_object(session, call, body)
        yield from or_fault(self, session, call, reading)

    def _read_typical(self, session: Session, call: CallBuilder) -> bool:
        """Read the call at once if it is what models mostly write and lies in the window as a whole."""
        if self._typical_object is not None:
            return self._typical_object.read(session, call)
        if self.header is None or self._typical_end is None:
            return False
        return self._read_typical_arguments(session, call, self.header, self._typical_end)

    def _read_typical_arguments(
        self, session: Session, call: CallBuilder, header: Header, ending: re.Pattern[str]
    ) -> bool:
        window = session.window
        text, base = window.text, window.base
        if not stands_at(text, header.begins, window.pos):
            return False
        pos = window.pos + len(header.begins)
        literal, until = self._header_end.find(text, pos, window.final)
        start = until + len(header.until)
        if literal != header.until or not stands_at(text, "{", start):
            return False
        head = self._header_form(text, pos, until)
        name = "" if head is None else head["name"].strip(WHITE_SPACE)
        if head is None or not name:
            return False
        found = session.find_object(start, ending)
        if found is None:
            return False
        arguments, arguments_end, end = found
        name_start, name_end = head.span("name")
        call.write_whole(name, (base + name_start, base + name_end), arguments, (base + start, base + arguments_end))
        window.pos = end
        call.end(name, arguments)
        return True

    def _read_arguments(self, session: Session, call: CallBuilder, header: Header, body: int) -> Steps:
        window, context = session.window, session.context
        name = yield from self._read_header(session, call, header, body)
        call.announce(name)
        last = yield from self._skip_space(session)
        json_start = window.offset
        resume = body if self.resume_at == "opener" else json_start
        wrapped = False
        if last != "{":
            if not self.value_member:
                raise Malformed("the arguments are no JSON object", resume)
            wrapped = True
            call.write('{"' + self.value_member + '":')
        reader = JsonReader(context, around=int(wrapped))
        reader.open = int(wrapped)
        yield from self._read_json(reader.value(call.write), resume)
        if wrapped:
            call.write("}")
        call.part("arguments", json_start, window.offset)
        for key_start, key_end, value_start, value_end in reader.members:
            call.part("key", key_start, key_end)
            call.part("value", value_start, value_end)
        yield from self._read_tail(session, resume if self.resume_at == "opener" else window.offset - 1)
        call.end(name, repeated=reader.duplicates)

    def _read_object(self, session: Session, call: CallBuilder, body: int) -> Steps:
        window, context = session.window, session.context
        shape = self.call_object
        assert shape is not None
        following = yield from self._skip_space(session)
        json_start = window.offset
        resume = body if self.resume_at == "opener" else json_start
        if following != "{":
            raise Malformed("the call is no JSON object", resume)
        reader = JsonReader(context)
        found = ReadObject()
        reading = read_call_object(context, reader, call, shape, found, markers=self._name_markers)
        yield from self._read_json(reading, resume)
        if found.problem:
            raise Malformed(found.problem, window.offset)
        if self.tail:
            yield from self._read_tail(session, window.offset)
        assert found.name is not None
        call.end(found.name, found.arguments, repeated=reader.duplicates)
        if self.ends_behind_json:
            yield from self._read_end(session)

    def _read_header(
        self, session: Session, call: CallBuilder, header: Header, body: int
    ) -> Generator[None, None, str]:
        window = session.window
        while header.begins:
            if window.text.startswith(header.begins, window.pos):
                session.take(len(header.begins))
                break
            if not header.begins.startswith(window.text[window.pos :]):
                raise Malformed(f"the call does not begin with {header.begins!r}", body)
            if window.final:
                raise CutOff
            yield
        begin = window.offset
        while True:
            literal, at = self._header_end.find(window.text, window.pos, window.final)
            window.pos = at
            if literal is not None:
                break
            if window.final:
                raise CutOff
            yield
        end = window.offset
        text = window.slice(begin, end)
        found = self._header_form(text) if literal == header.until else None
        if found is None or not found["name"].strip(WHITE_SPACE):
            raise Malformed("the call has no readable header", body)
        session.take(len(header.until))
        name = found["name"].strip(WHITE_SPACE)
        start = begin + found.start("name")
        call.part("name", start, start + len(found["name"]))
        return name

    def _read_json(self, reading: Steps, resume: int) -> Steps:
        try:
            yield from reading
        except JsonCut as cut:
            if self.resume_at != "token":
                raise CutOff from None
            raise Malformed(cut.message, cut.token, cut.code) from None
        except JsonBroken as problem:
            at = problem.token if self.resume_at == "token" else resume
            raise Malformed(problem.message, at, problem.code) from None

    def _read_tail(self, session: Session, resume: int) -> Steps:
        """Consume white space and the tail, or what may stand in its place."""
        window = session.window
        last = yield from skip_space(window)
        if last != self.tail_behind and self.tail_behind:
            if window.pos == len(window.text) and window.final:
                raise CutOff
            raise Malformed(f"no {self.tail_behind!r} before {self.tail!r}", resume)
        while True:
            text, pos = window.text, window.pos
            literal, at = self._endings.find_here(text, pos, window.final)
            if literal is not None and at == 0:
                if literal == self.tail:
                    window.pos += len(literal)
                return
            rest = text[pos : pos + self._endings.longest]
            if window.final and len(rest) < len(self.tail) and self.tail.startswith(rest):
                if not self.optional_tail:
                    raise CutOff
                window.pos = len(text)
                return
            if literal is not None or window.final or at > 0:
                if self.optional_tail and window.final and any(e.startswith(rest) for e in self._endings.literals):
                    return
                raise Malformed(f"something other than {self.tail!r} follows the JSON", resume)
            yield

    def _take_end(self, session: Session) -> bool:
        """Consume the end token directly behind a call, if it is there as a whole."""
        window = session.window
        literal, at = self._endings.find_here(window.text, window.pos, window.final)
        if literal is None or at > 0:
            return False
        session.outline.markup(window.offset, literal)
        session.take(len(literal))
        return True

    def _read_end(self, session: Session) -> Steps:
        """Behind a call: white space and an end token, if one follows, are markup."""
        window = session.window
        start = window.offset
        window.keep(start)
        while True:
            found = _SPACE(window.text, window.pos)
            assert found is not None
            pos = window.pos = found.end()
            literal, at = self._endings.find_here(window.text, pos, window.final)
            if at > 0 or literal is not None or window.final:
                break
            yield
        if literal is not None and at == 0:
            window.pos += len(literal)
            session.outline.markup(start, window.slice(start, window.offset))
        else:
            window.rewind(start)
        window.release()

    def _skip_space(self, session: Session) -> Generator[None, None, str]:
        """Consume white space; return the next character, or raise `CutOff`."""
        window = session.window
        yield from skip_space(window)
        if window.pos == len(window.text):
            raise CutOff
        return window.text[window.pos]
