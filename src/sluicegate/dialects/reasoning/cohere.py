"""Command A and Command R7B: the openers of answer and actions end the block, too.

    <|START_THINKING|>The user asks for the weather.<|END_THINKING|><|START_RESPONSE|>It rains.<|END_RESPONSE|>

The wrappers of answer and actions stay in the content, the `cohere` tool parser reads them. Source: the chat
templates of the checkpoints.
"""

from sluicegate.core.patterns import SPACE, either
from sluicegate.core.reasoning import PairFormat, call_opener

COHERE_CMD = PairFormat(
    "cohere_cmd",
    start="<|START_THINKING|>",
    end="<|END_THINKING|>",
    openers=(
        call_opener("<|START_ACTION|>", SPACE, either("[", "{")),
        call_opener("<|START_RESPONSE|>"),
        call_opener("<|START_TEXT|>"),
    ),
    call_ends_reasoning=True,
)
