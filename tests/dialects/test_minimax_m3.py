"""minimax_m3: elements to values by schema and form, texts that quote tags, texts that are never closed."""

from __future__ import annotations

import json
import string
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.core.events import ArgumentsDelta, CallStart
from sluicegate.dialects.minimax_m3 import MINIMAX_M3
from tests.renderers.minimax_m3 import TOKEN as N
from tests.renderers.minimax_m3 import render
from tests.support.messages import contents
from tests.support.parsing import brief, check_events, exact, pieces, read, read_details, run_tool


def written(text: str) -> str:
    """The text with the token for `§`."""
    return text.replace("§", N)


def tools_for(properties: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": "f", "parameters": {"properties": properties}}}]


# The format has no way to write an element of this name inside a call: it opens the next one.
WORDS = st.text(string.ascii_letters + "_", min_size=1, max_size=6).filter(lambda word: word != "invoke")
QUOTED = ["null", "5", "[1]", "<b>x</b>", "§</invoke>", "§<x>", "§</y> z", "]<]mini"]
TEXTS = st.one_of(st.text(max_size=20), st.sampled_from(QUOTED))


def schema_of(value: Any) -> dict[str, Any]:
    """A schema that the value fits, deep down."""
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: schema_of(member) for key, member in value.items()}}
    if isinstance(value, list):
        return {"type": "array", "items": schema_of(value[0]) if value else {"type": "integer"}}
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number"}
    return {"type": kinds.get(type(value), "null")}


VALUES = st.recursive(
    st.one_of(
        TEXTS.map(written),
        st.booleans(),
        st.integers(-(10**30), 10**30),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    lambda inner: st.one_of(
        st.lists(st.integers(), max_size=4),
        st.lists(TEXTS.map(written), max_size=4),
        st.lists(st.lists(st.booleans(), min_size=1, max_size=2), max_size=3),
        st.dictionaries(WORDS, inner, min_size=1, max_size=4),
    ),
    max_leaves=10,
)


@given(contents(), st.lists(st.dictionaries(WORDS, VALUES, max_size=4), min_size=1, max_size=3))
def test_what_is_rendered_is_read_back(content: str, arguments: list[dict[str, Any]]) -> None:
    calls = [(f"f{index}", items) for index, items in enumerate(arguments)]
    tools = [{"type": "function", "function": {"name": name, "parameters": schema_of(items)}} for name, items in calls]
    outcome = read(MINIMAX_M3, render(content, calls), tools)
    assert outcome.content == content
    assert [call.name for call in outcome.calls] == [name for name, _ in calls]
    for call, (_, items) in zip(outcome.calls, calls, strict=True):
        assert exact(call.arguments) == exact(json.dumps(items))


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('name="f"', "f"),
        ("name = 'f'", "f"),
        ("name=f", "f"),
        ('x="name=a" name=" f "', "f"),
        ('x name="f" y', "f"),
        ("name='a\"b'", 'a"b'),
        ('filename="x"', None),
        ('name=""', None),
        ('name=" "', None),
        ("name=", None),
        ("", None),
    ],
)
def test_headers(header: str, name: str | None) -> None:
    for end in (">§</invoke>", "/>", " />", ">\n§</invoke>"):
        _, calls, faults = brief(read(MINIMAX_M3, written(f'§<invoke {header}{end}§<invoke name="g"/>')))
        assert [got for got, _ in calls] == [*([name] if name else []), "g"]
        assert len(faults) == (0 if name else 1)


def arguments(body: str, schema: Any = None) -> tuple[str, list[str]]:
    tools = None if schema is None else tools_for({"v": schema})
    call = f'§<invoke name="f">§<v>{body}§</v>§</invoke>'
    outcome = read(MINIMAX_M3, written(f"§<tool_call>{call}§</tool_call>"), tools)
    return outcome.calls[0].arguments[5:-1], [diagnostic.code for diagnostic in outcome.diagnostics]


STRINGS = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("body", "schema", "json_text", "codes"),
    [
        # Lists and objects by schema, else by the names of the children.
        ("§<a>1§</a>§<b>2§</b>", {"type": "array"}, "[1,2]", []),
        ("§<item>1§</item>", {"type": "object"}, '{"item":1}', []),
        ("§<item>1§</item>\n§<item>2§</item>\n", None, "[1,2]", []),
        ("§<item>1§</item>§<a>2§</a>", None, '{"item":1,"a":2}', []),
        ("§<a>1§</a>§<item>§</item>", None, '{"a":1,"item":null}', []),
        ("§<a>1§</a>§<a>2§</a>", None, '{"a":1,"a":2}', ["duplicate_key"]),
        ("§<a>1§</a>§<a>2§</a>", {"type": "object"}, '{"a":1,"a":2}', ["duplicate_key"]),
        ("§<item>§<item>1§</item>§</item>", {"type": ["array", "object"]}, "[[1]]", []),
        # A member that was read as an item is read again as the member it is.
        (
            "§<item>1§</item>§<a>x§</a>",
            {"type": ["array", "object"], "items": {"type": "integer"}, "properties": {"item": {"type": "string"}}},
            '{"item":"1","a":"x"}',
            [],
        ),
        ("§< a >1§</ a >", {"type": "object"}, '{"a":1}', []),
        # A schema that allows a string, or text in front, makes it text.
        ("§<a>1§</a>", {"type": "string"}, json.dumps(written("§<a>1§</a>")), []),
        ("x §<a>1§</a>", None, json.dumps(written("x §<a>1§</a>")), []),
        ("§<a>1§</a>", {"type": "integer"}, '{"a":1}', ["schema_mismatch"]),
        # Empty and blank.
        ("", {"type": "array"}, "[]", []),
        (" \n", {"type": ["array", "object"]}, "[]", []),
        ("", {"type": "object"}, "{}", []),
        ("", {"type": "integer"}, '""', ["schema_mismatch"]),
        ("§<item>§</item>§<item>x§</item>", {"type": "array", "items": {"type": ["integer", "null"]}}, None, None),
        ("§<item>§</item>", STRINGS, '[""]', []),
        # JSON text in an element.
        ('[1, {"a": 2}]', None, '[1,{"a":2}]', []),
        ('{"a": 1, "a": 2}', {"type": "object"}, '{"a":1,"a":2}', ["duplicate_key"]),
        ("02134", None, '"02134"', []),
        ("02134", {"type": "integer"}, "2134", []),
        ("null", {"type": ["string", "null"]}, "null", []),
        ("nullx", {"type": ["string", "null"]}, '"nullx"', []),
        # What a text quotes is data.
        ("a§b§</x>c§<y>d", {"type": "string"}, json.dumps(written("a§b§</x>c§<y>d")), []),
        ("a§</v> b", {"type": "string"}, json.dumps(written("a§</v> b")), []),
        ("a§</invoke> b", {"type": "string"}, json.dumps(written("a§</invoke> b")), []),
        ('a§</invoke>§<invoke name="x"> b', {"type": "string"}, None, []),
        ("a§</invoke>§</invoke>§</x>§", {"type": "string"}, json.dumps(written("a§</invoke>§</invoke>§</x>§")), []),
    ],
)
def test_elements(body: str, schema: Any, json_text: str | None, codes: list[str] | None) -> None:
    got, reported = arguments(body, schema)
    assert json_text in {got, None}
    assert codes is None or reported == codes


@pytest.mark.parametrize(
    ("text", "content", "names", "faults"),
    [
        # Text between the parts of a call.
        ('§<invoke name="f">x§</invoke>a', "a", [], 1),
        ('§<invoke name="f">§<a>1§</a>x§</invoke>a', "a", [], 1),
        ('§<invoke name="f">§<o>§<a>1§</a>x§</o>§</invoke>a', "a", [], 1),
        ('§<invoke name="f">§<o>§<a>1§</a>§</p>§</o>§</invoke>a', "a", [], 1),
        ('§<invoke name="f">§<>1§</>§</invoke>a', "a", [], 1),
        ('§<invoke name="f">§<tool_call>1§</tool_call>', "1", [], 1),
        ('§<invoke name="f">§<invoke>§</invoke>a', "a", [], 2),
        ('§<invoke name="f">§<' + "x" * 257 + ">1§</invoke>a", "a", [], 1),
        ('§<invoke name="f" < >§</invoke>a', "a", [], 1),
        # Stray tags are dropped, with what belongs to them.
        ("a§b§<x>c§</invoke>d§<invokes>e§</y >f§<z", "abcdef<z", [], 0),
        ("a§<tool_call>b§</tool_call>c§<invoke", "abc", [], 1),
        # Texts that are never closed.
        ('§<invoke name="f">§<a>1§</invoke>x', "x", ["f"], 0),
        ('§<invoke name="f">§<a>1§</invoke>x§<invoke name="h">§<b>', "x", ["f"], 1),
        ('§<invoke name="f">§<a>1§</invoke>x§<invoke name="h"/>', "x", ["f", "h"], 0),
        ('§<invoke name="f">§<a>1§<b>2§</invoke>x', "x", [], 1),
        ('§<invoke name="f">§<o>§<a>1§</invoke>x', "x", [], 1),
        ('§<invoke name="f">§<a>1§</a> x§</invoke>y', "y", [], 1),
        ('§<invoke name="f">§<a>1', "", [], 1),
        ('§<invoke name="f">§<a>1§</a>', "", [], 1),
    ],
)
def test_calls_text_and_faults(text: str, content: str, names: list[str], faults: int) -> None:
    good = '§<invoke name="g">§</invoke>'
    got_content, got_calls, got_faults = brief(read(MINIMAX_M3, written(good + text)))
    assert (got_content, [name for name, _ in got_calls]) == (content, ["g", *names])
    assert len(got_faults) == faults


def test_depth() -> None:
    nested = "".join("§<a>" for _ in range(126)) + "1" + "§</a>" * 126
    assert len(read(MINIMAX_M3, written(f'§<invoke name="f">{nested}§</invoke>')).calls) == 1
    inside = "§<a>" * 120 + "[" * 7 + "]" * 7 + "§</a>" * 120
    assert len(read(MINIMAX_M3, written(f'§<invoke name="f">{inside}§</invoke>')).calls) == 1
    for deep in ("§<a>" * 128 + "1" + "§</a>" * 128, "§<a>" * 120 + "[" * 8 + "]" * 8 + "§</a>" * 120):
        outcome = read(MINIMAX_M3, written(f'§<invoke name="f">{deep}§</invoke>x§<invoke name="g"/>'))
        assert [fault.code for fault in outcome.faults] == ["depth_exceeded"]
        assert outcome.content == "x"


def test_five_thousand_nested_elements_are_answered_at_once() -> None:
    text = written('§<invoke name="f">' + "§<a>" * 5_000)
    start = time.perf_counter()
    outcome = check_events(run_tool(MINIMAX_M3, [text]), text)
    assert time.perf_counter() - start < 1
    assert [fault.code for fault in outcome.faults] == ["depth_exceeded"]


def test_what_a_search_behind_a_call_closer_found_holds_for_later_texts() -> None:
    """Texts that are never closed, in calls that do not visibly start: each search would run to the end."""

    def seconds(count: int) -> float:
        space = " " * 260
        text = "".join(f'§<invoke name="f">{space}§<a{index}>x§</invoke>' for index in range(count))
        start = time.perf_counter()
        run_tool(MINIMAX_M3, [written(text)])
        return time.perf_counter() - start

    assert seconds(800) < 8 * seconds(200) + 0.2


def test_a_closing_tag_that_counts_is_found_behind_what_is_known() -> None:
    space = " " * 260
    text = f'§<invoke name="f">{space}§<a>x§</invoke>§<invoke name="f">{space}§<b>y§</invoke>z§</b>§</invoke>'
    outcome = read(MINIMAX_M3, written(text), tools_for({"b": {"type": "string"}}))
    quoted = json.dumps(written("y§</invoke>z"))
    assert [call.arguments for call in outcome.calls] == ['{"a":"x"}', f'{{"b":{quoted}}}']


def test_held_text_is_limited_behind_a_call_closer() -> None:
    text = written('§<invoke name="f">§<a>x§</invoke>' + "y" * 100 + "§</a>§</invoke>")
    events = run_tool(MINIMAX_M3, [text], held_text_limit=50)
    assert [event.arguments for event in events if hasattr(event, "arguments")] == ['{"a":"x"}']
    assert "held_text_limit" in [getattr(event, "code", "") for event in events]


def test_the_name_goes_out_with_its_tag_and_declared_strings_grow() -> None:
    text = written('§<invoke name="f">§<s>x y§</s>§<i>12§</i>§</invoke>')
    events = run_tool(MINIMAX_M3, pieces(text, 1), tools_for({"s": {"type": "string"}}))
    told = [
        event.name if isinstance(event, CallStart) else event.json
        for event in events
        if isinstance(event, (CallStart, ArgumentsDelta))
    ]
    assert told == ["f", '{"s":', '"x', " ", "y", '"', ',"i":', "12", "}"]


def test_the_places_of_names_keys_and_values() -> None:
    text = written('§<invoke name="f">§<a> x §</a>§<o>§<b>1§</b> §</o>\n§</invoke>')
    (span,) = read_details(MINIMAX_M3, text).spans
    assert [(part.kind, text[part.start : part.end]) for part in span.parts] == [
        ("name", "f"),
        ("key", "a"),
        ("value", " x "),
        ("key", "o"),
        ("value", written("§<b>1§</b> ")),
        ("arguments", written("§<a> x §</a>§<o>§<b>1§</b> §</o>\n")),
    ]


@pytest.mark.parametrize(
    "cut",
    ["§<invoke", "§<invoke name=", '§<invoke name="f">', '§<invoke name="f">§<a', '§<invoke name="f">§<a>1§</a>§'],
)
def test_a_call_that_the_end_cuts_off_is_incomplete(cut: str) -> None:
    (fault,) = read(MINIMAX_M3, written('§<invoke name="g"/>' + cut)).faults
    assert fault.incomplete
