"""Hunyuan 4: `<think>` with an optional suffix, the same for all markers of one output.

    <think:7f3a>The user asks for the weather.</think:7f3a>I will look it up.<tool_calls:7f3a>…

The first marker fixes the suffix, later ones with another suffix are text. Source: the chat template of the
checkpoint.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from sluicegate.core.context import Context
from sluicegate.core.events import Side
from sluicegate.core.patterns import SPACE_CLASS, Markers, Pattern, Run, Steps, either
from sluicegate.core.reasoning import (
    CONTROL_TOKEN,
    END,
    START,
    drop,
    report_stray,
    report_unclosed,
    send,
    send_rest,
)
from sluicegate.core.tokens import Token, Vocabulary

SUFFIX: Final = either((":", Run(f"^<>{SPACE_CLASS}", 1)), "")
SECTION: Final = "section"

# One vocabulary for all suffixes: they differ from output to output, and patterns are made only once.
ANY_SUFFIX: Final = Vocabulary(
    (
        Token(START, "<think", Pattern("<think", SUFFIX, ">")),
        Token(END, "</think", Pattern("</think", SUFFIX, ">")),
        Token(SECTION, "<tool_calls", Pattern("<tool_calls", SUFFIX, ">")),
    )
)
BLANK: Final = re.compile(f"[{SPACE_CLASS}]{{0,256}}")
START_IN_PROMPT: Final = re.compile(f"<think(?::[^<>{SPACE_CLASS}]{{1,256}})?>")


def suffix_of(marker: str) -> str:
    """The suffix of a whole marker, with its colon, or nothing."""
    _, colon, suffix = marker[:-1].partition(":")
    return colon + suffix


@lru_cache(maxsize=64)
def markers_with(suffix: str) -> Markers:
    """The reasoning markers with this suffix; a checkpoint always writes the same one."""
    return Markers((f"<think{suffix}>", f"</think{suffix}>"))


def call_follows(text: str, pos: int, suffix: str, final: bool) -> bool | None:
    """Whether the first call of a section follows its opener; None if more text decides it."""
    blank = BLANK.match(text, pos)
    start = blank.end() if blank else pos
    call = f"<tool_call{suffix}>"
    if text.startswith(call, start):
        return True
    if len(text) - start < len(call) and call.startswith(text[start:]):
        return True if final else None
    return False


def may_become(held: str, suffix: str) -> bool:
    """Whether a marker with this suffix may begin with the held text, or be it."""
    section = f"<tool_calls{suffix}>"
    return held.startswith(section) or any(
        marker.startswith(held) for marker in (f"<think{suffix}>", f"</think{suffix}>", section)
    )


class SuffixedFormat:
    """The format of Hunyuan 4."""

    names = ("hy_v4",)
    markers = ("<think>", "<think:")
    begins_in_reasoning = False

    def opened_by(self, prompt: str) -> str:
        """The marker that the rendered prompt left open, with its suffix, or nothing."""
        last = None
        for last in START_IN_PROMPT.finditer(prompt):  # noqa: B007
            pass
        if last is None:
            return ""
        marker, behind = last[0], last.end()
        closed = prompt.find(f"</{marker[1:]}", behind) >= 0 or CONTROL_TOKEN.search(prompt, behind)
        return "" if closed else marker

    def read(self, context: Context, in_reasoning: bool | None = None, opened_by: str = "") -> Steps:
        """Read one output; `opened_by` is the marker in the prompt, whose suffix counts."""
        window = context.window
        suffix = suffix_of(opened_by) if in_reasoning and opened_by else None
        side: Side = "reasoning" if in_reasoning else "content"
        block_start = window.offset
        scan = window.pos
        while True:
            text, final = window.text, window.final
            token, at, behind = ANY_SUFFIX.find(text, scan, final)
            waits = token is None and at < len(text)
            marker = text[at:behind]
            follows = call_follows(text, behind, suffix_of(marker), final) if token == SECTION else True
            if suffix is not None:
                if token is not None and suffix_of(marker) != suffix:
                    scan = behind
                    continue
                if waits and not may_become(text[at:], suffix):
                    scan = at + 1
                    continue
            if follows is False:
                scan = behind
                continue
            send(context, at, side)
            if token is None or follows is None:
                if final:
                    break
                yield
                scan = window.pos
                continue
            suffix = suffix_of(marker)
            if token == START:
                drop(context, behind)
                if side == "content":
                    side, block_start = "reasoning", window.offset
                scan = window.pos
                continue
            if token == END:
                if side == "content":
                    report_stray(context, window.offset, marker, dropped=True)
                drop(context, behind)
            else:
                if side == "reasoning":
                    report_unclosed(context, block_start, by_call=True)
                send(context, behind, "content")
            yield from send_rest(context, markers_with(suffix))
            return
        if side == "reasoning":
            report_unclosed(context, block_start)


HY_V4 = SuffixedFormat()
