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
    SpanKind,
)

_start: Final = attrgetter("start")

# Names of other modules are looked up at each use, also when compiled; these are not.
_CALL: Final = Call
_CALL_END: Final = CallEnd
_CALL_FAULT: Final = CallFault
_CONTENT: Final = Content
_DIAGNOSTIC: Final = Diagnostic
_FAULT: Final = Fault
_FRAME: Final = Frame
_MARKUP: Final = Markup
_OUTCOME: Final = Outcome
_REASONING: Final = Reasoning
_SPAN: Final = Span


def collect(events: Iterable[Event], *, keep_frame: bool = False) -> Outcome:
    """Reduce the events of one finished machine to its outcome.

    With `keep_frame` the template's white space stays in `content` and `reasoning`, without it it is left out
    (parsing contract, section 1).
    """
    content: list[Content | Reasoning | Frame] = []
    reasoning: list[Content | Reasoning | Frame] = []
    calls: list[Call] = []
    numbers: list[int] = []
    faults: list[CallFault] = []
    spans: list[Span] = []
    diagnostics: list[Diagnostic] = []
    # Mostly the tiles come in order, and nothing is to be sorted. `joins`: neighbours are still to be joined.
    ordered = True
    joins = False
    last_start = 0
    last_kind: SpanKind = "call"
    # The span that may still grow: `waits` says whether there is one.
    waits = False
    span_start = span_end = 0
    # No isinstance: these classes are final, and asking for subclasses costs more than all else here.
    for event in events:
        kind: SpanKind
        if type(event) is _CONTENT:
            content.append(event)
            kind = "content"
        elif type(event) is _MARKUP:
            kind = "markup"
        elif type(event) is _CALL_END:
            kind = "call"
        elif type(event) is _REASONING:
            reasoning.append(event)
            kind = "reasoning"
        elif type(event) is _FRAME:
            if keep_frame:
                (content if event.side == "content" else reasoning).append(event)
            kind = "frame"
        elif type(event) is _FAULT:
            kind = "fault"
        else:
            if type(event) is _CALL_FAULT:
                faults.append(event)
            elif type(event) is _DIAGNOSTIC:
                diagnostics.append(event)
            continue
        start = event.start
        end = event.end
        if start < last_start:
            ordered = False
        last_start = start
        if kind == last_kind:
            if waits and start == span_end:
                span_end = end
                continue
            joins = joins or kind != "call"
        if waits:
            spans.append(_SPAN(last_kind, span_start, span_end))
            waits = False
        last_kind = kind
        if type(event) is _CALL_END:
            number = len(calls)
            numbers.append(event.index)
            calls.append(_CALL(number, event.name, event.arguments, start, end))
            if not event.pieces:
                spans.append(_SPAN("call", start, end, number, None, event.parts))
                continue
            ordered = False
            for piece_start, piece_end in event.pieces:
                parts = tuple(part for part in event.parts if piece_start <= part.start and part.end <= piece_end)
                spans.append(_SPAN("call", piece_start, piece_end, number, None, parts))
        elif type(event) is _FRAME:
            spans.append(_SPAN("frame", start, end, None, event.side))
        elif type(event) is _FAULT:
            spans.append(_SPAN("fault", start, end))
        else:
            waits = True
            span_start, span_end = start, end
    if waits:
        spans.append(_SPAN(last_kind, span_start, span_end))
    if not ordered:
        for pieces in (content, reasoning):
            if len(pieces) > 1:
                pieces.sort(key=_start)
        spans.sort(key=_start)
    return _OUTCOME(
        _joined(content),
        _joined(reasoning),
        tuple(calls),
        tuple(faults),
        tuple(_merge(spans) if joins or not ordered else spans),
        tuple(_renumbered(diagnostics, numbers)) if diagnostics else (),
    )


def _joined(pieces: list[Content | Reasoning | Frame]) -> str:
    if not pieces:
        return ""
    return pieces[0].text if len(pieces) == 1 else "".join([piece.text for piece in pieces])


def _merge(spans: list[Span]) -> list[Span]:
    """The spans, neighbours of one kind joined, so that the cutting of the text does not show."""
    merged: list[Span] = []
    last = spans[0]
    last_kind = last.kind
    for span in spans[1:]:
        kind = span.kind
        if kind == last_kind and kind not in {"call", "fault"} and span.side == last.side:
            last = _SPAN(kind, last.start, span.end, side=last.side)
        else:
            merged.append(last)
            last, last_kind = span, kind
    merged.append(last)
    return merged


def _renumbered(diagnostics: list[Diagnostic], numbers: list[int]) -> list[Diagnostic]:
    """The diagnostics in order of place; a call is named by its number in the outcome, a fault by none.

    `numbers` are the indices of the calls in the order in which the outcome has them.
    """
    diagnostics.sort(key=lambda diagnostic: (diagnostic.start, diagnostic.end, diagnostic.code))
    calls = {index: number for number, index in enumerate(numbers)}
    return [
        diagnostic
        if diagnostic.call is None
        else _DIAGNOSTIC(
            diagnostic.code,
            diagnostic.severity,
            diagnostic.start,
            diagnostic.end,
            diagnostic.message,
            calls.get(diagnostic.call),
            diagnostic.raw,
            diagnostic.incomplete,
        )
        for diagnostic in diagnostics
    ]
