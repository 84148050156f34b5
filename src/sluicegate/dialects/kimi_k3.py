"""Kimi-K3, XTML: channels and calls between `<|open|>` and `<|close|>`, with attributes for names and types.

    <|open|>response<|sep|>Sure.<|close|>response<|sep|><|open|>tools<|sep|>
    <|open|>call tool="f" index="1"<|sep|><|open|>argument key="n" type="number"<|sep|>3<|close|>argument<|sep|>
    <|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>

(on one line). The tags of the response channel and of the message are wrappers; a complete think channel is reasoning.
Source: the chat template of Kimi-K3.
"""

from typing import Final

from sluicegate.core import values
from sluicegate.core.blocks import Opener
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SPACE, SPACE_CLASS, Pattern, Run, either
from sluicegate.core.sequence import Attributes, Sequence
from sluicegate.core.tagged import Tagged
from sluicegate.core.tagged_value import ValueSyntax
from sluicegate.core.tags import Role, Stop, Tag
from sluicegate.core.thinking import Channel

OPEN, CLOSE, SEPARATOR = "<|open|>", "<|close|>", "<|sep|>"
ATTRIBUTES: Final = either((Run(SPACE_CLASS, 1, 1), Run("^<")), "")
WORD_ENDS: Final = either((Run(SPACE_CLASS, 1, 1),), SEPARATOR)


def _tag(bracket: str, word: str, role: Role = "marker", stop: Stop = "") -> Tag:
    """A marker that holds nothing but its word."""
    return Tag(literal=bracket, rest=Pattern(SPACE, word, SPACE, SEPARATOR), role=role, stop=stop)


def _attributes(word: str, captures: dict[str, str], *required: str) -> Sequence:
    """A word with attributes."""
    return Sequence(SPACE, word, Attributes(SEPARATOR, captures, required, (OPEN, CLOSE)))


RESPONSE: Final = _tag(OPEN, "response", "wrapper")
TOOLS: Final = _tag(OPEN, "tools", "section")
CALL_END: Final = _tag(CLOSE, "call", stop="behind")
ARGUMENT: Final = Tag(literal=OPEN, rest=Pattern(SPACE, "argument", WORD_ENDS))
ARGUMENT_END: Final = _tag(CLOSE, "argument")

KIMI_K3 = Tagged(
    names=("kimi_k3",),
    openers=(Opener(literal=OPEN, rest=Pattern(SPACE, "call"), condition=Pattern(WORD_ENDS)),),
    tags=(
        RESPONSE,
        _tag(CLOSE, "response", "wrapper"),
        _tag(CLOSE, "message", "wrapper"),
        TOOLS,
        _tag(CLOSE, "tools", "section_end", "before"),
        CALL_END,
        ARGUMENT_END,
        Tag(literal=OPEN, rest=Pattern(SPACE, "argument", ATTRIBUTES, SEPARATOR)),
    ),
    channel=Channel(opener=_tag(OPEN, "think", "channel"), closer=_tag(CLOSE, "think"), breaks=(RESPONSE, TOOLS)),
    unstopped_is_cut=True,
    heads={OPEN: _attributes("call", {"tool": "name"}, "name")},
    item=Sequence(OPEN, *_attributes("argument", {"key": "key", "type": "type"}, "key").parts),
    trim_names=False,
    trim_keys=False,
    empty_keys=True,
    values=ValueSyntax(
        closer=ARGUMENT_END,
        continues=Pattern(
            either(
                (OPEN, SPACE, either("argument", "call"), WORD_ENDS),
                (CLOSE, SPACE, either("call", "tools"), SPACE, SEPARATOR),
            )
        ),
        call_closer=CALL_END,
        item=ARGUMENT,
        start=Tag(
            literal=OPEN,
            rest=Pattern(
                SPACE,
                "call",
                ATTRIBUTES,
                SEPARATOR,
                SPACE,
                either((OPEN, SPACE, "argument", WORD_ENDS), (CLOSE, SPACE, "call", SPACE, SEPARATOR)),
            ),
        ),
    ),
    closer=CALL_END,
    type_name="type",
    text_types=("string",),
    conversion=values.Conversion((values.strict_json,), text_misfits=True),
    layout=Layout(end_tokens=("<|end_of_msg|>", "[EOS]")),
)
