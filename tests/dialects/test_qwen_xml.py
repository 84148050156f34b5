"""qwen_xml: functions with and without a wrapper, parameters between tags."""

from __future__ import annotations

import pytest

from sluicegate.core.context import Context
from sluicegate.core.events import CallStart, Content
from sluicegate.core.machine import FormatMachine
from sluicegate.dialects.qwen_xml import QWEN_XML
from tests.support.parsing import brief, check_events, read, run_tool

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "n": {"type": ["string", "null"]}}
            },
        },
    }
]
OPEN = "<tool_call>\n<function=f>\n<parameter=a>\n"
CLOSE = "\n</parameter>\n</function>\n</tool_call>"
BARE = "<function=g>\n</function>"
G = ("g", "{}")


def a(value: str) -> tuple[str, str]:
    return ("f", f'{{"a":"{value}"}}')


@pytest.mark.parametrize(
    ("text", "content", "calls", "faults"),
    [
        # What must follow an opener, and how far a mention reaches.
        (
            "use <tool_call> and </tool_call> so\n" + OPEN + "x" + CLOSE,
            "use <tool_call> and </tool_call> so\n",
            [a("x")],
            0,
        ),
        ("a <function=f> b </function> c " + BARE, "a <function=f> b </function> c ", [G], 0),
        ("<tool_call>{}</tool_call></parameter>" + BARE, "<tool_call>{}</tool_call>", [G], 0),
        (
            "<tool_call><tool_call> </function> </tool_call>" + BARE,
            "<tool_call><tool_call> </function> </tool_call>",
            [G],
            0,
        ),
        ("<function=" + "g" * 256 + ">" + "</function>", "", [("g" * 256, "{}")], 0),
        ("<function=" + "g" * 257 + "></function>", "<function=" + "g" * 257 + "></function>", [], 0),
        (BARE[:12] + " " * 256 + "</function>", "", [G], 0),
        (BARE[:12] + " " * 257 + "</function>", BARE[:12] + " " * 257 + "</function>", [], 0),
        ("<tool_call>" + " " * 257 + BARE, "<tool_call>" + " " * 257, [G], 0),
        ("<function= ></function>", "<function= ></function>", [], 0),
        ("<function=a\nb></function>", "<function=a\nb></function>", [], 0),
        # Stray markers; a tag without its end is text.
        (BARE + "</function></parameter> <parameter=x>\n" + "</tool_call> y", " y", [G], 0),
        (BARE + " <parameter= and <function=", " <parameter= and <function=", [G], 0),
        # Functions end, complete, before what cannot be in them; several in one wrapper are several calls.
        ("<tool_call><function=g>" + BARE + "</tool_call>", "", [G, G], 0),
        ("<tool_call><function=g></tool_call> x", " x", [G], 0),
        ("<tool_call>\n<function=g>\n<tool_call>\n<function=g>\n</function>\n</tool_call>", "", [G, G], 0),
        ("<tool_call>" + BARE + "\n" + BARE + "\n</tool_call>\n", "", [G, G], 0),
        ("<tool_call>" + BARE + " \n ", "", [G], 0),
        ("<tool_call>" + BARE + " </tool_", "", [G], 0),
        ("<tool_call>" + BARE + " </tool_x", " </tool_x", [G], 0),
        # Where a value ends.
        (OPEN + "</parameter>x" + CLOSE, "", [a("</parameter>x")], 0),
        (OPEN + "</parameter>\n</parameter>\n" + CLOSE, "", [a("</parameter>\\n</parameter>\\n")], 0),
        (OPEN + "x</parameter>\n\n\n</function>", "", [a("x")], 0),
        (OPEN + "x</parameter><function=g></function>", "", [a("x"), G], 0),
        (OPEN + "x</parameter><tool_call><function=g></function>", "", [a("x"), G], 0),
        (OPEN + "x</parameter><tool_call>y" + CLOSE, "", [a("x</parameter><tool_call>y")], 0),
        (
            OPEN + "\n<parameter=zz>\n</function>\n<function=g>\n" + CLOSE,
            "",
            [a("\\n<parameter=zz>\\n</function>\\n<function=g>\\n")],
            0,
        ),
        (OPEN + CLOSE[1:], "", [a("")], 0),
        (OPEN + "\n\n" + CLOSE, "", [a("\\n\\n")], 0),
        # A declared parameter behind a line break ends an open value; a given, an undeclared or an inline one does not.
        (OPEN + "x\n<parameter=b>\ny" + CLOSE, "", [("f", '{"a":"x","b":"y"}')], 0),
        (OPEN + "<parameter=b>\ny" + CLOSE, "", [("f", '{"a":"","b":"y"}')], 0),
        (OPEN + "x <parameter=b>\ny" + CLOSE, "", [a("x <parameter=b>\\ny")], 0),
        (OPEN + "x\n<parameter=a>\ny" + CLOSE, "", [a("x\\n<parameter=a>\\ny")], 0),
        (OPEN + "</tool_call>\n<parameter=b>\ny" + CLOSE, "", [("f", '{"a":"</tool_call>","b":"y"}')], 0),
        # Never closed: what decides is what comes behind the call's closer.
        (OPEN + "x\n</function>\n</tool_call>\nDone.", "\nDone.", [a("x")], 0),
        (OPEN + "x\n</tool_call>" + BARE, "", [a("x"), G], 0),
        (OPEN + "x\n</function>\n" + BARE, "", [a("x"), G], 0),
        (OPEN + "x</function> y\n</function>\n" + BARE, "", [a("x</function> y"), G], 0),
        (OPEN + "x\n</function>", "", [a("x")], 0),
        (OPEN + "x\n</function><|im_end|>", "", [a("x")], 0),
        (OPEN + "x\n</function>\n</tool", "", [a("x")], 0),
        (OPEN + "x</function></function> </tool_call> y", " y", [a("x</function>")], 0),
        (OPEN + "x</tool_call></function> z" + CLOSE, "", [a("x</tool_call></function> z")], 0),
        (OPEN + "x</tool_call> <function=g> y" + CLOSE, "", [a("x</tool_call> <function=g> y")], 0),
        (BARE + OPEN + "x\n</function> and more", "", [G], 1),
        (BARE + OPEN + "x</parameter> y\n</function>\n</tool_call> z", " z", [G], 1),
        (BARE + OPEN + "x\n<parameter=zz>\ny</tool_call> z", " z", [G], 1),
        # Faults: text between tags, malformed tags, no function.
        (BARE + "<tool_call><function=g>x</function></tool_call> y", " y", [G], 1),
        (BARE + "<function=f>\n<parameter=a>\nx\n</parameter>\n</function>", "", [G, a("x")], 0),
        (BARE + "<tool_call><function=f><parameter=>x</tool_call> y", " y", [G], 1),
        (BARE + "<tool_call><function=>x</tool_call> y", " y", [G], 1),
        (BARE + "<tool_call><function=f><parameter= >x</tool_call> y", " y", [G], 1),
        (BARE + "<tool_call><function=f" + OPEN + "x" + CLOSE, "", [G, a("x")], 1),
        # A bare function's fault ends at its own closer, too.
        (BARE + "<function=f><parameter=a>x</parameter><function=", "", [G], 1),
        (BARE + "<function=f><parameter=a>x</parameter></function>y</function>", "y", [G, a("x")], 0),
        # Text that is cut in the middle of an opener.
        (BARE + "<tool_call>\n<func", "", [G], 1),
        (BARE + "<function=f> \n", "", [G], 1),
        (BARE + " <function=f", " <function=f", [G], 0),
        # Null where it is allowed, and only whole.
        (OPEN.replace("=a", "=n") + "null" + CLOSE, "", [("f", '{"n":null}')], 0),
        (OPEN.replace("=a", "=n") + "nullo" + CLOSE, "", [("f", '{"n":"nullo"}')], 0),
        (OPEN.replace("=a", "=n") + CLOSE[1:], "", [("f", '{"n":""}')], 0),
    ],
)
def test_calls_text_and_faults(text: str, content: str, calls: list[tuple[str, str]], faults: int) -> None:
    got_content, got_calls, got_faults = brief(read(QWEN_XML, text, TOOLS))
    assert (got_content, got_calls, len(got_faults)) == (content, calls, faults)


def test_the_templates_line_breaks_are_frame() -> None:
    for before, frame in (("x\n\n\n", "\n\n"), ("x\n", "\n"), ("x \n", "\n"), ("\n\n", "\n\n"), ("x\t", None)):
        text = before + OPEN + "v" + CLOSE
        spans = check_events(run_tool(QWEN_XML, [text], TOOLS), text).spans
        found = [text[span.start : span.end] for span in spans if span.kind == "frame"]
        assert found == ([] if frame is None else [frame])


def test_a_mention_goes_out_as_soon_as_it_is_one() -> None:
    context = Context(TOOLS, deltas=True)
    machine = FormatMachine(QWEN_XML.read(context), context)
    assert machine.feed("<tool_call> ") == []
    events = machine.feed("is a tag.")
    assert "".join(event.text for event in events if isinstance(event, Content)) == "<tool_call> is a tag."
    events = machine.feed("\n<tool_call>\n<function=f>")
    assert [event.name for event in events if isinstance(event, CallStart)] == ["f"]


def test_what_an_earlier_search_found_holds_only_for_keys_that_end_nothing() -> None:
    # Behind the first call's closer a parameter is met that only the second call declares; it ends that call's value.
    tools = [
        *TOOLS,
        {
            "type": "function",
            "function": {"name": "h", "parameters": {"properties": {"p": {}, "q": {"type": "string"}}}},
        },
    ]
    long = " " * 300
    head = "<tool_call><function=h>" + long + "<parameter=q>"
    text = OPEN + "x</tool_call>" + head + "y</tool_call>\n<parameter=p>\n1</tool_call>" + BARE
    assert brief(read(QWEN_XML, text, tools))[1] == [a("x"), ("h", '{"q":"y</tool_call>","p":1}'), G]
