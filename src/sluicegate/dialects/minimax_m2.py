"""MiniMax-M2: invokes in a section, with names in attributes.

    <minimax:tool_call>
    <invoke name="get_weather">
    <parameter name="city">Oslo</parameter>
    </invoke>
    </minimax:tool_call>

Outside a section only the section's tags are markers. Source: the chat template of MiniMax-M2.
"""

from typing import Final

from sluicegate.core import values
from sluicegate.core.blocks import Opener
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SOME_SPACE, SPACE, SPACE_CLASS, Pattern, Run, either
from sluicegate.core.schema import TYPE_ALIASES, SchemaRules
from sluicegate.core.sequence import OneOf, Sequence, Text
from sluicegate.core.tagged import Tagged
from sluicegate.core.tagged_value import ValueSyntax
from sluicegate.core.tags import Tag

SECTION, SECTION_END = "<minimax:tool_call>", "</minimax:tool_call>"
INVOKE, INVOKE_END = "<invoke", "</invoke>"
PARAMETER, PARAMETER_END = "<parameter", "</parameter>"
TAG_GOES_ON: Final = either((Run(SPACE_CLASS, 1, 1),), "/", ">")
NAMED: Final = (SOME_SPACE, 'name="', Run('^"<>', 1), '"', SPACE)
SCHEMA_RULES: Final = SchemaRules(aliases={**TYPE_ALIASES, "map": "object"}, members_in_branches=True)
CONVERSION: Final = values.Conversion(
    (
        values.integer_digits,
        values.json_number,
        values.boolean_capitalised,
        values.json_for_containers,
        values.json_without_types,
        values.any_word,
        values.exact_number,
    )
)

MINIMAX_M2 = Tagged(
    names=("minimax_m2",),
    openers=(Opener(literal=INVOKE, condition=Pattern(TAG_GOES_ON)),),
    closers=(INVOKE_END, PARAMETER_END),
    tags=(Tag(literal=PARAMETER, rest=Pattern(*NAMED, ">")),),
    sections={SECTION: SECTION_END},
    sectioned=True,
    closing_stops=(INVOKE_END,),
    opening_stops=(SECTION, SECTION_END),
    unstopped_is_cut=True,
    heads={INVOKE: Sequence(SOME_SPACE, 'name="', Text("name", '^"<>'), '"', SPACE, OneOf("end", ("/>", ">")))},
    item=Sequence(PARAMETER, SOME_SPACE, 'name="', Text("key", '^"<>'), '"', SPACE, ">"),
    values=ValueSyntax(
        closer=Tag(literal=PARAMETER_END),
        continues=Pattern(either((PARAMETER, TAG_GOES_ON), INVOKE_END, (INVOKE, TAG_GOES_ON), SECTION_END)),
        call_closer=Tag(literal=INVOKE_END),
        item=Tag(literal=PARAMETER, rest=Pattern(TAG_GOES_ON)),
        start=Tag(
            literal=INVOKE,
            rest=Pattern(*NAMED, either("/>", (">", SPACE, either((PARAMETER, TAG_GOES_ON), INVOKE_END)))),
        ),
        sections=(Tag(literal=SECTION, role="section"), Tag(literal=SECTION_END, role="section_end")),
        newline_before_call_closer=True,
    ),
    closer=Tag(literal=INVOKE_END),
    schema_rules=SCHEMA_RULES,
    conversion=CONVERSION,
    layout=Layout(end_tokens=("[e~[",), before_first=("\n",), before_first_marker="section"),
)
