"""`<tool_call>` belongs to two formats: a body of the other one is text, and the diagnostics name that format."""

from __future__ import annotations

import pytest

from sluicegate import Machine, parse_tool_calls

OBJECT = '{"name": "note", "arguments": {}}'
FUNCTION = "<function=note>\n</function>"


@pytest.mark.parametrize(
    ("parser", "body", "other"),
    [("qwen", FUNCTION, "qwen_xml"), ("qwen", f"[{OBJECT}]", "json"), ("qwen_xml", OBJECT, "qwen")],
)
def test_a_body_of_another_format_is_named(parser: str, body: str, other: str) -> None:
    text = f"a <tool_call>\n{body}\n</tool_call>"
    outcome = parse_tool_calls(text, parser)
    assert (outcome.content, outcome.calls) == (text, ())
    (found,) = [one for one in outcome.diagnostics if one.code == "other_format_markers"]
    assert (found.start, found.raw) == (2, "<tool_call>")
    assert f"the format {other} " in found.message
    machine = Machine(parser)
    for character in text:
        machine.feed(character)
    assert machine.finish_outcome(keep_frame=True).diagnostics == outcome.diagnostics


@pytest.mark.parametrize("parser", ["qwen", "qwen_xml"])
def test_prose_behind_the_marker_names_no_format(parser: str) -> None:
    for text in ("<tool_call> <b>", "<tool_call>\n<functio", "the <tool_call> tag"):
        assert "other_format_markers" not in [one.code for one in parse_tool_calls(text, parser).diagnostics]
