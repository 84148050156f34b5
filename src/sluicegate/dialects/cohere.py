"""Command R, R+ and A: a list of call objects in an action block, the answer in a wrapper of its own.

    <|START_RESPONSE|>Let me look.<|END_RESPONSE|><|START_ACTION|>[
        {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Oslo"}}
    ]<|END_ACTION|>

Source: the chat templates of the Command models.
"""

from sluicegate.core.blocks import Opener
from sluicegate.core.call_list import CallList
from sluicegate.core.call_object import CallObject
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SPACE, Pattern, either

ACTION, END = "<|START_ACTION|>", "<|END_ACTION|>"

COHERE = CallList(
    names=("cohere",),
    openers=(Opener(literal=ACTION, condition=Pattern(SPACE, either("{", "[", END)), reach=(END,)),),
    closers=(END,),
    wrappers=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    closing_stops=(END,),
    unstopped_is_cut=True,
    call_object=CallObject(
        name_keys=("tool_name", "name"), argument_keys=("parameters", "arguments"), first_string_names=True
    ),
    tail=END,
    layout=Layout(trim=True, end_tokens=("<|END_OF_TURN_TOKEN|>", "<EOS_TOKEN>")),
)
