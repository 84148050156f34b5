"""The examples that are shown for each format are read by it."""

from __future__ import annotations

import pytest

import sluicegate
from sluicegate.dialects.examples import REASONING_EXAMPLES, TOOL_EXAMPLES
from sluicegate.dialects.reasoning import REASONING_FORMATS
from sluicegate.dialects.tools import TOOL_FORMATS


def test_every_format_has_an_example() -> None:
    assert set(TOOL_EXAMPLES) == {form.names[0] for form in TOOL_FORMATS}
    assert set(REASONING_EXAMPLES) == {form.names[0] for form in REASONING_FORMATS}


@pytest.mark.parametrize("parser", sorted(set(TOOL_EXAMPLES) - {"passthrough"}))
def test_the_example_of_a_tool_format_is_one_call(parser: str) -> None:
    outcome = sluicegate.parse_tool_calls(TOOL_EXAMPLES[parser], parser)
    assert [(call.name, call.arguments) for call in outcome.calls] == [("get_weather", '{"city":"Oslo"}')]
    assert (outcome.content, outcome.diagnostics) == ("", ())


@pytest.mark.parametrize("parser", sorted(set(REASONING_EXAMPLES) - {"passthrough"}))
def test_the_example_of_a_reasoning_format_is_a_thought_and_an_answer(parser: str) -> None:
    outcome = sluicegate.parse_reasoning(REASONING_EXAMPLES[parser], parser, keep_frame=False)
    assert (outcome.reasoning, outcome.content) == ("The user asks for the weather.", "It rains.")
    assert outcome.diagnostics == ()
