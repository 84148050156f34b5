"""Formats from the `response_template` object that a checkpoint may carry in its tokenizer_config.json.

The object (version 1, Hugging Face Transformers 5) describes the fields of a message by what opens and closes them.
What has a shape of our own is taken over; what has none is refused with its place, never read half.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

from msgspec import Struct

from sluicegate.core.errors import InvalidDialect
from sluicegate.dialects.declared import (
    DeclaredFormats,
    FormatFile,
    FrameTable,
    ListTable,
    NamedTable,
    ObjectTable,
    OpenerTable,
    ReasoningTable,
    SectionTable,
    TagsTable,
    make_formats,
)

REASONING_FIELDS: Final = ("reasoning_content", "reasoning", "thinking")
CALL_FIELDS: Final = ("tool_calls",)

CallTableOfTools: TypeAlias = "ObjectTable | ListTable | NamedTable | TagsTable"


class Part(Struct, frozen=True):
    """A part of a pattern: a literal, white space, or a named group."""

    kind: Literal["literal", "space", "group"]
    text: str


_PART: Final = re.compile(
    r"(?P<space>\\s[*+]\??)"
    r"|\(\?P<(?P<group>\w+)>(?:[^()\\]|\\.)*\)"
    r"|\\(?P<escaped>[^\w\s])"
    r"|(?P<newline>\\n)"
    r"|(?P<literal>[^\\()\[\]{}|?*+.^$])"
)
_ALTERNATIVES: Final = re.compile(r"(?:\\s\*)?(?:\(\?:)?(?P<inside>(?:[^()\\]|\\.)+)\)?")


def import_response_template(template: Mapping[str, Any], name: str) -> DeclaredFormats:
    """The formats that a `response_template` describes, under this name; they are not registered yet.

    White space that the template strips from a text counts as the chat template's: one newline on either side of the
    reasoning, an empty line behind it. Raises `InvalidDialect` for another version and for what has no counterpart.
    """
    if template.get("version", 1) != 1:
        raise InvalidDialect(f"response_template: version {template['version']!r} is unknown; version 1 is read")
    fields = _mapping(template.get("fields"), "response_template.fields")
    reasoning = _first(fields, REASONING_FIELDS)
    calls = _first(fields, CALL_FIELDS)
    end_tokens = _end_tokens(_mapping(fields.get("content", {}), "response_template.fields.content"))
    tools = () if calls is None else (_calls(calls, name, end_tokens),)
    openers = tuple(_opener(table) for table in tools)
    return make_formats(
        FormatFile(reasoning=() if reasoning is None else (_reasoning(reasoning, name, openers),), tool=tools)
    )


def _opener(table: CallTableOfTools) -> OpenerTable:
    """What begins a call, and with it ends the reasoning."""
    if isinstance(table, TagsTable):
        tag = table.call_open.partition("{name}")[0]
        return OpenerTable(table.section.open, (tag,)) if table.section else OpenerTable(tag)
    if isinstance(table, NamedTable):
        return OpenerTable(table.open)
    return OpenerTable(table.open, ("[", "{") if isinstance(table, ListTable) else ("{",))


def _mapping(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidDialect(f"{place}: an object is expected, not {type(value).__name__}")
    return cast("Mapping[str, Any]", value)


def _first(fields: Mapping[str, Any], names: Sequence[str]) -> tuple[str, Mapping[str, Any]] | None:
    return next(((name, _mapping(fields[name], f"field {name!r}")) for name in names if name in fields), None)


def _refuse(field: str, what: str) -> InvalidDialect:
    return InvalidDialect(f"response_template: field {field!r}: {what}; declare the format in a TOML file instead")


def _parts(field: str, spec: Mapping[str, Any], side: str) -> list[Part]:
    """What opens or closes a field, as parts; white space at both ends is left out, it is read anyway."""
    literal, pattern = spec.get(side), spec.get(f"{side}_pattern")
    if isinstance(literal, list):
        several = cast("list[object]", literal)
        literal = several[0] if len(several) == 1 else None
    if isinstance(literal, str):
        parts = [Part("literal", literal)]
    elif isinstance(pattern, str):
        parts = _read_pattern(field, pattern)
    else:
        raise _refuse(field, f"{side!r} must be one literal, or '{side}_pattern' a pattern")
    while parts and parts[0].kind == "space":
        del parts[0]
    while parts and parts[-1].kind == "space":
        del parts[-1]
    return parts


def _read_pattern(field: str, pattern: str) -> list[Part]:
    parts: list[Part] = []
    pos = 0
    while pos < len(pattern):
        found = _PART.match(pattern, pos)
        if found is None:
            raise _refuse(field, f"the pattern {pattern!r} is more than literals, white space and named groups")
        pos = found.end()
        if found["space"]:
            parts.append(Part("space", ""))
        elif found["group"]:
            parts.append(Part("group", found["group"]))
        else:
            text = "\n" if found["newline"] else found["escaped"] or found["literal"]
            if parts and parts[-1].kind == "literal":
                parts[-1] = Part("literal", parts[-1].text + text)
            else:
                parts.append(Part("literal", text))
    return parts


def _literal(field: str, spec: Mapping[str, Any], side: str) -> str:
    parts = _parts(field, spec, side)
    if [part.kind for part in parts] != ["literal"]:
        raise _refuse(field, f"{side!r} must be one literal")
    return parts[0].text


def _end_tokens(content: Mapping[str, Any]) -> tuple[str, ...]:
    """The tokens that end the answer."""
    close, pattern = content.get("close"), content.get("close_pattern")
    if isinstance(close, str):
        return (close,)
    if isinstance(close, list):
        return tuple(token for token in cast("list[object]", close) if isinstance(token, str))
    found = _ALTERNATIVES.fullmatch(pattern) if isinstance(pattern, str) else None
    if found is None:
        return ()
    tokens = [re.sub(r"\\([^\w\s])", r"\1", token) for token in re.split(r"(?<!\\)\|", found["inside"])]
    return tuple(token for token in tokens if token)


def _reasoning(found: tuple[str, Mapping[str, Any]], name: str, openers: tuple[OpenerTable, ...]) -> ReasoningTable:
    field, spec = found
    if spec.get("content", "text") != "text":
        raise _refuse(field, f"content {spec['content']!r} is not text")
    start, end = _literal(field, spec, "open"), _literal(field, spec, "close")
    arguments = _mapping(spec.get("content_args", {}), f"field {field!r}: content_args")
    strips = arguments.get("strip", True) is not False
    return ReasoningTable(
        names=(name,),
        start=start.strip(),
        end=end.strip(),
        call_openers=openers,
        call_ends_reasoning=bool(openers),
        frame=FrameTable(
            block_start=strips or start.endswith("\n"),
            block_end=strips or end.startswith("\n"),
            behind="\n\n" if strips else "",
        ),
    )


def _calls(found: tuple[str, Mapping[str, Any]], name: str, end_tokens: tuple[str, ...]) -> CallTableOfTools:
    field, spec = found
    content = spec.get("content", "text")
    if content == "xml-inline":
        return _tags(field, spec, name, end_tokens)
    if content != "json" or spec.get("content_args"):
        raise _refuse(field, f"content {content!r} with content_args {spec.get('content_args', {})!r} is not read")
    opening = _parts(field, spec, "open")
    close = _literal(field, spec, "close")
    function = _function(field, spec)
    kinds = [part.kind for part in opening if part.kind != "space"]
    if kinds == ["literal", "group", "literal"]:
        if function != ("{" + _group(opening) + "}", "{content}"):
            raise _refuse(field, "the transform must take the name from the opening and the arguments from the content")
        literals = [part.text for part in opening if part.kind == "literal"]
        return NamedTable(
            names=(name,),
            open=literals[0],
            arguments=literals[1],
            close=close,
            newlines_before_first=_newline_before(spec),
            end_tokens=end_tokens,
        )
    if kinds != ["literal"]:
        raise _refuse(field, "the opening must be a literal, or a literal, a name and a literal")
    prefix = "{content." if not spec.get("transform_each") else "{"
    keys = function or (prefix + "name}", prefix + "arguments}")
    if not all(key.startswith(prefix) and key.endswith("}") and "." not in key[len(prefix) :] for key in keys):
        raise _refuse(field, f"the transform takes {keys!r}, which are no members of the content")
    name_key, arguments_key = (key[len(prefix) : -1] for key in keys)
    open_literal = opening[0].text
    if spec.get("transform_each"):
        return ListTable(
            names=(name,),
            open=open_literal,
            close=close,
            name_keys=(name_key,),
            argument_keys=(arguments_key,),
            newlines_before_first=_newline_before(spec),
            end_tokens=end_tokens,
        )
    return ObjectTable(
        names=(name,),
        open=open_literal,
        close=close,
        name_keys=(name_key,),
        argument_keys=(arguments_key,),
        newlines_before_first=_newline_before(spec),
        end_tokens=end_tokens,
    )


def _newline_before(spec: Mapping[str, Any]) -> Literal["", "\n"]:
    """The white space that the opening takes away in front of itself, as far as a template writes it."""
    return "\n" if str(spec.get("open_pattern", "")).startswith("\\s") else ""


def _group(parts: list[Part]) -> str:
    return next((part.text for part in parts if part.kind == "group"), "")


def _function(field: str, spec: Mapping[str, Any]) -> tuple[str, str] | None:
    """Where the transform takes name and arguments from, None where the content is the call itself."""
    transform = spec.get("transform")
    function: object = transform
    if isinstance(transform, Mapping):
        whole = cast("Mapping[str, object]", transform)
        function = whole.get("function", whole)
    if function is None or function == "{content}":
        return None
    if isinstance(function, Mapping):
        members = cast("Mapping[str, object]", function)
        name, arguments = members.get("name"), members.get("arguments")
        if isinstance(name, str) and isinstance(arguments, str):
            return name, arguments
    raise _refuse(field, f"the transform {transform!r} makes no call with a name and arguments")


def _tags(field: str, spec: Mapping[str, Any], name: str, end_tokens: tuple[str, ...]) -> TagsTable:
    opening = _parts(field, spec, "open")
    closing = [part.text for part in _parts(field, spec, "close") if part.kind == "literal"]
    pattern = _mapping(spec.get("content_args"), f"field {field!r}: content_args").get("tag_pattern")
    if not isinstance(pattern, str):
        raise _refuse(field, "content_args.tag_pattern must be a pattern")
    # The value is any text: it is the one group whose pattern does not matter.
    tag = [part for part in _read_pattern(field, pattern) if part.kind != "space"]
    if [(part.kind, part.text if part.kind == "group" else "") for part in tag] != [
        ("literal", ""),
        ("group", "key"),
        ("literal", ""),
        ("group", "value"),
        ("literal", ""),
    ]:
        raise _refuse(field, f"tag_pattern {pattern!r} must be a tag with a key, a value and a closing tag")
    shown = [part for part in opening if part.kind != "space"]
    kinds = [part.kind for part in shown]
    if kinds[-3:] != ["literal", "group", "literal"] or kinds[:-3] not in ([], ["literal"]):
        raise _refuse(field, "the opening must be a tag with the name in it, and at most one literal in front of it")
    if _function(field, spec) != ("{" + shown[-2].text + "}", "{content}"):
        raise _refuse(field, "the transform must take the name from the opening and the arguments from the content")
    wrapped = len(shown) == 4
    if len(closing) != 1 + wrapped:
        raise _refuse(field, "the closing must have one tag for each tag of the opening")
    return TagsTable(
        names=(name,),
        call_open=f"{shown[-3].text}{{name}}{shown[-1].text}",
        argument_open=f"{tag[0].text}{{key}}{tag[2].text}",
        argument_close=tag[4].text,
        call_close=closing[0],
        newlines_around_values="\\s*(?P<value>" in pattern,
        section=SectionTable(shown[0].text, closing[1]) if wrapped else None,
        newlines_before_first=_newline_before(spec),
        end_tokens=end_tokens,
    )
