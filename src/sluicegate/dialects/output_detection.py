"""Which parsers fit a raw output: every format reads it, and what came of that is scored."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from sluicegate.core.collect import collect
from sluicegate.core.context import Context
from sluicegate.core.events import Outcome
from sluicegate.core.machine import FormatMachine, ReasoningFormat, ToolFormat
from sluicegate.core.patterns import WHITE_SPACE
from sluicegate.core.reasoning import PairFormat
from sluicegate.dialects.registry import REASONING, TOOLS, FormatTable, FormatType

MARKER_FOUND, BLOCK_READ, NOTHING_LEFT, SPACE_FITS, CALL_OPENER_FOUND = 0.3, 0.35, 0.1, 0.1, 0.15
"""What each sign is worth; all of them together are 1."""

NEEDS_A_HINT = 0.05
"""What is taken off where the parser reads the text only if the caller says that the prompt opened the block."""


class Candidate(Struct, frozen=True):
    """A parser that may fit: the higher its score (0 to 1) the better. `reasons` are in words."""

    kind: Literal["tool_call", "reasoning"]
    parser: str
    score: float
    reasons: tuple[str, ...]


def detect_from_text(text: str) -> list[Candidate]:
    """The parsers that found something in the text, best first, those for tool calls before those for reasoning.

    The text is whole: with its reasoning, and with its special tokens. Of equal scores the format that was
    registered first comes first: a text alone does not tell all families apart.
    """
    tools = [_score_tools(form, text) for form in TOOLS.formats]
    reasoning = [_score_reasoning(form, text) for form in REASONING.formats]
    found = [candidate for candidate in (*tools, *reasoning) if candidate is not None]
    return sorted(found, key=lambda candidate: (candidate.kind != "tool_call", -candidate.score))


def _telling_markers(table: FormatTable[FormatType], text: str) -> list[str]:
    return [marker for marker in table.telling_markers if marker in text]


def _score_tools(form: ToolFormat, text: str) -> Candidate | None:
    context = Context()
    machine = FormatMachine(form.read(context), context)
    outcome = collect([*machine.feed(text), *machine.finish()])
    score = 0.0
    reasons: list[str] = []
    marker = next((marker for marker in form.markers if marker in text), None)
    cut_off = marker is not None and any(fault.incomplete for fault in outcome.faults)
    if not outcome.calls and not cut_off:
        return None
    if marker is not None:
        score += MARKER_FOUND
        reasons.append(f"holds its marker {marker}")
    read, broken = len(outcome.calls), len(outcome.faults)
    score += BLOCK_READ * read / (read + broken)
    reasons.append(f"{_count(read, 'call')} read")
    if broken:
        reasons.append(f"{_count(broken, 'block')} could not be read")
    left = _telling_markers(TOOLS, outcome.content)
    if left:
        reasons.append(f"leaves {left[0]} in the answer")
    else:
        score += NOTHING_LEFT
        reasons.append("leaves no marker in the answer")
        score += SPACE_FITS + CALL_OPENER_FOUND
    return Candidate("tool_call", form.names[0], round(score, 2), tuple(reasons))


def _score_reasoning(form: ReasoningFormat, text: str) -> Candidate | None:
    marker = next((marker for marker in form.markers if marker in text), None)
    end = form.end if isinstance(form, PairFormat) else ""
    opened_by_prompt = marker is None and bool(end) and end in text
    if marker is None and not opened_by_prompt:
        return None
    context = Context()
    machine = FormatMachine(form.read(context, True if opened_by_prompt else None), context)
    outcome = collect([*machine.feed(text), *machine.finish()])
    score = MARKER_FOUND
    if marker is not None:
        reasons = [f"holds its start marker {marker}"]
    else:
        reasons = [f"holds its end marker {end} alone: the prompt had opened the block"]
        if not form.begins_in_reasoning:
            reasons.append("needs in_reasoning: true")
            score -= NEEDS_A_HINT
    unclosed = any(found.code == "unclosed_reasoning" for found in outcome.diagnostics)
    if outcome.reasoning or not unclosed:
        score += BLOCK_READ / (2 if unclosed else 1)
        reasons.append("the block is not closed" if unclosed else "reads a closed block")
    left = _telling_markers(REASONING, outcome.content)
    if left:
        reasons.append(f"leaves {left[0]} in the answer")
    else:
        score += NOTHING_LEFT
        reasons.append("leaves no marker in the answer")
    if _space_fits(outcome):
        score += SPACE_FITS
        reasons.append("the white space is that of its template")
    opener = _call_opener(form, text)
    if opener:
        score += CALL_OPENER_FOUND
        reasons.append(f"the calls begin with {opener}")
    return Candidate("reasoning", form.names[0], round(score, 2), tuple(reasons))


def _space_fits(outcome: Outcome) -> bool:
    """Whether no white space is left at the edges of the block and behind it."""
    reasoning, content = outcome.reasoning, outcome.content
    return reasoning.strip(WHITE_SPACE) == reasoning and content.lstrip(WHITE_SPACE) == content


def _call_opener(form: ReasoningFormat, text: str) -> str:
    if not isinstance(form, PairFormat):
        return ""
    for opener in form.openers:
        at = text.find(opener.literal)
        while at >= 0:
            if opener.pattern is None or opener.pattern.match(text, at):
                return opener.literal
            at = text.find(opener.literal, at + 1)
    return ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
