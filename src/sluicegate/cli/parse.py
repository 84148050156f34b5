"""`sluicegate parse` and `sluicegate reasoning`: a complete output."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import sluicegate
from sluicegate.answers import parse_answer
from sluicegate.cli.display import console, print_json, show_diagnostics, show_outcome, show_spans
from sluicegate.cli.inputs import read_text, read_tools, register_files

File = Annotated[
    Path | None,
    Parameter(help="File with the raw output; standard input without it."),
]
FormatFiles = Annotated[
    tuple[Path, ...],
    Parameter(negative="", help="TOML file that declares formats of your own; may be repeated."),
]
Json = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON.")]


def call_id() -> str:
    """An id for a call."""
    return f"call_{secrets.token_hex(12)}"


def parse(
    file: File = None,
    /,
    *,
    model: str | None = None,
    tool_call_parser: str | None = None,
    reasoning_parser: str | None = None,
    tools: Path | None = None,
    in_reasoning: bool | None = None,
    prompt: Path | None = None,
    keep_frame: Annotated[bool, Parameter(negative="")] = False,
    explain: Annotated[bool, Parameter(negative="")] = False,
    format_file: FormatFiles = (),
    json: Json = False,
) -> int:
    """Read reasoning, answer and tool calls of a raw output.

    Exit status 1 if a call is broken or cut off.

    Parameters
    ----------
    model: Name of the model, from which the parsers are chosen.
    tool_call_parser: Name of the tool-call parser (see `sluicegate dialects`).
    reasoning_parser: Name of the reasoning parser.
    tools: JSON file with the tools, in the OpenAI shape.
    in_reasoning: The prompt left the reasoning open, or not; the parser's default without it.
    prompt: File with the rendered prompt or its tail, which decides the same.
    keep_frame: Keep the white space that the model's template writes around its blocks.
    explain: Show what every part of the text is, and all diagnostics.
    """
    register_files(format_file)
    text = read_text(file)
    choice = sluicegate.choose_parsers(model, tool_call_parser=tool_call_parser, reasoning_parser=reasoning_parser)
    outcome = sluicegate.parse(
        text,
        tools=read_tools(tools),
        tool_call_parser=choice.tool_call_parser,
        reasoning_parser=choice.reasoning_parser,
        in_reasoning=in_reasoning,
        prompt=read_text(prompt) if prompt is not None else None,
        keep_frame=keep_frame,
        details=explain,
    )
    if json:
        print_json(parse_answer(outcome, choice, call_id=call_id, explain=explain))
    else:
        out = console()
        if explain:
            show_spans(text, outcome, out)
        show_outcome(outcome, choice, out)
        show_diagnostics(text, outcome.diagnostics if explain else (), out)
    return 1 if outcome.faults else 0


def reasoning(
    file: File = None,
    /,
    *,
    parser: str,
    in_reasoning: bool | None = None,
    prompt: Path | None = None,
    explain: Annotated[bool, Parameter(negative="")] = False,
    format_file: FormatFiles = (),
    json: Json = False,
) -> int:
    """Split a raw output into reasoning and answer; calls stay in the answer.

    Parameters
    ----------
    parser: Name of the reasoning parser (see `sluicegate dialects`).
    in_reasoning: The prompt left the reasoning open, or not; the parser's default without it.
    prompt: File with the rendered prompt or its tail, which decides the same.
    explain: Show what every part of the text is, and all diagnostics.
    """
    register_files(format_file)
    text = read_text(file)
    outcome = sluicegate.parse_reasoning(
        text, parser, in_reasoning=in_reasoning, prompt=read_text(prompt) if prompt is not None else None
    )
    if json:
        answer: dict[str, object] = {"normal_text": outcome.content, "reasoning_text": outcome.reasoning}
        if explain:
            answer |= {"spans": outcome.spans, "diagnostics": outcome.diagnostics}
        print_json(answer)
        return 0
    out = console()
    if explain:
        show_spans(text, outcome, out)
    show_outcome(outcome, None, out)
    show_diagnostics(text, outcome.diagnostics if explain else (), out)
    return 0
