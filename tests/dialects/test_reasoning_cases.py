"""Every recorded reasoning case, whole and in every cutting: one outcome."""

from __future__ import annotations

from typing import Any

import pytest

from sluicegate.dialects.reasoning import REASONING_FORMATS
from tests.support.parsing import cases, check_events, plans, run_reasoning

FORMATS = {name: form for form in REASONING_FORMATS for name in form.names}


@pytest.mark.parametrize("case", cases("reasoning*.jsonl"), ids=lambda case: case["id"])
def test_recorded_case(case: dict[str, Any]) -> None:
    form, text, in_reasoning = FORMATS[case["parser"]], case["text"], case.get("in_reasoning")
    whole = check_events(run_reasoning(form, [text], in_reasoning), text)
    assert {"normal_text": whole.content, "reasoning_text": whole.reasoning} == case["expect"]
    for plan, chunks in plans(text, randoms=2):
        assert check_events(run_reasoning(form, chunks, in_reasoning), text) == whole, plan


def test_every_recorded_parser_is_registered() -> None:
    assert {case["parser"] for case in cases("reasoning*.jsonl")} <= set(FORMATS)
    assert len(FORMATS) == 21
