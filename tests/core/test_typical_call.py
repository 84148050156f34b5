"""A call that is read at once is read as it would be read piece by piece."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.core.blocks import Opener
from sluicegate.core.events import CallEnd, CallFault, Event
from sluicegate.core.patterns import Pattern, either
from sluicegate.core.sequence import Sequence, Text
from sluicegate.core.tagged import Tagged
from sluicegate.core.tagged_call import CallReading
from sluicegate.core.tagged_value import ValueSyntax
from sluicegate.core.tags import Tag
from sluicegate.core.typical_call import TypicalCall
from sluicegate.core.values import Conversion, strict_json
from sluicegate.dialects.tools import TOOL_FORMATS
from tests.renderers.tagged import TEMPLATES, Template
from tests.support.parsing import run_tool
from tests.support.strategies import outputs

FORMATS = {tool_format.names[0]: tool_format for tool_format in TOOL_FORMATS if isinstance(tool_format, Tagged)}
TYPES: dict[str, Any] = {
    "text": {"type": "string"},
    "word": {"type": ["string", "null"]},
    "count": {"type": "integer"},
    "ratio": {"type": "number"},
    "flag": {"type": "boolean"},
    "list": {"type": "array"},
    "tree": {"type": "object"},
    "any": {},
    "by name": {"$ref": "#/properties/count"},
}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": TYPES}}}]
VALUES = (
    *(
        "",
        "\n",
        "\n\n",
        " ",
        "Oslo",
        "null",
        "None",
        "true",
        "TRUE",
        "5",
        "5.0",
        "+5",
        "007",
        "1e999",
        "2.5",
        '"quoted"',
    ),
    *(
        '{"a": [1, {"b": null}]}',
        '{"a":1,"a":2}',
        "[1, 2",
        "{'a': 1}",
        "(1, 2)",
        "[" * 130 + "]" * 130,
        "a < b\n&& c > d",
    ),
)


def items(template: Template) -> st.SearchStrategy[str]:
    """Items as the template writes them, with values of all kinds, some of which quote or lack a tag."""
    tags = (template.value_closer, template.call_closer, template.item_end, template.item.format(key="text", type=""))
    quoting = st.tuples(st.sampled_from(["", "{", '"', '{"a":"']), st.sampled_from(tags), st.just('"}')).map("".join)
    item = st.builds(
        lambda key, kind, value, end: template.item.format(key=key, type=kind) + value + end,
        st.sampled_from([*TYPES, "other", ""]),
        st.sampled_from(["string", "number", "true", "false"]),
        st.one_of(st.sampled_from(VALUES), quoting, st.text(max_size=8)),
        st.sampled_from([template.item_end] * 8 + ["", template.item_end.strip(), f" {template.item_end}\n"]),
    )
    return st.lists(item, max_size=4).map("".join)


@st.composite
def calls(draw: st.DrawFn, template: Template) -> str:
    """An answer and one or two calls."""
    text = draw(st.sampled_from(["", "Let me see."])) + template.before_first + template.section
    for _ in range(draw(st.integers(1, 2))):
        text += template.call.format(name=draw(st.sampled_from(["f", "g", " f ", ""]))) + draw(items(template))
        text += draw(st.sampled_from([template.call_end] * 8 + ["", template.call_closer])) + template.between
    return text + template.section_end


def read_in_pieces(name: str, text: str, tools: Any) -> list[Event]:
    """The events where no call is read at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TypicalCall, "read", lambda *_arguments: False)
        return run_tool(FORMATS[name], [text], tools)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.parser)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_it_changes_no_event(template: Template, data: st.DataObject) -> None:
    text = data.draw(calls(template))
    tools = data.draw(st.sampled_from([None, TOOLS]))
    assert run_tool(FORMATS[template.parser], [text], tools) == read_in_pieces(template.parser, text, tools)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_it_changes_no_event_of_a_damaged_output(name: str, data: st.DataObject) -> None:
    text = data.draw(outputs(name, "tool-*.jsonl", FORMATS[name].markers))
    assert run_tool(FORMATS[name], [text], TOOLS) == read_in_pieces(name, text, TOOLS)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.parser)
def test_what_a_template_writes_is_typical(template: Template, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = {"text": "a < b\nc", "word": "x", "count": 3, "flag": True, "list": [1, {"a": None}]}
    text = template.render("Let me see.", [("f", arguments), ("f", {})])
    expected = read_in_pieces(template.parser, text, TOOLS)
    monkeypatch.setattr(CallReading, "read", None)
    events = run_tool(FORMATS[template.parser], [text], TOOLS)
    assert events == expected
    assert sum(isinstance(event, CallEnd) for event in events) == 2


def ambiguous(closer: str, call_closer: str) -> Tagged:
    """A format in which one tag may begin another one."""
    return Tagged(
        names=("ambiguous",),
        openers=(Opener(literal="<c="),),
        heads={"<c=": Sequence(Text("name", "^<>"), ">")},
        item=Sequence("<v", "=", Text("key", "^<>"), ">"),
        values=ValueSyntax(
            closer=Tag(literal=closer),
            continues=Pattern(either("<v", call_closer)),
            call_closer=Tag(literal=call_closer),
            item=Tag(literal="<v"),
            start=Tag(literal="<c="),
        ),
        closer=Tag(literal=call_closer),
        conversion=Conversion((strict_json,)),
    )


@pytest.mark.parametrize(("closer", "call_closer"), [("</v", "</v>"), ("</v>", "<v/>")])
def test_tags_that_begin_alike_are_told_apart(closer: str, call_closer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"<c=f><v=a>1{closer}<v=b>2{closer}{call_closer}"
    events = run_tool(ambiguous(closer, call_closer), [text])
    monkeypatch.setattr(TypicalCall, "read", lambda *_arguments: False)
    assert events == run_tool(ambiguous(closer, call_closer), [text])


def test_an_item_with_the_suffix_of_another_call_is_read_piece_by_piece() -> None:
    text = (
        "<tool_calls:a><tool_call:a>f<arg_key:b>k</arg_key:b><arg_value:b>v</arg_value:b></tool_call:a></tool_calls:a>"
    )
    events = run_tool(FORMATS["hy_v4"], [text])
    assert [type(event) for event in events if isinstance(event, CallEnd | CallFault)] == [CallFault]
    assert events == read_in_pieces("hy_v4", text, None)
