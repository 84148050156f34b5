"""Events to an outcome: the one fold, for complete and streamed outputs alike."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from sluicegate.core.events import (
    Call,
    CallEnd,
    CallFault,
    Content,
    Diagnostic,
    Event,
    Fault,
    Frame,
    Markup,
    Outcome,
    Reasoning,
    Span,
)

_start: Final = attrgetter("start")


def collect(events: Iterable[Event], *, keep_frame: bool = False) -> Outcome:
    """Reduce the events of one finished machine to its outcome.

    With `keep_frame` the template's white space stays in `content` and `reasoning`, without it it is left out
    (parsing contract, section 1).
    """
    content: list[Content | Reasoning | Frame] = []
    reasoning: list[Content | Reasoning | Frame] = []
    calls: list[Call] = []
    faults: list[CallFault] = []
    spans: list[Span] = []
    diagnostics: list[Diagnostic] = []
    numbers: dict[int, int] = {}
    # No isinstance: these classes are final, and asking for subclasses costs more than all else here.
    for event in events:
        if type(event) is Content:
            content.append(event)
            spans.append(Span("content", event.start, event.end))
        elif type(event) is Markup:
            spans.append(Span("markup", event.start, event.end))
        elif type(event) is Reasoning:
            reasoning.append(event)
            spans.append(Span("reasoning", event.start, event.end))
        elif type(event) is Frame:
            if keep_frame:
                (content if event.side == "content" else reasoning).append(event)
            spans.append(Span("frame", event.start, event.end, None, event.side))
        elif type(event) is CallEnd:
            number = len(calls)
            numbers[event.index] = number
            calls.append(Call(number, event.name, event.arguments, event.start, event.end))
            if not event.pieces:
                spans.append(Span("call", event.start, event.end, number, None, event.parts))
            for start, end in event.pieces:
                parts = tuple(part for part in event.parts if start <= part.start and part.end <= end)
                spans.append(Span("call", start, end, number, None, parts))
        elif type(event) is Fault:
            spans.append(Span("fault", event.start, event.end))
        elif type(event) is CallFault:
            faults.append(event)
        elif type(event) is Diagnostic:
            diagnostics.append(event)
    return Outcome(
        _in_order(content),
        _in_order(reasoning),
        tuple(calls),
        tuple(faults),
        tuple(_merge(spans)),
        tuple(_renumbered(diagnostics, numbers)) if diagnostics else (),
    )


def _in_order(pieces: list[Content | Reasoning | Frame]) -> str:
    if len(pieces) == 1:
        return pieces[0].text
    pieces.sort(key=_start)
    return "".join([piece.text for piece in pieces])


def _merge(spans: list[Span]) -> list[Span]:
    """The spans in order, neighbours of one kind joined, so that the cutting of the text does not show."""
    if len(spans) < 2:
        return spans
    spans.sort(key=_start)
    merged: list[Span] = []
    last = spans[0]
    for span in spans[1:]:
        if span.kind == last.kind and span.kind not in {"call", "fault"} and span.side == last.side:
            last = Span(last.kind, last.start, span.end, side=last.side)
        else:
            merged.append(last)
            last = span
    merged.append(last)
    return merged


def _renumbered(diagnostics: list[Diagnostic], numbers: dict[int, int]) -> list[Diagnostic]:
    """The diagnostics in order of place; a call is named by its number in the outcome, a fault by none."""
    diagnostics.sort(key=lambda diagnostic: (diagnostic.start, diagnostic.end, diagnostic.code))
    return [
        diagnostic
        if diagnostic.call is None
        else Diagnostic(
            diagnostic.code,
            diagnostic.severity,
            diagnostic.start,
            diagnostic.end,
            diagnostic.message,
            numbers.get(diagnostic.call),
            diagnostic.raw,
            diagnostic.incomplete,
        )
        for diagnostic in diagnostics
    ]
