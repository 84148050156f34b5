"""What holds for reasoning and calls read in one pass, for every pair of formats that a model name leads to."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sluicegate
from sluicegate import Machine
from sluicegate.dialects.model_table import MODEL_TABLE
from sluicegate.dialects.registry import REASONING, TOOLS
from tests.support.parsing import cases, check_events, pieces, random_pieces
from tests.support.strategies import outputs, recorded_texts

EXAMPLES = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
PAIRS = sorted({(tools, reasoning) for _, tools, reasoning in MODEL_TABLE if reasoning != "passthrough"})
START_STATES = (None, True, False)


def texts(tools: str, reasoning: str) -> st.SearchStrategy[str]:
    """Outputs of the pair that were recorded, damaged ones, and an output of one side behind one of the other."""
    recorded = [case["text"] for case in cases("combined.jsonl") if case["tool_call_parser"] == tools]
    tool_markers, markers = TOOLS.find(tools).markers, REASONING.find(reasoning).markers
    thoughts = outputs(reasoning, "reasoning*.jsonl", (*markers, *tool_markers))
    calls = outputs(tools, "tool-*.jsonl", (*markers, *tool_markers))
    whole = st.sampled_from(recorded_texts(reasoning, "reasoning*.jsonl"))
    joined = st.one_of(st.tuples(whole, calls).map("".join), st.tuples(thoughts, calls, thoughts).map("".join))
    return st.one_of(joined, st.sampled_from(recorded)) if recorded else joined


@pytest.mark.parametrize(("tools", "reasoning"), PAIRS)
@EXAMPLES
@given(data=st.data())
def test_one_pass_equals_two_whatever_the_cutting(tools: str, reasoning: str, data: st.DataObject) -> None:
    text = data.draw(texts(tools, reasoning))
    in_reasoning = data.draw(st.sampled_from(START_STATES))

    def read(chunks: list[str]) -> tuple[sluicegate.Outcome, sluicegate.Outcome]:
        machine = Machine(tools, reasoning, in_reasoning=in_reasoning)
        events = [event for chunk in chunks for event in machine.feed(chunk)]
        check_events([*events, *machine.finish()], text)
        return machine.finish_outcome(), machine.finish_outcome(keep_frame=True)

    outcome, framed = read([text])
    for chunks in (pieces(text, 1), random_pieces(text, data.draw(st.integers(0, 99)))):
        assert read(chunks) == (outcome, framed)
    split = sluicegate.parse_reasoning(text, reasoning, in_reasoning=in_reasoning)
    rest = sluicegate.parse_tool_calls(split.content, tools)
    assert (framed.reasoning, framed.content) == (split.reasoning, rest.content)
    assert [(call.name, call.arguments) for call in framed.calls] == [
        (call.name, call.arguments) for call in rest.calls
    ]
    # Without frames less is there, and in the same order.
    for without, kept in ((outcome.content, framed.content), (outcome.reasoning, framed.reasoning)):
        characters = iter(kept)
        assert all(character in characters for character in without)
