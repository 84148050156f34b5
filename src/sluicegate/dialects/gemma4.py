"""Gemma 4: a name and an object with bare keys, strings between delimiters without escapes.

    <|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:3,tags:[<|"|>a<|"|>]}<tool_call|>

Source: the chat template of the Gemma 4 checkpoints.
"""

from typing import Final

from sluicegate.core import values
from sluicegate.core.blocks import Opener
from sluicegate.core.brace_calls import BraceCalls
from sluicegate.core.outline import Layout
from sluicegate.dialects.minimax_m2 import SCHEMA_RULES

CALL, END = "<|tool_call>", "<tool_call|>"
CONVERSION: Final = values.Conversion(
    (values.json_without_types, values.json_word_or_number, values.boolean_capitalised, values.integer_digits)
)

GEMMA4 = BraceCalls(
    names=("gemma4",),
    openers=(Opener(literal=CALL),),
    closers=(END,),
    closing_stops=(END,),
    unstopped_is_cut=True,
    prefix="call:",
    delimiter='<|"|>',
    end=END,
    schema_rules=SCHEMA_RULES,
    conversion=CONVERSION,
    layout=Layout(end_tokens=("<turn|>", "<|tool_response>", "<eos>")),
)
