"""MiniMax-M3: nested elements, with one token before every tag (here `N`, in truth `]<]minimax[>[`).

    N<tool_call>
    N<invoke name="get_weather">N<city>OsloN</city>N<tags>N<item>aN</item>N<item>bN</item>N</tags>N</invoke>
    N</tool_call>

A complete invoke counts without a section. Source: the chat template of MiniMax-M3.
"""

from typing import Final

from sluicegate.core.blocks import Opener
from sluicegate.core.elements import Elements
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SPACE_CLASS, Pattern, Run, either
from sluicegate.core.tags import Tag
from sluicegate.dialects.minimax_m2 import CONVERSION, SCHEMA_RULES

TOKEN: Final = "]<]minimax[>["  # noqa: S105
SECTION, SECTION_END = f"{TOKEN}<tool_call>", f"{TOKEN}</tool_call>"

MINIMAX_M3 = Elements(
    names=("minimax_m3",),
    openers=(
        Opener(
            literal=TOKEN,
            rest=Pattern("<invoke"),
            condition=Pattern(either((Run(SPACE_CLASS, 1, 1),), "/", ">")),
        ),
    ),
    tags=(
        Tag(literal=TOKEN, rest=Pattern("</invoke>"), stop="behind"),
        Tag(literal=TOKEN, rest=Pattern("<", Run("^<>"), ">"), alone=True),
    ),
    sections={SECTION: SECTION_END},
    opening_stops=(SECTION, SECTION_END),
    unstopped_is_cut=True,
    token=TOKEN,
    call="invoke",
    section="tool_call",
    item="item",
    schema_rules=SCHEMA_RULES,
    conversion=CONVERSION,
    layout=Layout(end_tokens=("[e~[",)),
)
