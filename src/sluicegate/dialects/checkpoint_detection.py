"""Which parsers fit a checkpoint: the markers that its chat template writes and that its vocabulary holds.

Weaker than the table of model names, which knows the families: a template spells its markers in many ways. It speaks
where the name is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, cast

from msgspec import Struct


class CheckpointMatch(Struct, frozen=True):
    """The parsers that the files speak of, None for a side of which they say nothing, and why."""

    tool_call_parser: str | None
    reasoning_parser: str | None
    reasons: tuple[str, ...]


class Sign(Struct, frozen=True):
    """A template with all of these literals, and none of the others, writes this format."""

    parser: str
    literals: tuple[str, ...]
    without: tuple[str, ...] = ()


# The first that fits counts: what more than one format writes stands behind what only one writes.
TOOL_SIGNS: Final = (
    Sign("inkling", ("<|content_invoke_tool_json|>",)),
    Sign("kimi_k3", ("<|open|>", "<|sep|>")),
    Sign("kimik2", ("<|tool_calls_section_begin|>",)),
    Sign("gemma4", ("<|tool_call>",)),
    Sign("minimax_m3", ("]<]minimax[>[",)),
    Sign("minimax_m2", ("<minimax:tool_call>",)),
    Sign("deepseek_v41", ("｜DSML｜ ",)),
    Sign("deepseek_v4", ("｜DSML｜", "tool_calls"), ("function_calls",)),
    Sign("deepseek32", ("｜DSML｜",)),
    Sign("deepseek", ("<｜tool▁calls▁begin｜>", "```json")),
    Sign("deepseek31", ("<｜tool▁calls▁begin｜>",)),
    Sign("step3", ("<｜tool_calls_begin｜>",)),
    Sign("cohere", ("<|START_ACTION|>",)),
    Sign("sarashina", ("<|tool_calls|>",)),
    Sign("mistral", ("[TOOL_CALLS]",)),
    Sign("hy_v4", ("<tool_calls", "<arg_key")),
    Sign("glm45_moe", ("<tool_call>", "\\n<arg_key>")),
    Sign("glm45_moe", ("<tool_call>", "\n<arg_key>")),
    Sign("glm47_moe", ("<tool_call>", "<arg_key>")),
    Sign("qwen_xml", ("<tool_call>", "<function=")),
    Sign("qwen", ("<tool_call>", "arguments")),
    Sign("llama", ("<|python_tag|>",)),
)

REASONING_SIGNS: Final = (
    Sign("inkling", ("<|content_thinking|>",)),
    Sign("kimi_k3", ("<|open|>", "<|sep|>")),
    Sign("gemma4", ("<|channel>",)),
    Sign("minimax_m3", ("<mm:think>",)),
    Sign("kimi", ("◁think▷",)),
    Sign("cohere_cmd", ("<|START_THINKING|>",)),
)

# Who writes `<think>` is told by how it writes its calls: parser, and the one for templates that always open the block.
THINKERS: Final = {
    "qwen": ("qwen3", "qwen3_thinking"),
    "qwen_xml": ("qwen3", "qwen3_thinking"),
    "glm45_moe": ("glm45", "glm45"),
    "glm47_moe": ("glm45", "glm45"),
    "kimik2": ("kimi_k25", "kimi_thinking"),
    "minimax_m2": ("minimax", "minimax"),
    "step3": ("step3", "step3"),
    "hy_v4": ("hy_v4", "hy_v4"),
    "deepseek": ("deepseek_r1", "deepseek_r1"),
    "deepseek31": ("deepseek_v31", "deepseek_v31"),
    "deepseek32": ("deepseek_v31", "deepseek_v31"),
    "deepseek_v4": ("deepseek_v4", "deepseek_v4"),
    "deepseek_v41": ("deepseek_v41", "deepseek_v41"),
}

GENERATION_PROMPT: Final = re.compile(r"add_generation_prompt\b")


def detect_from_checkpoint(
    chat_template: str | None = None, *, added_tokens: Iterable[str] = (), response_template: Any = None
) -> CheckpointMatch:
    """What a chat template, the added tokens and a `response_template` object say; none of them has to be there.

    Nothing here raises: what cannot be understood says nothing.
    """
    reasons: list[str] = []
    declared = " ".join(_strings(response_template))
    template = f"{chat_template or ''} {declared}"
    tokens = frozenset(added_tokens)
    where = "the chat template writes" if chat_template else "the response template names"
    tools, why = _first(TOOL_SIGNS, template)
    if tools is not None:
        reasons.append(f"{where} {why}")
    else:
        tools, why = _first(TOOL_SIGNS, tokens)
        if tools is not None:
            reasons.append(f"the vocabulary holds {why}")
    reasoning, why = _first(REASONING_SIGNS, template)
    if reasoning is not None:
        reasons.append(f"{where} {why}")
    elif "<think" in template:
        by_choice, always = THINKERS.get(tools or "", ("base", "base"))
        reasoning = always if _always_opens(chat_template or "") else by_choice
        reasons.append(f"{where} <think>")
    else:
        reasoning, why = _first(REASONING_SIGNS, tokens)
        if reasoning is not None:
            reasons.append(f"the vocabulary holds {why}")
    return CheckpointMatch(tools, reasoning, tuple(reasons))


def _first(signs: tuple[Sign, ...], found_in: str | frozenset[str]) -> tuple[str | None, str]:
    for sign in signs:
        if all(literal in found_in for literal in sign.literals) and not any(w in found_in for w in sign.without):
            return sign.parser, " and ".join(map(repr, sign.literals))
    return None, ""


def _always_opens(template: str) -> bool:
    """Whether what the template writes behind `add_generation_prompt` opens the block without a condition."""
    places = list(GENERATION_PROMPT.finditer(template))
    if not places:
        return False
    tail = template[places[-1].end() :]
    return "<think>" in tail and "</think>" not in tail and "thinking" not in tail


def _strings(value: object) -> Iterable[str]:
    """All texts inside a JSON value, however deep, without the escapes of regular expressions."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield re.sub(r"\\([^\w\s])", r"\1", item)
        elif isinstance(item, dict):
            waiting.extend(cast("dict[object, object]", item).values())
        elif isinstance(item, list):
            waiting.extend(cast("list[object]", item))
