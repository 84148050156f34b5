"""Outcomes for people: colours on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import msgspec
from rich.console import Console
from rich.text import Text

from sluicegate.core.events import Diagnostic, Outcome
from sluicegate.dialects.detection import Choice

STYLES = {
    "content": "default",
    "reasoning": "italic magenta",
    "call": "bold green",
    "markup": "dim",
    "frame": "on grey23",
    "fault": "bold red",
}
SEVERITIES = {"info": "cyan", "warning": "yellow", "error": "bold red"}
_VISIBLE = str.maketrans({"\n": "⏎\n", "\t": "→\t"})


def console() -> Console:
    """Standard output; colours only on a terminal (NO_COLOR and FORCE_COLOR are honoured)."""
    return Console(highlight=False, soft_wrap=True)


def print_json(value: object) -> None:
    """One line of JSON."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def show_outcome(outcome: Outcome, choice: Choice | None, out: Console) -> None:
    """The parts of an outcome, one under the other."""
    if choice is not None:
        out.print(f"tool calls: {choice.tools.parser} ({choice.tools.why})", style="dim", markup=False)
        out.print(f"reasoning:  {choice.reasoning.parser} ({choice.reasoning.why})", style="dim", markup=False)
    if outcome.reasoning:
        out.print(Text("── reasoning", "bold"))
        out.print(Text(outcome.reasoning, STYLES["reasoning"]))
    if outcome.content:
        out.print(Text("── content", "bold"))
        out.print(Text(outcome.content))
    for call in outcome.calls:
        out.print(Text(f"── call {call.index}: {call.name}", "bold"))
        out.print(Text(call.arguments, STYLES["call"]))
    for fault in outcome.faults:
        state = "incomplete call" if fault.incomplete else "broken call"
        out.print(Text(f"── {state}: {fault.name or 'name unknown'} [{fault.start}:{fault.end}]", STYLES["fault"]))
    out.print(Text(f"finish: {outcome.finish}", "dim"))


def show_spans(text: str, outcome: Outcome, out: Console) -> None:
    """The raw text with every span in its colour; without colours one line a span."""
    if out.is_terminal:
        legend = Text("  ").join(Text(kind, style) for kind, style in STYLES.items())
        out.print(legend)
        marked = Text()
        for span in outcome.spans:
            piece = text[span.start : span.end]
            marked.append(piece.translate(_VISIBLE) if span.kind == "frame" else piece, STYLES[span.kind])
        out.print(marked)
        return
    for span in outcome.spans:
        what = f"call {span.call}" if span.call is not None else span.kind
        out.print(f"{span.start:6} {span.end:6}  {what:10} {quoted(text[span.start : span.end])}", markup=False)


def show_diagnostics(text: str, diagnostics: tuple[Diagnostic, ...], out: Console) -> None:
    """Each diagnostic with its place, and the line of the text that it is about."""
    for found in diagnostics:
        line = text.count("\n", 0, found.start) + 1
        column = found.start - (text.rfind("\n", 0, found.start) + 1) + 1
        out.print(Text(f"{found.severity}: {found.code} at {line}:{column}", SEVERITIES[found.severity]))
        out.print(Text(f"  {found.message}"))
        out.print(Text(f"  {quoted(text[found.start : found.end])}", "dim"))


def quoted(text: str, width: int = 100) -> str:
    """Text on one line, the middle left out where it is long."""
    if len(text) > width:
        text = f"{text[: width // 2]} … {text[-width // 2 :]}"
    return "".join(_one_line(text))


def _one_line(text: str) -> Iterator[str]:
    for character in text:
        yield {"\n": "⏎", "\t": "→", "\r": "␍"}.get(character, character if character.isprintable() else "�")
