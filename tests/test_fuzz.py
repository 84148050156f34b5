"""A bounded run of every fuzz target; `make fuzz` runs them for long."""

from __future__ import annotations

import pytest

from fuzz.__main__ import fuzz
from sluicegate.dialects.registry import TOOLS


@pytest.mark.parametrize("target", [form.names[0] for form in TOOLS.formats] + ["reasoning:qwen3", "reasoning:inkling"])
def test_a_few_inputs(target: str) -> None:
    runs, failure = fuzz(target, 30, "-runs=100", "-seed=1")
    assert not failure
    assert runs > 0
