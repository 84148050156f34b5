"""The tagged shape: a head that names the call, items of key and value between tags, a closer.

Everything that formats of this shape do differently is a field of the table. How a value ends is in `tagged_value`.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from re import Match
from typing import Final, Literal, TypeAlias

from sluicegate.core.blocks import BlockFormat, Opener, Session
from sluicegate.core.call import CallBuilder
from sluicegate.core.json_reader import JsonBroken, JsonCut, JsonReader, quote, quote_inside
from sluicegate.core.patterns import CUT, SPACE_CLASS, WHITE_SPACE, Pattern, Steps
from sluicegate.core.schema import PLAIN_RULES, SchemaNode, SchemaRules
from sluicegate.core.sequence import Captured, Captures, Sequence
from sluicegate.core.tagged_value import CallCloser, CutOff, End, Malformed, ValueReader, ValueSyntax
from sluicegate.core.tags import Tag, suffix_of
from sluicegate.core.values import Conversion, TooDeep, Value

_SPACE: Final = re.compile(f"[{SPACE_CLASS}]*").match

Action: TypeAlias = Literal["item", "closer", "wrapper_end", "before", "json", "call", "value"]
Branches: TypeAlias = tuple[tuple[Action, str, "Pattern | None"], ...]


@dataclass(kw_only=True, eq=False)
class Tagged(BlockFormat):
    """A format of this shape.

    `heads` read what stands behind an opener up to the first item and capture `name`, and `end` where a tag may close
    itself (`/>`). With `name_waits` the name is certain only when an item or a closer follows.
    `item` reads an item's opening tag and captures `key`; it begins with `values.item`. With `trim_keys` white space
    around keys is no part of them, with `empty_keys` they may be empty.

    `closer` ends a call. `wrapper_end` may follow it (`wrapper="optional"`; it then also ends a call by itself), or
    must (`"required"`: it, or the next `next_call` of the same block, which `preamble` begins). `ends_before` are tags
    before which a call ends, too. With `json_body` an object in place of the items is the arguments.

    A value is text, or converted: the types of the tool's schema decide (`schema_rules`), or the captured `type_name`,
    whose `text_types` (and absence) mean text. With `json_first` a value that is not text ends where its JSON ends, if
    a closing tag follows it.
    """

    heads: Mapping[str, Sequence]
    name_waits: bool = False
    item: Sequence
    trim_keys: bool = True
    empty_keys: bool = False
    values: ValueSyntax
    closer: Tag
    wrapper_end: Tag | None = None
    wrapper: Literal["none", "optional", "required"] = "none"
    next_call: str = ""
    preamble: Sequence | None = None
    ends_before: tuple[Tag, ...] = ()
    json_body: bool = False
    conversion: Conversion
    schema_rules: SchemaRules = PLAIN_RULES
    type_name: str = ""
    text_types: tuple[str, ...] = ()
    json_first: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._values = ValueReader(self.values, self.layout.end_tokens, sectioned=self.sectioned)
        item = self.values.item
        body: list[tuple[Action, str, Pattern | None]] = [
            ("item", item.literal, None if self.values.declared_items else item.rest),
            ("closer", self.closer.literal, self.closer.rest),
        ]
        if self.wrapper_end is not None and self.wrapper == "optional":
            body.append(("wrapper_end", self.wrapper_end.literal, self.wrapper_end.rest))
        for tag in self.ends_before:
            body.append(("before", tag.literal, tag.rest))
        self._body: Branches = tuple(body)
        value_closer, call_closer = self.values.closer, self.values.call_closer
        self._behind_json: Branches = (
            ("value", value_closer.literal, value_closer.rest),
            ("closer", call_closer.literal, call_closer.rest),
        )
        behind: list[tuple[Action, str, Pattern | None]] = []
        if self.wrapper_end is not None:
            behind.append(("wrapper_end", self.wrapper_end.literal, self.wrapper_end.rest))
        if self.next_call:
            behind.append(("call", self.next_call, None))
        self._behind_call: Branches = tuple(behind)

    def read_block(self, session: Session, opener: Opener, found: Match[str] | None) -> Steps:
        """Read the calls of one block."""
        suffix = suffix_of(found)
        call = session.call()
        session.take(len(opener.literal))
        head: Sequence | None = self.preamble
        while True:
            try:
                if head is not None:
                    yield from self._expect(session, head, suffix)
                more = yield from self._read_call(session, call, self.heads[opener.literal], suffix)
            except CutOff:
                session.window.pos = len(session.window.text)
                call.fault("incomplete_call", "the text ends inside the call", incomplete=True)
                return
            except Malformed as problem:
                if not problem.ends:
                    yield from self.resynchronise(
                        session, call, problem.resume, problem.code, problem.message, opener=opener
                    )
                    return
                session.window.rewind(problem.resume)
                more = self.wrapper == "required" and (yield from self._read_behind_fault(session))
                call.fault(problem.code, problem.message)
            if not more:
                return
            call = session.call()
            head = None

    def _expect(
        self, session: Session, sequence: Sequence, suffix: str, resume: int | None = None
    ) -> Generator[None, None, Captures]:
        """Read the tag that must come; a fault's end is searched from `resume`, by default from here."""
        if resume is None:
            resume = session.window.offset
        captures = yield from sequence.read(session.window, _written(suffix))
        if captures is CUT:
            raise CutOff
        if not isinstance(captures, dict):
            raise Malformed("a tag of the call cannot be read", resume)
        return captures

    def _read_call(
        self, session: Session, call: CallBuilder, head: Sequence, suffix: str
    ) -> Generator[None, None, bool]:
        """Read one call; returns whether another one follows in its block."""
        window = session.window
        resume = window.offset
        captures = yield from self._expect(session, head, suffix)
        captured = captures["name"]
        name = captured.text.strip(WHITE_SPACE)
        if not name:
            raise Malformed("the call has no name", resume)
        start = captured.start + len(captured.text) - len(captured.text.lstrip(WHITE_SPACE))
        call.part("name", start, start + len(name) if name in captured.text else captured.end)
        if not self.name_waits:
            call.announce(name)
        duplicates: list[str] = []
        action: Action = "closer"
        arguments = window.offset
        closing = captures.get("end")
        if closing is None or closing.text != "/>":
            action = yield from self._read_body(session, call, name, suffix, duplicates)
        else:
            call.write("{}")
            call.part("arguments", arguments, arguments)
        more = False
        if action == "closer" and self._behind_call:
            more = yield from self._read_behind_call(session)
        for key in duplicates:
            session.context.report(
                "duplicate_key",
                "warning",
                call.start,
                window.offset,
                f"the key {key} is written twice; its last value counts",
                call=call.index,
            )
        call.end(name)
        return more

    def _read_body(
        self, session: Session, call: CallBuilder, name: str, suffix: str, duplicates: list[str]
    ) -> Generator[None, None, Action]:
        """Read items up to the end of the call, which is consumed; returns what it was."""
        window = session.window
        start = window.offset
        schema = session.context.tools.schema(name, self.schema_rules)
        given: set[str] = set()
        while True:
            following = yield from self._skip_space(session)
            if following == "{" and self.json_body and not given:
                call.announce(name)
                yield from self._read_json_body(session, call, duplicates)
                yield from self._skip_space(session)
                branches = self._body[1:]
            else:
                branches = self._body
            end = window.offset
            action, size = yield from self._choose(session, branches, suffix)
            if action is None:
                raise Malformed("the call does not go on with one of its tags", end)
            call.announce(name)
            if action == "item":
                yield from self._read_item(session, call, schema, suffix, given, duplicates)
                continue
            if not call.written:
                call.write("{}")
            elif given:
                call.write("}")
            call.part("arguments", start, end)
            if action != "before":
                session.take(size)
            return action

    def _read_item(
        self,
        session: Session,
        call: CallBuilder,
        schema: SchemaNode,
        suffix: str,
        given: set[str],
        duplicates: list[str],
    ) -> Steps:
        """Read one key and its value."""
        window = session.window
        start = window.offset
        captures = yield from self._expect(session, self.item, suffix)
        captured = captures["key"]
        key = captured.text.strip(WHITE_SPACE) if self.trim_keys else captured.text
        if not key and not self.empty_keys:
            raise Malformed("an item has no key", start)
        call.part("key", captured.start, captured.end)
        quoted = quote(key)
        call.write(f"{',' if given else '{'}{quoted}:")
        if key in given:
            duplicates.append(quoted)
        given.add(key)
        types: frozenset[str] = frozenset()
        if self.type_name:
            is_text = self._is_text(captures.get(self.type_name))
        else:
            types = schema.member(key).types
            is_text = "string" in types
        open_keys: tuple[str, ...] = ()
        if self.values.declared_items:
            open_keys = tuple(declared for declared in schema.declared if declared not in given)
        value = window.offset
        if is_text:
            text = _TextValue(call, frame=self.values.frame, nullable="null" in types)
            end = yield from self._values.find_end(session, text.write, suffix, open_keys)
            text.finish()
        else:
            end = yield from self._read_converted(session, call, types, suffix, open_keys, duplicates)
        call.part("value", value, end.at)

    def _is_text(self, captured: Captured | None) -> bool:
        return captured is None or captured.text in self.text_types

    def _read_converted(
        self,
        session: Session,
        call: CallBuilder,
        types: frozenset[str],
        suffix: str,
        open_keys: tuple[str, ...],
        duplicates: list[str],
    ) -> Generator[None, None, End]:
        """Read a value that is not text, and write its JSON."""
        window = session.window
        start = window.offset
        pieces: list[str] = []
        end: End | None = None
        if self.json_first:
            end = yield from self._try_json(session, pieces, suffix, duplicates)
        if end is None:
            end = yield from self._values.find_end(session, pieces.append, suffix, open_keys)
        text = "".join(pieces)
        if self.values.frame:
            text = text.removeprefix("\n")
        value = Value(text, types, duplicates=duplicates)
        try:
            json, fits = self.conversion.convert(value)
        except TooDeep as problem:
            raise Malformed(str(problem), window.offset, "depth_exceeded") from None
        call.write(json)
        if not fits:
            wanted = f"none of the types {', '.join(sorted(types))}" if types else "no JSON, so it stays text"
            session.context.report(
                "schema_mismatch", "warning", start, end.at, f"the value is {wanted}", call=call.index
            )
        return end

    def _try_json(
        self, session: Session, pieces: list[str], suffix: str, duplicates: list[str]
    ) -> Generator[None, None, End | None]:
        """Read a value that is JSON with a closing tag behind it; without one go back."""
        window = session.window
        start = window.offset
        yield from self._skip_space(session)
        json = window.offset
        reader = JsonReader(session.context, around=1)
        written: list[str] = []
        try:
            yield from reader.value(written.append)
        except JsonCut:
            window.rewind(start)
            return None
        except JsonBroken as problem:
            if problem.code == "depth_exceeded":
                raise Malformed(problem.message, json, problem.code) from None
            window.rewind(start)
            return None
        yield from self._skip_space(session)
        closer = window.offset
        action, size = yield from self._choose(session, self._behind_json, suffix, cut_is_none=True)
        end: End | None = None
        if action == "value":
            counts = yield from self._values.counts(session, window.pos + size, suffix)
            end = End(closer, "closer") if counts else None
        elif action == "closer":
            session.take(size)
            close = CallCloser(start, closer, window.offset)
            end = yield from self._values.find_end(session, pieces.append, suffix, (), close)
            if end.by == "closer":
                return end
        if end is None:
            window.rewind(start)
            return None
        duplicates += reader.duplicates
        pieces[:] = written
        return end

    def _read_json_body(self, session: Session, call: CallBuilder, duplicates: list[str]) -> Steps:
        """Read the arguments as one JSON object."""
        start = session.window.offset
        reader = JsonReader(session.context)
        try:
            yield from reader.value(call.write)
        except JsonCut:
            raise CutOff from None
        except JsonBroken as problem:
            raise Malformed(problem.message, start, problem.code) from None
        duplicates += reader.duplicates
        for key_start, key_end, value_start, value_end in reader.members:
            call.part("key", key_start, key_end)
            call.part("value", value_start, value_end)

    def _read_behind_call(self, session: Session) -> Generator[None, None, bool]:
        """Consume the end of the wrapper behind a call's closer, if it follows; returns whether the block goes on."""
        window = session.window
        end = window.offset
        yield from self._skip_space(session)
        action, size = yield from self._choose(session, self._behind_call, "", cut_is_none=self.wrapper == "optional")
        if action == "wrapper_end":
            session.take(size)
        elif action is None and self.wrapper == "required":
            raise Malformed("the block does not go on behind a call", window.offset)
        elif action is None:
            rest = len(window.text) - window.pos
            assert self.wrapper_end is not None
            if rest and window.final and self.wrapper_end.literal.startswith(window.text[window.pos :]):
                session.take(rest)
            else:
                window.rewind(end)
        return action == "call"

    def _read_behind_fault(self, session: Session) -> Generator[None, None, bool]:
        """The same behind a fault that ends with its call's closer: what does not follow is not missing."""
        window = session.window
        end = window.offset
        yield from self._skip_space(session)
        action, size = yield from self._choose(session, self._behind_call, "", cut_is_none=True)
        if action == "wrapper_end":
            session.take(size)
        elif action is None:
            window.rewind(end)
        return action == "call"

    def _skip_space(self, session: Session) -> Generator[None, None, str]:
        """Consume white space; returns the next character, "" at the end of the text."""
        window = session.window
        while True:
            found = _SPACE(window.text, window.pos)
            assert found is not None
            window.pos = found.end()
            if window.pos < len(window.text):
                return window.text[window.pos]
            if window.final:
                return ""
            yield

    def _choose(
        self, session: Session, branches: Branches, suffix: str, *, cut_is_none: bool = False
    ) -> Generator[None, None, tuple[Action | None, int]]:
        """Which tag comes next, and its length; it stays in the window. None if there is none.

        Raises `CutOff` if the text ends before that is decided, unless `cut_is_none`.
        """
        window = session.window
        while True:
            text, pos = window.text, window.pos
            undecided = False
            for action, literal, rest in branches:
                if not text.startswith(literal, pos):
                    undecided = undecided or literal.startswith(text[pos : pos + len(literal)])
                    continue
                end = pos + len(literal)
                if rest is None:
                    return action, len(literal)
                match = rest.match(text, end)
                if match is None:
                    undecided = undecided or rest.may_match(text, end) is not None
                elif suffix_of(match) == suffix:
                    return action, match.end() - pos
            if not undecided or (window.final and cut_is_none):
                return None, 0
            if window.final:
                raise CutOff
            yield


def _written(suffix: str) -> str:
    return f":{suffix}" if suffix else ""


class _TextValue:
    """Writes a text value into a call as it grows; while it may still be `null`, and null is allowed, it waits."""

    __slots__ = ("_begun", "_call", "_frame", "_held", "_nullable")

    def __init__(self, call: CallBuilder, *, frame: bool, nullable: bool) -> None:
        self._call = call
        self._frame = frame
        self._nullable = nullable
        self._held = ""
        self._begun = False

    def write(self, text: str) -> None:
        """Add to the value, but for the template's line break at its start."""
        if self._frame:
            self._frame = False
            text = text.removeprefix("\n")
        if self._begun:
            self._call.write(quote_inside(text))
            return
        self._held += text
        if not self._nullable or not "null".startswith(self._held):
            self._begin()

    def finish(self) -> None:
        """The value is complete."""
        if not self._begun and self._nullable and self._held == "null":
            self._call.write("null")
            return
        if not self._begun:
            self._begin()
        self._call.write('"')

    def _begin(self) -> None:
        self._begun = True
        self._call.write(f'"{quote_inside(self._held)}')
        self._held = ""
