"""Calls as bare JSON, by models without markup of their own and under a JSON schema.

    {"name": "get_weather", "arguments": {"city": "Oslo"}}
    [{"name": "get_weather", "arguments": {}}, {"name": "list_files", "parameters": {"path": "."}}]

Every object or list that is a call counts, also in prose and in code fences; all other JSON is text.
"""

from sluicegate.core.blocks import Opener
from sluicegate.core.call_list import CallList
from sluicegate.core.call_object import CallObject
from sluicegate.core.outline import Layout

JSON = CallList(
    names=("json",),
    openers=(Opener(literal="{", trial=True), Opener(literal="[", trial=True)),
    bare_object=CallObject(name_keys=("name", "function"), without_arguments="declared", name_first=False),
    layout=Layout(
        idle="}],;",
        end_tokens=(
            *("</s>", "<eos>", "<end_of_turn>", "<|im_end|>", "<|endoftext|>"),
            *("<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|eom|>"),
        ),
    ),
)
