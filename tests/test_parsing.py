"""The library's front door: start states, limits, names, machines, and hints about the wrong parser."""

from __future__ import annotations

import pytest

import sluicegate
from sluicegate import (
    ConflictingStart,
    Content,
    Machine,
    MachineFinished,
    Reasoning,
    TextLimitExceeded,
    UnknownDialect,
    parse,
    parse_reasoning,
    parse_tool_calls,
)
from sluicegate.dialects.registry import REASONING

PAIRS = [name for name in REASONING.names if name not in {"passthrough", "gemma4", "inkling", "kimi_k3", "hy_v4"}]


def codes(outcome: sluicegate.Outcome) -> list[str]:
    return [diagnostic.code for diagnostic in outcome.diagnostics]


# The prompt


@pytest.mark.parametrize(
    ("parser", "prompt", "inside"),
    [
        ("qwen3", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n", True),
        ("qwen3", "<|im_start|>assistant\n<think>\n\n</think>\n\n", False),
        ("qwen3", "<|im_start|>user\nWhat is <think>?<|im_end|>\n<|im_start|>assistant\n", False),
        ("qwen3_thinking", "<|im_start|>assistant\n", False),
        ("qwen3", "<|im_start|>assistant\n<think>\nThe user wants a list of", True),
        ("deepseek_r1", "<｜User｜>Why <think>?<｜Assistant｜>", False),
        ("deepseek_r1", "<｜User｜>Why?<｜Assistant｜><think>\n", True),
        ("minimax", "]~b]user\nWhat is <think>?[e~[\n]~b]ai\n", False),
        ("minimax", "]~b]ai\n<think>\n", True),
        ("minimax_m3", "]~b]ai\n<mm:think>", True),
        ("cohere_cmd", "<|CHATBOT_TOKEN|><|START_THINKING|>", True),
        ("cohere_cmd", "<|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>", False),
        ("kimi", "<|im_middle|>◁think▷", True),
        ("gemma4", "<start_of_turn>model\n<|channel>thought\n", True),
        ("gemma4", "<|channel>thought\n<channel|>", False),
        ("inkling", "<|message_model|><|content_thinking|>", True),
        ("inkling", "<|content_thinking|>Old.<|end_message|><|message_model|>", False),
        ("kimi_k3", '<|open|>message role="assistant"<|sep|><|open|>think<|sep|>', True),
        ("kimi_k3", "<|open|>think<|sep|><|close|>think<|sep|><|open|>response<|sep|>", False),
        ("hy_v4", "<｜hy_Assistant｜><think:6124c78e>", True),
        ("hy_v4", "<think:6124c78e></think:6124c78e>", False),
        ("hy_v4", "<think:a></think:b>", True),
        ("hy_v4", "plain", False),
        ("passthrough", "<think>", False),
    ],
)
def test_the_prompt_decides_by_what_it_really_ends_with(parser: str, prompt: str, inside: bool) -> None:
    form = REASONING.find(parser)
    assert bool(form.opened_by(prompt)) is inside
    outcome = parse_reasoning("text", parser, prompt=prompt)
    assert (outcome.reasoning, outcome.content) == (("text", "") if inside else ("", "text"))


def test_the_prompt_fixes_the_suffix_of_the_markers() -> None:
    outcome = parse_reasoning("a</think:b>c</think:x>d", "hy_v4", prompt="<think:x>")
    assert (outcome.reasoning, outcome.content) == ("a</think:b>c", "d")


def test_an_empty_prompt_says_nothing() -> None:
    assert parse_reasoning("text", "qwen3_thinking", prompt="").reasoning == "text"


def test_a_prompt_and_a_contradicting_start_state_are_refused() -> None:
    with pytest.raises(ConflictingStart, match="in_reasoning is false, but the prompt ends inside a block"):
        parse_reasoning("text", "qwen3", in_reasoning=False, prompt="<think>\n")
    with pytest.raises(ConflictingStart, match="in_reasoning is true, but the prompt ends outside"):
        parse_reasoning("text", "qwen3", in_reasoning=True, prompt="Hello")
    assert parse_reasoning("text", "qwen3", in_reasoning=True, prompt="<think>\n").reasoning == "text"


# Diagnostics


@pytest.mark.parametrize("parser", PAIRS)
def test_what_is_wrong_with_a_block_is_reported(parser: str) -> None:
    form = REASONING.find(parser)
    start, end = form.markers[0], form.end  # type: ignore[attr-defined]
    assert codes(parse_reasoning(f"{start}a{end}b", parser)) == []
    assert codes(parse_reasoning(f"{start}a", parser)) == ["unclosed_reasoning"]
    outcome = parse_reasoning(f"a{end}b", parser, in_reasoning=False)
    assert codes(outcome) == ["stray_reasoning_marker"]
    assert (outcome.diagnostics[0].start, outcome.diagnostics[0].raw) == (1, end)
    assert codes(parse_reasoning(f"{end}b", parser, in_reasoning=False)) == ["stray_reasoning_marker"]
    behind = parse_reasoning(f"{start}a{end}b{start}c", parser)
    assert [(found.code, found.start) for found in behind.diagnostics] == [
        ("stray_reasoning_marker", len(start) + len(end) + 2)
    ]


def test_a_call_that_ends_the_block_is_reported_as_information() -> None:
    (found,) = parse_reasoning('<think>a<tool_call>{"name": "f"}', "qwen3").diagnostics
    assert (found.code, found.severity, found.start, found.end) == ("unclosed_reasoning", "info", 7, 8)


@pytest.mark.parametrize(
    ("parser", "text", "found"),
    [
        ("kimi_k3", "<|open|>think<|sep|>a", ["unclosed_reasoning"]),
        ("kimi_k3", "a<|open|>think<|sep|>b<|open|>tools<|sep|>", ["unclosed_reasoning"]),
        ("kimi_k3", "<|open|>response<|sep|>a<|close|>think<|sep|>", ["stray_reasoning_marker"]),
        ("inkling", "<|content_thinking|>a<|content_invoke_tool_json|>", ["unclosed_reasoning"]),
        ("gemma4", "<|channel>a", ["unclosed_reasoning"]),
        ("gemma4", "a<channel|>b", ["stray_reasoning_marker"]),
        ("hy_v4", "<think:x>a", ["unclosed_reasoning"]),
        ("hy_v4", "a</think:x>b<think:x>", ["stray_reasoning_marker", "stray_reasoning_marker"]),
        ("hy_v4", "<think>a<tool_calls><tool_call>", ["unclosed_reasoning"]),
    ],
)
def test_what_is_wrong_with_a_channel_is_reported(parser: str, text: str, found: list[str]) -> None:
    assert codes(parse_reasoning(text, parser)) == found


def test_markers_of_another_format_are_named() -> None:
    (found,) = parse_reasoning("a ◁think▷b◁/think▷", "qwen3").diagnostics
    assert (found.code, found.start, found.raw) == ("other_format_markers", 2, "◁think▷")
    assert "reasoning format kimi" in found.message
    assert codes(parse_reasoning("<think>◁think▷</think>", "qwen3")) == []
    (found,) = parse_tool_calls("[TOOL_CALLS] x", "qwen").diagnostics
    assert "tool format mistral" in found.message
    both = parse("◁think▷[TOOL_CALLS] x", tool_call_parser="qwen", reasoning_parser="qwen3")
    assert codes(both) == ["other_format_markers", "other_format_markers"]
    machine = Machine("qwen", "qwen3")
    for character in "a ◁think▷ then <think>b</think>":
        machine.feed(character)
    assert codes(machine.finish_outcome()) == []


@pytest.mark.parametrize(
    "text",
    ["]<]minimax[>[<tool_call>", "]<]minimax[>[<tool_c", "]<]minimax[>[", "a ]<]minimax[>[ b", "]<]minimax[", "<too"],
)
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_the_marker_that_is_named_does_not_depend_on_how_the_text_comes(text: str, size: int) -> None:
    machine = Machine("llama")
    for start in range(0, len(text), size):
        machine.feed(text[start : start + size])
    assert machine.finish_outcome(keep_frame=True) == parse_tool_calls(text, "llama")


# Names and limits


def test_an_unknown_name_is_an_error_that_names_close_ones() -> None:
    with pytest.raises(UnknownDialect, match="Unknown reasoning parser: qwen_3; did you mean qwen3") as unknown:
        parse_reasoning("", "qwen_3")
    assert (unknown.value.kind, unknown.value.name) == ("reasoning", "qwen_3")
    assert "qwen3" in unknown.value.known
    with pytest.raises(UnknownDialect, match="Unknown tool parser: qwenn"):
        parse_tool_calls("", "qwenn")
    with pytest.raises(UnknownDialect):
        parse("", tool_call_parser="qwen", reasoning_parser="no such")


def test_the_limit_counts_bytes_of_all_text_fed() -> None:
    assert parse_reasoning("é" * 4, "base", text_limit=8).content == "é" * 4
    with pytest.raises(TextLimitExceeded, match="Buffer overflow: 10 bytes exceeds maximum 8") as limit:
        parse_reasoning("é" * 5, "base", text_limit=8)
    assert (limit.value.size, limit.value.limit) == (10, 8)
    machine = Machine(None, "base", text_limit=8)
    for _ in range(4):
        machine.feed("é")
    with pytest.raises(TextLimitExceeded):
        machine.feed("é")
    assert parse_reasoning("\ud800" * 2, "base", text_limit=6).content == "\ud800" * 2
    assert parse_reasoning("a" * 9, "base", text_limit=0).content == "a" * 9
    assert parse_reasoning("a" * 9, "passthrough", text_limit=8).content == "a" * 9
    assert parse_tool_calls("a" * 9, "qwen").content == "a" * 9


# Machines


def test_a_machine_without_parsers_passes_everything_on() -> None:
    machine = Machine()
    assert machine.feed("<think>") == [Content(0, 7, "<think>")]
    assert machine.finish_outcome().content == "<think>"
    assert parse("<think>").content == "<think>"


@pytest.mark.parametrize("tools", ["passthrough", None])
def test_passthrough_on_one_side_leaves_the_other(tools: str | None) -> None:
    assert Machine(tools, "base").feed("<think>a")[-1] == Reasoning(7, 8, "a")
    machine = Machine("qwen", "passthrough")
    machine.feed('<think>a</think><tool_call>{"name": "f", "arguments": {}}</tool_call>')
    outcome = machine.finish_outcome()
    assert (outcome.content, len(outcome.calls), outcome.finish) == ("<think>a</think>", 1, "tool_calls")


def test_a_finished_machine_takes_no_more_text() -> None:
    machine = Machine("qwen", "qwen3")
    machine.finish()
    with pytest.raises(MachineFinished):
        machine.feed("a")
    with pytest.raises(MachineFinished):
        machine.finish()
    assert machine.finish_outcome() == machine.finish_outcome()


def test_a_machine_that_does_not_remember_has_no_outcome() -> None:
    machine = Machine(None, "base", remember=False)
    assert machine.feed("a") == [Content(0, 1, "a")]
    with pytest.raises(MachineFinished, match="remember=True"):
        machine.finish_outcome()


def test_parsers_come_from_the_model_where_none_is_named() -> None:
    text = '<think>\na\n</think>\n\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    outcome = parse(text, model="Qwen/Qwen3-8B")
    assert (outcome.reasoning, outcome.content, outcome.calls[0].name) == ("a", "", "f")
    assert parse(text, model="Qwen/Qwen3-8B", reasoning_parser="passthrough").reasoning == ""
    assert parse(text, model="acme/unheard-of").content == text
    assert {"qwen3", "passthrough"} <= set(sluicegate.reasoning_parsers())
    assert {"qwen", "passthrough"} <= set(sluicegate.tool_call_parsers())
