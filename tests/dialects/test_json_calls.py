"""json: bare JSON in text, tried until it is certain that it is a call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.core.context import Context
from sluicegate.core.events import ArgumentsDelta, CallStart, Content, Event
from sluicegate.core.machine import FormatMachine
from sluicegate.dialects.json_calls import JSON
from tests.renderers.json_calls import render
from tests.support.messages import calls, contents
from tests.support.parsing import brief, check_events, declared, read, run_tool

F, G = '{"name":"f","arguments":{}}', '{"name":"g","arguments":{"b":2}}'


@given(contents(), calls(), st.booleans())
def test_what_is_rendered_is_read_back(content: str, written: list[tuple[str, dict[str, Any]]], as_list: bool) -> None:
    outcome = read(JSON, render(content, written, as_list=as_list))
    assert outcome.content == content
    assert [(call.name, json.loads(call.arguments)) for call in outcome.calls] == written


@pytest.mark.parametrize(
    ("text", "content", "names", "faults"),
    [
        # What is no call stays text, and what follows it is read.
        ('{"a":1}' + F, '{"a":1}', ["f"], []),
        ("[1, 2] " + F, "[1, 2] ", ["f"], []),
        ("{ see " + F, "{ see ", ["f"], []),
        ('{"a": [' + F + "]} " + G, '{"a": [' + F + "]} ", ["g"], []),
        # A list of calls: its other elements are faults, whether they stand before or behind the first call.
        ('[1, {"x":2}, ' + F + ", null]", "", ["f"], ["1", '{"x":2}', "null"]),
        ("[" + F + " " + G + "]", "", ["f", "g"], []),
        ("[" + F + ",, \u00a0" + G + "}]", "", ["f", "g"], []),
        ("[" + F + ", x {y, z}, " + G, "", ["f", "g"], ["x {y, z}"]),
        ("[" + F + "<|eot_id|>", "", ["f"], []),
        ("[" + F + ", [" + G + "]]", "", ["f"], ["[" + G + "]"]),
        # A break before the first call makes a list text, and what is behind the break is read.
        ("[1 2, " + F + "]", "[1 2, ", ["f"], []),
        ("[1,, " + F + "]", "[1,, ", ["f"], []),
        ("[1, x, " + F + "]", "[1, x, ", ["f"], []),
        ('[{"a":x}, ' + F + "]", '[{"a":x}, ', ["f"], []),
        # From a break on only brackets and quotes count.
        ('{"name":"a","arguments":{\\"}\\":1}}' + F, "", ["f"], ['{"name":"a","arguments":{\\"}\\":1}']),
        ('{"name":"a","arguments":{x "}" [}]}}' + F, "", ["f"], ['{"name":"a","arguments":{x "}" [}]}']),
        ('[{"name":"a","arguments":{"s":"\x01"}}, ' + F + "]", "", ["f"], ['{"name":"a","arguments":{"s":"\x01"}}']),
        # Members written twice.
        ('{"name":"a","arguments":1,"arguments":2}' + F, "", ["f"], ['{"name":"a","arguments":1,"arguments":2}']),
        ('{"name":"a","name":"b"}' + F, '{"name":"a","name":"b"}', ["f"], []),
        # A cut call is a fault from its name on, other cut JSON is text.
        (F + '{"name":"g', "", ["f"], ['{"name":"g']),
        (F + '{"function":"g","arguments":{"b":', "", ["f"], ['{"function":"g","arguments":{"b":']),
        (F + '{"name', '{"name', ["f"], []),
        (F + '[{"a":1}, ', '[{"a":1}, ', ["f"], []),
    ],
)
def test_calls_text_and_faults(text: str, content: str, names: list[str], faults: list[str]) -> None:
    got_content, got_calls, got_faults = brief(read(JSON, text))
    assert (got_content, [name for name, _ in got_calls], got_faults) == (content, names, faults)


def test_a_name_alone_is_a_call_where_it_is_declared() -> None:
    assert brief(read(JSON, '[{"name":"ping"}]', declared("ping"))) == ("", [("ping", "{}")], [])
    assert brief(read(JSON, '[{"name":"ping"}]', declared("pong"))) == ('[{"name":"ping"}]', [], [])
    # Then a broken object of that name has begun as a call.
    assert brief(read(JSON, F + '{"name":"ping" x}', declared("ping", "f")))[2] == ['{"name":"ping" x}']


def test_the_first_name_key_that_is_present_counts() -> None:
    assert brief(read(JSON, '{"function":"g","name":"f","parameters":[1]}')) == ("", [("f", "[1]")], [])
    assert not read(JSON, '{"name":1,"function":"g","arguments":{}}').calls
    assert not read(JSON, '{"function":{"name":"g","arguments":{}}}').calls


def test_a_fault_knows_the_name_that_was_complete() -> None:
    (fault,) = read(JSON, '{"function":"g","arguments":{"b":').faults
    assert (fault.name, fault.index, fault.incomplete, fault.code) == ("g", None, True, "incomplete_call")


def test_only_repeated_keys_of_arguments_are_reported() -> None:
    outcome = read(JSON, '{"name":"f","x":{"a":1,"a":2},"arguments":{"k":1,"k":2}}')
    (diagnostic,) = outcome.diagnostics
    assert (diagnostic.code, diagnostic.call) == ("duplicate_key", 0)
    assert outcome.calls[0].arguments == '{"k":1,"k":2}'


def test_a_list_that_is_never_closed_is_reported() -> None:
    assert [diagnostic.code for diagnostic in read(JSON, "[" + F).diagnostics] == ["unclosed_wrapper"]


def test_depth_is_counted_from_the_arguments() -> None:
    deep = "[" * 127 + "]" * 127
    assert read(JSON, '[{"name":"f","arguments":' + deep + "}]").calls
    outcome = read(JSON, F + '{"name":"g","arguments":[' + deep + "]}")
    assert [fault.code for fault in outcome.faults] == ["depth_exceeded"]


def test_nothing_goes_out_of_a_bracket_before_it_is_decided() -> None:
    machine = FormatMachine(JSON.read(context := Context(None, deltas=True)), context)
    assert kinds(machine.feed("See {")) == ["See "]
    assert kinds(machine.feed('"a": [1')) == []
    assert kinds(machine.feed("]} and {")) == ['{"a": [1]}', " and "]
    assert kinds(machine.feed('"name": "f", "x": 1, ')) == []
    assert kinds(machine.feed('"arguments": {"a": "b')) == ["f()", '+{"a":"b']
    assert kinds(machine.feed("c")) == ["+c"]
    assert kinds(machine.feed('"}} ok')) == ['+"}', " ok"]


def test_the_second_choice_of_arguments_waits_for_the_first() -> None:
    machine = FormatMachine(JSON.read(context := Context(None, deltas=True)), context)
    assert kinds(machine.feed('{"name":"f","parameters":{"a":1},')) == ["f()"]
    assert kinds(machine.feed('"arguments":{"b":')) == ['+{"b":']
    assert kinds(machine.feed("2}}")) == ["+2}"]


def kinds(events: list[Event]) -> list[str]:
    """Content as it is, a name as `name()`, a delta as `+json`."""
    said: list[str] = []
    for event in events:
        if isinstance(event, Content):
            said.append(event.text)
        elif isinstance(event, CallStart):
            said.append(event.name + "()")
        elif isinstance(event, ArgumentsDelta):
            said.append("+" + event.json)
    return said


def test_the_preferred_arguments_count_wherever_they_stand() -> None:
    for text in (
        '{"name":"f","arguments":{"a":1},"parameters":{}}',
        '{"parameters":{},"name":"f","arguments":{"a":1}}',
    ):
        outcome = read(JSON, text)
        assert [call.arguments for call in outcome.calls] == ['{"a":1}']
        (span,) = outcome.spans
        places = [(part.kind, text[part.start : part.end]) for part in span.parts]
        assert sorted(places) == [("arguments", '{"a":1}'), ("name", "f")]


def test_details_name_the_places_of_keys_and_values() -> None:
    text = '[ {"name":"f","arguments":{"a":1}} ]'
    outcome = check_events(run_tool(JSON, [text], details=True), text)
    (span,) = (span for span in outcome.spans if span.kind == "call")
    places = [(part.kind, text[part.start : part.end]) for part in span.parts]
    assert sorted(places) == [("arguments", '{"a":1}'), ("key", '"a"'), ("name", "f"), ("value", "1")]
