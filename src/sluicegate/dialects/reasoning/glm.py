"""GLM 4.5 to 5.

    ⏎<think>The user asks for the weather.</think>
    I will look it up.

4.5 and 4.6 write a newline in front of the block and one behind it, 4.7 and 5 none. Source: the chat templates of
the checkpoints.
"""

from sluicegate.core.patterns import SPACE, SPACE_CLASS, Run, either
from sluicegate.core.reasoning import Frames, PairFormat, call_opener

LINE_BREAKS = r"\n-\r\x85\u2028\u2029"
BLANKS = r"\t \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"

CALL = call_opener(
    "<tool_call>",
    either((Run(BLANKS), Run(LINE_BREAKS, 1, 1), Run(SPACE_CLASS, 0, 255)), ""),
    Run(rf'^<>{{}}"{SPACE_CLASS}', 1),
    SPACE,
    either("<arg_key>", "</tool_call>"),
)

GLM45 = PairFormat(
    "glm45",
    start="<think>",
    end="</think>",
    openers=(CALL,),
    call_ends_reasoning=True,
    frames=Frames(output_start=True, behind="\n"),
)
