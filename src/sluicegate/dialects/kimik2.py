"""Kimi-K2: the arguments as JSON behind the tool's name and number, between special tokens.

    <|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>
    {"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|>

(on one line). A complete call counts without a section; the section tokens are also written with `tool_call_section`.
Source: the chat template of Kimi-K2-Instruct.
"""

from typing import Final

from sluicegate.core.blocks import Opener
from sluicegate.core.outline import Layout
from sluicegate.core.patterns import SPACE_CLASS
from sluicegate.core.payload import Header, Payload

SECTIONS: Final = {
    "<|tool_calls_section_begin|>": "<|tool_calls_section_end|>",
    "<|tool_call_section_begin|>": "<|tool_call_section_end|>",
}
CALL, ARGUMENTS, CALL_END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"

KIMIK2 = Payload(
    names=("kimik2",),
    openers=(Opener(literal=CALL),),
    closers=(ARGUMENTS, CALL_END),
    sections=SECTIONS,
    closing_stops=(CALL_END,),
    opening_stops=(*SECTIONS, *SECTIONS.values()),
    unstopped_is_cut=True,
    # The prefix is taken off once, and never given back to make a name.
    header=Header(
        until=ARGUMENTS,
        form=rf"[{SPACE_CLASS}]*+(?>(?:functions\.)?)(?P<name>[^{SPACE_CLASS}:<>]++)(?::[0-9]++)?[{SPACE_CLASS}]*",
    ),
    tail=CALL_END,
    resume_at="token",
    layout=Layout(end_tokens=("<|im_end|>", "[EOS]")),
)
