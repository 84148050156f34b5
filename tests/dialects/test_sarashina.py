"""sarashina: payloads behind the marker and at the start, elements, and how far a fault reaches."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.core.context import Context
from sluicegate.core.events import ArgumentsDelta, CallStart, Content
from sluicegate.core.machine import FormatMachine
from sluicegate.dialects.sarashina import SARASHINA
from tests.renderers.sarashina import render
from tests.support.messages import NAMES, contents, values
from tests.support.parsing import brief, pieces, read, read_details, run_tool

M = "<|tool_calls|>"
F, G = "{'name': 'f', 'arguments': {'a': 1}}", "{'name': 'g', 'arguments': {'b': 2}}"
CALLS = st.lists(st.tuples(NAMES, st.dictionaries(st.text(max_size=8), values(), max_size=4)), min_size=1, max_size=4)


@given(contents(), CALLS, st.booleans())
def test_what_is_rendered_is_read_back(content: str, written: list[tuple[str, dict[str, Any]]], marker: bool) -> None:
    outcome = read(SARASHINA, render(content, written, marker=marker))
    assert outcome.content == content
    assert [(call.name, json.loads(call.arguments)) for call in outcome.calls] == written


@pytest.mark.parametrize(
    ("text", "content", "names", "faults"),
    [
        # The payload is the first bracket before the next marker; a marker without one is a fault by itself.
        (f"a {M} b [{F}] c", "a  b  c", ["f"], []),
        (f"{M}\n[{F}]", "", ["f"], []),
        (f"{M}b</s> [{F}]", "b", ["f"], []),
        (f"{M} {F}", "", ["f"], []),
        (f"{M}x{M}[{F}]", "x", ["f"], [M]),
        (f"{M}[{F}]{M}x</s>", "x", ["f"], [M]),
        # One payload for each marker.
        (f"{M}[{F}][{G}]", f"[{G}]", ["f"], []),
        (f"{M}[{F}]{M}[{G}]", "", ["f", "g"], []),
        # Elements that are no calls are faults of their own.
        (f"{M}[1, {F}, (2,), {{'name': 3}}, {G},]", "", ["f", "g"], ["1", "(2,)", "{'name': 3}"]),
        (f"{M}[{{'name': ' '}}, {{'name': '{M}'}}, {F}]", "", ["f"], ["{'name': ' '}", f"{{'name': '{M}'}}"]),
        # A payload without a call is a fault from its marker on, with the text before the bracket.
        (f"{M}[{F}]a{M}see [1]b", "ab", ["f"], [f"{M}see [1]"]),
        (f"{M}[{F}]a{M}[]b", "ab", ["f"], [f"{M}[]"]),
        (f"{M}[{F}]a{M}see [x]b", "ab", ["f"], [f"{M}see [x]"]),
        # From an unreadable element on the rest is a fault: to the payload's own bracket.
        (f"{M}[{F}, x, {G}]b", "b", ["f"], [f"x, {G}]"]),
        (f"{M}[{F}, {{'name': 'g', 'arguments': [1, ']', x]}}, {G}]b", "b", ["f"], None),
        (f"{M}[{F}, {{'name': 'g', \"a\": 'b\\'] c' d}}]b", "b", ["f"], None),
        (f"{M}[{F} {G}]b", "b", ["f"], [f"{G}]"]),
        (f"{M}[{F},,]b", "b", ["f"], [",]"]),
        (f"{M}[{F}}}]b", "b", ["f"], ["}]"]),
        (f"{M}{{'name': 'f', 'arguments': [}}b{M}[{G}]", "b", ["g"], None),
        # … or to the next marker, from the last token on.
        (f"{M}[{F}, {{'name': 'g', 'arguments': {{'s': 'x{M}[{G}]", "", ["f", "g"], None),
        (f"{M}[{F}, {{'s': '{M}', x {M}[{G}]", "", ["f", "g"], [f"{{'s': '{M}', x "]),
        (f"{M}[{F}, x '] \\{M}[{G}]", "", ["f", "g"], ["x '] \\"]),
        (f"{M}[{F}, {{'name': 'g', 'arguments': '\n'}}] b{M}[{G}]", "b", ["f", "g"], None),
        # A list that is not closed keeps its calls.
        (f"{M}[{F}", "", ["f"], []),
        (f"{M}[{F}, ", "", ["f"], []),
        (f"{M}[{F}{M}[{G}]", "", ["f", "g"], []),
        (f"{M}[{F}, {{'name'", "", ["f"], ["{'name'"]),
        # Without arguments a call has none, behind a marker.
        (f"{M}[{{'name': 'f', 'other': {{'name': 'x'}}}}]", "", ["f"], []),
        # At the start of the output the marker may be missing, if the calls have arguments.
        (f" \n[{F}] b", "b", ["f"], []),
        (f"{F}b", "b", ["f"], []),
        (f"[{F}, {{'name': 'g'}}, x]b", "b", ["f"], ["{'name': 'g'}", "x]"]),
        (f"[{F}, {{'name': 'g', 'arguments': {{'a': '{M}'}}}}", "", ["f", "g"], []),
        (f"[{{'name': 'f'}}]{M}[{G}]", "[{'name': 'f'}]", ["g"], []),
        (f"[see] {M}[{G}]", "[see]", ["g"], []),
        (f"a [{F}]", f"a [{F}]", [], []),
    ],
)
def test_calls_text_and_faults(text: str, content: str, names: list[str], faults: list[str] | None) -> None:
    got_content, got_calls, got_faults = brief(read(SARASHINA, text))
    assert (got_content, [name for name, _ in got_calls]) == (content, names)
    assert len(got_faults) == 1 if faults is None else got_faults == faults


@pytest.mark.parametrize(
    ("arguments", "json_text"),
    [
        ("None", "null"),
        ("[1, (2,)]", "[1,[2]]"),
        ("'x'", '"x"'),
        ("{1: True, None: -2.50}", '{"1":true,"null":-2.50}'),
        ("{'a': 1, 'a': 2}", '{"a":1,"a":2}'),
    ],
)
def test_arguments_of_any_kind(arguments: str, json_text: str) -> None:
    outcome = read(SARASHINA, f"{M}[{{'arguments': {arguments}, 'name': 'f'}}]")
    assert [(call.name, call.arguments) for call in outcome.calls] == [("f", json_text)]


@pytest.mark.parametrize(
    ("members", "wanted"),
    [
        ("'name': 'x', 'name': 'f', 'arguments': {}", ("f", "{}")),
        ("'arguments': 1, 'name': 'f', 'arguments': {}", ("f", "{}")),
        ("'arguments': 1, 'arguments': {}, 'name': 'f'", ("f", "{}")),
        ("'name': 'f', 'arguments': {}, 'name': 'g'", None),
        ("'name': 'f', 'arguments': {}, 'arguments': 1", None),
        ("'name' 'f'", None),
        ("'name': 'f' 'arguments': {}", None),
        ("'name': 'f', , 'arguments': {}", None),
        ("name: 'f'", None),
    ],
)
def test_members(members: str, wanted: tuple[str, str] | None) -> None:
    _, calls, faults = brief(read(SARASHINA, f"{M}[{G}, {{{members}}}]"))
    assert calls[1:] == ([wanted] if wanted else [])
    assert len(faults) == (0 if wanted else 1)


def test_the_answer_is_trimmed_where_there_is_no_call() -> None:
    for text in (f" \u3000a {M} b\n", f" [1]{M}[x] </s>\n", " \n"):
        assert read(SARASHINA, text).content == text.strip(" \u3000\n")


def test_incomplete_calls() -> None:
    for cut in (M, f"{M} ", f"{M}[", f"{M}[{{'name': 'f'", f"{M}[{F}, {{'name': 'g'"):
        (fault,) = read(SARASHINA, cut).faults
        assert fault.incomplete
    (fault,) = read(SARASHINA, f"{M} and text").faults
    assert not fault.incomplete


def test_too_deep() -> None:
    for text in (f"{M}[{{'name': 'f', 'arguments': {'[' * 3_000}", f"{M}{'[' * 3_000}", f"{M}{'{1:' * 3_000}"):
        start = time.perf_counter()
        outcome = read(SARASHINA, text)
        assert time.perf_counter() - start < 2
        assert [fault.code for fault in outcome.faults] == ["depth_exceeded"]


def test_names_and_arguments_go_out_as_they_come() -> None:
    events = run_tool(SARASHINA, pieces(f"{M}[{{'name': 'f', 'arguments': {{'a': 'xy'}}}}]", 1))
    assert isinstance(events[0], CallStart)
    sent = [event.json for event in events if isinstance(event, ArgumentsDelta)]
    assert sent == ["{", '"a":', '"', "x", "y", '"}']


def test_a_payload_at_the_start_is_held_until_it_is_decided() -> None:
    context = Context(None)
    machine = FormatMachine(SARASHINA.read(context), context)
    said = [
        "".join(event.text for event in machine.feed(chunk) if isinstance(event, Content))
        for chunk in ("  [1, ", "2, x", " 3] ", "a")
    ]
    assert said == ["", "", "[1, 2, x 3]", " a"]


def test_the_places_of_names_keys_and_values() -> None:
    text = f"{M}[{{'name': 'f', 'x': 0, 'arguments': {{'a': 1, 'b': (2,)}}}}]"
    span = read_details(SARASHINA, text).spans[1]
    assert [(part.kind, text[part.start : part.end]) for part in span.parts] == [
        ("name", "f"),
        ("arguments", "{'a': 1, 'b': (2,)}"),
        ("key", "'a'"),
        ("value", "1"),
        ("key", "'b'"),
        ("value", "(2,)"),
    ]
