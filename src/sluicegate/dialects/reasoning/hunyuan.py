"""Hunyuan 4: `<think>` with an optional suffix, the same for all markers of one output.

    <think:7f3a>The user asks for the weather.</think:7f3a>I will look it up.<tool_calls:7f3a>…

The first marker fixes the suffix; from then on the format is one start and one end marker. Source: the chat
template of the checkpoint.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from sluicegate.core.context import Context
from sluicegate.core.events import Side
from sluicegate.core.patterns import SPACE, SPACE_CLASS, Pattern, Run, Steps, either
from sluicegate.core.reasoning import (
    CALL,
    CONTROL_TOKEN,
    END,
    START,
    PairFormat,
    call_opener,
    drop,
    report_stray,
    report_unclosed,
    send,
)
from sluicegate.core.tokens import Token, Vocabulary

SUFFIX: Final = either((":", Run(f"^<>{SPACE_CLASS}", 1)), "")
SECTION: Final = "section"

ANY_SUFFIX: Final = Vocabulary(
    (
        Token(START, "<think", Pattern("<think", SUFFIX, ">")),
        Token(END, "</think", Pattern("</think", SUFFIX, ">")),
        Token(SECTION, "<tool_calls", Pattern("<tool_calls", SUFFIX, ">")),
    )
)

START_IN_PROMPT: Final = re.compile(f"<think(?::[^<>{SPACE_CLASS}]{{1,256}})?>")


@lru_cache(maxsize=64)
def with_suffix(suffix: str) -> PairFormat:
    """The format once its suffix (with the colon) is known."""
    return PairFormat(
        "hy_v4",
        start=f"<think{suffix}>",
        end=f"</think{suffix}>",
        openers=(call_opener(f"<tool_calls{suffix}>", SPACE, f"<tool_call{suffix}>"),),
        call_ends_reasoning=True,
    )


def suffix_of(marker: str) -> str:
    """The suffix of a whole marker, with its colon, or nothing."""
    _, colon, suffix = marker[:-1].partition(":")
    return colon + suffix


class SuffixedFormat:
    """The reader until the first marker."""

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
        marker = last[0]
        behind = last.end()
        closed = prompt.find(f"</{marker[1:]}", behind) >= 0 or CONTROL_TOKEN.search(prompt, behind)
        return "" if closed else marker

    def read(self, context: Context, in_reasoning: bool | None = None, opened_by: str = "") -> Steps:
        """Read one output; `opened_by` is the marker in the prompt, whose suffix counts."""
        if in_reasoning and opened_by:
            yield from with_suffix(suffix_of(opened_by)).read(context, True)
            return
        window = context.window
        start = window.offset
        side: Side = "reasoning" if in_reasoning else "content"
        scan = window.pos
        while True:
            text, final = window.text, window.final
            token, at, behind = ANY_SUFFIX.find(text, scan, final)
            if token == SECTION:
                # A section counts if a call with the same suffix follows.
                opener = with_suffix(suffix_of(text[at:behind])).openers[0]
                condition = opener.pattern
                if condition is None or condition.match(text, at) is not None:
                    token = CALL
                elif condition.may_match(text, at) is None:
                    scan = behind
                    continue
                else:
                    token = CALL if final else None
            send(context, at, side)
            if token is None:
                if not final:
                    yield
                    scan = window.pos
                    continue
                if in_reasoning:
                    report_unclosed(context, start)
                return
            break
        pair = with_suffix(suffix_of(text[at:behind]))
        if token == START:
            drop(context, behind)
            yield from pair.read(context, True)
            return
        if token == END:
            if side == "content":
                report_stray(context, window.offset, text[at:behind], dropped=True)
            drop(context, behind)
        else:
            if side == "reasoning":
                report_unclosed(context, start, by_call=True)
            send(context, behind, "content")
        yield from pair.read_done(context)


HY_V4 = SuffixedFormat()
