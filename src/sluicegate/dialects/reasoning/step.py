"""Step 3 and Step 3.5: the prompt always leaves the block open.

    The user asks for the weather.
    </think>
    I will look it up.

Calls inside the block are drafts and stay reasoning. Source: the chat templates of the checkpoints.
"""

from sluicegate.core.patterns import SPACE
from sluicegate.core.reasoning import Frames, PairFormat, call_opener
from sluicegate.dialects.reasoning.openers import QWEN_CALL

STEP3 = PairFormat(
    "step3",
    start="<think>",
    end="</think>",
    begins_in_reasoning=True,
    openers=(call_opener("<｜tool_calls_begin｜>", SPACE, "<｜tool_call_begin｜>"), QWEN_CALL),
    frames=Frames(block_start=True, block_end=True, behind="\n"),
)
