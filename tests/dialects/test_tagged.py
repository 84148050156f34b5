"""What holds for all formats with tagged parameters, whatever their tags are."""

from __future__ import annotations

import json
import string
import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.core.collect import collect
from sluicegate.core.context import Context
from sluicegate.core.events import ArgumentsDelta, CallEnd, CallStart, Content, Event
from sluicegate.core.machine import FormatMachine, ToolFormat
from sluicegate.dialects.tools import TOOL_FORMATS
from tests.renderers.tagged import TEMPLATES, Template
from tests.support.cost import assert_no_dearer
from tests.support.messages import NAMES, contents, values
from tests.support.parsing import brief, check_events, read, run_tool

FORMATS: dict[str, ToolFormat] = {name: tool_format for tool_format in TOOL_FORMATS for name in tool_format.names}
KEYS = st.text(string.ascii_letters + string.digits + "_-. é日", min_size=1, max_size=12).map(str.strip).filter(bool)
by_template = pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.parser)


def tools_of(calls: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Tools that declare what is a string in these calls; of two calls of one name the first one's."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "parameters": {
                    "type": "object",
                    "properties": {
                        key: {"type": "string"} for key, value in arguments.items() if isinstance(value, str)
                    },
                },
            },
        }
        for name, arguments in calls
    ]


def quoting(template: Template) -> st.SearchStrategy[str]:
    """Texts that quote the format's own tags, but nowhere a closing tag behind which a call could go on."""
    tags = [
        template.call.format(name="f"),
        template.call_end,
        template.call_closer,
        template.value_closer,
        text_item(template, "k").strip(),
        template.section.strip() or "<x>",
        template.section_end.strip() or "</x>",
    ]
    return st.lists(st.sampled_from([*tags, *(tag[:-1] for tag in tags)]), min_size=1, max_size=4).map(
        lambda found: " z z " + " z z ".join(found) + " z z "
    )


def messages(template: Template) -> st.SearchStrategy[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    texts = st.one_of(st.text(max_size=40), quoting(template))
    arguments = st.dictionaries(KEYS, st.one_of(texts, values()), max_size=4)
    calls = st.lists(st.tuples(NAMES, arguments), min_size=0, max_size=3, unique_by=lambda call: call[0])
    return st.tuples(contents(), calls)


@by_template
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_rendered_is_read_back(template: Template, data: st.DataObject) -> None:
    content, calls = data.draw(messages(template))
    text = template.render(content, calls)
    events = run_tool(FORMATS[template.parser], [text], tools_of(calls))
    check_events(events, text)
    outcome = collect(events, keep_frame=False)
    assert outcome.content == content
    assert [(call.name, json.loads(call.arguments)) for call in outcome.calls] == calls
    assert not outcome.faults


def text_item(template: Template, key: str) -> str:
    """The opening tag of a value that is text."""
    return template.item.format(key=key, type=template.types(""))


def two_calls(template: Template, first: str) -> str:
    """A call as it stands, and a good one behind it, with text between."""
    return f"{template.section}{first} mid {template.render_call('g', {'k': 'v'})}{template.section_end} end"


TEXT = tools_of([("f", {"k": "", "j": ""}), ("g", {"k": ""})])
GOOD = ("g", '{"k":"v"}')


@by_template
def test_a_value_without_closing_tag_ends_with_its_call(template: Template) -> None:
    call = template.render_call("f", {"j": "1", "k": "x y"})
    forgotten = call[: call.rindex(template.item_end)] + call[call.rindex(template.item_end) + len(template.item_end) :]
    for text in (template.section + forgotten, two_calls(template, forgotten)):
        outcome = read(FORMATS[template.parser], text, TEXT)
        content, calls, faults = brief(outcome)
        assert calls[0] == ("f", '{"j":"1","k":"x y"}')
        assert calls[1:] == ([GOOD] if "mid" in text else [])
        assert content == (" mid  end" if "mid" in text else "")
        assert not faults
        assert "unclosed_parameter" in [diagnostic.code for diagnostic in outcome.diagnostics]


@by_template
def test_more_damage_than_one_closing_tag_is_a_fault(template: Template) -> None:
    first = text_item(template, "j") + "1"
    second = text_item(template, "k")
    undeclared = text_item(template, "zz")
    # Two values without closing tags (the second key is undeclared: a declared one ends a value), text behind a value.
    for body in (first + "\n" + undeclared + "2", second + "x" + template.value_closer + " y"):
        text = two_calls(template, template.call.format(name="f") + body + template.call_end)
        content, calls, faults = brief(read(FORMATS[template.parser], text, TEXT))
        assert (content, calls) == (" mid  end", [GOOD])
        assert len(faults) == 1
        assert faults[0].endswith(template.call_end)


@by_template
def test_a_cut_call_is_incomplete_and_takes_no_other_with_it(template: Template) -> None:
    whole = template.render_call("f", {"j": "some text"})
    begins = len(template.call.format(name="f").strip())
    for size in range(begins, len(whole) - len(template.call_end)):
        text = template.section + template.render_call("g", {"k": "v"}) + template.between + whole[:size]
        outcome = read(FORMATS[template.parser], text, TEXT)
        assert brief(outcome)[1] == [GOOD]
        (fault,) = outcome.faults
        assert fault.incomplete
        assert '{"j":"some text"}'.startswith(fault.arguments)
        assert outcome.finish == "incomplete"


@by_template
def test_without_a_call_the_whole_text_stays(template: Template) -> None:
    call = template.call.format(name="f") + text_item(template, "k") + "x" + template.item_end + "oops"
    text = f"a {template.section}{call}{template.call_end}{template.section_end} b"
    outcome = read(FORMATS[template.parser], text, TEXT)
    assert (outcome.content, outcome.calls) == (text, ())
    assert [fault.code for fault in outcome.faults] == ["malformed_call"]


@by_template
def test_too_much_depth_is_a_fault_at_once(template: Template) -> None:
    for depth, code in ((126, []), (127, ["depth_exceeded"]), (5_000, ["depth_exceeded"])):
        value = "[" * depth + "]" * depth
        item = template.item.format(key="deep", type="false") + value + template.item_end
        text = two_calls(template, template.call.format(name="f") + item + template.call_end)
        outcome = read(FORMATS[template.parser], text, TEXT)
        assert [fault.code for fault in outcome.faults] == code
        assert (outcome.calls[-1].name, outcome.content) == ("g", " mid  end")


@by_template
def test_a_repeated_key_is_written_again_and_reported(template: Template) -> None:
    item = text_item(template, "k")
    body = item + "1" + template.item_end + item + "2" + template.item_end
    text = template.section + template.call.format(name="f") + body + template.call_end
    outcome = read(FORMATS[template.parser], text, TEXT)
    assert outcome.calls[0].arguments == '{"k":"1","k":"2"}'
    assert "duplicate_key" in [diagnostic.code for diagnostic in outcome.diagnostics]


@by_template
def test_places_of_name_keys_and_values(template: Template) -> None:
    text = template.render("Look:", [("get_it", {"j": "a b", "n": [1, 2]})])
    events = run_tool(FORMATS[template.parser], [text], tools_of([("get_it", {"j": ""})]), details=True)
    (span,) = [span for span in check_events(events, text).spans if span.kind == "call"]
    places = [(part.kind, text[part.start : part.end]) for part in span.parts if part.kind != "arguments"]
    assert places == [("name", "get_it"), ("key", "j"), ("value", "a b"), ("key", "n"), ("value", "[1, 2]")]


def feed(machine: FormatMachine, chunk: str) -> str:
    """The argument text that the chunk brought."""
    return "".join(event.json for event in machine.feed(chunk) if isinstance(event, ArgumentsDelta))


@by_template
def test_text_values_grow_as_they_come(template: Template) -> None:
    context = Context(TEXT, deltas=True)
    machine = FormatMachine(FORMATS[template.parser].read(context), context)
    machine.feed(template.section + template.call.format(name="f"))
    assert feed(machine, text_item(template, "k") + "one ").startswith('{"k":"one')
    assert feed(machine, "two\\") == "two\\\\" if template.parser != "qwen_xml" else True
    # What may be a closing tag waits, and comes when it is none.
    assert feed(machine, template.value_closer) in {"", "two\\\\"}
    assert feed(machine, " more").startswith(template.value_closer.replace('"', '\\"'))
    # From a call closer on everything waits.
    machine.feed(template.call_closer)
    assert feed(machine, " hidden") == ""
    rest = feed(machine, template.item_end + template.call_end)
    assert " hidden" in rest
    machine.finish()


@by_template
def test_text_before_a_call_and_between_calls_is_not_held(template: Template) -> None:
    context = Context(TEXT, deltas=True)
    machine = FormatMachine(FORMATS[template.parser].read(context), context)
    assert [event.text for event in machine.feed("Some words") if isinstance(event, Content)] == ["Some words"]
    events: list[Event] = machine.feed(template.section + template.render_call("g", {"k": "v"}) + " next. ")
    events += machine.feed("More")
    assert [event.name for event in events if isinstance(event, CallStart)] == ["g"]
    assert [event.arguments for event in events if isinstance(event, CallEnd)] == ['{"k":"v"}']
    assert "".join(event.text for event in events if isinstance(event, Content)) == " next. More"


@by_template
def test_at_the_limit_of_held_text_a_value_ends_at_its_call_closer(template: Template) -> None:
    open_value = template.call.format(name="f") + text_item(template, "k") + "x"
    text = template.section + open_value + template.call_end + " words" * 40 + template.value_closer + template.call_end
    tool_format = FORMATS[template.parser]
    whole = check_events(run_tool(tool_format, [text], TEXT, held_text_limit=100), text)
    assert check_events(run_tool(tool_format, list(text), TEXT, held_text_limit=100), text) == whole
    assert brief(whole)[1][0] == ("f", '{"k":"x"}')
    assert " words words" in whole.content
    assert "held_text_limit" in [diagnostic.code for diagnostic in whole.diagnostics]


def attacks(template: Template, size: int) -> dict[str, str]:
    """Inputs that make a reader look twice."""
    item = text_item(template, "k")
    not_text = template.item.format(key="o", type="false")
    begin = template.section + template.call.format(name="f")

    def fill(unit: str) -> str:
        return unit * (size // len(unit) + 1)

    return {
        "one value": begin + item + fill("text of a value ") + template.item_end + template.call_end,
        "false closers": begin + item + fill(template.value_closer + " \n"),
        "quoted call closers": begin + item + fill("x" + template.call_end),
        "forgotten closers": template.section + fill(template.call.format(name="f") + item + "x" + template.call_end),
        "openers": template.section + fill(template.call.format(name="f")),
        "cut openers": template.section + fill(template.call.format(name="f")[:-3]),
        "items": begin + fill(item),
        "brackets": begin + not_text + fill("["),
        "quotes": begin + fill(not_text + '"'),
        "white space": fill(" \n") + begin + fill("\n ") + item + "x" + template.value_closer + fill(" \n"),
    }


def cost(tool_format: ToolFormat, text: str, chunks: int) -> float:
    """Seconds of processor time per code point."""
    start = time.process_time()
    run_tool(tool_format, [text[at : at + chunks] for at in range(0, len(text), chunks)], TEXT)
    return (time.process_time() - start) / len(text)


@pytest.mark.full
@by_template
@pytest.mark.parametrize("chunks", [1, 10**9])
def test_cost_is_linear(template: Template, chunks: int) -> None:
    size = 4_000 if chunks == 1 else 40_000
    large = attacks(template, 4 * size)
    for name, text in attacks(template, size).items():
        measured = (partial(cost, FORMATS[template.parser], part, chunks) for part in (text, large[name]))
        assert_no_dearer(*measured, factor=2, cheap=1e-6)
