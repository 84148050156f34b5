"""A complete parse takes short cuts where what it reads is wholly there; it must not show."""

from __future__ import annotations

from typing import Any

import pytest

import sluicegate
from sluicegate.dialects.tools import TOOL_FORMATS
from tests.support.parsing import cases, pieces


@pytest.mark.parametrize("name", [tool_format.names[0] for tool_format in TOOL_FORMATS])
def test_a_complete_parse_is_that_of_a_stream(name: str) -> None:
    recorded = [case for case in cases("tool-*.jsonl") if case["parser"] == name]
    assert recorded
    for case in recorded:
        text: str = case["text"]
        tools: Any = case.get("tools")
        for part in (text, text[: len(text) // 2], text[:-1], text + text):
            machine = sluicegate.Machine(name, tools=tools)
            for piece in pieces(part, 7):
                machine.feed(piece)
            assert sluicegate.parse_tool_calls(part, name, tools=tools) == machine.finish_outcome(keep_frame=True)
