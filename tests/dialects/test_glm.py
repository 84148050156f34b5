"""glm45_moe, glm47_moe: the name behind the call tag, then pairs of key and value."""

from __future__ import annotations

import pytest

from sluicegate.core.context import Context
from sluicegate.core.events import CallStart
from sluicegate.core.machine import FormatMachine
from sluicegate.dialects.glm import GLM45_MOE, GLM47_MOE
from tests.support.parsing import brief, check_events, read, run_tool

G = "<tool_call>g</tool_call>"
CALL, END = "<tool_call>f<arg_key>a</arg_key><arg_value>", "</arg_value></tool_call>"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}},
        },
    }
]


@pytest.mark.parametrize(
    ("text", "content", "calls", "faults"),
    [
        # The opener condition: a name, and before it white space with a line break.
        ("<tool_call>\n \tf \n</tool_call>", "", [("f", "{}")], 0),
        ("<tool_call>\u2028f</tool_call>", "", [("f", "{}")], 0),
        ("<tool_call> f</tool_call>" + G, "<tool_call> f</tool_call>", [("g", "{}")], 0),
        ("<tool_call>" + "\n" * 256 + "f</tool_call>", "", [("f", "{}")], 0),
        ("<tool_call>" + "\n" * 257 + "f</tool_call>", "<tool_call>" + "\n" * 257 + "f</tool_call>", [], 0),
        (
            "<tool_call>" + " " * 200 + "\n" + " " * 100 + "f</tool_call>" + G,
            "<tool_call>" + " " * 200 + "\n" + " " * 100 + "f</tool_call>",
            [("g", "{}")],
            0,
        ),
        ("<tool_call>" + "f" * 257 + "</tool_call>" + G, "<tool_call>" + "f" * 257 + "</tool_call>", [("g", "{}")], 0),
        ("<tool_call>f g</tool_call>" + G, "<tool_call>f g</tool_call>", [("g", "{}")], 0),
        ('<tool_call>{"name":"f"}</tool_call>' + G, '<tool_call>{"name":"f"}</tool_call>', [("g", "{}")], 0),
        ("<tool_call><tool_call>g</tool_call>", "<tool_call>", [("g", "{}")], 0),
        ("<tool_call>a<arg_value> </arg_key>" + G, "<tool_call>a<arg_value> </arg_key>", [("g", "{}")], 0),
        (
            "see <tool_call> or </tool_call> and </tool_call>" + G,
            "see <tool_call> or </tool_call> and ",
            [("g", "{}")],
            0,
        ),
        (G + "<tool_call>f \n", "", [("g", "{}")], 1),
        (G + "<tool_call>\n", "", [("g", "{}")], 1),
        # Pairs.
        (
            "<tool_call>f\n<arg_key> a\n</arg_key>\n\n<arg_value>x</arg_value>\n</tool_call>",
            "",
            [("f", '{"a":"x"}')],
            0,
        ),
        (CALL.replace(">a<", "><") + "5" + END, "", [("f", '{"":5}')], 0),
        (CALL.replace(">a<", ">a<b<") + "5" + END, "", [("f", '{"a<b":5}')], 0),
        (G + CALL.replace(">a<", ">a<arg_key><") + "5" + END + "!", "!", [("g", "{}")], 1),
        (G + "<tool_call>f<arg_key>a</arg_key>5</arg_value></tool_call>!", "!", [("g", "{}")], 1),
        (G + "<tool_call>f<arg_key>a</arg_key></tool_call>!", "!", [("g", "{}")], 1),
        (G + "<tool_call>f<arg_key>a</arg_key></arg_key><arg_value>5" + END + "!", "!", [("g", "{}")], 1),
        (G + "<tool_call>f<arg_value>5" + END + "!", "<tool_call>f<arg_value>5" + END + "!", [("g", "{}")], 0),
        (G + CALL + "5</arg_value><arg_key>b", "", [("g", "{}")], 1),
        # Values: closing tags that do not count, conversion, JSON that quotes tags.
        (CALL + "x</arg_value> y" + END, "", [("f", '{"a":"x</arg_value> y"}')], 0),
        (CALL + " 5 " + END, "", [("f", '{"a":" 5 "}')], 0),
        (CALL.replace(">a<", ">b<") + " 007 " + END, "", [("f", '{"b":7}')], 0),
        (CALL.replace(">a<", ">b<") + ' ["' + END + '"] ' + END, "", [("f", '{"b":["' + END + '"]}')], 0),
        (CALL.replace(">a<", ">b<") + '["</tool_call>"]</tool_call>!', "!", [("f", '{"b":["</tool_call>"]}')], 0),
        # Never closed.
        (CALL + "x</tool_call>" + G + "!", "!", [("f", '{"a":"x"}'), ("g", "{}")], 0),
        (CALL + "x</tool_call><tool_call> y" + END, "", [("f", '{"a":"x</tool_call><tool_call> y"}')], 0),
        (G + CALL + "x<arg_key>b</arg_key><arg_value>1</tool_call>!", "!", [("g", "{}")], 1),
        (G + CALL + "x</arg_value>y</tool_call>!", "!", [("g", "{}")], 1),
    ],
)
def test_calls_text_and_faults(text: str, content: str, calls: list[tuple[str, str]], faults: int) -> None:
    for tool_format in (GLM45_MOE, GLM47_MOE):
        got_content, got_calls, got_faults = brief(read(tool_format, text, TOOLS))
        assert (got_content, got_calls, len(got_faults)) == (content, calls, faults)


def test_line_breaks_of_the_two_templates() -> None:
    for before, frame in (("x\n\n", "\n"), ("x ", ""), ("\n", "\n")):
        text = before + G
        spans = check_events(run_tool(GLM45_MOE, [text]), text).spans
        assert "".join(text[span.start : span.end] for span in spans if span.kind == "frame") == frame
        assert not [span for span in check_events(run_tool(GLM47_MOE, [text]), text).spans if span.kind == "frame"]
    forgotten = CALL + "x\n\n</tool_call>"
    assert read(GLM45_MOE, forgotten, TOOLS).calls[0].arguments == '{"a":"x\\n"}'
    assert read(GLM47_MOE, forgotten, TOOLS).calls[0].arguments == '{"a":"x\\n\\n"}'


def test_the_name_goes_out_when_the_condition_is_decided() -> None:
    context = Context(None, deltas=True)
    machine = FormatMachine(GLM45_MOE.read(context), context)
    assert machine.feed("<tool_call>\nget_weather\n<arg_") == []
    assert [event.name for event in machine.feed("key>") if isinstance(event, CallStart)] == ["get_weather"]


def test_a_search_behind_a_call_closer_is_not_made_twice() -> None:
    json = CALL.replace(">a<", ">b<") + '"x" </tool_call>'
    far = "<tool_call>f" + " " * 300 + "<arg_key>b</arg_key><arg_value>[1]</tool_call>"
    text = CALL + "x</tool_call>" + far + json
    # A name with so much white space behind it opens no call; what follows it is text up to the next call.
    outcome = read(GLM47_MOE, text, TOOLS)
    assert brief(outcome) == (far, [("f", '{"a":"x"}'), ("f", '{"b":"x"}')], [])
