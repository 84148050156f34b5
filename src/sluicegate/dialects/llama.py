"""Llama 3.1 and 3.2: call objects behind a tag, or bare at the start of the output.

    <|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}; {"name": "list_files", "parameters": {}}

The tag also introduces code for an interpreter, which is text. Source: the chat templates of Llama 3.1 and 3.2.
"""

from sluicegate.core.blocks import Opener
from sluicegate.core.call_list import CallList
from sluicegate.core.call_object import CallObject
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SPACE, Pattern

TAG, KEYS = "<|python_tag|>", ("parameters", "arguments")

LLAMA = CallList(
    names=("llama",),
    openers=(Opener(literal=TAG, condition=Pattern(SPACE, "{")),),
    call_object=CallObject(argument_keys=KEYS),
    bare_object=CallObject(argument_keys=KEYS, without_arguments="declared", name_first=False),
    separator=";",
    layout=Layout(idle="}];", end_tokens=("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>")),
)
