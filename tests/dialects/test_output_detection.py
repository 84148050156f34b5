"""Which parsers fit a raw output."""

from __future__ import annotations

from typing import Any

import pytest

from sluicegate.dialects.output_detection import Candidate, detect_from_text
from sluicegate.dialects.registry import REASONING, TOOLS
from tests.support.parsing import cases


def best(candidates: list[Candidate], kind: str) -> list[str]:
    """The parsers with the highest score."""
    of_kind = [candidate for candidate in candidates if candidate.kind == kind]
    return [candidate.parser for candidate in of_kind if candidate.score == of_kind[0].score]


@pytest.mark.parametrize("case", cases("combined.jsonl"), ids=lambda case: case["id"])
def test_the_tool_parser_of_a_recorded_output_is_among_the_best(case: dict[str, Any]) -> None:
    candidates = detect_from_text(case["text"])
    assert all(0 < candidate.score <= 1 and candidate.reasons for candidate in candidates)
    if case["expect"]["tool_calls"]:
        assert TOOLS.find(case["tool_call_parser"]).names[0] in best(candidates, "tool_call")


@pytest.mark.parametrize("case", cases("combined.jsonl"), ids=lambda case: case["id"])
def test_the_reasoning_parser_of_a_recorded_output_is_a_candidate(case: dict[str, Any]) -> None:
    form = REASONING.find(case["reasoning_parser"])
    if any(marker in case["text"] for marker in form.markers):
        assert form.names[0] in {candidate.parser for candidate in detect_from_text(case["text"])}


def test_the_parser_that_leaves_nothing_comes_first_and_says_why() -> None:
    text = '<think>\nRome.\n</think>\n\nOk.\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    candidates = detect_from_text(text)
    assert best(candidates, "tool_call") == ["qwen"]
    assert best(candidates, "reasoning") == ["qwen3", "qwen3_thinking"]
    assert candidates[0].reasons == (
        "holds its marker <tool_call>",
        "1 call read",
        "leaves no marker in the answer",
    )
    json = next(candidate for candidate in candidates if candidate.parser == "json")
    assert "leaves <tool_call> in the answer" in json.reasons


def test_an_end_marker_alone_says_that_the_prompt_opened_the_block() -> None:
    candidates = {candidate.parser: candidate for candidate in detect_from_text("Rome.\n</think>\n\nRain.")}
    assert "needs in_reasoning: true" in candidates["qwen3"].reasons
    assert candidates["qwen3_thinking"].score > candidates["qwen3"].score


def test_a_broken_call_counts_less_than_a_whole_one() -> None:
    whole = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    scores = [
        next(candidate.score for candidate in detect_from_text(text) if candidate.parser == "qwen")
        for text in (whole, whole + "<tool_call>{oops}</tool_call>", '<tool_call>{"name": "f", "argum')
    ]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3


@pytest.mark.parametrize("text", ["", "It rains in Rome.", "Write <tool_call> to open a call."])
def test_plain_text_has_no_candidate(text: str) -> None:
    assert [candidate for candidate in detect_from_text(text) if candidate.kind == "tool_call"] == []


def test_an_open_block_is_half_a_sign() -> None:
    candidates = {candidate.parser: candidate for candidate in detect_from_text("<|START_THINKING|>Rome")}
    assert list(candidates) == ["cohere_cmd"]
    assert "the block is not closed" in candidates["cohere_cmd"].reasons


def test_a_block_without_text_that_is_not_closed_is_no_sign_but_its_marker() -> None:
    (candidate,) = detect_from_text("<|START_THINKING|>")
    assert candidate.reasons[:2] == ("holds its start marker <|START_THINKING|>", "leaves no marker in the answer")
