"""A call object that is read at once is read as it would be read piece by piece."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.core.events import CallEnd, CallFault
from sluicegate.dialects.tools import TOOL_FORMATS
from tests.support.parsing import check_events, run_tool

FORMATS = {name: tool_format for tool_format in TOOL_FORMATS for name in tool_format.names}

AROUND = {
    "qwen": ("<tool_call>\n{}\n</tool_call>", "name", "arguments"),
    "mistral": ("[TOOL_CALLS] [{}]", "name", "arguments"),
    "cohere": ("<|START_ACTION|>[{}]<|END_ACTION|>", "tool_name", "parameters"),
    "json": ("{}", "name", "arguments"),
    "llama": ("<|python_tag|>{}", "name", "parameters"),
}
KEYS = ("id", "tool_call_id", "type", "name", "tool_name", "arguments", "parameters", 'a"b', "")
VALUES = ('"0"', '"é\\u00e9"', '"f"', '""', "5", "null", "{}", '{"a": 1}', "[1]", '"\t"', '"<tool_call>"', '"}"')
SPACES = st.sampled_from(["", "", " ", "\n\t", "\u00a0"])


@st.composite
def objects(draw: st.DrawFn, name: str, arguments: str) -> str:
    """An object, mostly of a name and arguments, with other members anywhere."""
    other = st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES))
    members = [(name, '"f"'), (arguments, '{"city": "Oslo"}')]
    for member in draw(st.lists(other, max_size=3)):
        members.insert(draw(st.integers(0, len(members))), member)
    space = lambda: draw(SPACES)  # noqa: E731
    written = [f'{space()}"{key}"{space()}:{space()}{value}{space()}' for key, value in members]
    return "{" + ",".join(written) + "}"


@pytest.mark.parametrize("parser", AROUND)
@given(data=st.data())
def test_whole_and_by_characters(parser: str, data: st.DataObject) -> None:
    frame, name, arguments = AROUND[parser]
    text = frame.replace("{}", data.draw(objects(name, arguments)), 1)
    assert check_events(run_tool(FORMATS[parser], [text]), text) == check_events(
        run_tool(FORMATS[parser], [*text]), text
    )


def test_a_name_that_was_sent_stays() -> None:
    text = '{"name":"f","arguments":{},"name":""}'
    for chunks in ([text], [*text]):
        (fault,) = (event for event in run_tool(FORMATS["json"], chunks) if isinstance(event, CallFault))
        assert (fault.name, fault.code) == ("f", "malformed_call")


@pytest.mark.parametrize(
    ("parser", "written"),
    [
        ("cohere", '{"tool_call_id": "0", "tool_name": "f", "parameters": {"a": 1}}'),
        ("mistral", '{"name": "f", "arguments": {"a": 1}, "id": "abc123def"}'),
    ],
)
def test_an_id_before_or_behind_belongs_to_the_call(parser: str, written: str) -> None:
    text = AROUND[parser][0].replace("{}", written)
    ends = [event for event in run_tool(FORMATS[parser], [text]) if isinstance(event, CallEnd)]
    assert [(end.name, end.arguments) for end in ends] == [("f", '{"a":1}')]
