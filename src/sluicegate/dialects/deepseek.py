"""DeepSeek-V3, R1 and V3.1: the arguments as JSON behind the tool's name, between special tokens.

`deepseek` (V3, V2.5, R1) fences the JSON:

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
    ```json
    {"city": "Oslo"}
    ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>

`deepseek31` (V3.1) does not, and writes all of it on one line:

    <｜tool▁calls▁begin｜>
    <｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜>
    <｜tool▁calls▁end｜>

The bars are U+FF5C and the low lines U+2581. Source: the chat templates of the checkpoints.
"""

from typing import Final, TypedDict

from sluicegate.core.blocks import Opener
from sluicegate.core.outline import Layout
from sluicegate.core.payload import Header, Payload

SECTION, SECTION_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
CALL, CALL_END = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
SEPARATOR = "<｜tool▁sep｜>"


class _Common(TypedDict):
    openers: tuple[Opener, ...]
    closers: tuple[str, ...]
    sections: dict[str, str]
    closing_stops: tuple[str, ...]
    opening_stops: tuple[str, ...]
    value_member: str
    layout: Layout


_COMMON: Final[_Common] = {
    "openers": (Opener(literal=CALL),),
    "closers": (CALL_END, SEPARATOR),
    "sections": {SECTION: SECTION_END},
    "closing_stops": (CALL_END,),
    "opening_stops": (SECTION, SECTION_END),
    "value_member": "value",
    "layout": Layout(end_tokens=("<｜end▁of▁sentence｜>",)),
}

DEEPSEEK = Payload(
    names=("deepseek",),
    header=Header(begins=f"function{SEPARATOR}", until="\n```json\n", form="(?P<name>.+)"),
    tail=f"```{CALL_END}",
    tail_behind="\n",
    resume_at="opener",
    **_COMMON,
)

DEEPSEEK31 = Payload(
    names=("deepseek31",),
    header=Header(until=SEPARATOR, form="(?P<name>.+)"),
    tail=CALL_END,
    resume_at="opener",
    **_COMMON,
)
