"""Texts that make a careless reader of bare lists read the same text again and again."""

from __future__ import annotations

import time

import pytest

from sluicegate.core.call_list import CallList
from sluicegate.dialects.cohere import COHERE
from sluicegate.dialects.json_calls import JSON
from sluicegate.dialects.llama import LLAMA
from sluicegate.dialects.mistral import MISTRAL
from tests.support.cost import assert_no_dearer
from tests.support.parsing import check_events, pieces, run_tool

CALL = '{"name":"f","arguments":{"a":1}}'
BROKEN = '{"name":"f","arguments":{x "}},'
HOSTILE: dict[str, tuple[CallList, str]] = {
    "brackets": (JSON, "[" * 50_000),
    "braces": (JSON, "{" * 20_000),
    "objects in lists": (JSON, '[{"a":[' * 6_000),
    "unclosed strings": (JSON, '{"a":"' * 6_000),
    "numbers, then no end": (JSON, "[" + "1," * 20_000),
    "data, then a call": (JSON, "[" + '{"a":1},' * 8_000 + CALL + "]"),
    "calls that break": (JSON, ('{"name":"f","arguments":[') * 4_000),
    "elements that break": (JSON, "[" + CALL + "," + BROKEN * 2_000),
    "a deep value behind deep values": (JSON, "[" * 900 + "1," * 20_000),
    "a value of a million characters": (JSON, '{"name":"f","arguments":{"a":"' + "x" * 1_000_000 + '"}}'),
    "white space before a bare object": (LLAMA, " " * 200_000 + CALL),
    "separators": (LLAMA, '{"name":"f","parameters":{}}' + "; " * 50_000),
    "tags that open": (LLAMA, '<|python_tag|>{"a":"' * 2_000),
    "calls, then an open string": (LLAMA, '<|python_tag|>{"name":"f"} {"a":"' * 2_000),
    "markers in broken strings": (MISTRAL, "[TOOL_CALLS][" + '{"name":"f","arguments":{"[TOOL_CALLS]f{' * 2_500),
    "names without arguments": (MISTRAL, "[TOOL_CALLS]f[ARGS]" * 2_000),
    "a long id": (MISTRAL, "[TOOL_CALLS]f[CALL_ID]" + "x" * 200_000),
    "blocks that break": (COHERE, '<|START_ACTION|>[{"tool_name":"f","parameters":{"' * 2_500),
    "mentions": (COHERE, "<|START_ACTION|>x<|END_ACTION|>" * 4_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_answered_at_once(name: str) -> None:
    form, text = HOSTILE[name]
    start = time.process_time()
    whole = check_events(run_tool(form, [text]), text)
    assert check_events(run_tool(form, pieces(text, 997)), text) == whole
    assert time.process_time() - start < 5


@pytest.mark.parametrize("name", HOSTILE)
def test_the_cost_of_a_character_does_not_grow_with_the_text(name: str) -> None:
    form, text = HOSTILE[name]
    small, large = (lambda size=size: seconds(form, text[:size]) / size for size in (4_000, 16_000))
    assert_no_dearer(small, large, factor=1.5, slack=1e-6)


def seconds(form: CallList, text: str) -> float:
    start = time.process_time()
    run_tool(form, pieces(text, 1))
    return time.process_time() - start
