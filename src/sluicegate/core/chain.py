"""Reasoning and tool calls in one pass: what the reasoning reader calls content goes on to the tool reader.

The tool reader knows only its own text; what it says is translated back to offsets of the raw text here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from sluicegate.core.events import (
    CallEnd,
    CallFault,
    CallStart,
    Content,
    Diagnostic,
    Event,
    Fault,
    Frame,
    Markup,
    Part,
    Reasoning,
)
from sluicegate.core.machine import FormatMachine
from sluicegate.core.offsets import OffsetMap


class Chain:
    """Two machines as one. It feeds and finishes like `FormatMachine`."""

    __slots__ = ("_calls", "_frames", "_offsets", "_reasoning", "_strays", "_tools")

    def __init__(self, reasoning: FormatMachine, tools: FormatMachine) -> None:
        self._reasoning = reasoning
        self._tools = tools
        self._offsets = OffsetMap()
        # Frames of the reasoning format in the answer: at most a few, at its beginning.
        self._frames: list[tuple[int, int]] = []
        # Reasoning markers that were left as text count only outside calls: there they are data.
        self._strays: list[Diagnostic] = []
        self._calls: list[tuple[int, int]] = []

    def feed(self, chunk: str) -> list[Event]:
        """Take the next piece of the raw text and return what is certain now."""
        return self._pass_on(self._reasoning.feed(chunk))

    def finish(self) -> list[Event]:
        """The text has ended: the reasoning reader finishes first, then the tool reader."""
        events = self._pass_on(self._reasoning.finish())
        events.extend(self._translated(self._tools.finish()))
        events.extend(self._strays_outside_calls())
        return events

    def _pass_on(self, events: list[Event]) -> list[Event]:
        result: list[Event] = []
        answer: list[str] = []
        for event in events:
            if isinstance(event, Content) or (isinstance(event, Frame) and event.side == "content"):
                self._offsets.add(event.start, event.end)
                if isinstance(event, Frame):
                    self._frames.append((event.start, event.end))
                answer.append(event.text)
                continue
            if answer:
                # Events keep the order of the text: the tool reader comes to its word before what follows.
                result.extend(self._translated(self._tools.feed("".join(answer))))
                answer.clear()
            if isinstance(event, Diagnostic) and event.code == "stray_reasoning_marker":
                self._strays.append(event)
            else:
                result.append(event)
        if answer:
            result.extend(self._translated(self._tools.feed("".join(answer))))
        return result

    def _strays_outside_calls(self) -> Iterator[Diagnostic]:
        starts = [start for start, _ in self._calls]
        for stray in self._strays:
            index = bisect_right(starts, stray.start) - 1
            if index < 0 or self._calls[index][1] <= stray.start:
                yield stray

    # Back to offsets of the raw text

    def _translated(self, events: list[Event]) -> Iterator[Event]:
        identity = self._offsets.is_identity and not self._frames
        for event in events:
            if isinstance(event, CallEnd):
                self._calls.append(self._offsets.raw_range(event.start, event.end))
            elif isinstance(event, Reasoning):
                # What the tool format takes for thoughts is answer to the reasoning format: as when the one parses
                # what the other left, it is in neither text.
                event = Markup(event.start, event.end)  # noqa: PLW2901
            if identity:
                yield event
            else:
                yield from self._translate(event)

    def _translate(self, event: Event) -> Iterator[Event]:
        offsets = self._offsets
        if isinstance(event, Content):
            at = 0
            for start, end in offsets.raw_pieces(event.start, event.end):
                yield from self._split_at_frames(start, end, event.text[at : at + end - start])
                at += end - start
        elif isinstance(event, Frame):
            at = 0
            for start, end in offsets.raw_pieces(event.start, event.end):
                yield Frame(start, end, event.text[at : at + end - start], event.side)
                at += end - start
        elif isinstance(event, Markup):
            for start, end in offsets.raw_pieces(event.start, event.end):
                yield Markup(start, end)
        elif isinstance(event, Fault):
            at = 0
            for start, end in offsets.raw_pieces(event.start, event.end):
                yield Fault(start, end, event.text[at : at + end - start])
                at += end - start
        elif isinstance(event, CallStart):
            yield CallStart(event.index, event.name, offsets.raw(event.start))
        elif isinstance(event, CallEnd):
            pieces = offsets.raw_pieces(event.start, event.end)
            parts = tuple(
                Part(part.kind, start, end)
                for part in event.parts
                for start, end in offsets.raw_pieces(part.start, part.end)
            )
            start, end = pieces[0][0], pieces[-1][1]
            interrupted = tuple(pieces) if len(pieces) > 1 else ()
            yield CallEnd(event.index, event.name, event.arguments, start, end, parts, interrupted)
        elif isinstance(event, CallFault):
            start, end = offsets.raw_range(event.start, event.end)
            yield CallFault(event.index, event.code, event.incomplete, event.name, event.arguments, start, end)
        elif isinstance(event, Diagnostic):
            start, end = offsets.raw_range(event.start, event.end)
            yield Diagnostic(
                event.code, event.severity, start, end, event.message, event.call, event.raw, event.incomplete
            )
        else:
            yield event

    def _split_at_frames(self, start: int, end: int, text: str) -> Iterator[Content | Frame]:
        """Answer text, without the white space that is the reasoning format's frame."""
        begin = start
        for frame_start, frame_end in self._frames:
            left, right = max(start, frame_start), min(end, frame_end)
            if left < right:
                if begin < left:
                    yield Content(begin, left, text[begin - start : left - start])
                yield Frame(left, right, text[left - start : right - start], "content")
                begin = right
        if begin < end:
            yield Content(begin, end, text[begin - start :])
