"""step3: blocks of invokes."""

from __future__ import annotations

import pytest

from sluicegate.dialects.step3 import STEP3
from tests.support.parsing import brief, check_events, read, run_tool

BEGIN, END = "<｜tool_call_begin｜>function<｜tool_sep｜>", "<｜tool_call_end｜>"
G = '<steptml:invoke name="g"/>'
F, F_END = '<steptml:invoke name="f">', "</steptml:invoke>"
A, A_END = '<steptml:parameter name="a">', "</steptml:parameter>"
GOOD = BEGIN + G + END
GG = ("g", "{}")


@pytest.mark.parametrize(
    ("text", "content", "calls", "faults"),
    [
        # Blocks and their invokes.
        ("<｜tool_call_begin｜> function \n<｜tool_sep｜> " + G + " \n" + END, "", [GG], 0),
        (BEGIN + G + " " + G + F + A + "x" + A_END + F_END + "\n" + END, "", [GG, GG, ("f", '{"a":"x"}')], 0),
        (GOOD.replace("function", "other") + "x" + GOOD, "x", [GG], 1),
        (GOOD.replace("<｜tool_sep｜>", "") + "x" + GOOD, "x", [GG], 1),
        (BEGIN + END + "x" + GOOD, "x", [GG], 1),
        (BEGIN + "text" + G + END + "x" + GOOD, "x", [GG], 1),
        (BEGIN + BEGIN + G + END, "", [GG], 1),
        # A fault behind an invoke leaves the earlier ones; what follows an invoke decides whether it counts.
        (BEGIN + G + F + "text" + END + "x", "x", [GG], 1),
        (BEGIN + G + G + "text" + END + "x" + GOOD, "x", [GG, GG], 1),
        (BEGIN + G, BEGIN + G, [], 0),
        (GOOD + BEGIN + G + " ", "", [GG], 1),
        (GOOD + BEGIN + F + A + "x" + A_END + F_END + "<｜tool_", "", [GG], 1),
        # Names and keys.
        (BEGIN + '<steptml:invoke\nname=" f " />' + END, "", [("f", "{}")], 0),
        (BEGIN + '<steptml:invoke name=" "/>' + END + GOOD, "", [GG], 1),
        (BEGIN + '<steptml:invoke name="<steptml:x"/>' + END + GOOD, "", [GG], 1),
        (BEGIN + '<steptml:invoke name="f" x="1"/>' + END + GOOD, "", [GG], 1),
        (BEGIN + F + A.replace(">", " >").replace("a", " a ", 2) + "x" + A_END + F_END + END + GOOD, "", [GG], 1),
        (BEGIN + F + '<steptml:parameter name=" a " >x' + A_END + F_END + END, "", [("f", '{"a":"x"}')], 0),
        (BEGIN + F + "<steptml:parameter>x" + A_END + F_END + END + GOOD, "", [GG], 1),
        # Values.
        (BEGIN + F + A + A_END + F_END + END, "", [("f", '{"a":""}')], 0),
        (
            BEGIN + F + A + ' {"b": "' + F_END + '"}' + A_END + F_END + END,
            "",
            [("f", '{"a":{"b":"' + F_END + '"}}')],
            0,
        ),
        (BEGIN + F + A + "x" + A_END + " y" + A_END + F_END + END, "", [("f", '{"a":"x' + A_END + ' y"}')], 0),
        (BEGIN + F + A + "x" + END + A_END + F_END + END, "", [("f", '{"a":"x' + END + '"}')], 0),
        # Never closed: the block goes on behind the invoke.
        (BEGIN + F + A + "x\n" + F_END + G + END, "", [("f", '{"a":"x\\n"}'), GG], 0),
        (BEGIN + F + A + "x" + F_END + END + " y", " y", [("f", '{"a":"x"}')], 0),
        (BEGIN + F + A + "x" + A + "y" + F_END + G + END + " y", " y", [GG], 1),
        (BEGIN + F + A + "x" + A + "y" + F_END + " " + END + " y" + GOOD, " y", [GG], 1),
        (BEGIN + F + A + "x" + A + "y" + F_END + " z " + GOOD, " z ", [GG], 1),
        (BEGIN + F + A + "x" + F_END + " z" + END + " y" + GOOD, " y", [GG], 1),
        # Stray markers.
        (GOOD + G + "x" + F + "y" + A + "z" + END + "<｜tool_sep｜>" + "<steptml:invoke", "xyz", [GG], 0),
        ("a<｜tool_calls_begin｜>b<｜tool_calls_end｜>" + GOOD + "<|EOT|>", "ab", [GG], 0),
    ],
)
def test_calls_text_and_faults(text: str, content: str, calls: list[tuple[str, str]], faults: int) -> None:
    got_content, got_calls, got_faults = brief(read(STEP3, text))
    if calls:
        assert (got_content, got_calls, len(got_faults)) == (content, calls, faults)
    else:
        assert (got_content, got_calls) == (content, [])


def test_the_end_of_the_block_belongs_to_a_fault_and_to_the_last_call() -> None:
    text = BEGIN + F + A + "x" + A + "y" + F_END + END + GOOD
    spans = [(span.kind, text[span.start : span.end]) for span in check_events(run_tool(STEP3, [text]), text).spans]
    assert spans == [("fault", text[: -len(GOOD)]), ("call", GOOD)]
