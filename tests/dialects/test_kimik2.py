"""kimik2: ids, sections in both spellings, and where faults end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from sluicegate.core.events import ArgumentsDelta, CallStart
from sluicegate.dialects.kimik2 import KIMIK2
from tests.renderers.kimik2 import render
from tests.support.messages import calls, contents
from tests.support.parsing import brief, pieces, read, read_details, run_tool

B, A, E = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
SECTION, SECTION_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
F = f"{B}functions.f:0{A}{{}}{E}"
G = f"{B}functions.g:1{A}{{}}{E}"


@given(contents(), calls())
def test_what_is_rendered_is_read_back(content: str, written: list[tuple[str, dict[str, Any]]]) -> None:
    outcome = read(KIMIK2, render(content, written))
    assert outcome.content == content
    # The prefix is the template's, once.
    assert [(call.name, json.loads(call.arguments)) for call in outcome.calls] == written


@pytest.mark.parametrize(
    ("ident", "name"),
    [
        ("functions.f:0", "f"),
        ("f", "f"),
        (" \u3000f:12 \n", "f"),
        ("functions.functions.f:0", "functions.f"),
        ("functions:0", "functions"),
        ("a-b.c/d:123456789012345678901234567890", "a-b.c/d"),
        ("functions.functions.:0", "functions."),
        ("functions.:0", None),
        ("functions.", None),
        (":0", None),
        ("f:", None),
        ("f:x", None),
        ("f:0:1", None),
        ("f g", None),
        ("f<b>", None),
        ("", None),
    ],
)
def test_ids(ident: str, name: str | None) -> None:
    content, got, faults = brief(read(KIMIK2, F + B + ident + A + "{}" + E + "end"))
    assert content == "end"
    assert got == [("f", "{}"), *([(name, "{}")] if name else [])]
    assert faults == ([] if name else [B + ident + A + "{}" + E])


@pytest.mark.parametrize(
    ("text", "content", "names", "faults"),
    [
        # Sections in both spellings, mixed, empty, missing, never closed.
        ("a" + SECTION + F + "<|tool_call_section_end|>b", "ab", ["f"], []),
        ("<|tool_call_section_begin|>" + F + SECTION_END + SECTION + SECTION_END + " x", " x", ["f"], []),
        (SECTION + F + " and " + G, " and ", ["f", "g"], []),
        # The end of a call is required; the fault then ends at the next stop behind the object's last brace.
        (f"{B}f:0{A}{{}}" + G + "x", "x", ["g"], [f"{B}f:0{A}{{}}"]),
        (f"{B}f:0{A}{{}} y{E}" + G, "", ["g"], [f"{B}f:0{A}{{}} y{E}"]),
        (G + f"{B}f:0{A}{{}}" + SECTION_END + "x", "x", ["g"], [f"{B}f:0{A}{{}}"]),
        # An end marker in a string that was read ends no fault; one in an open string does.
        (f'{B}f:0{A}{{"a":"{E}",}}{E}' + G, "", ["g"], [f'{B}f:0{A}{{"a":"{E}",}}{E}']),
        (f'{B}f:0{A}{{"a":"x{E}y' + G, "y", ["g"], [f'{B}f:0{A}{{"a":"x{E}']),
        # The arguments must be an object.
        (f"{B}f:0{A}[1]{E}" + G, "", ["g"], [f"{B}f:0{A}[1]{E}"]),
        (f"{B}f:0{A}{E}" + G, "", ["g"], [f"{B}f:0{A}{E}"]),
        # Markers that belong to no call are dropped.
        (F + "a" + E + A + "b", "ab", ["f"], []),
    ],
)
def test_calls_text_and_faults(text: str, content: str, names: list[str], faults: list[str]) -> None:
    got_content, got_calls, got_faults = brief(read(KIMIK2, text))
    assert (got_content, [name for name, _ in got_calls], got_faults) == (content, names, faults)


@pytest.mark.parametrize("cut", [B, B + "f", B + "f:0" + A, B + "f:0" + A + '{"a":1', B + "f:0" + A + "{}", B + "f <"])
def test_a_call_that_the_end_cuts_off_is_incomplete(cut: str) -> None:
    (fault,) = read(KIMIK2, F + cut).faults
    assert fault.incomplete
    assert fault.name == ("f" if A in cut else None)


def test_too_deep_arguments() -> None:
    deep = f"{B}f:0{A}" + '{"a":' * 128 + "1" + "}" * 128 + E
    outcome = read(KIMIK2, deep + G)
    assert [fault.code for fault in outcome.faults] == ["depth_exceeded"]
    assert [call.name for call in outcome.calls] == ["g"]


def test_the_name_goes_out_with_the_marker_behind_it_and_arguments_as_they_grow() -> None:
    text = f'{B}f:0{A}{{"a": "xyz"}}{E}'
    events = run_tool(KIMIK2, pieces(SECTION + text, 1))
    assert isinstance(events[0], CallStart)
    sent = [event.json for event in events if isinstance(event, ArgumentsDelta)]
    assert sent == ["{", '"a"', ":", '"', "x", "y", "z", '"', "}"]


def test_the_places_of_name_and_arguments() -> None:
    text = f'{B}functions.f:0{A} {{"a": 1, "b": [2]}} {E}'
    (span,) = read_details(KIMIK2, text).spans
    assert [(part.kind, text[part.start : part.end]) for part in span.parts] == [
        ("name", "f"),
        ("arguments", '{"a": 1, "b": [2]}'),
        ("key", '"a"'),
        ("value", "1"),
        ("key", '"b"'),
        ("value", "[2]"),
    ]
