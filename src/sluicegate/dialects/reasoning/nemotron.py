"""Nemotron 3 (Nano v3).

    <think>
    The user asks for the weather.
    </think>
    I will look it up.

Source: the chat templates of the checkpoints.
"""

from sluicegate.core.reasoning import Frames, PairFormat
from sluicegate.dialects.reasoning.openers import QWEN_CALL

NANO_V3 = PairFormat(
    "nano_v3",
    start="<think>",
    end="</think>",
    openers=(QWEN_CALL,),
    call_ends_reasoning=True,
    frames=Frames(block_start=True, block_end=True, behind="\n"),
)
