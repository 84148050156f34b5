"""What holds for every reasoning format, because it is registered: the promises of the parsing contract."""

from __future__ import annotations

import time
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluicegate.core.context import Context
from sluicegate.core.machine import FormatMachine, ReasoningFormat
from sluicegate.core.patterns import RUN_LIMIT
from sluicegate.dialects.reasoning import REASONING_FORMATS
from tests.support.cost import assert_no_dearer
from tests.support.parsing import check_events, pieces, random_pieces, run_reasoning
from tests.support.strategies import outputs, recorded_texts

EXAMPLES = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
RECORDED = "reasoning*.jsonl"
START_STATES = (None, True, False)
# Where nothing but the next marker tells what the text in front of it is, all of it waits.
WAITS_FOR_THE_FIRST_MARKER = {("kimi_k3", None)}

by_format = pytest.mark.parametrize("form", REASONING_FORMATS, ids=lambda form: form.names[0])
by_start = pytest.mark.parametrize("in_reasoning", START_STATES)


def texts(form: ReasoningFormat) -> st.SearchStrategy[str]:
    return outputs(form.names[0], RECORDED, form.markers)


@by_format
@EXAMPLES
@given(data=st.data())
def test_any_cutting_gives_one_outcome_and_the_spans_tile_the_text(form: ReasoningFormat, data: st.DataObject) -> None:
    text = data.draw(texts(form))
    in_reasoning = data.draw(st.sampled_from(START_STATES))
    whole = check_events(run_reasoning(form, [text], in_reasoning), text)
    for chunks in (pieces(text, 1), random_pieces(text, data.draw(st.integers(0, 99)))):
        assert check_events(run_reasoning(form, chunks, in_reasoning), text) == whole


@by_format
@by_start
@EXAMPLES
@given(data=st.data())
def test_what_is_held_is_bounded(form: ReasoningFormat, in_reasoning: bool | None, data: st.DataObject) -> None:
    """No more than the longest marker with its variable parts, but for white space that begins the output."""
    if (form.names[0], in_reasoning) in WAITS_FOR_THE_FIRST_MARKER:
        return
    text = data.draw(texts(form))
    context = Context()
    machine = FormatMachine(form.read(context, in_reasoning), context)
    blank = len(text) - len(text.lstrip())
    said = fed = 0
    for chunk in pieces(text, 5):
        fed += len(chunk)
        said += sum(event.end - event.start for event in machine.feed(chunk) if hasattr(event, "start"))
        if fed > blank:
            assert fed - said <= 64 + 2 * RUN_LIMIT
    machine.finish()


@by_format
@by_start
def test_text_without_the_first_characters_of_markers_passes_at_once(
    form: ReasoningFormat, in_reasoning: bool | None
) -> None:
    if (form.names[0], in_reasoning) in WAITS_FOR_THE_FIRST_MARKER:
        return
    context = Context()
    machine = FormatMachine(form.read(context, in_reasoning), context)
    for chunk in ("Plain", " ", "words", ", ", "no mark-up at all", "."):
        assert "".join(getattr(event, "text", "") for event in machine.feed(chunk)) == chunk


@by_format
def test_behind_the_end_of_a_pair_nothing_is_held(form: ReasoningFormat) -> None:
    """A marker that may begin is held only where it could count."""
    end = getattr(form, "end", None)
    if end is None:
        return
    context = Context()
    machine = FormatMachine(form.read(context, True), context)
    machine.feed(f"Why.{end}\n\nIt")
    for chunk in (" is", form.markers[0][:-1], "<", end[:-1]):
        assert "".join(getattr(event, "text", "") for event in machine.feed(chunk)) == chunk


def cost(form: ReasoningFormat, text: str, in_reasoning: bool | None) -> float:
    """Seconds of processor time per character of a feed of single characters."""
    context = Context()
    machine = FormatMachine(form.read(context, in_reasoning), context)
    start = time.thread_time()
    for character in text:
        machine.feed(character)
    machine.finish()
    return (time.thread_time() - start) / len(text)


@by_format
@pytest.mark.parametrize("kind", ["typical", "blank", "plain", "markers"])
@pytest.mark.parametrize("size", [32_768, pytest.param(262_144, marks=pytest.mark.full)])
def test_the_cost_of_a_character_does_not_grow_with_the_text(form: ReasoningFormat, kind: str, size: int) -> None:
    typical = max(recorded_texts(form.names[0], RECORDED), key=len, default="text ")
    unit = {"typical": typical, "blank": "\n", "plain": "word ", "markers": "".join(form.markers) or "x"}[kind]
    text = unit * (size // len(unit) + 1)
    small, large = (partial(cost, form, text[:length], None) for length in (size // 4, size))
    assert_no_dearer(small, large, factor=1.5, slack=2e-7)


HOSTILE = {
    "openers": lambda marker: marker * 4_000,
    "cut openers": lambda marker: marker[:-1] * 4_000,
    "white space": lambda marker: " " * 50_000 + marker + "\n" * 50_000,
    "conditions": lambda marker: ("<tool_call>" + "\n" * 255) * 100,
    "names": lambda marker: ("<tool_call>\n" + "a" * 250) * 100,
    "tags": lambda marker: ("<|open|>" + " " * 300) * 100,
    "headers": lambda marker: ("<|message_model|>" + "a" * 255) * 100,
    "suffixes": lambda marker: ("<think:" + "a" * 255) * 100,
    "sections": lambda marker: "".join(f"<tool_calls:{number}>\n<tool_call:" for number in range(1_000)),
}


@by_format
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_answered_in_linear_time(form: ReasoningFormat, hostile: str) -> None:
    for marker in form.markers or ("<think>",):
        text = HOSTILE[hostile](marker)
        for in_reasoning in START_STATES:
            start = time.thread_time()
            whole = check_events(run_reasoning(form, [text], in_reasoning), text)
            assert time.thread_time() - start < 4
            assert check_events(run_reasoning(form, pieces(text, 997), in_reasoning), text) == whole
