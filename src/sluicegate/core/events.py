"""What a machine says about a raw output, and what is collected from it.

Two kinds of events. **Tiles** cover the raw text: every character belongs to exactly one of them, and
their kinds are those of the parsing contract. **Call events** tell the life of one call while it is
read. Offsets count Unicode code points of the raw text, 0-based, end exclusive.

A machine emits the tiles in order, but for text that has to wait until it is known what it is: it comes
when that is known. `collect` puts the spans in order.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Side: TypeAlias = Literal["content", "reasoning"]
SpanKind: TypeAlias = Literal["content", "reasoning", "call", "markup", "frame", "fault"]
PartKind: TypeAlias = Literal["name", "key", "value", "arguments"]
Severity: TypeAlias = Literal["info", "warning", "error"]
Finish: TypeAlias = Literal["stop", "tool_calls", "incomplete"]


class Part(Struct, frozen=True, gc=False):
    """A sub-span of a call: its name, its arguments as a whole, or a key or value of the arguments."""

    kind: PartKind
    start: int
    end: int


class Content(Struct, frozen=True, gc=False, tag="content"):
    """Tile: answer text for the user."""

    start: int
    end: int
    text: str


class Reasoning(Struct, frozen=True, gc=False, tag="reasoning"):
    """Tile: chain of thought."""

    start: int
    end: int
    text: str


class Frame(Struct, frozen=True, gc=False, tag="frame"):
    """Tile: white space that the model's template writes around its blocks; `side` says in which text it stands."""

    start: int
    end: int
    text: str
    side: Side


class Markup(Struct, frozen=True, gc=False, tag="markup"):
    """Tile: markers of the format, and end-of-turn tokens beside them."""

    start: int
    end: int


class Fault(Struct, frozen=True, gc=False, tag="fault"):
    """Tile: a block that began as a call and cannot be read as one, beside at least one call that could be read."""

    start: int
    end: int
    text: str


class CallStart(Struct, frozen=True, gc=False, tag="call_start"):
    """Call event: a call's name is known. `start` is where the call begins; `index` counts announced calls."""

    index: int
    name: str
    start: int


class ArgumentsDelta(Struct, frozen=True, gc=False, tag="arguments_delta"):
    """Call event: the next piece of the call's `arguments` text. The pieces join to the final text."""

    index: int
    json: str


class CallEnd(Struct, frozen=True, gc=False, tag="call_end"):
    """Call event and tile: the call is complete. `arguments` is valid JSON text.

    `pieces` are the stretches of the call where markers of the reasoning format interrupt it, else empty.
    """

    index: int
    name: str
    arguments: str
    start: int
    end: int
    parts: tuple[Part, ...] = ()
    pieces: tuple[tuple[int, int], ...] = ()


class CallFault(Struct, frozen=True, gc=False, tag="call_fault"):
    """Call event: a call that began cannot be read, or the text ended inside it (`incomplete`).

    `index` is None when its name was never announced. `name` is the name if it was complete, `arguments` the
    prefix of the arguments text as far as it was read. What was sent for the call is void.
    """

    index: int | None
    code: str
    incomplete: bool
    name: str | None
    arguments: str
    start: int
    end: int


class Diagnostic(Struct, frozen=True, gc=False, tag="diagnostic", omit_defaults=True):
    """Something that the caller may want to know: `code` is stable and documented in docs/reference/diagnostics.md."""

    code: str
    severity: Severity
    start: int
    end: int
    message: str
    call: int | None = None
    raw: str | None = None
    incomplete: bool = False


Tile: TypeAlias = Content | Reasoning | Frame | Markup | Fault | CallEnd
Event: TypeAlias = (
    Content | Reasoning | Frame | Markup | Fault | CallStart | ArgumentsDelta | CallEnd | CallFault | Diagnostic
)


class Span(Struct, frozen=True, gc=False, omit_defaults=True):
    """A stretch of the raw text and what it is. `call` is the index into `Outcome.calls`, `side` that of a frame."""

    kind: SpanKind
    start: int
    end: int
    call: int | None = None
    side: Side | None = None
    parts: tuple[Part, ...] = ()


class Call(Struct, frozen=True, gc=False):
    """A tool call that was read: `arguments` is valid JSON text, `start` and `end` are its place in the raw text."""

    index: int
    name: str
    arguments: str
    start: int
    end: int


class Outcome(Struct, frozen=True):
    """All of one output: the answer, the reasoning, the calls, and what every character of it was.

    `content` and `reasoning` hold the frame white space if it was asked for. `spans` tile the raw text.
    `faults` are the calls that could not be read, in order; a fault with `incomplete` was cut off by the end.
    """

    content: str
    reasoning: str
    calls: tuple[Call, ...]
    faults: tuple[CallFault, ...]
    spans: tuple[Span, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def finish(self) -> Finish:
        """`incomplete` if a call was cut off by the end, else `tool_calls` if there are calls, else `stop`."""
        if any(fault.incomplete for fault in self.faults):
            return "incomplete"
        return "tool_calls" if self.calls else "stop"
