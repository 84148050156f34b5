"""Run a format over a text in any pieces, and compare outcomes."""

from __future__ import annotations

import decimal
import functools
import json
import pathlib
import random
from collections.abc import Iterable, Iterator
from typing import Any

from sluicegate.core.collect import collect
from sluicegate.core.context import Context
from sluicegate.core.events import ArgumentsDelta, CallEnd, CallFault, CallStart, Event, Outcome
from sluicegate.core.machine import FormatMachine, ReasoningFormat, ToolFormat

VECTORS = pathlib.Path(__file__).parent.parent / "vectors"
SIZES = (1, 2, 3, 5, 7, 11, 23)


@functools.cache
def cases(pattern: str) -> tuple[dict[str, Any], ...]:
    """The recorded cases of all files that match, in order."""
    paths = sorted(VECTORS.glob(pattern))
    return tuple(json.loads(line) for path in paths for line in path.read_text("utf-8").split("\n") if line.strip())


def pieces(text: str, size: int) -> list[str]:
    """The text in pieces of one size."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def random_pieces(text: str, seed: int) -> list[str]:
    """The text in pieces of 1 to 12 code points, the same for the same seed."""
    source = random.Random(seed)
    cut: list[str] = []
    start = 0
    while start < len(text):
        end = start + source.randint(1, 12)
        cut.append(text[start:end])
        start = end
    return cut


def plans(text: str, randoms: int = 3) -> Iterator[tuple[str, list[str]]]:
    """Ways of cutting a text: by every size, and at random."""
    for size in SIZES:
        if size < len(text):
            yield f"pieces of {size}", pieces(text, size)
    for seed in range(randoms):
        yield f"random pieces {seed}", random_pieces(text, seed)


def run_tool(tool_format: ToolFormat, chunks: Iterable[str], tools: Any = None, **options: Any) -> list[Event]:
    """All events of one output."""
    context = Context(tools, **{"deltas": True, **options})
    machine = FormatMachine(tool_format.read(context), context)
    events = [event for chunk in chunks for event in machine.feed(chunk)]
    return [*events, *machine.finish()]


def check_events(events: list[Event], text: str) -> Outcome:
    """The outcome of the events, after checks that hold for every output of every format."""
    outcome = collect(events, keep_frame=True)
    position = 0
    for span in outcome.spans:
        assert span.start == position, f"the spans leave a gap or overlap at {position}: {outcome.spans}"
        assert span.end > span.start
        position = span.end
        for part in span.parts:
            assert span.start <= part.start <= part.end <= span.end
    assert position == len(text), f"the spans end at {position} of {len(text)}"
    sent: dict[int, str] = {}
    ended: set[int] = set()
    for event in events:
        if isinstance(event, CallStart):
            assert event.index == len(sent), "indices count announced calls"
            sent[event.index] = ""
        elif isinstance(event, ArgumentsDelta):
            assert event.index not in ended
            sent[event.index] += event.json
        elif isinstance(event, CallEnd):
            assert sent[event.index] == event.arguments, "the deltas join to the arguments"
            json.loads(event.arguments, parse_int=str)
            ended.add(event.index)
        elif isinstance(event, CallFault) and event.index is not None:
            assert sent[event.index] == event.arguments
            ended.add(event.index)
    assert ended == set(sent), "every announced call ends"
    if not outcome.calls:
        assert not any(span.kind == "fault" for span in outcome.spans)
    return outcome


def exact(text: str) -> Any:
    """JSON text as a comparable value: key order kept, numbers exact, booleans unlike numbers."""

    def tagged(value: Any) -> Any:
        if isinstance(value, bool):
            return ("boolean", value)
        if isinstance(value, list):
            return [tagged(item) for item in value]
        if isinstance(value, tuple):
            return ("object", [(key, tagged(item)) for key, item in value[1]])
        return value

    return tagged(
        json.loads(
            text,
            object_pairs_hook=lambda pairs: ("object", list(dict(pairs).items())),
            parse_float=decimal.Decimal,
            parse_int=decimal.Decimal,
        )
    )


def run_reasoning(
    reasoning_format: ReasoningFormat, chunks: Iterable[str], in_reasoning: bool | None = None, opened_by: str = ""
) -> list[Event]:
    """All events of one output."""
    context = Context()
    machine = FormatMachine(reasoning_format.read(context, in_reasoning, opened_by), context)
    events = [event for chunk in chunks for event in machine.feed(chunk)]
    return [*events, *machine.finish()]


def read(tool_format: ToolFormat, text: str, tools: Any = None) -> Outcome:
    """The outcome of a text, which is the same for the whole text and for each of its characters by itself."""
    whole = check_events(run_tool(tool_format, [text], tools), text)
    assert check_events(run_tool(tool_format, pieces(text, 1), tools), text) == whole
    return whole


def read_details(tool_format: ToolFormat, text: str, tools: Any = None) -> Outcome:
    """The same with the places of keys and values, in every cutting."""
    whole = check_events(run_tool(tool_format, [text], tools, details=True), text)
    assert check_events(run_tool(tool_format, pieces(text, 1), tools, details=True), text) == whole
    return whole


def brief(outcome: Outcome) -> tuple[str, list[tuple[str, str]], list[str]]:
    """What a caller looks at first: content, calls, and the raw text of the faults beside them."""
    faults = [diagnostic.raw or "" for diagnostic in outcome.diagnostics if diagnostic.severity == "error"]
    return outcome.content, [(call.name, call.arguments) for call in outcome.calls], faults


def declared(*names: str) -> list[dict[str, Any]]:
    """Tools of these names."""
    return [{"type": "function", "function": {"name": name}} for name in names]
