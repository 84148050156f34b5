"""Qwen3 and later, with and without a choice of thinking.

    <think>
    The user asks for the weather.
    </think>

    I will look it up.

The prompt of the thinking-only models leaves the block open. Source: the chat templates of the checkpoints.
"""

from sluicegate.core.reasoning import Frames, PairFormat
from sluicegate.dialects.reasoning.openers import QWEN_CALL

START, END = "<think>", "</think>"
FRAMES = Frames(block_start=True, block_end=True, behind="\n\n")

QWEN3 = PairFormat("qwen3", start=START, end=END, openers=(QWEN_CALL,), call_ends_reasoning=True, frames=FRAMES)
QWEN3_THINKING = PairFormat(
    "qwen3_thinking",
    start=START,
    end=END,
    begins_in_reasoning=True,
    openers=(QWEN_CALL,),
    call_ends_reasoning=True,
    frames=FRAMES,
)
