"""`POST /parse/function_call` and `POST /parse/reasoning`: one format, named by the request."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

import sluicegate
from sluicegate.answers import CalledFunction
from sluicegate.core.errors import ConflictingStart, TextLimitExceeded, UnknownDialect
from sluicegate.core.events import Diagnostic, Outcome, Span
from sluicegate.parsing import Machine
from sluicegate.server.body import BodyReader, InvalidBody
from sluicegate.server.long_inputs import parse, rest, run
from sluicegate.server.request import Request
from sluicegate.server.response import Response, encode_json
from sluicegate.server.routing import SMALL_BODY, Route, post
from sluicegate.server.state import ServiceState

from .tools import RawTools, read_tools


class FunctionCallBody(msgspec.Struct, gc=False):
    """Body of `POST /parse/function_call`."""

    text: str
    tool_call_parser: str
    tools: RawTools
    explain: bool = False


class ReasoningBody(msgspec.Struct, gc=False):
    """Body of `POST /parse/reasoning`."""

    text: str
    reasoning_parser: str
    in_reasoning: bool | UnsetType | None = None
    prompt: str | UnsetType = UNSET
    explain: bool = False


class FoundCall(msgspec.Struct, frozen=True, gc=False):
    """A call of `POST /parse/function_call`."""

    function: CalledFunction


class FunctionCallAnswer(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Answer of `POST /parse/function_call`; the last two members come with `explain`."""

    remaining_text: str
    tool_calls: list[FoundCall]
    success: bool
    spans: tuple[Span, ...] | UnsetType = UNSET
    diagnostics: tuple[Diagnostic, ...] | UnsetType = UNSET


class ReasoningAnswer(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Answer of `POST /parse/reasoning`; the last two members come with `explain`."""

    normal_text: str
    reasoning_text: str
    success: bool
    spans: tuple[Span, ...] | UnsetType = UNSET
    diagnostics: tuple[Diagnostic, ...] | UnsetType = UNSET


_FUNCTION_CALL = BodyReader(FunctionCallBody)
_REASONING = BodyReader(ReasoningBody)


def parsing_routes(state: ServiceState) -> list[Route]:
    """Both routes; long bodies are read and parsed in a thread."""

    def function_call(_request: Request, body: bytes) -> Response | Awaitable[Response]:
        return run(state, body, partial(_function_call, body))

    def reasoning(_request: Request, body: bytes) -> Response | Awaitable[Response]:
        return run(state, body, partial(_reasoning, body))

    return [
        post("/parse/function_call", "control", function_call, "parse"),
        post("/parse/reasoning", "control", reasoning, "parse"),
    ]


def _function_call(body: bytes) -> Response:
    wanted = _FUNCTION_CALL.read(body, rest)
    tools = read_tools(wanted.tools)
    try:
        outcome = _parse_tool_calls(wanted, tools)
    except UnknownDialect as error:
        return failure(f"Unknown tool parser: {error.name}")
    except TextLimitExceeded as error:
        return failure(f"Failed to parse function calls: {error}")
    calls = [FoundCall(CalledFunction(call.name, call.arguments)) for call in outcome.calls]
    return Response(
        encode_json(FunctionCallAnswer(outcome.content, calls, True, *explanation(outcome, wanted.explain)))
    )


def _parse_tool_calls(wanted: FunctionCallBody, tools: list[dict[str, Any]] | None) -> Outcome:
    text, parser = wanted.text, wanted.tool_call_parser
    if len(text) <= SMALL_BODY:
        return sluicegate.parse_tool_calls(text, parser, tools=tools, details=wanted.explain)
    machine = Machine(parser, tools=tools, deltas=False, details=wanted.explain, remember=False)
    return parse(machine, text, keep_frame=True)


def _reasoning(body: bytes) -> Response:
    wanted = _REASONING.read(body, rest)
    in_reasoning = wanted.in_reasoning if isinstance(wanted.in_reasoning, bool) else None
    prompt = wanted.prompt if isinstance(wanted.prompt, str) else None
    try:
        outcome = sluicegate.parse_reasoning(
            wanted.text, wanted.reasoning_parser, in_reasoning=in_reasoning, prompt=prompt
        )
    except ConflictingStart as error:
        raise InvalidBody(str(error), "in_reasoning") from None
    except UnknownDialect as error:
        return failure(f"Unknown reasoning parser: {error.name}")
    except TextLimitExceeded as error:
        return failure(f"Failed to separate reasoning: Buffer overflow: {error.size} bytes exceeds maximum")
    texts = outcome.content, outcome.reasoning
    return Response(encode_json(ReasoningAnswer(*texts, True, *explanation(outcome, wanted.explain))))


def explanation(
    outcome: Outcome, wanted: bool
) -> tuple[tuple[Span, ...] | UnsetType, tuple[Diagnostic, ...] | UnsetType]:
    """Spans and diagnostics, where they are asked for."""
    return (outcome.spans, outcome.diagnostics) if wanted else (UNSET, UNSET)


def failure(message: str) -> Response:
    """An error of the parsing routes that has no code."""
    return Response(encode_json({"error": message, "success": False}), 400)
