"""Kimi: Kimi-VL Thinking, Kimi-K2 Thinking, Kimi-K2.5 and later.

    <think>The user asks for the weather.</think>I will look it up.<|tool_calls_section_begin|>…

The templates write no white space around the block. Source: the chat templates of the checkpoints.
"""

from sluicegate.core.patterns import SPACE
from sluicegate.core.reasoning import PairFormat, call_opener

SECTIONS = tuple(
    call_opener(section, SPACE, "<|tool_call_begin|>")
    for section in ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>")
)

KIMI = PairFormat("kimi", start="◁think▷", end="◁/think▷", openers=SECTIONS)
KIMI_K25 = PairFormat("kimi_k25", start="<think>", end="</think>", openers=SECTIONS, call_ends_reasoning=True)
KIMI_THINKING = PairFormat(
    "kimi_thinking",
    start="<think>",
    end="</think>",
    begins_in_reasoning=True,
    openers=SECTIONS,
    call_ends_reasoning=True,
)
