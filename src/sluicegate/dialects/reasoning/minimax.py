"""MiniMax M2 (the prompt always leaves the block open) and M3 (its own tags).

    The user asks for the weather.
    </think>

    I will look it up.

A turn of M3 without reasoning begins with its end marker. Source: the chat templates of the checkpoints.
"""

from sluicegate.core.patterns import SPACE
from sluicegate.core.reasoning import Frames, PairFormat, call_opener
from sluicegate.dialects.reasoning.openers import TAG_NAME_END

MINIMAX = PairFormat(
    "minimax",
    start="<think>",
    end="</think>",
    begins_in_reasoning=True,
    openers=(call_opener("<minimax:tool_call>", SPACE, "<invoke", TAG_NAME_END),),
    call_ends_reasoning=True,
    frames=Frames(block_start=True, block_end=True, behind="\n\n"),
)
MINIMAX_M3 = PairFormat(
    "minimax_m3",
    start="<mm:think>",
    end="</mm:think>",
    openers=(call_opener("]<]minimax[>[<tool_call>", SPACE, "]<]minimax[>[<invoke", TAG_NAME_END),),
    blank_prefix_is_answer=True,
)
