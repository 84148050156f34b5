"""Which parsers fit a model, and what counts when several sources name one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate import InvalidDialect, Override, choose_parsers
from sluicegate.dialects.detection import compile_pattern, match_model
from sluicegate.dialects.model_table import MODEL_TABLE
from sluicegate.dialects.registry import REASONING
from tests.support.parsing import cases


@pytest.mark.parametrize("case", cases("model_detection.jsonl"), ids=lambda case: case["model"])
def test_recorded_model(case: dict[str, Any]) -> None:
    choice = choose_parsers(case["model"])
    assert {
        "tool_call_parser": choice.tool_call_parser,
        "reasoning_parser": choice.reasoning_parser,
    } == case["expect"]


@pytest.mark.parametrize(
    ("model", "pattern"),
    [
        ("some/step3000-checkpoint", None),
        ("me/gemma-4b", "gemma-"),
        ("me/gemma-4b-it", "gemma-"),
        ("google/gemma-4-27b-it", "gemma-4"),
        ("C:\\models\\Qwen\\Qwen3_Coder_30B", "qwen3-coder"),
        ("/data/qwen/other/place/thing", None),
        ("Qwen/Qwen3-30B-A3B-Thinking-2507/", "qwen3*thinking"),
        ("myqwen3", None),
        ("", None),
    ],
)
def test_pattern_that_decides(model: str, pattern: str | None) -> None:
    row = match_model(model)
    assert (row.pattern if row else None) == pattern


@given(st.text(alphabet="qwen3glm-45./_\\ 🙂bKİ", max_size=40))
def test_every_name_has_one_answer_whatever_its_spelling(model: str) -> None:
    assert match_model(model) == match_model(model.upper().lower().replace("-", "_")) or "İ" in model


def test_names_of_the_table_are_registered() -> None:
    assert {row[2] for row in MODEL_TABLE} <= set(REASONING.names)


def test_each_side_is_decided_on_its_own_and_says_by_what() -> None:
    overrides = (
        Override(pattern="qwen3", tool_call_parser="hermes", origin="--parser-override"),
        Override(pattern="qwen3", tool_call_parser="later", reasoning_parser="base"),
    )
    model = "Qwen/Qwen3-8B"
    choice = choose_parsers(model, tool_call_parser="mine", overrides=overrides, default_reasoning_parser="step3")
    assert (choice.tools.parser, choice.tools.decided_by) == ("mine", "request")
    assert (choice.reasoning.parser, choice.reasoning.decided_by) == ("base", "override")
    choice = choose_parsers(model, overrides=overrides[:1], default_reasoning_parser="step3")
    assert (choice.tools.parser, choice.tools.decided_by) == ("hermes", "override")
    assert "--parser-override" in choice.tools.why
    assert (choice.reasoning.parser, choice.reasoning.decided_by) == ("step3", "flag")
    choice = choose_parsers(model, checkpoint=("x", "y"))
    assert (choice.tools.parser, choice.tools.decided_by) == ("qwen", "model")
    choice = choose_parsers("acme/unheard-of", checkpoint=("x", None))
    assert (choice.tools.parser, choice.tools.decided_by) == ("x", "checkpoint")
    assert (choice.reasoning.parser, choice.reasoning.decided_by) == ("passthrough", "nothing")
    assert "acme/unheard-of" in choice.reasoning.why
    assert choose_parsers().tools.why == "no parser was named"


def test_an_exact_override_is_for_one_name_alone() -> None:
    override = Override(pattern="acme/one", reasoning_parser="base", exact=True)
    assert override.fits("acme/one")
    assert not override.fits("acme/one-more")


def test_a_pattern_without_a_character_is_refused() -> None:
    with pytest.raises(InvalidDialect, match="fits every model"):
        compile_pattern("**")
