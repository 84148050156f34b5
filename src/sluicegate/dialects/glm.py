"""GLM-4.5, 4.6, 4.7 and 5: the tool's name behind the call tag, then pairs of key and value tags.

    <tool_call>get_weather
    <arg_key>city</arg_key>
    <arg_value>Oslo</arg_value>
    </tool_call>

GLM-4.5 and 4.6 write line breaks between the tags, GLM-4.7 and 5 none; both layouts are read by both parsers.
Source: the chat templates of the checkpoints.
"""

from typing import Final

from sluicegate.core import values
from sluicegate.core.blocks import Opener
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SPACE, SPACE_CLASS, LineBreakSpace, Pattern, Run, either
from sluicegate.core.sequence import Sequence, Text, Until
from sluicegate.core.tagged import Tagged
from sluicegate.core.tagged_value import ValueSyntax
from sluicegate.core.tags import Tag

CALL, CALL_END = "<tool_call>", "</tool_call>"
KEY, KEY_END = "<arg_key>", "</arg_key>"
VALUE, VALUE_END = "<arg_value>", "</arg_value>"
END_OF_TURN: Final = ("<|observation|>", "<|user|>", "<|endoftext|>")
NAME_CHARACTERS: Final = rf'^{SPACE_CLASS}<>{{}}"'
CALL_BEGINS: Final = Pattern(LineBreakSpace(), Run(NAME_CHARACTERS, 1), SPACE, either(KEY, CALL_END))


def _glm(name: str, layout: Layout, *, newline_before_call_closer: bool) -> Tagged:
    """The format under this name; the layouts of the two templates differ."""
    return Tagged(
        names=(name,),
        openers=(Opener(literal=CALL, condition=CALL_BEGINS, reach=(CALL_END,)),),
        closers=(CALL_END, KEY, KEY_END, VALUE, VALUE_END),
        closing_stops=(CALL_END,),
        heads={CALL: Sequence(SPACE, Text("name", NAME_CHARACTERS))},
        item=Sequence(KEY, Until("key", KEY_END, (CALL, CALL_END, KEY, VALUE, VALUE_END)), SPACE, VALUE),
        empty_keys=True,
        values=ValueSyntax(
            closer=Tag(literal=VALUE_END),
            continues=Pattern(either(KEY, CALL_END)),
            call_closer=Tag(literal=CALL_END),
            item=Tag(literal=KEY),
            start=Tag(literal=CALL, rest=CALL_BEGINS),
            newline_before_call_closer=newline_before_call_closer,
        ),
        closer=Tag(literal=CALL_END),
        json_first=True,
        conversion=values.Conversion((values.strict_json, values.python_word, values.any_number)),
        layout=layout,
    )


GLM45_MOE = _glm("glm45_moe", Layout(end_tokens=END_OF_TURN, before_first=("\n",)), newline_before_call_closer=True)
GLM47_MOE = _glm("glm47_moe", Layout(end_tokens=END_OF_TURN), newline_before_call_closer=False)
