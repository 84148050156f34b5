"""One call of the tagged shape while it is read: head, items, closer."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Literal, TypeAlias

from sluicegate.core.block_fault import CutOff, Malformed
from sluicegate.core.blocks import Session
from sluicegate.core.call import CallBuilder
from sluicegate.core.json_reader import JsonBroken, JsonCut, JsonReader, quote
from sluicegate.core.patterns import CUT, Pattern, Steps
from sluicegate.core.schema import NO_TYPES, SchemaNode
from sluicegate.core.sequence import Captures, Sequence
from sluicegate.core.tagged_value import CallCloser, End
from sluicegate.core.tags import Tag, suffix_of
from sluicegate.core.text_value import TextValue
from sluicegate.core.values import TooDeep, Value
from sluicegate.core.white_space import pass_space
from sluicegate.core.window import Window

if TYPE_CHECKING:
    from sluicegate.core.tagged import Tagged


Action: TypeAlias = Literal["item", "closer", "wrapper_end", "before", "call", "value"]
Branch: TypeAlias = "tuple[Action, str, Pattern | None]"
Branches: TypeAlias = tuple[Branch, ...]


def branch(action: Action, tag: Tag) -> Branch:
    """What a tag means where it is one of those that may come next."""
    return action, tag.literal, tag.rest


def choose(
    window: Window, branches: Branches, suffix: str, *, cut_is_none: bool = False
) -> tuple[Action | None, int] | None:
    """Which tag comes next, and its length; it stays in the window. No action if there is none, None if that takes
    more text.

    Raises `CutOff` if the text ends before that is decided, unless `cut_is_none`.
    """
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
    if undecided and not window.final:
        return None
    if undecided and not cut_is_none:
        raise CutOff
    return None, 0


class CallReading:
    """Reads one call of a format; its methods raise `CutOff` and `Malformed`."""

    __slots__ = ("_call", "_duplicates", "_given", "_session", "_suffix", "_table", "_window")

    def __init__(self, table: Tagged, session: Session, call: CallBuilder, suffix: str) -> None:
        self._table = table
        self._session = session
        self._window = session.window
        self._call = call
        self._suffix = suffix
        self._given: set[str] = set()
        self._duplicates: list[str] = []

    def expect(self, sequence: Sequence) -> Generator[None, None, Captures]:
        """Read the tag that must come; the end of a fault is searched from here."""
        start = self._window.offset
        captures = yield from sequence.read(self._window, f":{self._suffix}" if self._suffix else "")
        if captures is CUT:
            raise CutOff
        if not isinstance(captures, dict):
            raise Malformed("a tag of the call cannot be read", start)
        return captures

    def read(self, head: Sequence) -> Generator[None, None, bool]:
        """Read the call from behind its opener; returns whether another one follows in its block."""
        window, call = self._window, self._call
        start = window.offset
        captures = yield from self.expect(head)
        trimmed = captures["name"].trimmed()
        if not trimmed.text:
            raise Malformed("the call has no name", start)
        captured = trimmed if self._table.trim_names else captures["name"]
        name = captured.text
        call.part("name", captured.start, captured.end)
        if not self._table.name_waits:
            call.announce(name)
        arguments = window.offset
        closes_itself = "end" in captures and captures["end"].text == "/>"
        if closes_itself:
            call.write("{}")
            call.part("arguments", arguments, arguments)
            action: Action = "closer"
        else:
            action = yield from self._read_body(name)
        more = action == "closer" and (yield from self.read_behind())
        for key in self._duplicates:
            message = f"the key {key} is written twice; its last value counts"
            self._report("duplicate_key", call.start, window.offset, message)
        call.end(name)
        return more

    def _report(self, code: str, start: int, end: int, message: str) -> None:
        self._session.context.report(code, "warning", start, end, message, call=self._call.index)

    def _read_body(self, name: str) -> Generator[None, None, Action]:
        """Read the items up to the end of the call, which is consumed; returns what it was."""
        table, window, call = self._table, self._window, self._call
        start = window.offset
        schema = self._session.context.tools.schema(name, table.schema_rules)
        branches = table.body
        while True:
            while not pass_space(window):
                yield
            if table.json_body and not call.written and window.text.startswith("{", window.pos):
                yield from self._read_json_body()
                while not pass_space(window):
                    yield
                branches = table.behind_json_body
            end = window.offset
            while (found := choose(window, branches, self._suffix)) is None:
                yield
            action, size = found
            if action is None:
                raise Malformed("the call does not go on with one of its tags", end)
            call.announce(name)
            if action == "item":
                yield from self._read_item(schema)
                continue
            if self._given:
                call.write("}")
            elif not call.written:
                call.write("{}")
            call.part("arguments", start, end)
            if action != "before":
                window.pos += size
            return action

    def _read_json_body(self) -> Steps:
        """Read the arguments as one JSON object."""
        start = self._window.offset
        reader = JsonReader(self._session.context)
        try:
            yield from reader.value(self._call.write)
        except JsonCut:
            raise CutOff from None
        except JsonBroken as problem:
            raise Malformed(problem.message, start, problem.code) from None
        self._duplicates += reader.duplicates
        for key_start, key_end, value_start, value_end in reader.members:
            self._call.part("key", key_start, key_end)
            self._call.part("value", value_start, value_end)

    def _read_item(self, schema: SchemaNode) -> Steps:
        """Read one key and its value."""
        table, window, call = self._table, self._window, self._call
        start = window.offset
        captures = yield from self.expect(table.item)
        captured = captures["key"].trimmed() if table.trim_keys else captures["key"]
        key = captured.text
        if not key and not table.empty_keys:
            raise Malformed("an item has no key", start)
        quoted = quote(key)
        call.write(f"{',' if self._given else '{'}{quoted}:")
        if key in self._given:
            self._duplicates.append(quoted)
        self._given.add(key)
        types = NO_TYPES
        if table.type_name:
            named = captures.get(table.type_name)
            is_text = named is None or named.text in table.text_types
        else:
            types = schema.types_of_member(key)
            is_text = "string" in types
        open_keys: tuple[str, ...] = ()
        if table.values.declared_items:
            open_keys = tuple(declared for declared in schema.declared if declared not in self._given)
        value = window.offset
        if is_text:
            text = TextValue(call.written.append, frame=table.values.frame, nullable="null" in types)
            end = yield from table.value_reader.find_end(self._session, text.write, self._suffix, open_keys)
            text.finish()
        else:
            end = yield from self._read_converted(types, open_keys)
        if self._session.context.details:
            if table.values.frame and value < end.at and window.slice(value, value + 1) == "\n":
                value += 1
            call.part("key", captured.start, captured.end)
            call.part("value", value, end.at)

    def _read_converted(self, types: frozenset[str], open_keys: tuple[str, ...]) -> Generator[None, None, End]:
        """Read a value that is not text, and write its JSON."""
        table, window = self._table, self._window
        start = window.offset
        pieces: list[str] = []
        end = (yield from self._try_json(pieces)) if table.json_first else None
        if end is None:
            end = yield from table.value_reader.find_end(self._session, pieces.append, self._suffix, open_keys)
        text = "".join(pieces)
        if table.values.frame:
            text = text.removeprefix("\n")
        value = Value(text, types)
        try:
            json, fits = table.conversion.convert(value)
        except TooDeep as problem:
            raise Malformed(str(problem), window.offset, "depth_exceeded") from None
        self._duplicates += value.duplicates
        self._call.write(json)
        if not fits:
            wanted = f"none of the types {', '.join(sorted(types))}" if types else "no JSON, so it stays text"
            self._report("schema_mismatch", start, end.at, f"the value is {wanted}")
        return end

    def _try_json(self, pieces: list[str]) -> Generator[None, None, End | None]:
        """Read a value that is JSON with a closing tag behind it into `pieces`; without one go back."""
        window = self._window
        start = window.offset
        json_end = yield from self._read_json()
        if json_end is not None:
            closer = window.offset
            while (found := choose(window, self._table.behind_json, self._suffix, cut_is_none=True)) is None:
                yield
            action, size = found
            if action == "value":
                counts = yield from self._table.value_reader.counts(self._session, window.pos + size, self._suffix)
                if counts:
                    pieces.append(window.slice(start, closer))
                    return End(closer, "closer")
            elif action == "closer":
                window.pos += size
                close = CallCloser(start, closer, window.offset)
                end = yield from self._table.value_reader.find_end(
                    self._session, pieces.append, self._suffix, (), close
                )
                if end.by == "call_closer":
                    pieces.append(window.slice(start, closer))
                return end
        window.rewind(start)
        return None

    def _read_json(self) -> Generator[None, None, int | None]:
        """Consume white space, a JSON value and white space; returns where the value ends, None if it is none."""
        window = self._window
        while not pass_space(window):
            yield
        start = window.offset
        try:
            yield from JsonReader(self._session.context, around=1).value(_forget)
        except JsonCut:
            return None
        except JsonBroken as problem:
            if problem.code == "depth_exceeded":
                raise Malformed(problem.message, start, problem.code) from None
            return None
        end = window.offset
        while not pass_space(window):
            yield
        return end

    def read_behind(self, *, after_fault: bool = False) -> Generator[None, None, bool]:
        """Consume the end of the wrapper behind a call's closer; returns whether another call of its block follows.

        Where the wrapper's end is required, what does not follow is missing, but not behind a fault that ended with
        its call's closer (`after_fault`).
        """
        window, table = self._window, self._table
        if not table.behind_call:
            return False
        required = table.wrapper == "required" and not after_fault
        end = window.offset
        while not pass_space(window):
            yield
        while (found := choose(window, table.behind_call, "", cut_is_none=not required)) is None:
            yield
        action, size = found
        if action == "wrapper_end":
            window.pos += size
        elif action is None:
            if required:
                raise Malformed("the block does not go on behind a call", window.offset)
            rest = window.text[window.pos :] if window.final else ""
            if rest and not after_fault and any(literal.startswith(rest) for _, literal, _ in table.behind_call):
                window.pos += len(rest)
            else:
                window.rewind(end)
        return action == "call"


def _forget(_piece: str) -> None:
    """The value is read again, when it is known where it ends."""
