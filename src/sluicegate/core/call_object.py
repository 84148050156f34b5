"""A call written as a JSON object: `{"name": …, "arguments": …}` in the key names of a format."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from sluicegate.core.blocks import Session
from sluicegate.core.call import CallBuilder
from sluicegate.core.context import Context
from sluicegate.core.json_reader import JsonReader, Write
from sluicegate.core.patterns import JSON_SPACE, SPACE_CLASS, WHITE_SPACE, Markers, Matcher, search_any


@dataclass(frozen=True, kw_only=True, eq=False)
class CallObject:
    """The members of a format's call object; earlier keys are preferred.

    `without_arguments` says what an object with a name alone is: a call with `{}`, that only if the name is
    declared, or no call. `name_first` allows the name to be sent as soon as it is read. `object_arguments` asks
    for an object as arguments. A member written twice makes the object malformed; with `last_name_counts` not a
    name that was not sent yet.
    The first name key that is present counts; with `first_string_names` the first whose value is a string.
    """

    name_keys: tuple[str, ...] = ("name",)
    argument_keys: tuple[str, ...] = ("arguments", "parameters")
    without_arguments: Literal["empty", "declared", "never"] = "empty"
    name_first: bool = True
    object_arguments: bool = False
    last_name_counts: bool = False
    first_string_names: bool = False

    def counting_name(self, names: Mapping[str, str | None]) -> str | None:
        """The name of an object with these name members; a value that is no string is None."""
        for key in self.name_keys:
            if key in names and (names[key] is not None or not self.first_string_names):
                return names[key]
        return None


class ReadObject:
    """What was read so far of a call object. `problem` says why it is no call, once that is known.

    The object has `begun` as a call when a usable name was read and an arguments key, or the name is declared.
    """

    __slots__ = ("arguments", "begun", "has_arguments", "has_arguments_key", "name", "name_started", "names", "problem")

    def __init__(self) -> None:
        self.names: dict[str, str | None] = {}
        self.name: str | None = None
        self.name_started = False
        self.has_arguments_key = False
        self.has_arguments = False
        self.begun = False
        self.arguments = ""
        self.problem = ""


_PLAIN: Final = r'[^"\\\x00-\x1f]*'
"""What is inside of a string without escapes."""


class _Expressions:
    """The regular expressions of one format's typical objects."""

    __slots__ = ("beginning", "ending")

    def __init__(self, shape: CallObject, tail: str) -> None:
        keys = "|".join(map(re.escape, (*shape.name_keys, *shape.argument_keys)))
        other = rf'"(?!(?:{keys})"){_PLAIN}"{JSON_SPACE}:{JSON_SPACE}"{_PLAIN}"'
        name = rf'"{re.escape(shape.name_keys[0])}"{JSON_SPACE}:{JSON_SPACE}"({_PLAIN})"'
        arguments = rf'"{re.escape(shape.argument_keys[0])}"{JSON_SPACE}:{JSON_SPACE}(?={{)'
        # Without a tail the end of an object within the arguments may look like this, too, but mostly not.
        behind = tail or f'(?!{JSON_SPACE}(?:}}|,{JSON_SPACE}"))'
        # What matches all that stands before the arguments.
        self.beginning: Matcher = re.compile(
            rf"[{SPACE_CLASS}]*{{{JSON_SPACE}(?:{other}{JSON_SPACE},{JSON_SPACE})*?{name}{JSON_SPACE},{JSON_SPACE}{arguments}"
        ).match
        # What matches the closing brace of the arguments and all that must follow.
        self.ending = re.compile(rf"}}(?:{JSON_SPACE},{JSON_SPACE}{other})*{JSON_SPACE}}}{behind}")


class TypicalObject:
    """Reads the call objects of one format at once if they are what models mostly write and lie in the window as a
    whole: a name, then the preferred arguments, an object; before and behind them perhaps members that are plain
    strings; then the expression `tail`. What is read here, `read_call_object` would read alike.

    A name that holds one of `markers` is none.
    """

    __slots__ = ("_expressions", "_markers", "_shape", "_tail")

    def __init__(self, shape: CallObject, markers: tuple[str, ...], tail: str = "") -> None:
        self._shape = shape
        self._markers = Markers(markers) if markers else None
        self._tail = tail
        # Made when they are first needed: a process uses few of the formats that it imports.
        self._expressions: _Expressions | None = None

    def read(self, session: Session, call: CallBuilder) -> bool:
        """Read the object that is next in the window, perhaps behind white space; else consume nothing."""
        expressions = self._expressions
        if expressions is None:
            expressions = self._expressions = _Expressions(self._shape, self._tail)
        window = session.window
        beginning = expressions.beginning(window.text, window.pos)
        if beginning is None:
            return False
        name = beginning[1]
        if not name.strip(WHITE_SPACE):
            return False
        if self._markers is not None and self._markers.find(name, 0, True)[0] is not None:
            return False
        start = beginning.end()
        found = session.find_object(start, expressions.ending)
        if found is None:
            return False
        arguments, arguments_end, end = found
        name_start, name_end = beginning.span(1)
        base = window.base
        call.write_whole(name, (base + name_start, base + name_end), arguments, (base + start, base + arguments_end))
        window.pos = end
        call.end(name, arguments)
        return True


def _nothing(_piece: str) -> None:
    """Read and forget."""


def read_call_object(
    context: Context,
    reader: JsonReader,
    call: CallBuilder,
    shape: CallObject,
    found: ReadObject,
    *,
    markers: tuple[str, ...],
) -> Generator[None, None, None]:
    """Read the object whose `{` is next in the window, filling `found` as it goes.

    The preferred arguments are written to `call` as they grow. A name that holds one of `markers` is none.
    Raises `JsonBroken` or `JsonCut`.
    """
    window = context.window
    reader.token()
    window.pos += 1
    reader.open += 1
    second: dict[str, str] = {}
    seen: set[str] = set()
    following = yield from reader.space()
    if following == "}":
        reader.token()
        window.pos += 1
        reader.open -= 1
        found.problem = "the object has no name"
        return
    while True:
        following = yield from reader.space()
        if following != '"':
            yield from reader.expect('"')
        pieces: list[str] = []
        yield from reader.string(pieces.append)
        key = _decoded(pieces)
        yield from reader.expect(":")
        following = yield from reader.space()
        start = window.offset
        if key in shape.name_keys:
            if key in seen and (not shape.last_name_counts or call.index is not None):
                found.problem = f"the object has two members {key!r}"
            found.name_started = found.name_started or following == '"'
            pieces = []
            yield from reader.value(pieces.append)
            sent = call.index is not None  # then the name stays
            if not sent:
                found.names[key] = _decoded(pieces) if following == '"' else None
            if following == '"' and not sent:
                call.parts = (
                    [part for part in call.parts if part.kind != "name"] if key == shape.name_keys[0] else call.parts
                )
                if key == shape.name_keys[0] or not any(part.kind == "name" for part in call.parts):
                    call.part("name", start + 1, window.offset - 1)
        elif key in shape.argument_keys:
            if key in seen:
                found.problem = f"the object has two members {key!r}"
            preferred = key == shape.argument_keys[0]
            found.has_arguments_key = True
            if shape.object_arguments and following not in "{":
                found.problem = f"the member {key!r} is no object"
            write: Write = _nothing
            pieces = []
            if not found.problem:
                write = call.write if preferred else pieces.append
            if preferred:
                found.has_arguments = True
                call.parts = [part for part in call.parts if part.kind == "name"]
            _announce(context, call, shape, found, markers=markers, final=False)
            reader.members.clear()
            yield from reader.value(write)
            if preferred or shape.argument_keys[0] not in seen:
                call.part("arguments", start, window.offset)
                for key_start, key_end, value_start, value_end in reader.members:
                    call.part("key", key_start, key_end)
                    call.part("value", value_start, value_end)
            if not preferred:
                second.setdefault(key, "".join(pieces))
        else:
            repeated = len(reader.duplicates)
            yield from reader.value(_nothing)
            del reader.duplicates[repeated:]
        seen.add(key)
        _announce(context, call, shape, found, markers=markers, final=False)
        following = yield from reader.space()
        if following == ",":
            yield from reader.expect(",")
            continue
        yield from reader.expect("}")
        reader.open -= 1
        break
    _announce(context, call, shape, found, markers=markers, final=True)
    if found.name is None or not found.name.strip(WHITE_SPACE):
        found.problem = found.problem or "the object has no name that is a non-empty string"
    if found.problem:
        return
    if found.has_arguments:
        found.arguments = "".join(call.written)
        return
    for key in shape.argument_keys[1:]:
        if key in second:
            found.has_arguments = True
            found.arguments = second[key]
            call.write(found.arguments)
            return
    declared = found.name is not None and context.tools.declares(found.name)
    if shape.without_arguments == "empty" or (shape.without_arguments == "declared" and declared):
        found.arguments = "{}"
        call.write("{}")
    else:
        found.problem = "the object has a name alone, and no tool declares it"


def _decoded(pieces: list[str]) -> str:
    text = "".join(pieces)
    inside = text[1:-1]
    return inside if "\\" not in inside else json.loads(text, strict=False)


def _announce(
    context: Context,
    call: CallBuilder,
    shape: CallObject,
    found: ReadObject,
    *,
    markers: tuple[str, ...],
    final: bool,
) -> None:
    """Note the name, and send it once nothing later can disqualify it."""
    name = shape.counting_name(found.names)
    marked = name is not None and search_any(markers)(name) is not None
    usable = name is not None and bool(name.strip(WHITE_SPACE)) and not marked
    found.begun = usable and (found.has_arguments_key or context.tools.declares(name or ""))
    if not (final or len(shape.name_keys) == 1 or found.names.get(shape.name_keys[0]) is not None):
        return
    found.name = name
    if marked:
        found.problem = found.problem or "the name holds a marker of the format"
    if name is None or not usable or found.problem or final:
        return
    call.name = name
    if shape.name_first or found.has_arguments_key:
        call.announce(name)
