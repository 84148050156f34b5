"""What holds for every tool format, because it is registered: the promises of the parsing contract."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluicegate.core.context import Context
from sluicegate.core.events import Content
from sluicegate.core.machine import FormatMachine, ToolFormat
from sluicegate.dialects.tools import TOOL_FORMATS
from tests.support.cost import assert_no_dearer
from tests.support.parsing import cases, check_events, pieces, random_pieces, run_tool
from tests.support.strategies import outputs, recorded_texts

EXAMPLES = settings(
    max_examples=1000,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer"},
                    "s": {"type": "string"},
                    "n": {"type": ["string", "null"]},
                    "o": {"type": "object"},
                    "l": {"type": "array", "items": {"type": "number"}},
                    "b": {"type": "boolean"},
                },
            },
        },
    }
]
by_format = pytest.mark.parametrize("tool_format", TOOL_FORMATS, ids=lambda tool_format: tool_format.names[0])


def texts(tool_format: ToolFormat) -> st.SearchStrategy[str]:
    return outputs(tool_format.names[0], "tool-*.jsonl", tool_format.markers)


@by_format
@EXAMPLES
@given(data=st.data())
def test_any_cutting_gives_one_outcome_and_the_spans_tile_the_text(
    tool_format: ToolFormat, data: st.DataObject
) -> None:
    text = data.draw(texts(tool_format))
    tools: Any = data.draw(st.sampled_from([None, TOOLS]))
    whole = check_events(run_tool(tool_format, [text], tools), text)
    for chunks in (pieces(text, 1), random_pieces(text, data.draw(st.integers(0, 99)))):
        assert check_events(run_tool(tool_format, chunks, tools), text) == whole
    # Deltas and details are views of the same parse.
    assert check_events(run_tool(tool_format, [text], tools, details=True), text).calls == whole.calls


@by_format
def test_text_without_the_first_characters_of_markers_passes_at_once(tool_format: ToolFormat) -> None:
    context = Context(None)
    machine = FormatMachine(tool_format.read(context), context)
    said = "".join(event.text for event in machine.feed("Plain words, no mark-up at all") if isinstance(event, Content))
    assert said == "Plain words, no mark-up at all"


@by_format
def test_what_is_held_of_plain_text_is_bounded(tool_format: ToolFormat) -> None:
    """Marker beginnings that come to nothing are let go: never more is held than a marker and its condition."""
    for marker in tool_format.markers:
        context = Context(None)
        machine = FormatMachine(tool_format.read(context), context)
        fed = said = 0
        for _ in range(40):
            for chunk in (marker[: len(marker) // 2 + 1][:-1] or "x", "plain "):
                fed += len(chunk)
                said += sum(event.end - event.start for event in machine.feed(chunk) if isinstance(event, Content))
                assert fed - said <= len(marker) + 1024
        machine.finish()


def cost(tool_format: ToolFormat, text: str, size: int) -> float:
    """Processor seconds per character."""
    context = Context(None, deltas=True)
    machine = FormatMachine(tool_format.read(context), context)
    chunks = pieces(text, size)
    start = time.process_time()
    for chunk in chunks:
        machine.feed(chunk)
    machine.finish()
    return (time.process_time() - start) / len(text)


@by_format
def test_the_cost_of_a_character_does_not_grow_with_the_text(tool_format: ToolFormat) -> None:
    typical = max(recorded_texts(tool_format.names[0], "tool-*.jsonl"), key=len, default="text ")
    small, large = (typical * (size // len(typical) + 1) for size in (16_384, 65_536))
    assert_no_dearer(
        partial(cost, tool_format, small[:16_384], 1),
        partial(cost, tool_format, large[:65_536], 1),
        factor=1.5,
        slack=2e-7,
    )


HOSTILE = {
    "openers": lambda marker, times: marker * (times // 4),
    "open and mention": lambda marker, times: (marker + " x ") * (times // 8),
    "open brackets": lambda marker, times: marker + "[" * times,
    "open braces": lambda marker, times: marker + '{"a":' * (times // 4),
    "white space": lambda marker, times: marker + " " * times + marker,
    "newlines": lambda marker, times: "\n" * times + marker,
    "quotes": lambda marker, times: marker + '{"name":"f","arguments":{"a":"' + '\\"' * times,
    "commas": lambda marker, times: marker + "[" + "," * times,
    "digits": lambda marker, times: marker + '{"name":"f","arguments":{"a":' + "1" * times,
}


@by_format
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_answered_in_linear_time(tool_format: ToolFormat, hostile: str) -> None:
    for marker in tool_format.markers or ("{",):
        small, large = (HOSTILE[hostile](marker, times) for times in (10_000, 40_000))
        measured = (partial(cost, tool_format, text, len(text)) for text in (small, large))
        assert_no_dearer(*measured, factor=3, slack=1e-6)
        whole = check_events(run_tool(tool_format, [small]), small)
        assert check_events(run_tool(tool_format, pieces(small, 97)), small) == whole


def test_every_recorded_parser_is_registered() -> None:
    names = {name for tool_format in TOOL_FORMATS for name in tool_format.names}
    assert {case["parser"] for case in cases("tool-*.jsonl")} <= names
