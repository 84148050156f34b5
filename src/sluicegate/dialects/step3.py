"""Step-3: blocks of invokes between special tokens, with names in attributes.

    <｜tool_calls_begin｜>
    <｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">
    <steptml:parameter name="city">Oslo</steptml:parameter></steptml:invoke><｜tool_call_end｜>
    <｜tool_calls_end｜>

A block may hold several invokes; each is a call. The bars are U+FF5C. Source: the chat template of Step-3.
"""

from typing import Final

from sluicegate.core import values
from sluicegate.core.blocks import Opener
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SOME_SPACE, SPACE, Pattern, Run, either
from sluicegate.core.sequence import OneOf, Sequence, Text
from sluicegate.core.tagged import Tagged
from sluicegate.core.tagged_value import ValueSyntax
from sluicegate.core.tags import Tag

SECTION, SECTION_END = "<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"
CALL, CALL_END = "<｜tool_call_begin｜>", "<｜tool_call_end｜>"
SEPARATOR = "<｜tool_sep｜>"
INVOKE, INVOKE_END = "<steptml:invoke", "</steptml:invoke>"
PARAMETER, PARAMETER_END = "<steptml:parameter", "</steptml:parameter>"
MARKERS: Final = (SECTION, SECTION_END, CALL, CALL_END, SEPARATOR, "<steptml:", "</steptml:")
NAMED: Final = (SOME_SPACE, 'name="', Run('^"<', 1), '"', SPACE)

STEP3 = Tagged(
    names=("step3",),
    openers=(Opener(literal=CALL),),
    closers=(CALL_END, SEPARATOR, INVOKE_END, PARAMETER_END),
    tags=(
        Tag(literal=INVOKE, rest=Pattern(*NAMED, either("/>", ">")), alone=True),
        Tag(literal=PARAMETER, rest=Pattern(*NAMED, ">"), alone=True),
    ),
    sections={SECTION: SECTION_END},
    closing_stops=(CALL_END,),
    opening_stops=(SECTION, SECTION_END),
    preamble=Sequence(SPACE, "function", SPACE, SEPARATOR, SPACE),
    heads={
        CALL: Sequence(INVOKE, SOME_SPACE, 'name="', Text("name", '^"', MARKERS), '"', SPACE, OneOf("end", ("/>", ">")))
    },
    item=Sequence(PARAMETER, SOME_SPACE, 'name="', Text("key", '^"', MARKERS), '"', SPACE, ">"),
    empty_keys=True,
    values=ValueSyntax(
        closer=Tag(literal=PARAMETER_END),
        continues=Pattern(either(PARAMETER, INVOKE_END)),
        call_closer=Tag(literal=INVOKE_END),
        item=Tag(literal=PARAMETER),
        start=Tag(literal=INVOKE, rest=Pattern(*NAMED, either("/>", (">", SPACE, either(PARAMETER, INVOKE_END))))),
    ),
    closer=Tag(literal=INVOKE_END),
    wrapper="required",
    wrapper_end=Tag(literal=CALL_END),
    next_call=INVOKE,
    json_first=True,
    conversion=values.Conversion((values.strict_json, values.python_word, values.any_number)),
    layout=Layout(end_tokens=("<|EOT|>", "<｜end▁of▁sentence｜>")),
)
