"""The answer of the unified parse, as the service and the command line give it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from sluicegate.core.events import CallFault, Diagnostic, Finish, Outcome, Span
from sluicegate.dialects.detection import Choice, Side


class CalledFunction(Struct, frozen=True, gc=False):
    """Name and arguments of a call; `arguments` is JSON text."""

    name: str
    arguments: str


class ToolCall(Struct, frozen=True, gc=False):
    """A call in the shape of the OpenAI interface."""

    id: str
    index: int
    function: CalledFunction
    type: Literal["function"] = "function"


class BrokenCall(Struct, frozen=True, gc=False):
    """A call that could not be read, or was cut off (`incomplete`): what is known of it, and where it stands."""

    code: str
    incomplete: bool
    name: str | None
    arguments: str
    start: int
    end: int


class Parsers(Struct, frozen=True, gc=False):
    """The parsers that were used, and what decided for each."""

    tool_call_parser: Side
    reasoning_parser: Side


class ParseAnswer(Struct, frozen=True, omit_defaults=True):
    """All of one output. The last two members come with `explain`."""

    reasoning_text: str
    content: str
    tool_calls: list[ToolCall]
    finish: Finish
    faults: list[BrokenCall]
    parsers: Parsers
    spans: tuple[Span, ...] | UnsetType = UNSET
    diagnostics: tuple[Diagnostic, ...] | UnsetType = UNSET


def parse_answer(outcome: Outcome, choice: Choice, *, call_id: Callable[[], str], explain: bool = False) -> ParseAnswer:
    """The answer for an outcome. `call_id` makes an id for each call."""
    return ParseAnswer(
        outcome.reasoning,
        outcome.content,
        [ToolCall(call_id(), call.index, CalledFunction(call.name, call.arguments)) for call in outcome.calls],
        outcome.finish,
        [broken(fault) for fault in outcome.faults],
        Parsers(choice.tools, choice.reasoning),
        outcome.spans if explain else UNSET,
        outcome.diagnostics if explain else UNSET,
    )


def broken(fault: CallFault) -> BrokenCall:
    """A fault as the answer shows it."""
    return BrokenCall(fault.code, fault.incomplete, fault.name, fault.arguments, fault.start, fault.end)
