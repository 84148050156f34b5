"""mistral: lists and objects behind the marker, and names with their arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.core.context import Context
from sluicegate.core.events import ArgumentsDelta, CallStart
from sluicegate.core.machine import FormatMachine
from sluicegate.dialects.mistral import MISTRAL
from tests.renderers.mistral import Version, render
from tests.support.messages import calls, contents
from tests.support.parsing import brief, check_events, read, run_tool

T = "[TOOL_CALLS]"
F, G = '{"name":"f","arguments":{}}', '{"name":"g","arguments":{"b":2}}'


@given(contents(), calls(min_size=0), st.sampled_from(["v3", "v7", "v11", "v13"]))
def test_what_is_rendered_is_read_back(
    content: str, written: list[tuple[str, dict[str, Any]]], version: Version
) -> None:
    outcome = read(MISTRAL, render(content, written, version=version))
    assert outcome.content == (content if written else content + "</s>")
    assert [(call.name, json.loads(call.arguments)) for call in outcome.calls] == written


@pytest.mark.parametrize(
    ("text", "content", "names", "faults"),
    [
        # What must follow the marker.
        (T + "[ARGS] x " + T + "f[ARGS]{}", T + "[ARGS] x ", ["f"], []),
        (T + "[/TOOL_CALLS] [/TOOL_CALLS]" + T + "f{}", T + "[/TOOL_CALLS] ", ["f"], []),
        (T + "see [1]. " + T + "f{}", T + "see [1]. ", ["f"], []),
        (T + '"f"[ARGS]{}' + T + "f{}", T + '"f"[ARGS]{}', ["f"], []),
        (T + "n" * 257 + "{}" + T + "f{}", T + "n" * 257 + "{}", ["f"], []),
        (T + " \n[\n]" + T + F, "", ["f"], []),
        # Names with ids and free white space, also more of it than a condition allows.
        (T + "f [CALL_ID] x1 [ARGS]" + " " * 300 + "{}", "", ["f"], []),
        (T + "f[CALL_ID]x1{}", "", ["f"], []),
        # No object behind the name: the fault ends before the next opener that counts, or behind a closing marker.
        (T + "f[ARGS]oops [/TOOL_CALLS] x" + T + F, " x", ["f"], [T + "f[ARGS]oops [/TOOL_CALLS]"]),
        (T + "g[CALL_ID][ARGS]{} " + T + " " + T + F, "", ["f"], [T + "g[CALL_ID][ARGS]{} " + T + " "]),
        (T + "f[ARGS][ARGS]{}" + T + F, "", ["f"], [T + "f[ARGS][ARGS]{}"]),
        # Broken JSON ends where its brackets close, and never behind the next opener that counts.
        (T + 'g[ARGS]{"a":[x]} y' + T + F, " y", ["f"], [T + 'g[ARGS]{"a":[x]}']),
        (
            T + 'g[ARGS]{"a":"' + T + "f[ARGS]{}",
            T + 'g[ARGS]{"a":"' + T + "f[ARGS]{}",
            [],
            [T + 'g[ARGS]{"a":"' + T + "f[ARGS]{}"],
        ),
        (T + "[" + F + ', {"name":"a","arguments":{"x' + T + G + "]", "", ["f", "g"], ['{"name":"a","arguments":{"x']),
        (T + "[" + F + ", {x " + T + " y}, " + G + "]", "", ["f", "g"], ["{x " + T + " y}"]),
        # A tag or an end-of-turn token between elements ends the list.
        (T + "[" + F + "[/TOOL_CALLS] x", " x", ["f"], []),
        (T + "[" + F + "," + T + G, "", ["f", "g"], []),
        (T + "[{}, " + F + "]", "", ["f"], ["{}"]),
        # Names hold no marker.
        (T + '[{"name":"[ARGS]"}, ' + F + "]", "", ["f"], ['{"name":"[ARGS]"}']),
        # Cut headers.
        (T + F + T + "f[CALL_ID]", "", ["f"], [T + "f[CALL_ID]"]),
        (T + F + T + "f[CALL_ID]x[AR", "", ["f"], [T + "f[CALL_ID]x[AR"]),
        (T + F + T + "f[ARGS] ", "", ["f"], [T + "f[ARGS] "]),
        (T + F + T + " [TOOL_", "", ["f"], [T + " [TOOL_"]),
    ],
)
def test_calls_text_and_faults(text: str, content: str, names: list[str], faults: list[str]) -> None:
    got_content, got_calls, got_faults = brief(read(MISTRAL, text))
    assert (got_content, [name for name, _ in got_calls], got_faults) == (content, names, faults)


def test_a_fault_that_is_cut_is_incomplete_and_one_that_is_broken_is_not() -> None:
    assert [fault.incomplete for fault in read(MISTRAL, T + 'f[ARGS]{"a').faults] == [True]
    assert [fault.incomplete for fault in read(MISTRAL, T + "f[ARGS]{a").faults] == [False]
    assert [fault.code for fault in read(MISTRAL, T + "f[ARGS]" + '{"a":' * 128).faults] == ["depth_exceeded"]


def test_a_list_that_is_never_closed_is_reported() -> None:
    assert [diagnostic.code for diagnostic in read(MISTRAL, T + "[" + F).diagnostics] == ["unclosed_wrapper"]


def test_the_name_goes_out_with_what_follows_it_and_arguments_as_they_grow() -> None:
    machine = FormatMachine(MISTRAL.read(context := Context(None, deltas=True)), context)
    assert machine.feed(T + "get_weather") == []
    assert [event.name for event in machine.feed("[ARGS]") if isinstance(event, CallStart)] == ["get_weather"]
    assert [event.json for event in machine.feed('{"city": "Os') if isinstance(event, ArgumentsDelta)] == [
        '{"city":"Os'
    ]
    assert [event.json for event in machine.feed("lo") if isinstance(event, ArgumentsDelta)] == ["lo"]


def test_repeated_keys_are_reported_and_places_named() -> None:
    text = T + 'f[ARGS]{"a":1, "a":2}'
    outcome = check_events(run_tool(MISTRAL, [text], details=True), text)
    assert [(diagnostic.code, diagnostic.call) for diagnostic in outcome.diagnostics] == [("duplicate_key", 0)]
    (span,) = outcome.spans
    places = [(part.kind, text[part.start : part.end]) for part in span.parts]
    assert places == [
        ("name", "f"),
        ("arguments", '{"a":1, "a":2}'),
        *(("key", '"a"'), ("value", "1")),
        *(("key", '"a"'), ("value", "2")),
    ]
