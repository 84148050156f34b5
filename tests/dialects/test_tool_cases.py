"""Every recorded tool-call case, whole and in every cutting: one outcome."""

from __future__ import annotations

from typing import Any

import pytest

from sluicegate.dialects.tools import TOOL_FORMATS
from tests.support.parsing import cases, check_events, exact, plans, run_tool

FORMATS = {name: tool_format for tool_format in TOOL_FORMATS for name in tool_format.names}


@pytest.mark.parametrize("case", cases("tool-*.jsonl"), ids=lambda case: f"{case['parser']}:{case['id']}")
def test_recorded_case(case: dict[str, Any]) -> None:
    tool_format, text, tools = FORMATS[case["parser"]], case["text"], case.get("tools")
    whole = check_events(run_tool(tool_format, [text], tools), text)
    want = case["expect"]
    assert whole.content == want["remaining_text"]
    assert [call.name for call in whole.calls] == [call["name"] for call in want["tool_calls"]]
    for call, expected in zip(whole.calls, want["tool_calls"], strict=True):
        assert exact(call.arguments) == exact(expected["arguments"])
    for plan, chunks in plans(text, randoms=3):
        assert check_events(run_tool(tool_format, chunks, tools), text) == whole, plan


@pytest.mark.full
@pytest.mark.parametrize("case", cases("tool-*.jsonl"), ids=lambda case: f"{case['parser']}:{case['id']}")
def test_recorded_case_in_thirty_random_cuttings(case: dict[str, Any]) -> None:
    tool_format, text, tools = FORMATS[case["parser"]], case["text"], case.get("tools")
    whole = check_events(run_tool(tool_format, [text], tools), text)
    for plan, chunks in plans(text, randoms=30):
        assert check_events(run_tool(tool_format, chunks, tools), text) == whole, plan
