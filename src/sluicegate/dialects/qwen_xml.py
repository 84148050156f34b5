"""Qwen3-Coder, Qwen3.5 and later, Nemotron 3, Step-3.5: functions and parameters as tags with their names in them.

    <tool_call>
    <function=get_weather>
    <parameter=city>
    Rome
    </parameter>
    </function>
    </tool_call>

Strings are written raw, containers as JSON (older templates: as Python text), each value between one line break on
either side. A function tag also opens a call without the wrapper. Source: the chat templates of the checkpoints.
"""

from typing import Final

from sluicegate.core import values
from sluicegate.core.blocks import Opener
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SPACE, SPACE_CLASS, Pattern, Run, either
from sluicegate.core.schema import TYPE_ALIASES, SchemaRules
from sluicegate.core.sequence import Sequence, Text
from sluicegate.core.tagged import Tagged
from sluicegate.core.tagged_value import ValueSyntax
from sluicegate.core.tags import Tag

CALL, CALL_END = "<tool_call>", "</tool_call>"
FUNCTION, FUNCTION_END = "<function=", "</function>"
PARAMETER, PARAMETER_END = "<parameter=", "</parameter>"
# A name is not blank, and stands on one line.
NAME: Final = (
    Run(SPACE_CLASS.replace(r"\t-\r", r"\t\v\f\r")),
    Run(f"^<>{SPACE_CLASS}", 1, 1),
    Run(r"^<>\n", at_most=255),
)
BODY: Final = (SPACE, either(PARAMETER, FUNCTION_END))
KEY: Final = Run(r"^<>\n", 1, name="key")

QWEN_XML = Tagged(
    names=("qwen_xml", "qwen_coder", "nemotron"),
    openers=(
        Opener(
            literal=CALL,
            condition=Pattern(SPACE, FUNCTION),
            reach=(CALL_END,),
            other_bodies=(("qwen", Pattern(SPACE, "{")),),
        ),
        Opener(
            literal=FUNCTION,
            rest=Pattern(*NAME, ">"),
            condition=Pattern(*BODY),
            reach=(FUNCTION_END, CALL_END),
            closing_stops=(FUNCTION_END,),
        ),
    ),
    closers=(CALL_END, FUNCTION_END, PARAMETER_END),
    tags=(Tag(literal=PARAMETER, rest=Pattern(KEY, ">")),),
    closing_stops=(CALL_END,),
    heads={
        CALL: Sequence(SPACE, FUNCTION, Text("name", r"^<>\n"), ">"),
        FUNCTION: Sequence(Text("name", r"^<>\n"), ">"),
    },
    item=Sequence(PARAMETER, Text("key", r"^<>\n"), ">"),
    values=ValueSyntax(
        closer=Tag(literal=PARAMETER_END),
        continues=Pattern(either(PARAMETER, FUNCTION_END, CALL_END, FUNCTION, (CALL, SPACE, FUNCTION))),
        call_closer=Tag(literal=CALL_END),
        early_closer=Tag(literal=FUNCTION_END),
        item=Tag(literal=PARAMETER, rest=Pattern(KEY, ">")),
        declared_items=True,
        start=Tag(literal=FUNCTION, rest=Pattern(*NAME, ">", *BODY)),
        frame=True,
    ),
    closer=Tag(literal=FUNCTION_END),
    wrapper="optional",
    wrapper_end=Tag(literal=CALL_END),
    ends_before=(Tag(literal=CALL), Tag(literal=FUNCTION, rest=Pattern(*NAME, ">"))),
    schema_rules=SchemaRules(fold_case=True, aliases={**TYPE_ALIASES, "tuple": "array"}),
    conversion=values.Conversion(
        (
            values.boolean_in_any_case,
            values.integral_number,
            values.strict_json,
            values.python_container,
            values.python_word,
        )
    ),
    layout=Layout(end_tokens=("<|im_end|>", "<|endoftext|>"), before_first=("\n\n", "\n")),
)
