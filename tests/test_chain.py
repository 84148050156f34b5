"""Reasoning and calls in one pass: every recorded case in every cutting, and the law of the two readings."""

from __future__ import annotations

from typing import Any

import pytest

import sluicegate
from sluicegate import ArgumentsDelta, Content, Frame, Machine, Reasoning
from sluicegate.core.chain import Chain
from sluicegate.core.context import Context
from sluicegate.core.machine import FormatMachine
from sluicegate.core.patterns import Steps
from sluicegate.dialects.registry import TOOLS
from tests.support.parsing import cases, check_events, exact, plans


def calls(outcome: sluicegate.Outcome) -> list[tuple[str, Any]]:
    return [(call.name, exact(call.arguments)) for call in outcome.calls]


def machine(case: dict[str, Any]) -> Machine:
    return Machine(
        case["tool_call_parser"],
        case["reasoning_parser"],
        tools=case["tools"],
        in_reasoning=case.get("in_reasoning"),
    )


@pytest.mark.parametrize("case", cases("combined.jsonl"), ids=lambda case: case["id"])
def test_recorded_case(case: dict[str, Any]) -> None:
    text, want, framed_want = case["text"], case["expect"], case["keep_frame"]
    whole = machine(case)
    check_events([*whole.feed(text), *whole.finish()], text)
    outcome, framed = whole.finish_outcome(), whole.finish_outcome(keep_frame=True)
    assert outcome.reasoning == want["reasoning_text"]
    assert outcome.content == want["content"]
    assert calls(outcome) == [(call["name"], exact(call["arguments"])) for call in want["tool_calls"]]
    assert framed.reasoning == framed_want["reasoning_text"]
    assert framed.content == framed_want["remaining_text"]
    for plan, chunks in plans(text):
        cut = machine(case)
        for chunk in chunks:
            cut.feed(chunk)
        assert cut.finish_outcome() == outcome, plan


@pytest.mark.parametrize("case", cases("combined.jsonl"), ids=lambda case: case["id"])
def test_with_frames_one_pass_equals_the_two_classic_parses(case: dict[str, Any]) -> None:
    split = sluicegate.parse_reasoning(case["text"], case["reasoning_parser"], in_reasoning=case.get("in_reasoning"))
    assert split.content == case["keep_frame"]["normal_text"]
    read = sluicegate.parse_tool_calls(split.content, case["tool_call_parser"], tools=case["tools"])
    whole = sluicegate.parse(
        case["text"],
        tools=case["tools"],
        tool_call_parser=case["tool_call_parser"],
        reasoning_parser=case["reasoning_parser"],
        in_reasoning=case.get("in_reasoning"),
        keep_frame=True,
    )
    assert (whole.reasoning, whole.content) == (split.reasoning, read.content)
    assert [(call.name, call.arguments) for call in whole.calls] == [(call.name, call.arguments) for call in read.calls]


def test_a_call_that_a_reasoning_marker_interrupts_has_a_span_for_each_part() -> None:
    text = (
        '<|message_model|><|content_text|><tool_call>{"name": "f", "argu<|message_user|>ments": {"a": 1}}</tool_call>'
    )
    reading = Machine("qwen", "inkling", details=True)
    outcome = check_events([*reading.feed(text), *reading.finish()], text)
    assert [(call.name, call.arguments) for call in outcome.calls] == [("f", '{"a":1}')]
    parts = [span for span in outcome.spans if span.kind == "call"]
    assert [text[span.start : span.end] for span in parts] == [
        '<tool_call>{"name": "f", "argu',
        'ments": {"a": 1}}</tool_call>',
    ]
    assert {span.call for span in parts} == {0}


class NewlinesAreFrames:
    """A reasoning format of somebody else, whose template's newlines stand anywhere in the answer."""

    def read(self, context: Context) -> Steps:
        while True:
            window = context.window
            for piece in window.text[window.pos :].splitlines(keepends=True):
                start = window.offset
                window.pos += len(piece)
                body = piece.rstrip("\n")
                context.events.append(Content(start, start + len(body), body))
                if body != piece:
                    context.events.append(Frame(start + len(body), window.offset, "\n", "content"))
            if window.final:
                return
            yield


def test_frames_may_stand_anywhere_in_the_answer() -> None:
    thoughts, calls = Context(), Context()
    chain = Chain(
        FormatMachine(NewlinesAreFrames().read(thoughts), thoughts),
        FormatMachine(TOOLS.find("passthrough").read(calls), calls),
    )
    outcome = check_events([*chain.feed("a\nb\n"), *chain.feed("c"), *chain.finish()], "a\nb\nc")
    assert [(span.kind, span.start, span.end) for span in outcome.spans] == [
        ("content", 0, 1),
        ("frame", 1, 2),
        ("content", 2, 3),
        ("frame", 3, 4),
        ("content", 4, 5),
    ]


def test_thoughts_that_only_the_tool_format_sees_are_in_neither_text() -> None:
    text = "a<|close|>think<|sep|>b<|open|>think<|sep|>c<|close|>think<|sep|>d"
    reading = Machine("kimi_k3", "kimi_k3")
    outcome = check_events([*reading.feed(text), *reading.finish()], text)
    assert (outcome.reasoning, outcome.content) == ("a", "bd")


def test_reasoning_markers_inside_a_call_are_data_and_not_reported() -> None:
    text = 'a</think>b<tool_call>{"name": "f", "arguments": {"x": "</think>"}}</tool_call>'
    outcome = sluicegate.parse(text, tool_call_parser="qwen", reasoning_parser="qwen3")
    assert [(found.code, found.start) for found in outcome.diagnostics] == [("stray_reasoning_marker", 1)]


def test_a_stream_sends_each_text_as_soon_as_its_side_is_known() -> None:
    reading = Machine("qwen", "qwen3", tools=[])
    assert reading.feed("<think>\nWhy")[-1] == Reasoning(8, 11, "Why")
    assert reading.feed("\n</think>\n\nOne")[-1] == Content(22, 25, "One")
    assert reading.feed('<tool_call>{"name": "f", "arguments": {"a": ')[-1] == ArgumentsDelta(0, '{"a":')
    assert reading.feed("1, ")[-1] == ArgumentsDelta(0, "1,")
