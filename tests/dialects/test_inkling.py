"""inkling: frames, headers with and without marker, and what follows a call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from sluicegate.core.context import Context
from sluicegate.core.events import CallStart, Content
from sluicegate.core.machine import FormatMachine
from sluicegate.dialects.inkling import INKLING
from tests.renderers.inkling import render
from tests.support.messages import calls, contents
from tests.support.parsing import brief, read, read_details

M, J, T = "<|message_model|>", "<|content_invoke_tool_json|>", "<|content_invoke_tool_text|>"
TEXT, END, STOP = "<|content_text|>", "<|end_message|>", "<|content_model_end_sampling|>"
F, G = '{"name":"f","args":{}}', '{"name":"g","args":{"b":2}}'


@given(contents(), calls(min_size=0))
def test_what_is_rendered_is_read_back(content: str, written: list[tuple[str, dict[str, Any]]]) -> None:
    outcome = read(INKLING, render(content, written))
    assert outcome.content == content
    assert [(call.name, json.loads(call.arguments)) for call in outcome.calls] == written


@pytest.mark.parametrize(
    ("text", "content", "names", "faults"),
    [
        # A header belongs to the call, to the fault, or to its wrapper.
        (f"{M}x y{J}{F}{END}", "", ["f"], []),
        (f"{M}x{T}f(1){END}{M}g{J}{G}{END}", "", ["g"], [f"{M}x{T}f(1){END}"]),
        (f"{M}x{TEXT}a{END}{M}hdr", "a", [], []),
        (f"{M}{M}f{J}{F}{END}", "", ["f"], []),
        # A word in front of a call is its header if it is its name, at the start or behind an end token.
        (f"f{J}{F}{END}g{J}{G}{STOP}", "", ["f", "g"], []),
        (f"f{J}{F}{END}x{J}{G}{STOP}", "x", ["f", "g"], []),
        (f"g {J}{G}", "g ", ["g"], []),
        (f"g\u2028{J}{G}", "g\u2028", ["g"], []),
        (f"{TEXT}g{J}{G}", "g", ["g"], []),
        (f"a{END}g{J}{G}", "a", ["g"], []),
        (f'g{J}{{"args":{{}},"name":"g"}}{END}', "", ["g"], []),
        (f"g{T}f(1){END}{J}{F}", "g", ["f"], [f"{T}f(1){END}"]),
        (f'g{J}{{"name":"g","args":1}}{END}{J}{F}', "", ["f"], [f'g{J}{{"name":"g","args":1}}{END}']),
        (f'x{J}{{"name":"g","args":1}}{END}{J}{F}', "x", ["f"], [f'{J}{{"name":"g","args":1}}{END}']),
        (f"{J}{F}g{END}", "g", ["f"], []),
        # White space and one end token behind a call are markup; anything else is text.
        (f"{J}{F} \n{END}{STOP}", "", ["f"], []),
        (f"{J}{F} \n{END}x{END}", "x", ["f"], []),
        (f"{J}{F} \n x{END}", " \n x", ["f"], []),
        (f"{J}{F}{G}{END}", G, ["f"], []),
        (f"{J}{F} \n<|end_mess", " \n<|end_mess", ["f"], []),
        (f"{J}{F} \n", "", ["f"], []),
        # Wrappers cut pieces of text behind the first call, and none before it.
        (f"{J}{F}{END}\n{M}{TEXT}\n{END}{M}{TEXT}a\n{END}", "a\n", ["f"], []),
        (f"a\n{END}{M}{TEXT}\nb{END}{J}{F}", "a\n\nb", ["f"], []),
        # Payloads that are no calls.
        (f"{J}[{F}]{END}a{J}{G}", "a", ["g"], [f"{J}[{F}]{END}"]),
        (f'{J}{{"name":"f"}}{END}a{J}{G}', "a", ["g"], [f'{J}{{"name":"f"}}{END}']),
        (f'{J}{{"name":"{END}","args":{{}}}}{M}{J}{G}', "", ["g"], [f'{J}{{"name":"{END}","args":{{}}}}']),
        (f'{J}{{"args":{{}},"args":{{}},"name":"f"}}{END}{J}{G}', "", ["g"], None),
        (f'{J}{{"name":"f","args":{{}},"name":"x"}}{END}{J}{G}', "", ["g"], None),
        (f"{J}{{bad{M}{J}{G}", "", ["g"], [f"{J}{{bad"]),
        # Of two names the last counts, as long as the first was not sent.
        (f'{J}{{"name":1,"name":"f","args":{{}}}}{END}', "", ["f"], []),
    ],
)
def test_calls_text_and_faults(text: str, content: str, names: list[str], faults: list[str] | None) -> None:
    got_content, got_calls, got_faults = brief(read(INKLING, text))
    assert (got_content, [name for name, _ in got_calls]) == (content, names)
    assert len(got_faults) == 1 if faults is None else got_faults == faults


def test_without_a_call_only_wrappers_are_removed() -> None:
    text = f"{M}{TEXT}a{END}{M}x{T}f(1){END}{J}[]{END}b{STOP}"
    assert read(INKLING, text).content == f"a{M}x{T}f(1){END}{J}[]{END}b"


@pytest.mark.parametrize("cut", [J, f"{J}{{", f'{J}{{"name":"g"', f'{J}{{"name":"g","args":{{', T, f"{M}g{J}", f"g{J}"])
def test_a_call_that_the_end_cuts_off_is_incomplete(cut: str) -> None:
    (fault,) = read(INKLING, f"{J}{F}{END}{cut}").faults
    assert fault.incomplete


def said(*chunks: str) -> list[str]:
    context = Context(None)
    machine = FormatMachine(INKLING.read(context), context)
    return ["".join(event.text for event in machine.feed(chunk) if isinstance(event, Content)) for chunk in [*chunks]]


def test_only_a_first_word_is_held() -> None:
    assert said("Hel", "lo", " wor", "ld") == ["", "", "Hello wor", "ld"]
    assert said(TEXT, "Hel", "lo") == ["", "Hel", "lo"]
    assert said(END, "Hel", "lo", "\n") == ["", "", "", "Hello\n"]


def test_the_name_is_sent_once_nothing_can_disqualify_it() -> None:
    context = Context(None)
    machine = FormatMachine(INKLING.read(context), context)
    assert not any(isinstance(event, CallStart) for event in machine.feed(f'f{J}{{"name":"f",'))
    (start,) = (event for event in machine.feed('"args":{') if isinstance(event, CallStart))
    assert (start.name, start.start) == ("f", 0)


def test_the_places_of_name_and_arguments() -> None:
    text = f'x{J}{{"name": "f", "args": {{"a": 1}}}}'
    span = read_details(INKLING, text).spans[-1]
    assert [(part.kind, text[part.start : part.end]) for part in span.parts] == [
        ("name", "f"),
        ("arguments", '{"a": 1}'),
        ("key", '"a"'),
        ("value", "1"),
    ]
