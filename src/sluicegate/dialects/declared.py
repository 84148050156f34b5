"""Formats that are declared in a TOML file: one table for each format, made into the same tables that the library uses.

The tables of the file are the structs below; docs/guide/own-formats.md explains them with a complete example.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from sluicegate.core import values
from sluicegate.core.blocks import Opener
from sluicegate.core.call_list import CallList
from sluicegate.core.call_object import CallObject
from sluicegate.core.errors import InvalidDialect
from sluicegate.core.machine import ReasoningFormat, ToolFormat
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SPACE, SPACE_CLASS, Pattern, Run, either
from sluicegate.core.payload import Header, Payload
from sluicegate.core.reasoning import Frames, PairFormat, call_opener
from sluicegate.core.sequence import Sequence, Text
from sluicegate.core.tagged import Tagged
from sluicegate.core.tagged_value import ValueSyntax
from sluicegate.core.tags import Tag
from sluicegate.dialects import registry


class FrameTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The newlines that the chat template writes around the reasoning."""

    output_start: bool = False
    block_start: bool = False
    block_end: bool = False
    behind: Literal["", "\n", "\n\n"] = ""


class OpenerTable(Struct, forbid_unknown_fields=True):
    """A marker that begins calls, and what must follow it, after white space, for it to count (one of `then`)."""

    literal: str
    then: tuple[str, ...] = ()


class ReasoningTable(Struct, forbid_unknown_fields=True):
    """Reasoning between one start marker and one end marker."""

    names: tuple[str, ...]
    start: str
    end: str
    begins_in_reasoning: bool = False
    call_openers: tuple[OpenerTable, ...] = ()
    call_ends_reasoning: bool = False
    frame: FrameTable = FrameTable()


class SectionTable(Struct, forbid_unknown_fields=True):
    """The markers of a section around all calls."""

    open: str
    close: str


class ToolTable(Struct, forbid_unknown_fields=True, tag_field="shape", kw_only=True):
    """What all shapes of calls share.

    `newlines_before_first` is the white space that the template writes before the first call; `end_tokens` are
    tokens that end a turn, and are no content.
    """

    names: tuple[str, ...]
    section: SectionTable | None = None
    newlines_before_first: Literal["", "\n", "\n\n"] = ""
    end_tokens: tuple[str, ...] = ()


class ObjectTable(ToolTable, tag="object", kw_only=True):
    """`open {"name": …, "arguments": …} close`."""

    open: str
    close: str
    close_optional: bool = False
    name_keys: tuple[str, ...] = ("name",)
    argument_keys: tuple[str, ...] = ("arguments", "parameters")


class ListTable(ToolTable, tag="list", kw_only=True):
    """`open [{"name": …, "arguments": …}, …] close`, or a single object."""

    open: str
    close: str = ""
    name_keys: tuple[str, ...] = ("name",)
    argument_keys: tuple[str, ...] = ("arguments", "parameters")


class NamedTable(ToolTable, tag="named", kw_only=True):
    """`open name arguments {…} close`: the name stands between two markers, the JSON object is the arguments."""

    open: str
    arguments: str
    close: str


class TagsTable(ToolTable, tag="tags", kw_only=True):
    """A tag with the name, one pair of tags for each argument, a closing tag.

    `call_open` holds `{name}` and `argument_open` holds `{key}`, once each. With `newlines_around_values` the template
    writes a newline on either side of a value.
    """

    call_open: str
    argument_open: str
    argument_close: str
    call_close: str
    newlines_around_values: bool = False


class CallTable(Struct, forbid_unknown_fields=True):
    """A call that an example holds; `arguments` is compared as JSON."""

    name: str
    arguments: dict[str, Any] = {}


class ExampleTable(Struct, forbid_unknown_fields=True):
    """An output and what is read from it."""

    text: str
    content: str = ""
    reasoning: str = ""
    calls: tuple[CallTable, ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    in_reasoning: bool | None = None


class FormatFile(Struct, forbid_unknown_fields=True):
    """A whole file."""

    reasoning: tuple[ReasoningTable, ...] = ()
    tool: tuple[ObjectTable | ListTable | NamedTable | TagsTable, ...] = ()
    example: tuple[ExampleTable, ...] = ()


class DeclaredFormats(Struct, frozen=True):
    """The formats of one file, not registered yet."""

    reasoning: tuple[ReasoningFormat, ...]
    tools: tuple[ToolFormat, ...]
    examples: tuple[ExampleTable, ...]


NAME_CHARACTERS: Final = rf"^{SPACE_CLASS}<>{{}}\"'"


def read_format_file(text: str) -> DeclaredFormats:
    """The formats that a TOML text declares. Raises `InvalidDialect`, which says where and why."""
    try:
        file = msgspec.toml.decode(text, type=FormatFile)
    except msgspec.DecodeError as error:
        raise InvalidDialect(f"the format file cannot be read: {error}") from None
    return make_formats(file)


def make_formats(file: FormatFile) -> DeclaredFormats:
    """The formats of a file's tables. Raises `InvalidDialect`."""
    if not file.reasoning and not file.tool:
        raise InvalidDialect("the format file declares no format: add a [[reasoning]] or a [[tool]] table")
    return DeclaredFormats(
        tuple(_reasoning(table) for table in file.reasoning),
        tuple(_tool(table) for table in file.tool),
        file.example,
    )


def register_formats(text: str) -> tuple[str, ...]:
    """Add the formats that a TOML text declares, all or none, and return their names.

    Raises `InvalidDialect` if the text cannot be read or a name is taken.
    """
    declared = read_format_file(text)
    names: list[str] = []
    for kind, table, forms in (
        ("tool", registry.TOOLS, declared.tools),
        ("reasoning", registry.REASONING, declared.reasoning),
    ):
        own = [name for form in forms for name in form.names]
        taken = [name for name in own if name in table.names or own.count(name) > 1]
        if taken:
            raise InvalidDialect(f"two {kind} formats are called {taken[0]!r}")
        names += own
    for tool_format in declared.tools:
        registry.register_tool_format(tool_format)
    for reasoning_format in declared.reasoning:
        registry.register_reasoning_format(reasoning_format)
    return tuple(dict.fromkeys(names))


def _named(names: tuple[str, ...], what: str) -> tuple[str, ...]:
    if not names or not all(re.fullmatch(r"[a-z0-9_.-]{1,64}", name) for name in names):
        raise InvalidDialect(f"{what}: names must be 1 to 64 of the characters a-z 0-9 _ . -, not {list(names)!r}")
    return names


def _filled(what: str, **markers: str) -> None:
    for field, marker in markers.items():
        if not marker:
            raise InvalidDialect(f"{what}: {field} must not be empty")
        if marker != marker.strip():
            raise InvalidDialect(f"{what}: {field} must not begin or end with white space, not {marker!r}")


def _reasoning(table: ReasoningTable) -> ReasoningFormat:
    names = _named(table.names, "[[reasoning]]")
    what = f"[[reasoning]] {names[0]}"
    _filled(what, start=table.start, end=table.end)
    openers = tuple(_call_opener(opener, what) for opener in table.call_openers)
    if table.call_ends_reasoning and not openers:
        raise InvalidDialect(f"{what}: call_ends_reasoning needs call_openers")
    frame = table.frame
    return PairFormat(
        *names,
        start=table.start,
        end=table.end,
        begins_in_reasoning=table.begins_in_reasoning,
        openers=openers,
        call_ends_reasoning=table.call_ends_reasoning,
        frames=Frames(
            output_start=frame.output_start,
            block_start=frame.block_start,
            block_end=frame.block_end,
            behind=frame.behind,
        ),
    )


def _call_opener(table: OpenerTable, what: str) -> Any:
    _filled(what, literal=table.literal, **{f"then[{index}]": text for index, text in enumerate(table.then)})
    return call_opener(table.literal, *((SPACE, either(*table.then)) if table.then else ()))


def _tool(table: ObjectTable | ListTable | NamedTable | TagsTable) -> ToolFormat:
    names = _named(table.names, "[[tool]]")
    what = f"[[tool]] {names[0]}"
    sections: dict[str, str] = {}
    if table.section is not None:
        _filled(what, section_open=table.section.open, section_close=table.section.close)
        sections = {table.section.open: table.section.close}
    newlines = table.newlines_before_first
    layout = Layout(
        end_tokens=table.end_tokens,
        before_first=(newlines,) if newlines else (),
        before_first_marker="section" if sections else "none",
    )
    if isinstance(table, ObjectTable):
        return _object(table, what, names, sections, layout)
    if isinstance(table, ListTable):
        return _list(table, what, names, sections, layout)
    if isinstance(table, NamedTable):
        return _named_call(table, what, names, sections, layout)
    return _tags(table, what, names, sections, layout)


def _call_object(table: ObjectTable | ListTable, what: str) -> CallObject:
    if not table.name_keys or not table.argument_keys:
        raise InvalidDialect(f"{what}: name_keys and argument_keys must each hold a key")
    return CallObject(name_keys=table.name_keys, argument_keys=table.argument_keys)


def _object(
    table: ObjectTable, what: str, names: tuple[str, ...], sections: dict[str, str], layout: Layout
) -> ToolFormat:
    _filled(what, open=table.open, close=table.close)
    return Payload(
        names=names,
        openers=(Opener(literal=table.open, condition=Pattern(SPACE, "{"), reach=(table.close,)),),
        closers=(table.close,),
        sections=sections,
        closing_stops=(table.close,),
        opening_stops=(*sections, *sections.values()),
        call_object=_call_object(table, what),
        tail=table.close,
        optional_tail=table.close_optional,
        layout=layout,
    )


def _list(table: ListTable, what: str, names: tuple[str, ...], sections: dict[str, str], layout: Layout) -> ToolFormat:
    _filled(what, open=table.open)
    closers = (table.close,) if table.close else ()
    return CallList(
        names=names,
        openers=(Opener(literal=table.open, condition=Pattern(SPACE, either("[", "{")), reach=closers),),
        closers=closers,
        sections=sections,
        closing_stops=closers,
        opening_stops=(*sections, *sections.values()),
        call_object=_call_object(table, what),
        layout=layout,
    )


def _named_call(
    table: NamedTable, what: str, names: tuple[str, ...], sections: dict[str, str], layout: Layout
) -> ToolFormat:
    _filled(what, open=table.open, arguments=table.arguments, close=table.close)
    name = Run(NAME_CHARACTERS, 1)
    return Payload(
        names=names,
        openers=(
            Opener(
                literal=table.open,
                condition=Pattern(SPACE, name, SPACE, table.arguments),
                reach=(table.close,),
            ),
        ),
        closers=(table.arguments, table.close),
        sections=sections,
        closing_stops=(table.close,),
        opening_stops=(*sections, *sections.values()),
        header=Header(
            until=table.arguments,
            form=rf"[{SPACE_CLASS}]*+(?P<name>[{NAME_CHARACTERS}]++)[{SPACE_CLASS}]*",
        ),
        tail=table.close,
        layout=layout,
    )


def _around(template: str, placeholder: str, field: str, what: str) -> tuple[str, str]:
    """The text before and behind the placeholder of a tag."""
    before, found, behind = template.partition(placeholder)
    if not found or not before or not behind or placeholder in behind:
        raise InvalidDialect(f"{what}: {field} must hold {placeholder} once, with text on both sides, not {template!r}")
    return before, behind


def _tags(table: TagsTable, what: str, names: tuple[str, ...], sections: dict[str, str], layout: Layout) -> ToolFormat:
    _filled(
        what,
        call_open=table.call_open,
        argument_open=table.argument_open,
        argument_close=table.argument_close,
        call_close=table.call_close,
    )
    call, call_end = _around(table.call_open, "{name}", "call_open", what)
    item, item_end = _around(table.argument_open, "{key}", "argument_open", what)
    # A name ends where the text behind it begins.
    name_characters = NAME_CHARACTERS + re.escape(call_end[0])
    key_characters = NAME_CHARACTERS + re.escape(item_end[0])
    name, key = Run(name_characters, 1), Run(key_characters, 1)
    body = (SPACE, either(item, table.call_close))
    return Tagged(
        names=names,
        openers=(
            Opener(literal=call, rest=Pattern(name, call_end), condition=Pattern(*body), reach=(table.call_close,)),
        ),
        closers=(table.call_close, table.argument_close),
        tags=(Tag(literal=item, rest=Pattern(key, item_end)),),
        sections=sections,
        closing_stops=(table.call_close,),
        opening_stops=(*sections, *sections.values()),
        heads={call: Sequence(Text("name", name_characters), call_end)},
        item=Sequence(item, Text("key", key_characters), item_end),
        values=ValueSyntax(
            closer=Tag(literal=table.argument_close),
            continues=Pattern(either(item, table.call_close)),
            call_closer=Tag(literal=table.call_close),
            item=Tag(literal=item, rest=Pattern(key, item_end)),
            start=Tag(literal=call, rest=Pattern(name, call_end, *body)),
            frame=table.newlines_around_values,
        ),
        closer=Tag(literal=table.call_close),
        conversion=values.Conversion((values.boolean_in_any_case, values.integral_number, values.strict_json)),
        layout=layout,
    )
