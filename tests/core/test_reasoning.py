"""Reasoning formats as tables: what a table may not say, the template's white space, and what streams when."""

from __future__ import annotations

import pytest

from sluicegate import Content, Frame, InvalidDialect, Machine, Markup, Reasoning, parse_reasoning
from sluicegate.core.channels import ChannelFormat, Move, State
from sluicegate.core.offsets import OffsetMap
from sluicegate.core.reasoning import PairFormat
from sluicegate.core.tokens import Token, Vocabulary


def test_a_pair_needs_a_name_and_two_markers() -> None:
    with pytest.raises(InvalidDialect, match="needs a name"):
        PairFormat(start="<a>", end="</a>")
    with pytest.raises(InvalidDialect, match="one: the start marker and the end marker are the same"):
        PairFormat("one", start="<a>", end="<a>")


def channels(*names: str, to: str = "reasoning") -> ChannelFormat:
    return ChannelFormat(
        *names,
        markers=("<a>",),
        closer="</a>",
        vocabulary=Vocabulary((Token("open", "<a>"), Token("close", "</a>"))),
        states={
            "content": State(side="content", moves={"open": Move("drop", to)}),
            "reasoning": State(side="reasoning", moves={"close": Move("drop", "content")}),
        },
        regions={},
        starts=("content", "content", "content"),
    )


def test_a_table_of_channels_reaches_each_of_its_states_and_no_other() -> None:
    assert channels("one").begins_in_reasoning is False
    with pytest.raises(InvalidDialect, match="needs a name and a marker"):
        channels()
    with pytest.raises(
        InvalidDialect, match=r"one: states that are unknown or never reached: \['nowhere', 'reasoning'\]"
    ):
        channels("one", to="nowhere")


@pytest.mark.parametrize(
    ("parser", "text", "reasoning", "content"),
    [
        ("qwen3", "<think>\n\nab\n\n</think>\n\n\nc", "\nab\n", "\nc"),
        ("qwen3", "<think>\n</think>\n\nc", "", "c"),
        ("qwen3", "<think>\n\n</think>\nc", "", "\nc"),
        ("qwen3", "\n</think>\n\nc", "", "c"),
        ("qwen3", " \n<think>\na\n</think>c", " \na", "c"),
        ("qwen3", "\n\n\n</think>c", "\n", "c"),
        ("qwen3", "<think>\na\n", "a\n", ""),
        ("qwen3", '<think>\na\n<tool_call>{"', "a\n", '<tool_call>{"'),
        ("qwen3", "<think><think>\na</think>", "a", ""),
        ("nano_v3", "<think>\na\n</think>\n\nc", "a", "\nc"),
        ("glm45", "\n<think>\na\n</think>\nc", "\na\n", "c"),
        ("glm45", "\nc", "", "c"),
        ("glm45", "\n\n", "", "\n"),
        ("glm45", "\n</think>\n", "", ""),
        ("gemma4", "<|channel>thought\na\n<channel|>\nb<|channel>c\n<channel|>", "ac", "\nb"),
        ("gemma4", "<|channel>a\n<|tool_call>", "a\n", "<|tool_call>"),
        ("deepseek_v31", "<think>\na\n</think>\n\nc", "\na\n", "\n\nc"),
    ],
)
def test_only_what_templates_write_is_frame(parser: str, text: str, reasoning: str, content: str) -> None:
    for size in (1, 2, 3, len(text)):
        machine = Machine(None, parser)
        for start in range(0, len(text), size):
            machine.feed(text[start : start + size])
        outcome = machine.finish_outcome()
        assert (outcome.reasoning, outcome.content) == (reasoning, content)


def test_output_that_begins_in_the_block_has_no_frame_in_front_of_it() -> None:
    assert parse_reasoning("\na</think>", "glm45", in_reasoning=True, keep_frame=False).reasoning == "\na"
    assert parse_reasoning("\na\n</think>", "qwen3", in_reasoning=True, keep_frame=False).reasoning == "a"


def test_a_newline_waits_only_where_it_may_be_the_templates() -> None:
    machine = Machine(None, "qwen3")
    assert machine.feed("<think>\n") == [Markup(0, 7), Frame(7, 8, "\n", "reasoning")]
    assert machine.feed("a\n") == [Reasoning(8, 9, "a")]
    assert machine.feed("b") == [Reasoning(9, 11, "\nb")]
    assert machine.feed("\n</thin") == []
    assert machine.feed("k>\n") == [Frame(11, 12, "\n", "reasoning"), Markup(12, 20)]
    assert machine.feed("c") == [Content(20, 22, "\nc")]
    assert machine.feed("\n</think") == [Content(22, 30, "\n</think")]


def test_an_opener_waits_for_its_condition_and_no_longer() -> None:
    machine = Machine(None, "qwen3")
    machine.feed("<think>a")
    assert machine.feed("<tool_call>\n") == []
    assert machine.feed("no") == [Reasoning(8, 22, "<tool_call>\nno")]
    assert machine.feed("<tool_call>\n<function") == []
    assert [type(event) for event in machine.feed("=")][-1] is Content


def test_text_in_front_of_the_first_tag_waits_unless_the_prompt_is_known() -> None:
    machine = Machine(None, "kimi_k3")
    assert machine.feed("a") == []
    assert machine.feed("<|close|>think<|sep|>") == [Reasoning(0, 1, "a"), Markup(1, 22)]
    assert Machine(None, "kimi_k3", in_reasoning=True).feed("a") == [Reasoning(0, 1, "a")]


def test_think_tags_behind_the_think_channel_are_text_and_reported() -> None:
    text = "<|open|>think<|sep|>a<|close|>think<|sep|>b<|close|>think<|sep|>"
    outcome = parse_reasoning(text, "kimi_k3")
    assert (outcome.reasoning, outcome.content) == ("a", "b<|close|>think<|sep|>")
    assert [(found.code, found.start) for found in outcome.diagnostics] == [("stray_reasoning_marker", 43)]


def test_offsets_lead_back_to_the_raw_text() -> None:
    offsets = OffsetMap()
    assert offsets.is_identity
    offsets.add(0, 2)
    offsets.add(2, 3)
    assert offsets.is_identity
    offsets.add(5, 7)
    assert not offsets.is_identity
    assert [offsets.raw(offset) for offset in range(5)] == [0, 1, 2, 5, 6]
    assert offsets.raw_pieces(1, 4) == [(1, 3), (5, 6)]
    assert (offsets.raw_range(1, 4), offsets.raw_range(0, 0), offsets.raw_range(3, 3)) == ((1, 6), (0, 0), (3, 3))


def test_quotes_that_are_escaped_end_no_string_of_a_call() -> None:
    call = '<|content_invoke_tool_json|>{"a": "\\"<|end_message|>\\\\"}<|end_message|>'
    outcome = parse_reasoning(call + "<|content_thinking|>b", "inkling")
    assert (outcome.reasoning, outcome.content) == ("b", call)


def test_a_section_in_the_answer_of_hunyuan_settles_the_split() -> None:
    outcome = parse_reasoning("a<tool_calls:x> <tool_call:x><think:x>", "hy_v4")
    assert (outcome.reasoning, outcome.content) == ("", "a<tool_calls:x> <tool_call:x><think:x>")
    assert parse_reasoning("a<tool_calls:x><tool_call:y><think:x>b", "hy_v4").reasoning == "b"
