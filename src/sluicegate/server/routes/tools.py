"""The tool definitions of a request. The same ones come with request after request, so that they are read once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sluicegate.server.body import BodyReader

REMEMBERED_LISTS = 128
LONGEST_REMEMBERED = 256 * 1024
"""Bytes of JSON; longer lists are read each time."""

RawTools: TypeAlias = Annotated[
    msgspec.Raw,
    Meta(extra_json_schema={"type": "array", "items": {"$ref": "#/components/schemas/Tool"}}),
]
"""The member `tools` of a body, as it came."""


AnyJson: TypeAlias = Annotated[msgspec.Raw, Meta(extra_json_schema={})]


class ToolFunction(msgspec.Struct, gc=False, omit_defaults=True):
    """The function of a tool definition."""

    name: str
    description: str | None = None
    parameters: AnyJson | UnsetType = UNSET
    strict: bool | None = None


class Tool(msgspec.Struct, gc=False):
    """A tool definition in the shape of the OpenAI interface."""

    type: str
    function: ToolFunction


class _Tools(msgspec.Struct):
    tools: list[Tool]


_MEMBERS: Mapping[str, Any] = {
    "type": {},
    "function": {"name": {}, "description": {}, "parameters": {}, "strict": {}},
}
_READER = BodyReader(_Tools, {"tools": _MEMBERS})


def read_tools(raw: msgspec.Raw | UnsetType) -> list[dict[str, Any]] | None:
    """The tools as the library takes them, None where there are none. Nobody may change them.

    Raises `InvalidBody`.
    """
    if isinstance(raw, UnsetType):
        return None
    text = bytes(raw)
    if text == b"[]":
        return None
    return _remembered(text) if len(text) <= LONGEST_REMEMBERED else _read(text)


def _read(text: bytes) -> list[dict[str, Any]] | None:
    tools = _READER.read(b'{"tools":' + text + b"}").tools
    return [
        {"type": tool.type, "function": {"name": tool.function.name, "parameters": _value(tool.function.parameters)}}
        for tool in tools
    ] or None


def _value(raw: msgspec.Raw | UnsetType) -> Any:
    """The value of JSON that is known to be valid: numbers that nothing can hold are infinite."""
    if isinstance(raw, UnsetType):
        return None
    try:
        return msgspec.json.decode(raw)
    except msgspec.ValidationError:
        return json.loads(bytes(raw), parse_int=float)


_remembered = lru_cache(REMEMBERED_LISTS)(_read)
