"""llama: chains of call objects, behind the tag or at the start of the output."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from sluicegate.core.context import Context
from sluicegate.core.events import CallStart, Content
from sluicegate.core.machine import FormatMachine
from sluicegate.dialects.llama import LLAMA
from tests.renderers.llama import render
from tests.support.messages import calls, contents
from tests.support.parsing import brief, declared, read

TAG = "<|python_tag|>"
F, G = '{"name":"f","parameters":{}}', '{"name":"g","parameters":{"b":2}}'


@given(contents(), calls())
def test_what_is_rendered_is_read_back(content: str, written: list[tuple[str, dict[str, Any]]]) -> None:
    outcome = read(LLAMA, render(content, written))
    assert outcome.content == content
    assert [(call.name, json.loads(call.arguments)) for call in outcome.calls] == written


@given(calls())
def test_what_is_rendered_without_tag_is_read_back(written: list[tuple[str, dict[str, Any]]]) -> None:
    outcome = read(LLAMA, render("", written, tag=False))
    assert outcome.content == ""
    assert [(call.name, json.loads(call.arguments)) for call in outcome.calls] == written


@pytest.mark.parametrize(
    ("text", "content", "names", "faults"),
    [
        # Separators behind a call: the first is markup also where no object follows.
        (F + " ; ;" + G, "", ["f", "g"], []),
        (F + " ; ; x", " ; x", ["f"], []),
        (F + "  x", "  x", ["f"], []),
        (F + ';{"rows": 1} x', '{"rows": 1} x', ["f"], []),
        # A chain ends at the first thing that is no call; behind it only a tag begins another.
        (F + " {x " + G, " {x " + G, ["f"], []),
        (F + ' {"rows": "' + TAG + '"} ' + TAG + G, ' {"rows": "' + TAG + '"} ', ["f", "g"], []),
        (F + ' {"rows": ' + TAG + G, ' {"rows": ', ["f", "g"], []),
        # Directly behind the tag everything is a call or a fault.
        (TAG + '{"a":1}' + TAG + F, "", ["f"], ['{"a":1}']),
        (TAG + '{"name":"x<|python_tag|>"}' + TAG + F, "", ["f"], ['{"name":"x<|python_tag|>"}']),
        # A fault does not reach beyond the next tag that opens a chain, also where the broken JSON quotes it.
        (TAG + '{"name":"a","parameters":{"x' + TAG + G + " x", " x", ["g"], ['{"name":"a","parameters":{"x']),
        (
            F + '{"name":"a","parameters":{x ' + TAG + " y}} z",
            " z",
            ["f"],
            ['{"name":"a","parameters":{x ' + TAG + " y}}"],
        ),
        # White space before a bare object is markup only if it is a call.
        (" \n" + F, "", ["f"], []),
        (' \n{"a":1} ' + TAG + F, ' \n{"a":1} ', ["f"], []),
        (" \n" + TAG + F, " \n", ["f"], []),
    ],
)
def test_calls_text_and_faults(text: str, content: str, names: list[str], faults: list[str]) -> None:
    got_content, got_calls, got_faults = brief(read(LLAMA, text))
    assert (got_content, [name for name, _ in got_calls], got_faults) == (content, names, faults)


def test_a_name_alone_is_a_call_behind_the_tag_or_where_it_is_declared() -> None:
    alone = '{"name":"ping"}'
    assert brief(read(LLAMA, TAG + alone)) == ("", [("ping", "{}")], [])
    assert brief(read(LLAMA, alone)) == (alone, [], [])
    assert brief(read(LLAMA, alone, declared("ping"))) == ("", [("ping", "{}")], [])
    assert brief(read(LLAMA, F + alone)) == (alone, [("f", "{}")], [])


def test_a_tag_that_opens_nothing_is_reported() -> None:
    outcome = read(LLAMA, TAG + "print(1)")
    assert outcome.content == TAG + "print(1)"
    assert [(diagnostic.code, diagnostic.severity) for diagnostic in outcome.diagnostics] == [("stray_marker", "info")]


def test_the_name_goes_out_behind_the_tag_at_once_and_bare_with_the_arguments_key() -> None:
    for text, undecided in ((TAG + '{"name":"f"', ""), ('{"name":"f","parameters":{', '{"name":"f"')):
        machine = FormatMachine(LLAMA.read(context := Context(None, deltas=True)), context)
        assert not [event for event in machine.feed(undecided) if isinstance(event, CallStart)]
        events = machine.feed(text[len(undecided) :])
        assert [event.name for event in events if isinstance(event, CallStart)] == ["f"]


def test_an_answer_that_begins_with_no_brace_is_sent_at_once() -> None:
    machine = FormatMachine(LLAMA.read(context := Context(None)), context)
    assert machine.feed("  ") == []
    assert "".join(event.text for event in machine.feed("Yes <|py") if isinstance(event, Content)) == "  Yes "
