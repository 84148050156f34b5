"""Hunyuan 4: a section with calls of keys and values; all tags carry a suffix that is drawn for the conversation.

    <tool_calls:6124c78e><tool_call:6124c78e>get_weather<arg_key:6124c78e>city</arg_key:6124c78e>
    <arg_value:6124c78e>Oslo</arg_value:6124c78e></tool_call:6124c78e></tool_calls:6124c78e>

(on one line). The suffix may be empty; a call without one counts inside a section only. Source: the chat template of
the Hunyuan 4 checkpoints.
"""

from typing import Final

from sluicegate.core import values
from sluicegate.core.blocks import Opener
from sluicegate.core.patterns import SPACE, SPACE_CLASS, LineBreakSpace, Pattern, Run, either
from sluicegate.core.sequence import SUFFIX, Sequence, Text
from sluicegate.core.tagged import Tagged
from sluicegate.core.tagged_value import ValueSyntax
from sluicegate.core.tags import Tag
from sluicegate.dialects.minimax_m2 import SCHEMA_RULES

SUFFIX_CHARACTERS: Final = rf"^{SPACE_CLASS}<>"
ENDS: Final = (either((":", Run(SUFFIX_CHARACTERS, 1, name="suffix")), ""), ">")
REST: Final = Pattern(*ENDS)
ANY_END: Final = (either((":", Run(SUFFIX_CHARACTERS, 1)), ""), ">")
SECTION: Final = Tag(literal="<tool_calls", rest=REST, role="section", stop="before")
SECTION_END: Final = Tag(literal="</tool_calls", rest=REST, role="section_end", stop="before")
CALL, CALL_END = "<tool_call", Tag(literal="</tool_call", rest=REST, stop="behind")
KEY, VALUE_END = Tag(literal="<arg_key", rest=REST), Tag(literal="</arg_value", rest=REST)

HY_V4 = Tagged(
    names=("hy_v4",),
    openers=(Opener(literal=CALL, rest=REST),),
    tags=(
        SECTION,
        SECTION_END,
        CALL_END,
        KEY,
        Tag(literal="</arg_key", rest=REST),
        Tag(literal="<arg_value", rest=REST),
        VALUE_END,
        Tag(literal="<eos", rest=REST, role="end_token"),
    ),
    sectioned=True,
    unstopped_is_cut=True,
    heads={CALL: Sequence(f"{SUFFIX}>", Text("name", "^<>"))},
    name_waits=True,
    item=Sequence(f"<arg_key{SUFFIX}>", Text("key", "^<>"), f"</arg_key{SUFFIX}>", SPACE, f"<arg_value{SUFFIX}>"),
    values=ValueSyntax(
        closer=VALUE_END,
        continues=Pattern(either("<arg_key", "</tool_calls", "</tool_call", "<tool_call"), *ENDS),
        call_closer=CALL_END,
        item=KEY,
        start=Tag(
            literal=CALL,
            rest=Pattern(
                *ENDS,
                LineBreakSpace(),
                Run(SUFFIX_CHARACTERS, 1),
                SPACE,
                either("<arg_key", "</tool_call"),
                *ANY_END,
            ),
        ),
        sections=(SECTION, SECTION_END),
    ),
    closer=CALL_END,
    schema_rules=SCHEMA_RULES,
    conversion=values.Conversion((values.boolean_in_any_case, values.json_of_allowed_kind)),
)
