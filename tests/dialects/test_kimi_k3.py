"""kimi_k3: words between brackets, channels, attributes."""

from __future__ import annotations

import pytest

from sluicegate.core.context import Context
from sluicegate.core.events import Reasoning
from sluicegate.core.machine import FormatMachine
from sluicegate.dialects.kimi_k3 import KIMI_K3
from tests.support.parsing import brief, check_events, read, run_tool

OPEN, CLOSE, SEP = "<|open|>", "<|close|>", "<|sep|>"


def opened(word: str) -> str:
    return OPEN + word + SEP


def closed(word: str) -> str:
    return CLOSE + word + SEP


F, END = opened('call tool="f"'), closed("call")
A, A_END = opened('argument key="a" type="string"'), closed("argument")
G = opened('call tool="g"') + END
GG = ("g", "{}")


@pytest.mark.parametrize(
    ("text", "content", "calls", "faults"),
    [
        # Markers with free white space, and what is none.
        (f'{OPEN} \ntools {SEP}{OPEN}\tcall\n tool="g" {SEP} {CLOSE} call\n{SEP}{CLOSE} tools {SEP}', "", [GG], 0),
        (G + OPEN + "other" + SEP + CLOSE + SEP + OPEN, OPEN + "other" + SEP + CLOSE + SEP + OPEN, [GG], 0),
        (G + OPEN + "toolsy" + SEP, OPEN + "toolsy" + SEP, [GG], 0),
        (G + OPEN + "callx" + SEP, OPEN + "callx" + SEP, [GG], 0),
        (G + "x" + END + A_END + A + "y", "xy", [GG], 0),
        # Wrappers.
        (opened("response") + "Hi" + closed("response") + closed("message"), "Hi", [], 0),
        (opened("response") + "Hi" + closed("response") + " x " + opened("tools"), "Hi x " + opened("tools"), [], 0),
        (G + closed("response") + "x" + opened("response") + "y", "xy", [GG], 0),
        # Attributes.
        (G + opened('call index="1"') + END + "!", "!", [GG], 1),
        (G + opened('call tool=""') + END + "!", "!", [GG], 1),
        (opened('call x="tool=" tool="f" tool="g"') + END, "", [("f", "{}")], 0),
        (opened('call x tool="f" y=z') + END, "", [("f", "{}")], 0),
        (opened('call tool="&lt;&amp;quot;&quot;"') + END, "", [('&lt;&quot;"', "{}")], 0),
        (opened('call tool=" f "') + END, "", [(" f ", "{}")], 0),
        (G + opened('call tool=" "') + END + "!", "!", [GG], 1),
        (G + F.replace(SEP, OPEN + SEP) + END + "!", "!", [GG], 1),
        (F + opened('argument key=""') + "x" + A_END + END, "", [("f", '{"":"x"}')], 0),
        (F + opened('argument key=" a "') + "x" + A_END + END, "", [("f", '{" a ":"x"}')], 0),
        (G + F + opened("argument") + "x" + A_END + END + "!", "!", [GG], 1),
        (opened('call tool="' + "n" * 999 + '"') + END, "", [("n" * 999, "{}")], 0),
        # Values.
        (F + A + "5" + A_END + A.replace("string", "number") + "5" + A_END + END, "", [("f", '{"a":"5","a":5}')], 0),
        (F + A.replace("string", "number") + " 007" + A_END + END, "", [("f", '{"a":" 007"}')], 0),
        (F + A + "x" + A_END + "y" + A_END + " " + END, "", [("f", '{"a":"x' + A_END + 'y"}')], 0),
        (F + A + "x" + A_END + OPEN + "calls" + A_END + END, "", [("f", '{"a":"x' + A_END + OPEN + 'calls"}')], 0),
        (F + A + "x" + A_END + G, "", [GG], 1),
        (F + A + "x" + A_END + closed("tools") + "y" + G, "y", [GG], 1),
        # Never closed.
        (F + A + "x\n" + END + "y", "y", [("f", '{"a":"x\\n"}')], 0),
        (F + A + "x" + END + G, "", [("f", '{"a":"x"}'), GG], 0),
        (F + A + "x" + END + F + "y" + A_END + END, "", [("f", '{"a":"x' + END + F.replace('"', '\\"') + 'y"}')], 0),
        (G + F + A + "x" + A + "y" + END + "z", "z", [GG], 1),
        # Thinking: complete channels are reasoning, other think tags are text.
        (opened("think") + "a" + closed("think") + "b", "b", [], 0),
        (opened("think") + "a" + opened("think") + G + closed("think") + "b" + G, "b", [GG], 0),
        (
            opened("think") + "a" + opened("response") + "b" + closed("think"),
            opened("think") + "ab" + closed("think"),
            [],
            0,
        ),
        (
            opened("think") + "a" + opened("tools") + G + closed("think"),
            opened("think") + "a" + closed("think"),
            [GG],
            0,
        ),
        (opened("think") * 2 + opened("response") + closed("think"), opened("think") * 2 + closed("think"), [], 0),
        (closed("think") + G + opened("think"), closed("think") + opened("think"), [GG], 0),
        (G + opened("think") + closed("think") + opened("think"), opened("think"), [GG], 0),
    ],
)
def test_calls_text_and_faults(text: str, content: str, calls: list[tuple[str, str]], faults: int) -> None:
    got_content, got_calls, got_faults = brief(read(KIMI_K3, text))
    assert (got_content, got_calls, len(got_faults)) == (content, calls, faults)


def test_reasoning_goes_out_when_its_channel_is_complete() -> None:
    text = opened("think") + "a" + CLOSE + "other" + SEP + closed("think") + G
    outcome = check_events(run_tool(KIMI_K3, list(text)), text)
    assert (outcome.reasoning, outcome.content) == ("a" + CLOSE + "other" + SEP, "")
    context = Context(None, deltas=True)
    machine = FormatMachine(KIMI_K3.read(context), context)
    assert machine.feed(opened("think") + "a") == []
    assert [event.text for event in machine.feed(closed("think")) if isinstance(event, Reasoning)] == ["a"]
