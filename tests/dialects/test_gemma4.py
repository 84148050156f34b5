"""gemma4: objects with bare keys, strings without escapes, values by their types, strings that are never closed."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.core.events import ArgumentsDelta, CallStart
from sluicegate.dialects.gemma4 import GEMMA4
from tests.renderers.gemma4 import render
from tests.support.messages import NAMES, contents
from tests.support.parsing import brief, exact, pieces, read, read_details, run_tool

C, E, Q = "<|tool_call>", "<tool_call|>", '<|"|>'
G = f"{C}call:g{{}}{E}"
TEXTS = st.text(max_size=20).filter(lambda text: Q not in text + '<|"|')
KEYS = st.text(string.ascii_letters + "_-. é()[]{},:", min_size=1, max_size=8)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**30), 10**30),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXTS,
        st.sampled_from([C, E, "<turn|>", f"{E} {C}", "call:x{", "}", '"', "\\"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=10,
)
CALLS = st.lists(st.tuples(NAMES, st.dictionaries(KEYS, VALUES, max_size=4)), min_size=1, max_size=3)


@given(contents(), CALLS)
def test_what_is_rendered_is_read_back(content: str, written: list[tuple[str, dict[str, Any]]]) -> None:
    outcome = read(GEMMA4, render(content, written))
    assert outcome.content == content
    assert [call.name for call in outcome.calls] == [name for name, _ in written]
    for call, (_, arguments) in zip(outcome.calls, written, strict=True):
        assert exact(call.arguments) == exact(json.dumps(arguments))


@pytest.mark.parametrize(
    ("text", "content", "calls", "faults"),
    [
        # White space and surplus commas between tokens; keys of both kinds.
        (f"{C} \ncall: f { {} } {E}".replace("{ {} }", "{ }"), "", [("f", "{}")], []),
        (f"{C}call:f{{,, a : 1 ,, b:[,2,,3,], }}{E}", "", [("f", '{"a":1,"b":[2,3]}')], []),
        (f"{C}call:f{{{Q}a b{Q} : {Q}x{Q} , c d:1}}{E}", "", [("f", '{"a b":"x","c d":1}')], []),
        (f"{C}call:f{{a:1,a:2}}{E}", "", [("f", '{"a":1,"a":2}')], []),
        (f"{C}call:a.b:c-d/e)}}{{}}{E}", "", [("a.b:c-d/e)}", "{}")], []),
        # A delimiter ends a string only where the object goes on.
        (f"{C}call:f{{a:{Q}x{Q}y{Q}z{Q} \n}}{E}", "", [("f", f'{{"a":{json.dumps(f"x{Q}y{Q}z")}}}')], []),
        (f"{C}call:f{{a:{Q}{Q}{Q},b:1}}{E}", "", [("f", f'{{"a":{json.dumps(Q)},"b":1}}')], []),
        # What may stand in place of the end marker, and nothing else.
        (f"{C}call:f{{}} \n{G}", "", [("f", "{}"), ("g", "{}")], []),
        (f"{C}call:f{{}} <turn|>\n", "", [("f", "{}")], []),
        (f"{C}call:f{{}} \n", "", [("f", "{}")], []),
        (f"{C}call:f{{}}.{E}a{G}", "a", [("g", "{}")], [f"{C}call:f{{}}.{E}"]),
        (f"{G}{C}call:f{{}}<tool_", "", [("g", "{}")], [f"{C}call:f{{}}<tool_"]),
        # What breaks a call; the fault ends with the next marker.
        (f"{C}f{{}}{E}a{G}", "a", [("g", "{}")], [f"{C}f{{}}{E}"]),
        (f"{C}call:{{}}{E}a{G}", "a", [("g", "{}")], [f"{C}call:{{}}{E}"]),
        (f"{C}call:f(){E}a{G}", "a", [("g", "{}")], [f"{C}call:f(){E}"]),
        (f"{C}call:f{{a:1 b:2<}}{E}a{G}", "a", [("g", "{}")], None),
        (f"{C}call:f{{a}}{E}a{G}", "a", [("g", "{}")], None),
        (f"{C}call:f{{:1}}{E}a{G}", "a", [("g", "{}")], None),
        (f"{C}call:f{{{Q}{Q}:1}}{E}a{G}", "a", [("g", "{}")], None),
        (f"{C}call:f{{{Q}k<{Q}:1}}{E}a{G}", "a", [("g", "{}")], None),
        (f"{C}call:f{{a:}}{E}a{G}", "a", [("g", "{}")], None),
        (f"{C}call:f{{a:x)}}{E}a{G}", "a", [("g", "{}")], None),
        (f"{C}call:f{{a:[1}}{E}a{G}", "a", [("g", "{}")], None),
        (f"{C}call:f{{a:{Q}x{Q}{Q}y{Q},b:[]{{}}}}{E}a{G}", "a", [("g", "{}")], None),
        (f"{C}call:f{{a:1{G}", "", [("g", "{}")], [f"{C}call:f{{a:1"]),
        # Strings that are never closed.
        (f"{C}call:f{{a:{Q}x{E}b {C}call:g{{}}{E}", "b ", [("g", "{}")], [f"{C}call:f{{a:{Q}x{E}"]),
        (f"{C}call:f{{a:{Q}x{E}y{E}b{G}", "b", [("g", "{}")], [f"{C}call:f{{a:{Q}x{E}y{E}"]),
        (f"{G}{C}call:f{{a:{Q}x{E}y{E} \n", "", [("g", "{}")], [f"{C}call:f{{a:{Q}x{E}y{E}"]),
        (f"{G}{C}call:f{{a:{Q}x{E}<eos>b", "<eos>b", [("g", "{}")], [f"{C}call:f{{a:{Q}x{E}"]),
        (f"{G}{C}call:f{{a:{Q}x{E} b", "", [("g", "{}")], [f"{C}call:f{{a:{Q}x{E} b"]),
        (f"{C}call:f{{a:{Q}x{C}call:g{{{Q}}}{E}", "", [("f", f'{{"a":"x{C}call:g{{"}}')], []),
        (f"{C}call:f{{a:{Q}x{E}{C}{' ' * 257}call:g{{{Q}}}{E}", "", [("f", None)], []),
    ],
)
def test_calls_text_and_faults(
    text: str, content: str, calls: list[tuple[str, str | None]], faults: list[str] | None
) -> None:
    got_content, got_calls, got_faults = brief(read(GEMMA4, text))
    assert got_content == content
    assert [name for name, _ in got_calls] == [name for name, _ in calls]
    for (_, got), (_, wanted) in zip(got_calls, calls, strict=True):
        assert wanted in {got, None}
    assert len(got_faults) == 1 if faults is None else got_faults == faults


@pytest.mark.parametrize(
    "cut", ["", "ca", "call:", "call:f", "call:f{", "call:f{a", "call:f{a:", f"call:f{{{Q}a", f"call:f{{a:{Q}x{Q} "]
)
def test_a_call_that_the_end_cuts_off_is_incomplete(cut: str) -> None:
    (fault,) = read(GEMMA4, G + C + cut).faults
    assert fault.incomplete


def typed(schema: Any, bare: str) -> tuple[str, list[str]]:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"v": schema}}}}]
    outcome = read(GEMMA4, f"{C}call:f{{v:{bare}}}{E}", tools)
    return outcome.calls[0].arguments[5:-1], [diagnostic.code for diagnostic in outcome.diagnostics]


@pytest.mark.parametrize(
    ("schema", "bare", "json_text", "fits"),
    [
        ({}, "1.50", "1.50", True),
        ({}, '"q"', '"q"', True),
        ({}, "True", '"True"', True),
        ({}, "+5", '"+5"', True),
        ({}, "1e400", '"1e400"', True),
        ({"type": "string"}, "007", '"007"', True),
        ({"type": "string"}, "null", '"null"', True),
        ({"type": ["string", "null"]}, "null", "null", True),
        ({"type": "integer"}, "007", "7", True),
        ({"type": "integer"}, "-5", "-5", True),
        ({"type": "integer"}, "5.5", "5.5", False),
        ({"type": "integer"}, "abc", '"abc"', False),
        ({"type": "boolean"}, "False", "false", True),
        ({"type": "boolean"}, "1", "1", False),
        ({"type": "number"}, "True", '"True"', False),
        ({"type": "number"}, '"q"', '"\\"q\\""', False),
        ({"type": "integer"}, f"{Q}5{Q}", '"5"', False),
        ({"type": "string"}, "{a:1}", '{"a":1}', False),
        ({"type": "array", "items": {"type": "string"}}, "[1,null]", '["1","null"]', True),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "{a:01}", '{"a":1}', True),
        ({"anyOf": [{"type": "object", "properties": {"a": {"type": "str"}}}]}, "{a:1}", '{"a":"1"}', True),
    ],
)
def test_bare_values_are_read_by_their_types(schema: Any, bare: str, json_text: str, fits: bool) -> None:
    assert typed(schema, bare) == (json_text, [] if fits else ["schema_mismatch"])


def test_depth() -> None:
    assert len(read(GEMMA4, f"{C}call:f{{a:{'[' * 126}{']' * 126}}}{E}").calls) == 1
    for deep in ("[" * 127, "[" * 5_000, "{a:" * 5_000):
        (fault,) = read(GEMMA4, f"{C}call:f{{a:{deep}").faults
        assert fault.code == "depth_exceeded"


def test_the_name_goes_out_at_the_brace_and_strings_grow() -> None:
    events = run_tool(GEMMA4, pieces(f"{C}call:f{{a:{Q}x y{Q},b:12}}{E}", 1))
    told = [
        event.name if isinstance(event, CallStart) else event.json
        for event in events
        if isinstance(event, (CallStart, ArgumentsDelta))
    ]
    assert told == ["f", "{", '"a":', '"', "x", " ", "y", '"', ",", '"b":', "12}"]


def test_the_places_of_names_keys_and_values() -> None:
    text = f"{C}call:f {{a : {Q}x{Q} , b:[1,{{c:2}}]}}{E}"
    (span,) = read_details(GEMMA4, text).spans
    assert [(part.kind, text[part.start : part.end]) for part in span.parts] == [
        ("name", "f"),
        ("key", "a"),
        ("value", f"{Q}x{Q}"),
        ("key", "b"),
        ("value", "[1,{c:2}]"),
        ("arguments", f"{{a : {Q}x{Q} , b:[1,{{c:2}}]}}"),
    ]
