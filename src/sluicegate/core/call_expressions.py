"""The shape of a list of calls as Python writes them: `[name(key=value, …), …]`.

The bracket is text unless a call visibly begins behind it. Each call is a block of its own; what breaks takes no other.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from re import Match
from typing import Final

from sluicegate.core.blocks import BlockFormat, Session
from sluicegate.core.brackets import Brackets
from sluicegate.core.call import CallBuilder
from sluicegate.core.call_list import Between
from sluicegate.core.json_reader import quote
from sluicegate.core.patterns import RUN_LIMIT, SPACE_CLASS, Pattern, Steps, either
from sluicegate.core.python_reader import PythonReader
from sluicegate.core.python_strings import LiteralBroken, LiteralCut
from sluicegate.core.tags import Opener
from sluicegate.core.words import WORD, WORD_CHARACTERS, WORD_START

_NAME: Final = rf"(?![{WORD_CHARACTERS}.-]{{{RUN_LIMIT + 1}}}){WORD}(?>(?:[.-]{WORD})*)"
_NAME_BEGINNING: Final = rf"{_NAME}[.-]?\Z"
_SPACE: Final = f"[{SPACE_CLASS}]{{0,{RUN_LIMIT}}}"
_WORD_START: Final = re.compile(WORD_START).match


class CallVisiblyBegins(Pattern):
    """White space, a name, `(`, and then `)` or a key and `=`. Names are dotted and dashed words with a limit."""

    __slots__ = ()

    @property
    def expression(self) -> str:
        """The regular expression of a whole match."""
        return rf"{_SPACE}{_NAME}{_SPACE}\({_SPACE}(?:\)|{_NAME}{_SPACE}=[^=])"

    @property
    def beginning(self) -> str:
        """The regular expression of every beginning of a match that reaches to the end of the text."""
        key = rf"(?:\Z|{_NAME_BEGINNING}|{_NAME}{_SPACE}=?\Z)"
        return rf"{_SPACE}(?:\Z|{_NAME_BEGINNING}|{_NAME}{_SPACE}(?:\Z|\({_SPACE}{key}))"


@dataclass(kw_only=True, eq=False)
class CallExpressions(BlockFormat):
    """A format of this shape: its opener is the bracket, its sections and end-of-turn tokens end a list, too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        tags = (*self.sections, *self.sections.values())
        self._brackets = Brackets(opening="([{", closing=")]}", quotes=("'", '"', "'''", '"""'), stops=tags)
        self._list_ends = Pattern(either(*tags, *self.layout.end_tokens))

    def read_block(self, session: Session, opener: Opener, found: Match[str] | None) -> Steps:  # noqa: ARG002
        """Read one list."""
        window = session.window
        start = window.offset
        session.outline.block()
        between = Between(session, start, certain=True)
        session.take(len(opener.literal))
        reader = PythonReader(session.context, newlines=True, bare_words=True, free_signs=True)
        while True:
            try:
                following = yield from reader.space()
            except LiteralCut:
                # A backslash that ends the text is no white space.
                following = "\\"
            if following == "]":
                session.take(1)
                break
            if not following or (following == "<" and (yield from self._list_ends.expect(window)) is not None):
                session.context.report("unclosed_wrapper", "warning", start, start + 1, "the list is never closed")
                break
            if following in {",", ")"}:
                session.take(1)
                continue
            call = session.call(window.offset)
            call.settle = between.settle
            yield from self._read_element(session, call, reader)
            between.done()
        between.end()

    def _read_element(self, session: Session, call: CallBuilder, reader: PythonReader) -> Steps:
        reader.depth = 0
        reader.duplicates = []
        arguments = _Arguments(session, call, reader)
        try:
            name = yield from arguments.read()
        except LiteralCut as cut:
            # A name of its own: compiled code gives a variable one type.
            session.window.pos = len(session.window.text)
            call.fault(cut.code, cut.message, incomplete=True)
        except LiteralBroken as problem:
            opened = problem.depth + arguments.opened
            yield from self._brackets.skip(session, call.start, opened, problem.quotes, element=True)
            call.fault(problem.code, problem.message)
        else:
            call.end(name, repeated=reader.duplicates)


class _Arguments:
    """One call at work; `opened` counts its own bracket."""

    __slots__ = ("_call", "_reader", "_window", "opened")

    def __init__(self, session: Session, call: CallBuilder, reader: PythonReader) -> None:
        self._window = session.window
        self._call = call
        self._reader = reader
        self.opened = 0

    def read(self) -> Generator[None, None, str]:
        """Read `name(key=value, …)`, writing the arguments; returns the name."""
        window, call, reader = self._window, self._call, self._reader
        reader.token = window.offset
        name = yield from self._name("the element is no call")
        yield from self._take("(", "no arguments follow the name")
        self.opened = 1
        call.announce(name)
        call.part("name", call.start, call.start + len(name))
        behind = window.offset
        keys: set[str] = set()
        opening = "{"
        while (following := (yield from reader.space())) != ")":
            if not following:
                raise reader.cut()
            if opening and keys:
                raise reader.broken("a comma must stand between arguments")
            start = window.offset
            key = quote((yield from self._name("an argument without a name")))
            call.part("key", start, reader.end)
            yield from self._take("=", "no value follows the argument's name")
            if key in keys:
                reader.duplicates.append(key)
            keys.add(key)
            call.write(f"{opening or ','}{key}:")
            yield from reader.space()
            start = window.offset
            yield from reader.value(call.write, depth=1)
            call.part("value", start, reader.end)
            opening = "?"
            if (yield from reader.space()) == ",":
                window.pos += 1
                opening = ""
        call.part("arguments", behind, window.offset)
        window.pos += 1
        self.opened = 0
        call.write("}" if keys else "{}")
        return name

    def _name(self, problem: str) -> Generator[None, None, str]:
        """Read words joined by dots and dashes."""
        window, reader = self._window, self._reader
        pieces: list[str] = []
        while True:
            if not (yield from self._begins_word()):
                raise reader.broken(problem)
            pieces.append((yield from reader.word()))
            joint = window.text[window.pos : window.pos + 1]
            if joint not in {".", "-"}:
                return "".join(pieces)
            window.pos += 1
            pieces.append(joint)

    def _begins_word(self) -> Generator[None, None, bool]:
        window = self._window
        while window.pos == len(window.text):
            if window.final:
                raise self._reader.cut()
            yield
        return _WORD_START(window.text, window.pos) is not None

    def _take(self, character: str, problem: str) -> Steps:
        following = yield from self._reader.space()
        if not following:
            raise self._reader.cut()
        if following != character:
            raise self._reader.broken(problem)
        self._window.pos += 1
