"""Which parsers fit a checkpoint's own files."""

from __future__ import annotations

import pytest

from sluicegate.dialects.checkpoint_detection import REASONING_SIGNS, THINKERS, TOOL_SIGNS, detect_from_checkpoint
from sluicegate.dialects.registry import REASONING, TOOLS

ASSISTANT = "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"


@pytest.mark.parametrize(
    ("template", "tools", "reasoning"),
    [
        ('<tool_call>\n{"name": {{ name }}, "arguments": {{ arguments }}}\n</tool_call>', "qwen", None),
        ("<tool_call>\n<function={{ name }}>\n<think>" + ASSISTANT + "{% endif %}", "qwen_xml", "qwen3"),
        ("'<tool_call>' arguments " + ASSISTANT + "{{ '<think>\\n' }}{% endif %}", "qwen", "qwen3_thinking"),
        (
            "'<tool_call>' arguments "
            + ASSISTANT
            + "{% if enable_thinking is false %}{{ '<think>\\n\\n</think>' }}{% endif %}{% endif %}",
            "qwen",
            "qwen3",
        ),
        ("<tool_call>{function-name}\\n<arg_key>{arg-key-1}</arg_key> <think></think>", "glm45_moe", "glm45"),
        ("<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key> <think></think>", "glm47_moe", "glm45"),
        ("'<｜tool▁calls▁begin｜>' + '```json'", "deepseek", None),
        ("'<｜tool▁calls▁begin｜>' '<think>'", "deepseek31", "deepseek_v31"),
        ("'<｜DSML｜tool_calls>' <think>", "deepseek_v4", "deepseek_v4"),
        ("'<｜DSML｜function_calls>' tool_calls <think>", "deepseek32", "deepseek_v31"),
        ("<mm:think> ]<]minimax[>[<tool_call>", "minimax_m3", "minimax_m3"),
        ("<think> and nothing else", None, "base"),
        ("{{ messages }}", None, None),
        ("", None, None),
    ],
)
def test_chat_template(template: str, tools: str | None, reasoning: str | None) -> None:
    found = detect_from_checkpoint(template)
    assert (found.tool_call_parser, found.reasoning_parser) == (tools, reasoning)
    assert len(found.reasons) == (tools is not None) + (reasoning is not None)


def test_added_tokens_speak_where_there_is_no_template() -> None:
    found = detect_from_checkpoint(added_tokens=["<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"])
    assert (found.tool_call_parser, found.reasoning_parser) == ("kimi_k3", "kimi_k3")
    assert all("vocabulary" in reason for reason in found.reasons)
    assert detect_from_checkpoint(added_tokens=["<|endoftext|>"]).reasons == ()


def test_response_template_speaks_without_the_escapes_of_its_patterns() -> None:
    declared = {
        "version": 1,
        "fields": {
            "thinking": {"open": "<|channel>thought\n", "close": "<channel|>"},
            "tool_calls": {
                "open_pattern": r"<\|tool_call>call:(?P<name>\w+)",
                "close": ["<tool_call|>"],
                "repeats": True,
            },
        },
    }
    found = detect_from_checkpoint(response_template=declared)
    assert (found.tool_call_parser, found.reasoning_parser) == ("gemma4", "gemma4")
    assert detect_from_checkpoint(response_template=[1, None, {"a": 2.5}]).reasons == ()


def test_signs_name_registered_parsers() -> None:
    assert {sign.parser for sign in TOOL_SIGNS} | set(THINKERS) <= set(TOOLS.names)
    assert {sign.parser for sign in REASONING_SIGNS} <= set(REASONING.names)
    assert {parser for pair in THINKERS.values() for parser in pair} <= set(REASONING.names)
