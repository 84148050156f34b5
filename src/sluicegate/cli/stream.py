"""`sluicegate stream`: replay an output in chunks and print what the machine says, when it says it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators
from rich.text import Text

import sluicegate
from sluicegate.cli.display import STYLES, console, print_json, quoted
from sluicegate.cli.inputs import read_text, read_tools, register_files
from sluicegate.cli.parse import File, FormatFiles, Json
from sluicegate.core.events import ArgumentsDelta, CallEnd, CallFault, CallStart, Diagnostic, Event, Markup


def stream(
    file: File = None,
    /,
    *,
    chunk_size: Annotated[int, Parameter(validator=validators.Number(gte=1))] = 4,
    model: str | None = None,
    tool_call_parser: str | None = None,
    reasoning_parser: str | None = None,
    tools: Path | None = None,
    in_reasoning: bool | None = None,
    format_file: FormatFiles = (),
    json: Json = False,
) -> int:
    """Replay a raw output in chunks and print each event with the number of characters fed before it.

    Exit status 1 if a call is broken or cut off.

    Parameters
    ----------
    chunk_size: Code points in a chunk.
    model: Name of the model, from which the parsers are chosen.
    tool_call_parser: Name of the tool-call parser.
    reasoning_parser: Name of the reasoning parser.
    tools: JSON file with the tools, in the OpenAI shape.
    in_reasoning: The prompt left the reasoning open, or not; the parser's default without it.
    json: Print one JSON object a line.
    """
    register_files(format_file)
    text = read_text(file)
    choice = sluicegate.choose_parsers(model, tool_call_parser=tool_call_parser, reasoning_parser=reasoning_parser)
    machine = sluicegate.Machine(
        choice.tool_call_parser, choice.reasoning_parser, tools=read_tools(tools), in_reasoning=in_reasoning
    )
    out = console()
    for fed in range(0, len(text), chunk_size):
        chunk = text[fed : fed + chunk_size]
        for event in machine.feed(chunk):
            _show(event, fed + len(chunk), json, out)
    for event in machine.finish():
        _show(event, len(text), json, out)
    return 1 if machine.finish_outcome().faults else 0


def _show(event: Event, fed: int, json: bool, out: object) -> None:
    if json:
        print_json({"fed": fed, "event": event})
        return
    kind = type(event).__name__
    if isinstance(event, CallStart):
        said = f"{event.index} {event.name}"
    elif isinstance(event, ArgumentsDelta):
        said = f"{event.index} {event.json}"
    elif isinstance(event, CallEnd):
        said = f"{event.index} {event.name} {event.arguments}"
    elif isinstance(event, CallFault):
        said = f"{event.index if event.index is not None else '-'} {event.code}"
    elif isinstance(event, Diagnostic):
        said = f"{event.code}: {event.message}"
    elif isinstance(event, Markup):
        said = f"[{event.start}:{event.end}]"
    else:
        said = event.text
    style = STYLES.get(kind.lower(), STYLES["call"] if kind.startswith(("Call", "Arg")) else "default")
    console_ = console() if out is None else out
    console_.print(Text(f"{fed:6}  {kind:15} {quoted(said)}", style))  # type: ignore[attr-defined]
