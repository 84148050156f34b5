"""GLM 4.5 to 5.

    ⏎<think>The user asks for the weather.</think>
    I will look it up.

4.5 and 4.6 write a newline in front of the block and one behind it, 4.7 and 5 none. Source: the chat templates of
the checkpoints.
"""

from sluicegate.core.reasoning import Frames, PairFormat, call_opener
from sluicegate.dialects.glm import CALL, CALL_BEGINS

GLM45 = PairFormat(
    "glm45",
    start="<think>",
    end="</think>",
    openers=(call_opener(CALL, *CALL_BEGINS.elements),),
    call_ends_reasoning=True,
    frames=Frames(output_start=True, behind="\n"),
)
