"""The shape of call objects as Python literals: a list of dicts, or one dict, behind a marker or at the start.

Nothing about a payload is certain before one of its elements is a call: without one it is a fault from its marker on,
or text where it has no marker. From an unreadable element on the rest of the payload is a fault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from dataclasses import dataclass
from re import Match
from typing import Final

from sluicegate.core.blocks import BlockFormat, Session
from sluicegate.core.call import CallBuilder, report_fault
from sluicegate.core.events import CallFault
from sluicegate.core.patterns import SPACE_CLASS, WHITE_SPACE, Markers, Steps
from sluicegate.core.python_reader import PythonReader
from sluicegate.core.python_strings import LiteralBroken
from sluicegate.core.tags import Opener

_SPACE: Final = re.compile(f"[{SPACE_CLASS}]*+")
_CLOSERS: Final = {"[": "]", "{": "}"}
_NO_CALL: Final = "the payload's element is no call"


@dataclass(kw_only=True, eq=False)
class LiteralCalls(BlockFormat):
    """A format of this shape: one opener, behind which the payload is the first bracket before the next opener.

    `name_key` and `arguments_key` are the members that count. Without arguments a call has `{}`, but an output that
    begins with a payload, without opener, has calls only with arguments.
    """

    name_key: str = "name"
    arguments_key: str = "arguments"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.marker = self.openers[0].literal
        self.end_tokens = frozenset(self.layout.end_tokens)
        self._before_payload = Markers((self.marker, *_CLOSERS, *self.end_tokens))
        self.skipped = {
            opening: Markers((self.marker, opening, closing, "'", '"', "\\")) for opening, closing in _CLOSERS.items()
        }

    def read_start(self, session: Session) -> Steps:
        """A payload may begin the output."""
        window = session.window
        window.keep(0)
        yield from session.consume(_SPACE)
        start = window.offset
        if start:
            session.outline.passage(0, window.slice(0, start))
        if window.text.startswith(("[", "{"), window.pos):
            payload = _Payload(self, session, start, start)
            payload.bare = True
            yield from payload.read()
            if not payload.has_calls:
                window.rewind(start)
        window.release()

    def read_block(self, session: Session, opener: Opener, found: Match[str] | None) -> Steps:  # noqa: ARG002
        """Read the payload behind the opener."""
        window = session.window
        start = window.offset
        window.keep(start)
        session.take(len(opener.literal))
        behind = window.offset
        text: list[tuple[int, str]] = []
        while True:
            literal, at = self._before_payload.find(window.text, window.pos, window.final)
            if at > window.pos:
                text.append((window.offset, window.text[window.pos : at]))
                window.pos = at
            if literal in self.end_tokens:
                text.append((window.offset, literal))
                window.pos += len(literal)
            elif literal is not None or window.final:
                break
            else:
                yield
        if literal in _CLOSERS:
            payload = _Payload(self, session, start, window.offset)
            payload.text = text
            yield from payload.read()
            window.release()
            return
        incomplete = literal is None and not "".join(piece for _, piece in text).strip(WHITE_SPACE)
        window.rewind(behind)
        code = "incomplete_call" if incomplete else "malformed_call"
        session.call(start).fault(code, f"no calls follow {opener.literal!r}", incomplete=incomplete)


def _nothing(_piece: str) -> None:
    """Read and forget."""


class _Payload:
    """One payload at work. `begin` is the raw offset of its marker, `start` that of its bracket.

    `text` are the pieces and end-of-turn tokens between the two; `bare` is a payload without marker.
    """

    __slots__ = (
        "_call",
        "_element",
        "_format",
        "_opening",
        "_others",
        "_reader",
        "_session",
        "_told",
        "_window",
        "bare",
        "begin",
        "has_calls",
        "start",
        "text",
    )

    def __init__(self, table: LiteralCalls, session: Session, begin: int, start: int) -> None:
        self._format = table
        self._session = session
        self._window = session.window
        self._reader = PythonReader(session.context, newlines=False, bare_words=False, free_signs=False)
        self._opening = session.window.text[session.window.pos]
        self._told = self.start = start
        # The element that is read, as its start and its call; elements that are no calls, as start and end.
        self._element = -1
        self._call: CallBuilder | None = None
        self._others: list[tuple[int, int]] = []
        self.begin = begin
        self.text: list[tuple[int, str]] = []
        self.bare = False
        self.has_calls = False

    def read(self) -> Steps:
        """Read the payload whose bracket is next; the window then stands behind it."""
        try:
            yield from self._read_list() if self._opening == "[" else self._read_element("{")
        except LiteralBroken as problem:
            if self.has_calls or not self.bare:
                yield from self._break(problem)
        else:
            if self.has_calls:
                self._settle(self._window.offset)
            elif not self.bare:
                self._session.call(self.begin).fault("malformed_call", "the payload holds no call")

    def _read_list(self) -> Steps:
        reader = self._reader
        reader.take()
        behind_element = False
        while (following := (yield from reader.space())) != "]":
            if not following:
                raise reader.cut()
            if (following == ",") != behind_element:
                raise reader.broken("a comma must stand between elements")
            if following == ",":
                reader.take()
            else:
                yield from self._read_element(following)
                self._element = -1
                self._call = None
            behind_element = not behind_element
        reader.take()

    def _read_element(self, following: str) -> Steps:
        """Read one element, a call or not."""
        reader, window = self._reader, self._window
        start = self._element = window.offset
        if following == "{":
            call = self._call = self._session.call(start)
            name, repeated = yield from self._read_call(call)
            if name is not None:
                self._settle(start)
                call.end(name, repeated=repeated)
                self._told = window.offset
                window.keep(self._told)
                return
        else:
            yield from reader.value(_nothing)
        self._others.append((start, reader.end))

    def _read_call(self, call: CallBuilder) -> Generator[None, None, tuple[str | None, list[str]]]:
        """Read the dict whose `{` is next; returns the name, None if it is no call, and the keys written again."""
        reader, window = self._reader, self._window
        reader.take()
        name: str | None = None
        has_arguments = behind_member = False
        repeated: list[str] = []
        while (following := (yield from reader.space())) != "}":
            if not following:
                raise reader.cut()
            if (following == ",") != behind_member:
                raise reader.broken("a comma must stand between members")
            behind_member = not behind_member
            if following == ",":
                reader.take()
                continue
            pieces: list[str] = []
            if not reader.plain_scalar(pieces.append):
                yield from reader.scalar(pieces.append)
            key = "".join(pieces)
            yield from self._colon()
            yield from reader.space()
            start = window.offset
            if key == f'"{self._format.name_key}"':
                pieces = []
                yield from reader.value(pieces.append)
                if call.index is not None:
                    raise reader.broken("the name is written again")
                name = self._usable("".join(pieces))
                call.parts = [part for part in call.parts if part.kind != "name"]
                call.part("name", start + 1, max(start + 1, reader.end - 1))
                call.name = name
            elif key == f'"{self._format.arguments_key}"':
                if call.index is not None:
                    raise reader.broken("the arguments are written again")
                call.parts = [part for part in call.parts if part.kind == "name"]
                call.written.clear()
                has_arguments = True
                if name is not None and not self.bare:
                    call.announce(name)
                repeated = reader.duplicates = []
                reader.members.clear()
                yield from reader.value(call.write)
                call.part("arguments", start, reader.end)
                for key_start, key_end, value_start, value_end in reader.members:
                    call.part("key", key_start, key_end)
                    call.part("value", value_start, value_end)
            else:
                reader.duplicates = []
                yield from reader.value(_nothing)
        reader.take()
        if not has_arguments:
            call.write("{}")
        return (None if self.bare and not has_arguments else name), repeated

    def _usable(self, value: str) -> str | None:
        """The name that a JSON value is, None if it is none."""
        if not value.startswith('"'):
            return None
        name = str(json.loads(value)) if "\\" in value else value[1:-1]
        markers = (self._format.marker, *self._format.end_tokens)
        return name if name.strip(WHITE_SPACE) and not any(marker in name for marker in markers) else None

    def _colon(self) -> Steps:
        following = yield from self._reader.space()
        if not following:
            raise self._reader.cut()
        if following != ":":
            raise self._reader.broken("no value follows the key")
        self._reader.take()

    def _settle(self, end: int) -> None:
        """The payload is one of calls: tell what stands before raw offset `end`."""
        outline = self._session.outline
        if not self.has_calls:
            self.has_calls = True
            if self.bare:
                outline.block()
            else:
                outline.markup(self.begin, self._format.marker)
                for at, piece in self.text:
                    (outline.end_token_passage if piece in self._format.end_tokens else outline.passage)(at, piece)
                outline.block()
        for start, behind in self._others:
            self._markup(start)
            fault = CallFault(None, "malformed_call", False, None, "", start, behind)
            report_fault(self._session.context, outline, fault, self._window.slice(start, behind), _NO_CALL)
            self._told = behind
        self._others.clear()
        self._markup(end)

    def _markup(self, end: int) -> None:
        if end > self._told:
            self._session.outline.markup(self._told, self._window.slice(self._told, end))
            self._told = end

    def _break(self, problem: LiteralBroken) -> Steps:
        """The payload cannot be read any further: what is left of it is a fault."""
        window, session = self._window, self._session
        begin = self._element if self._element >= 0 else window.offset
        call = self._call
        begin = begin if self.has_calls else self.begin
        stopped = yield from self._skip(problem.token)
        if self.has_calls:
            self._settle(min(begin, window.offset))
            if begin >= window.offset:
                start = self.start
                session.context.report("unclosed_wrapper", "warning", start, start + 1, "the list is never closed")
                return
        call = call or session.call(begin)
        call.start = begin
        code = "malformed_call" if stopped and problem.code == "incomplete_call" else problem.code
        call.fault(code, problem.message, incomplete=not stopped)

    def _skip(self, token: int) -> Generator[None, None, bool]:
        """Consume to behind the bracket that closes the payload, or to the first marker from raw offset `token` on.

        Only brackets of the payload's kind and quotes are read. Returns whether something ended it before the text did.
        """
        window, marker = self._window, self._format.marker
        opened = 1 if self.has_calls else 0
        window.rewind(self._told)
        literals = self._format.skipped[self._opening]
        quote = ""
        closed_early = False
        while True:
            literal, at = literals.find(window.text, window.pos, window.final)
            window.pos = at
            if literal is None:
                if window.final:
                    return False
                yield
                continue
            behind_token = window.offset >= token
            if literal == marker and behind_token:
                return True
            if literal == "\\" and quote:
                while window.pos + 1 == len(window.text) and not window.final:
                    yield
                window.pos += 1 + window.text.startswith(("'", '"', "\\"), window.pos + 1)
                continue
            window.pos += len(literal)
            if literal in {"'", '"'}:
                quote = "" if literal == quote else quote or literal
            elif not quote and literal in self._format.skipped:
                opened += 1
            elif not quote and literal in _CLOSERS.values():
                opened -= 1
                if opened == 0 and behind_token and not closed_early:
                    return True
                closed_early = closed_early or opened == 0
