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

# Names of other modules are looked up at each use, also when compiled; these are not.
_CALL: Final[type[Call]] = Call
_CALL_END: Final[type[CallEnd]] = CallEnd
_CALL_FAULT: Final[type[CallFault]] = CallFault
_CONTENT: Final[type[Content]] = Content
_DIAGNOSTIC: Final[type[Diagnostic]] = Diagnostic
_FAULT: Final[type[Fault]] = Fault
_FRAME: Final[type[Frame]] = Frame
_MARKUP: Final[type[Markup]] = Markup
_OUTCOME: Final[type[Outcome]] = Outcome
_REASONING: Final[type[Reasoning]] = Reasoning
_SPAN: Final[type[Span]] = Span


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
    # Whether the tiles came in order, and whether neighbours are of one kind: mostly nothing is to be sorted or joined.
    ordered = True
    joins = False
    last_start = 0
    last_kind = ""
    # No isinstance: these classes are final, and asking for subclasses costs more than all else here.
    for event in events:
        if type(event) is _CONTENT:
            kind = "content"
            start = event.start
            content.append(event)
            spans.append(_SPAN("content", start, event.end))
        elif type(event) is _MARKUP:
            kind = "markup"
            start = event.start
            spans.append(_SPAN("markup", start, event.end))
        elif type(event) is _CALL_END:
            kind = ""
            start = event.start
            end = event.end
            number = len(calls)
            numbers.append(event.index)
            calls.append(_CALL(number, event.name, event.arguments, start, end))
            if event.pieces:
                for piece_start, piece_end in event.pieces:
                    parts = tuple(part for part in event.parts if piece_start <= part.start and part.end <= piece_end)
                    spans.append(_SPAN("call", piece_start, piece_end, number, None, parts))
                ordered = False
            else:
                spans.append(_SPAN("call", start, end, number, None, event.parts))
        elif type(event) is _REASONING:
            kind = "reasoning"
            start = event.start
            reasoning.append(event)
            spans.append(_SPAN("reasoning", start, event.end))
        elif type(event) is _FRAME:
            kind = "frame"
            start = event.start
            if keep_frame:
                (content if event.side == "content" else reasoning).append(event)
            spans.append(_SPAN("frame", start, event.end, None, event.side))
        elif type(event) is _FAULT:
            kind = ""
            start = event.start
            spans.append(_SPAN("fault", start, event.end))
        else:
            if type(event) is _CALL_FAULT:
                faults.append(event)
            elif type(event) is _DIAGNOSTIC:
                diagnostics.append(event)
            continue
        if start < last_start:
            ordered = False
        elif kind == last_kind and kind:
            joins = True
        last_start = start
        last_kind = kind
    if not ordered:
        content.sort(key=_start)
        reasoning.sort(key=_start)
        spans.sort(key=_start)
    return _OUTCOME(
        _joined(content),
        _joined(reasoning),
        tuple(calls),
        tuple(faults),
        tuple(spans if ordered and not joins else _merge(spans)),
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
    for span in spans[1:]:
        if span.kind == last.kind and span.kind not in {"call", "fault"} and span.side == last.side:
            last = _SPAN(last.kind, last.start, span.end, side=last.side)
        else:
            merged.append(last)
            last = span
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
