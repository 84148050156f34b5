"""cohere: action blocks, strict lists, and an answer that is trimmed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from sluicegate.core.context import Context
from sluicegate.core.events import Content
from sluicegate.core.machine import FormatMachine
from sluicegate.dialects.cohere import COHERE
from tests.renderers.cohere import render
from tests.support.messages import calls, contents
from tests.support.parsing import brief, read

S, E = "<|START_ACTION|>", "<|END_ACTION|>"
F, G = '{"tool_name":"f"}', '{"tool_name":"g","parameters":{"b":2}}'


@given(contents(), calls())
def test_what_is_rendered_is_read_back(content: str, written: list[tuple[str, dict[str, Any]]]) -> None:
    outcome = read(COHERE, render(content, written))
    assert outcome.content == content
    assert [(call.name, json.loads(call.arguments)) for call in outcome.calls] == written


@pytest.mark.parametrize(
    ("text", "content", "names", "faults"),
    [
        # From an unreadable element or a wrong separator on, the rest of the block is a fault.
        (S + "[" + F + ", x, " + G + "]" + E + "y", "y", ["f"], ["x, " + G + "]" + E]),
        (S + "[" + F + " " + G + "]" + E + "y", "y", ["f"], [G + "]" + E]),
        (S + "[" + F + ",," + G + "]" + E + "y", "y", ["f"], ["," + G + "]" + E]),
        (S + "[" + F + ",]" + E + "y", "y", ["f"], ["]" + E]),
        (S + "[" + F + "\u00a0]" + E + "y", "y", ["f"], ["]" + E]),
        (S + "[" + F + "] thanks" + E + "y", "y", ["f"], ["thanks" + E]),
        # A fault ends before the next block, or with the text; elements that are readable are faults by themselves.
        (S + "[" + F + ", {x " + S + G + E, "", ["f", "g"], ["{x "]),
        (S + F + " x " + S + " y", "", ["f"], ["x " + S + " y"]),
        (S + "[5, " + F + ', {"name":""}]' + E, "", ["f"], ["5", '{"name":""}']),
        # The end of the text, or a new block, in place of what should close the list and the block.
        (S + "[" + F + ", ", "", ["f"], []),
        (S + "[" + F, "", ["f"], []),
        (S + "[" + F + E + "y", "y", ["f"], []),
        (S + "[" + F + "," + S + G + E, "", ["f", "g"], []),
        (S + F + "<|END_AC", "", ["f"], []),
        (S + F + " " + S + " [" + G, "", ["f", "g"], []),
        # Mentions reach to their closer; wrappers are removed everywhere.
        ("a" + S + "b<|START_TEXT|>c" + E + E + "d" + S + F, "a" + S + "bc" + E + "d", ["f"], []),
        (S + " \n" + E + S + F + E, "", ["f"], []),
        # Names: the first of the two that is a string, and without markers.
        (S + '[{"name":"' + S + '","tool_name":"f"}]' + E, "", ["f"], []),
        (S + '[{"name":"g","tool_name":null}]' + E, "", ["g"], []),
        (S + '[{"name":"<|END_ACTION|>"}, ' + F + "]" + E, "", ["f"], ['{"name":"<|END_ACTION|>"}']),
    ],
)
def test_calls_text_and_faults(text: str, content: str, names: list[str], faults: list[str]) -> None:
    got_content, got_calls, got_faults = brief(read(COHERE, text))
    assert (got_content, [name for name, _ in got_calls], got_faults) == (content, names, faults)


def test_a_block_that_is_never_closed_is_reported() -> None:
    for text in (S + F, S + "[" + F, S + F + S + G + E):
        assert "unclosed_wrapper" in [diagnostic.code for diagnostic in read(COHERE, text).diagnostics]


def test_a_fault_without_end_is_incomplete() -> None:
    (fault,) = read(COHERE, S + F + "x").faults
    assert fault.incomplete


def test_the_answer_is_trimmed_while_it_streams() -> None:
    machine = FormatMachine(COHERE.read(context := Context(None)), context)
    said = [
        "".join(event.text for event in machine.feed(chunk) if isinstance(event, Content))
        for chunk in ("<|START_RESPONSE|>", " \n", "Hi", " \n", "you", " ", "<|END_RESPONSE|>")
    ]
    assert said == ["", "", "Hi", "", " \nyou", "", ""]
