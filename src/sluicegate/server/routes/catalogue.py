"""What `GET /parse/parsers` tells of each format."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import msgspec

from sluicegate.core.collect import collect
from sluicegate.core.context import Context
from sluicegate.core.machine import FormatMachine, ReasoningFormat, ToolFormat
from sluicegate.dialects.examples import REASONING_EXAMPLES, TOOL_EXAMPLES
from sluicegate.dialects.model_table import MODEL_TABLE
from sluicegate.dialects.registry import REASONING, TOOLS
from sluicegate.plugins import load_installed_formats

DOCUMENTATION = "https://github.com/sluicegate/sluicegate/tree/main/docs/formats"


class FormatEntry(msgspec.Struct, frozen=True):
    """One format. `models` are patterns of model names, `markers` what opens its blocks, `start` the side on which an
    output begins unless the request says otherwise. `example` is a minimal output, empty for formats of others.
    """

    kind: Literal["tool_call", "reasoning"]
    names: tuple[str, ...]
    models: tuple[str, ...]
    markers: tuple[str, ...]
    start: Literal["content", "reasoning"]
    example: str
    documentation: str


@cache
def list_formats() -> list[FormatEntry]:
    """All formats, those of installed packages included, in the order in which they were added."""
    load_installed_formats()
    tools = [_entry("tool_call", form, "content") for form in TOOLS.formats]
    return tools + [_entry("reasoning", form, _start(form)) for form in REASONING.formats]


def _entry(kind: Any, form: ToolFormat | ReasoningFormat, start: Any) -> FormatEntry:
    name = form.names[0]
    column, examples, page = (
        (1, TOOL_EXAMPLES, name) if kind == "tool_call" else (2, REASONING_EXAMPLES, f"reasoning-{name}")
    )
    models = tuple(row[0] for row in MODEL_TABLE if row[column] in form.names)
    example = examples.get(name, "")
    return FormatEntry(kind, form.names, models, form.markers, start, example, f"{DOCUMENTATION}/{page}.md")


def _start(form: ReasoningFormat) -> str:
    """Where an output begins: the format is asked by giving it one that has no marker."""
    context = Context()
    machine = FormatMachine(form.read(context), context)
    return "reasoning" if collect([*machine.feed("plain text"), *machine.finish()]).reasoning else "content"
