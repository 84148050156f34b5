"""pythonic: where a list of calls starts, what breaks an element, and how far the damage reaches."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.core.context import Context
from sluicegate.core.events import ArgumentsDelta, CallEnd, CallStart, Content
from sluicegate.core.machine import FormatMachine
from sluicegate.dialects.pythonic import PYTHONIC
from tests.renderers.pythonic import render
from tests.support.messages import contents, values
from tests.support.parsing import brief, pieces, read, read_details, run_tool

WORDS = st.text(string.ascii_letters + "_é名", min_size=1, max_size=8)
NAMES = st.lists(WORDS, min_size=1, max_size=3).map(".".join)
CALLS = st.lists(st.tuples(NAMES, st.dictionaries(NAMES, values(), max_size=4)), min_size=1, max_size=4)


@given(contents(), CALLS, st.booleans())
def test_what_is_rendered_is_read_back(content: str, written: list[tuple[str, dict[str, Any]]], tags: bool) -> None:
    outcome = read(PYTHONIC, render(content, written, tags=tags))
    assert outcome.content == content
    assert [(call.name, json.loads(call.arguments)) for call in outcome.calls] == written


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[f()]", [("f", "{}")]),
        ("[ \n f (\n) , ]", [("f", "{}")]),
        ("[f(a=1,)]", [("f", '{"a":1}')]),
        ("[f(a = 1, a = 2)]", [("f", '{"a":1,"a":2}')]),
        ("[a.b-c.d(e.f-g=1)]", [("a.b-c.d", '{"e.f-g":1}')]),
        ("[नमस्ते(कख=1)]", [("नमस्ते", '{"कख":1}')]),
        ("[f(a=1) g(b=2)]", [("f", '{"a":1}'), ("g", '{"b":2}')]),
        ("[f() # first\n, g() \\\n]", [("f", "{}"), ("g", "{}")]),
        ("[f(a='x' 'y', b=(1))]", [("f", '{"a":"xy","b":1}')]),
        ("[f(a=-(1), b=foo, c=true)]", [("f", '{"a":-1,"b":"foo","c":true}')]),
        ("[f(None=1, class=2)]", [("f", '{"None":1,"class":2}')]),
    ],
)
def test_calls(text: str, calls: list[tuple[str, str]]) -> None:
    assert brief(read(PYTHONIC, text)) == ("", calls, [])


@pytest.mark.parametrize(
    "text",
    [
        *("[1]", "[f]", "[f (x)]", "[f(x)]", "[f(1)]", "[f(a==1)]", "[f(*a)]", "[f(**a)]", "[f[a=1]]", "[[f]]"),
        *("[1f()]", "[f.()]", "[f-()]", "[.f()]", "[f..g()]", "[f('a')]", "[f(a.=1)]", "[f(a b=1)]", "[f(1a=1)]"),
        f"[{'a' * 257}()]",
        f"[f({'a' * 257}=1)]",
        f"[{' ' * 257}f()]",
        f"[f{' ' * 257}()]",
        f"[f({' ' * 257})]",
    ],
)
def test_what_opens_no_list_is_text(text: str) -> None:
    outcome = read(PYTHONIC, f"a {text} [g(b=1)] c")
    assert outcome.content == f"a {text}  c"
    assert [call.name for call in outcome.calls] == ["g"]
    assert not outcome.faults


def test_the_longest_names_and_spaces_that_count() -> None:
    text = f"[{' ' * 256}{'a' * 256}{' ' * 256}({' ' * 256}{'b' * 256}{' ' * 256}=1)]"
    assert [call.name for call in read(PYTHONIC, text).calls] == ["a" * 256]


@pytest.mark.parametrize(
    "broken",
    [
        # Brackets and quotes of both kinds are skipped, in any order, up to the comma or bracket of the list.
        "g(a=1+2)",
        "g(a={1, 2})",
        "g(a=[1, 2), 3, b=(4)]",
        "g(a=f'], )', b=1)",
        "g(a=1 '''], ' )''' )",
        "g(a=f'\\'], ')",
        "g(a='\\x4', b='], [')",
        "g(a=['\\ud83d', (1, 2)])",
        "g(1, a=2)",
        "g(a=1 b=2)",
        "g(a=1, , b=2)",
        "g(, a=1)",
        "g(a)",
        "g(a=1e999)",
        "g[a]",
        "'note, x'",
        "7",
        "g.(a=1)",
        "<b>",
        "g(a=" + "[" * 127 + "]" * 127 + ")",
    ],
)
def test_a_broken_element_takes_no_other(broken: str) -> None:
    content, calls, faults = brief(read(PYTHONIC, f"x [f(a=1), {broken}, h()] y"))
    assert content == "x  y"
    assert [name for name, _ in calls] == ["f", "h"]
    assert faults == [broken]


@pytest.mark.parametrize(
    ("text", "content", "names", "faults"),
    [
        # A broken element ends before the next tag, or with the text.
        ("[f(), g(a=f'x<|python_end|>b", "b", ["f"], ["g(a=f'x"]),
        ("[f(), g(a=1+\\<|python_start|>b", "b", ["f"], ["g(a=1+\\"]),
        ("[f(), g(a=1+2 b", "", ["f"], ["g(a=1+2 b"]),
        # Tags, end-of-turn tokens and the end of the text end a list that has no bracket.
        ("[f(), <|python_end|>b", "b", ["f"], []),
        ("[f()<|eot|>\n", "", ["f"], []),
        ("[f(),", "", ["f"], []),
        ("[f() <|py", "<|py", ["f"], []),
        # What is cut off is incomplete.
        ("[f(), g(a='x, h()] y", "", ["f"], ["g(a='x, h()] y"]),
        ("[f()] [g(", "", ["f"], ["[g("]),
        ("[f()] [g(a=", "", ["f"], ["[g(a="]),
        ("[f()] [", "", ["f"], ["["]),
        # A backslash that ends the text is neither white space nor a call.
        ("[f()\\", "", ["f"], ["\\"]),
        ("[f(), \\", "", ["f"], ["\\"]),
        # Surplus brackets and commas are idle.
        ("[f())]) ;, [g()]", "", ["f", "g"], []),
        # A tag inside a string is data.
        ("[f(a='<|python_end|> [g()] <|eot|>')]", "", ["f"], []),
    ],
)
def test_text_and_faults(text: str, content: str, names: list[str], faults: list[str]) -> None:
    got_content, got_calls, got_faults = brief(read(PYTHONIC, text))
    assert (got_content, [name for name, _ in got_calls], got_faults) == (content, names, faults)


def test_incomplete_and_broken_are_told_apart() -> None:
    cut, broken = read(PYTHONIC, "[f(), g(a='x").faults, read(PYTHONIC, "[f(), g(a=1+2)").faults
    assert [fault.incomplete for fault in (*cut, *broken)] == [True, False]
    assert cut[0].name == "g"
    assert cut[0].arguments == '{"a":"x'


def test_repeated_arguments_and_keys_are_reported() -> None:
    outcome = read(PYTHONIC, "[f(a=1, a={'k': 1, 'k': 2})]")
    assert [diagnostic.code for diagnostic in outcome.diagnostics] == ["duplicate_key"] * 2


def test_too_deep() -> None:
    for deep in ("[" * 3_000, "[" * 128 + "]" * 128, "{'a':" * 3_000):
        outcome = read(PYTHONIC, f"[f(a={deep}")
        assert [fault.code for fault in outcome.faults] == ["depth_exceeded"]


def test_names_go_out_at_the_bracket_and_strings_grow() -> None:
    events = run_tool(PYTHONIC, pieces("[f(a='xy', b=[1]), g()]", 1))
    told = [
        event.name if isinstance(event, CallStart) else event.json
        for event in events
        if isinstance(event, (CallStart, ArgumentsDelta))
    ]
    assert told == ["f", '{"a":"', "x", "y", '"', ',"b":', "[", "1]", "}", "g", "{}"]


def test_a_bracket_is_held_until_it_is_decided() -> None:
    context = Context(None)
    machine = FormatMachine(PYTHONIC.read(context), context)
    said = [
        "".join(event.text for event in machine.feed(chunk) if isinstance(event, Content))
        for chunk in ("a [no", "te", " b", "] [f(", ") ]")
    ]
    assert said == ["a ", "", "[note b", "] ", ""]
    assert any(isinstance(event, CallEnd) for event in run_tool(PYTHONIC, ["[f(", ")"]))


def test_the_places_of_names_keys_and_values() -> None:
    text = "[f.g(a = 'x' 'y' , b=[1])]"
    span = read_details(PYTHONIC, text).spans[1]
    assert [(part.kind, text[part.start : part.end]) for part in span.parts] == [
        ("name", "f.g"),
        ("key", "a"),
        ("value", "'x' 'y'"),
        ("key", "b"),
        ("value", "[1]"),
        ("arguments", "a = 'x' 'y' , b=[1]"),
    ]


@pytest.mark.parametrize("cut", ["g", "g.", "g(", "g(a", "g(a=", "g(a=1", "g(a=1,", "g(a=1, b", "g(a='x' # ", "g(a=1 "])
def test_a_call_that_the_end_cuts_off_is_incomplete(cut: str) -> None:
    (fault,) = read(PYTHONIC, f"[f(), {cut}").faults
    assert fault.incomplete
    assert fault.name == ("g" if "(" in cut else None)
