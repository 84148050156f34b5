"""Qwen2.5, Qwen3 (not Coder), QwQ and models in the style of Hermes: one JSON object between tags.

    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Oslo"}}
    </tool_call>

Blocks are joined by a newline; the white space around the object is free. Source: the chat templates of
Qwen2.5, Qwen3 and Hermes 4.
"""

from sluicegate.core.blocks import Opener
from sluicegate.core.call_object import CallObject
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SPACE, Pattern
from sluicegate.core.payload import Payload

CALL, END = "<tool_call>", "</tool_call>"

QWEN = Payload(
    names=("qwen",),
    openers=(
        Opener(
            literal=CALL,
            condition=Pattern(SPACE, "{"),
            reach=(END,),
            other_bodies=(("qwen_xml", Pattern(SPACE, "<function=")), ("json", Pattern(SPACE, "["))),
        ),
    ),
    closers=(END,),
    closing_stops=(END,),
    call_object=CallObject(),
    tail=END,
    optional_tail=True,
    layout=Layout(end_tokens=("<|im_end|>", "<|endoftext|>"), before_first=("\n",)),
)
