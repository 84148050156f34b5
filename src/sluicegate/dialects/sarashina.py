"""Sarashina: a list of calls as Python prints it, behind a token or at the start of the output.

    見ます。<|tool_calls|>[{'name': 'get_weather', 'arguments': {'city': 'Oslo', 'days': 3}}]

Source: the chat template of the Sarashina 2.2 instruct checkpoints.
"""

from sluicegate.core.literal_calls import LiteralCalls
from sluicegate.core.outline import Layout
from sluicegate.core.tags import Opener

SARASHINA = LiteralCalls(
    names=("sarashina",),
    openers=(Opener(literal="<|tool_calls|>"),),
    layout=Layout(end_tokens=("</s>",), trim=True),
)
