"""DeepSeek-V3.2, V4 and V4.1: DSML, tags with a special token in them, and attributes for names and types.

    <｜DSML｜function_calls>
    <｜DSML｜invoke name="get_weather">
    <｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>
    <｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
    </｜DSML｜invoke>
    </｜DSML｜function_calls>

V4 calls the section `tool_calls`; V4.1 writes a blank behind the second bar and calls it `calls`. The bars are
U+FF5C. The body of an invoke may also be one JSON object. Source: the encoding modules of the checkpoints.
"""

from collections.abc import Mapping
from typing import Final

from sluicegate.core import values
from sluicegate.core.blocks import Opener
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SOME_SPACE, SPACE, Pattern, Run, either
from sluicegate.core.sequence import OneOf, Sequence, Text
from sluicegate.core.tagged import Tagged
from sluicegate.core.tagged_value import ValueSyntax
from sluicegate.core.tags import Tag

DSML: Final = "｜DSML｜"


def _dsml(name: str, blank: str, section: str, layout: Layout, lent: Mapping[str, str] | None = None) -> Tagged:
    """The format with this blank in its tags and this name of its sections; `lent` are those of other formats."""
    prefix = f"{DSML}{blank}"
    invoke, invoke_end = f"<{prefix}invoke", f"</{prefix}invoke>"
    parameter, parameter_end = f"<{prefix}parameter", f"</{prefix}parameter>"
    quoted = Run('^"<', 1)
    named = (SOME_SPACE, 'name="', quoted, '"')
    lent_sections = {f"<{prefix}{other}>": owner for other, owner in (lent or {}).items()}
    pairs = {opener: f"</{opener[1:]}" for opener in (f"<{prefix}{section}>", *lent_sections)}
    body = (SPACE, either(parameter, invoke_end, "{"))
    return Tagged(
        names=(name,),
        openers=(Opener(literal=invoke),),
        closers=(invoke_end, parameter_end),
        tags=(
            Tag(
                literal=parameter,
                rest=Pattern(*named, SOME_SPACE, 'string="', Run('^"<'), '"', SPACE, ">"),
                alone=True,
            ),
        ),
        sections=pairs,
        lent_sections=lent_sections,
        closing_stops=(invoke_end,),
        opening_stops=(*pairs, *pairs.values()),
        heads={
            invoke: Sequence(SOME_SPACE, 'name="', Text("name", '^"', (DSML,)), '"', SPACE, OneOf("end", ("/>", ">")))
        },
        item=Sequence(
            parameter,
            SOME_SPACE,
            'name="',
            Text("key", '^"', (DSML,)),
            '"',
            SOME_SPACE,
            'string="',
            OneOf("string", ("true", "false")),
            '"',
            SPACE,
            ">",
        ),
        trim_keys=False,
        values=ValueSyntax(
            closer=Tag(literal=parameter_end),
            continues=Pattern(either(parameter, invoke_end)),
            call_closer=Tag(literal=invoke_end),
            item=Tag(literal=parameter),
            start=Tag(literal=invoke, rest=Pattern(*named, SPACE, either("/>", (">", *body)))),
            newline_before_call_closer=True,
        ),
        closer=Tag(literal=invoke_end),
        json_body=True,
        type_name="string",
        text_types=("true",),
        json_first=True,
        conversion=values.Conversion((values.strict_json,), text_misfits=True),
        layout=layout,
    )


END_OF_TURN: Final = ("<｜end▁of▁sentence｜>",)
_ANY_SPACE: Final = Layout(end_tokens=END_OF_TURN, any_space_before_first=True, before_first_marker="any")
_TWO_LINE_BREAKS: Final = Layout(
    end_tokens=END_OF_TURN, before_first=("\n\n",), before_first_kind="markup", before_first_marker="any"
)

DEEPSEEK32 = _dsml("deepseek32", "", "function_calls", _ANY_SPACE, {"tool_calls": "deepseek_v4"})
DEEPSEEK_V4 = _dsml("deepseek_v4", "", "tool_calls", _ANY_SPACE, {"function_calls": "deepseek32"})
DEEPSEEK_V41 = _dsml("deepseek_v41", " ", "calls", _TWO_LINE_BREAKS)
