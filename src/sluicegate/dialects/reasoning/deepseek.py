"""DeepSeek: R1 and its distills, V3.1, V3.2, V4, V4.1.

    <think>The user asks for the weather.</think>I will look it up.<｜tool▁calls▁begin｜>…

The templates write no white space around the block. R1's prompt leaves it open. Source: the chat templates of the
checkpoints.
"""

from sluicegate.core.patterns import SPACE
from sluicegate.core.reasoning import PairFormat, call_opener

START, END = "<think>", "</think>"

CALLS = call_opener("<｜tool▁calls▁begin｜>", SPACE, "<｜tool▁call▁begin｜>")
FUNCTION_CALLS = call_opener("<｜DSML｜function_calls>", SPACE, "<｜DSML｜invoke")
TOOL_CALLS = call_opener("<｜DSML｜tool_calls>", SPACE, "<｜DSML｜invoke")
SPACED_CALLS = call_opener("<｜DSML｜ calls>", SPACE, "<｜DSML｜ invoke")

DEEPSEEK_R1 = PairFormat("deepseek_r1", start=START, end=END, begins_in_reasoning=True, openers=(CALLS,))
DEEPSEEK_V31 = PairFormat("deepseek_v31", start=START, end=END, openers=(CALLS, FUNCTION_CALLS, TOOL_CALLS))
DEEPSEEK_V4 = PairFormat(
    "deepseek_v4", start=START, end=END, openers=(FUNCTION_CALLS, TOOL_CALLS), call_ends_reasoning=True
)
DEEPSEEK_V41 = PairFormat(
    "deepseek_v41",
    start=START,
    end=END,
    openers=(SPACED_CALLS,),
    call_ends_reasoning=True,
    blank_prefix_is_answer=True,
    drops_stray_end=True,
)
