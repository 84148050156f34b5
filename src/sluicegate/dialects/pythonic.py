"""Llama 4, Llama 3.2 in this mode, ToolACE: a list of calls as Python writes them.

    <|python_start|>[get_weather(city="Rome", days=3), list_files()]<|python_end|>

The tags are optional. Source: the chat template of Llama 4 and the model cards of Llama 3.2 and ToolACE.
"""

from sluicegate.core.call_expressions import CallExpressions, CallVisiblyBegins
from sluicegate.core.outline import Layout
from sluicegate.core.tags import Opener

PYTHONIC = CallExpressions(
    names=("pythonic",),
    openers=(Opener(literal="[", condition=CallVisiblyBegins(), trial=True),),
    sections={"<|python_start|>": "<|python_end|>"},
    layout=Layout(
        end_tokens=("<|eot|>", "<|eom|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"),
        idle=")],;",
    ),
)
