"""minimax_m2: invokes inside sections."""

from __future__ import annotations

import pytest

from sluicegate.dialects.minimax_m2 import MINIMAX_M2
from tests.support.parsing import brief, check_events, read, run_tool

S, S_END = "<minimax:tool_call>", "</minimax:tool_call>"
F, END = '<invoke name="f">', "</invoke>"
A, A_END = '<parameter name="a">', "</parameter>"
G = '<invoke name="g"/>'
GG = ("g", "{}")
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}}]


@pytest.mark.parametrize(
    ("text", "content", "calls", "faults"),
    [
        # Only a section has calls in it.
        (F + END + S + G, F + END, [GG], 0),
        (S + G + S_END + G + END + A + S + G + S_END, G + END + A, [GG, GG], 0),
        (S + "x" + G + "y" + G, "xy", [GG, GG], 0),
        (S + "<invoked>" + G + "<invoke", "<invoked>", [GG], 1),
        (S + END + A_END + A + G, "", [GG], 0),
        (S + '<parameter name="a" x="1">' + G, '<parameter name="a" x="1">', [GG], 0),
        (S_END + "x" + S + G, "x", [GG], 0),
        # Heads.
        (S + '<invoke\n name=" f " >' + END, "", [("f", "{}")], 0),
        (S + "<invoke name='f'>" + END + G, "", [GG], 1),
        (S + '<invoke name=""/>' + END + G, "", [GG], 1),
        (S + '<invoke name="a<b"/>' + END + G, "", [GG], 1),
        (S + '<invoke x="1" name="f">' + END + "t" + G, "t", [GG], 1),
        (S + F + '<parameter name=" ">x' + A_END + END + "t" + G, "t", [GG], 1),
        (S + F + "<parameters>" + END + "t" + G, "t", [GG], 1),
        # Where a value ends. Before a call opener or the section's end a closing tag counts, too; the call is a fault.
        (S + F + A + " x\n" + A_END + END, "", [("f", '{"a":" x\\n"}')], 0),
        (S + F + A + "x" + A_END + " y" + A_END + "\n" + END, "", [("f", '{"a":"x</parameter> y"}')], 0),
        (S + F + A + "x" + A_END + "<parameters>" + A_END + END, "", [("f", '{"a":"x</parameter><parameters>"}')], 0),
        (S + F + A + "x" + A_END + G, "", [GG], 1),
        (S + F + A + "x" + A_END + S_END + "y" + S + G, "y", [GG], 1),
        # Never closed. A call starts visibly only where a section is open.
        (S + F + A + "x\n\n" + END + "y", "y", [("f", '{"a":"x\\n"}')], 0),
        (
            S + F + A + "x" + END + S_END + G + A_END + END,
            "",
            [("f", '{"a":"x' + END + S_END + G.replace('"', '\\"') + '"}')],
            0,
        ),
        (S + F + A + "x" + END + S_END + S + G, "", [("f", '{"a":"x"}'), GG], 0),
        (S + F + A + "x" + END + "<invoke y>" + A_END + END, "", [("f", '{"a":"x</invoke><invoke y>"}')], 0),
        (S + F + A + "x" + A + "y" + END + "z" + G, "z", [GG], 1),
        (S + G + F + A + "x", "", [GG], 1),
        # Faults without a stop are cut off.
        (S + G + F + "x", "", [GG], 1),
    ],
)
def test_calls_text_and_faults(text: str, content: str, calls: list[tuple[str, str]], faults: int) -> None:
    got_content, got_calls, got_faults = brief(read(MINIMAX_M2, text, TOOLS))
    assert (got_content, got_calls, len(got_faults)) == (content, calls, faults)


def test_a_fault_without_a_stop_is_incomplete() -> None:
    assert [fault.incomplete for fault in read(MINIMAX_M2, S + G + F + "x").faults] == [True]
    assert [fault.incomplete for fault in read(MINIMAX_M2, S + G + F + "x" + END).faults] == [False]


@pytest.mark.parametrize(
    ("before", "frame"), [("x\n\n", "\n"), ("x", ""), ("x\n" + S_END, ""), ("x\n[e~[\n", ""), ("\n", "\n")]
)
def test_one_line_break_before_the_section_is_frame(before: str, frame: str) -> None:
    text = before + S + G
    spans = check_events(run_tool(MINIMAX_M2, [text]), text).spans
    assert "".join(text[span.start : span.end] for span in spans if span.kind == "frame") == frame
