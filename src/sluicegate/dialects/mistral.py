"""Mistral and Mixtral: call objects behind a marker, or, since tokenizer version 11, a name and its arguments.

    [TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}}]
    [TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}[TOOL_CALLS]list_files[CALL_ID]x7Kd02LmQ[ARGS]{}

Source: the chat templates of the checkpoints and the tokenizer versions of mistral-common.
"""

from sluicegate.core.blocks import Opener
from sluicegate.core.call_list import CallList
from sluicegate.core.call_object import CallObject
from sluicegate.core.named_call import NamedCall
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SPACE, SPACE_CLASS, Pattern, Run, Unless, either

CALLS, END, ID, ARGUMENTS = "[TOOL_CALLS]", "[/TOOL_CALLS]", "[CALL_ID]", "[ARGS]"
WORD = "^" + SPACE_CLASS + "\"'`\u2018\u2019\u201c\u201d\\[\\]{}()<>,:"
NAME = Run(WORD, 1, name="name")

MISTRAL = CallList(
    names=("mistral",),
    openers=(
        Opener(
            literal=CALLS,
            condition=Pattern(
                SPACE,
                either((Unless((CALLS, END, ID, ARGUMENTS)), "["), "{", (NAME, SPACE, either(ID, ARGUMENTS, "{"))),
            ),
            reach=(END,),
        ),
    ),
    closers=(END, ID, ARGUMENTS),
    closing_stops=(END,),
    call_object=CallObject(),
    named_call=NamedCall(id_marker=ID, id_characters=WORD, arguments_marker=ARGUMENTS),
    layout=Layout(idle="}]", end_tokens=("</s>",)),
)
