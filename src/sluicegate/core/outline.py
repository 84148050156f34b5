"""The text around calls: pieces, markers, end-of-turn tokens, the template's white space, and what has to wait.

A reader tells the outline what it meets, in order; the outline decides what of it is content, markup or frame
(parsing contract, sections 1 to 3), and holds back what only a completed call can decide:

- From the first marker or block on nothing is content until a call is complete; without one the whole text is.
- A piece behind the first marker is markup if it holds nothing but white space and idle tokens.
- End-of-turn tokens at the end of a piece, and the white space behind the first of them, are markup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from sluicegate.core.context import Context
from sluicegate.core.events import CallEnd, Content, Fault, Frame, Markup, Reasoning
from sluicegate.core.patterns import WHITE_SPACE

Kind: TypeAlias = Literal["content", "markup", "frame", "fault"]
ClosedBy: TypeAlias = Literal["marker", "section", "block", "end"]


# Names of other modules are looked up at each use, also when compiled; these are not.
_CONTENT: Final = Content
_FAULT: Final = Fault
_FRAME: Final = Frame
_MARKUP: Final = Markup


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a format lays out the text around its calls.

    `before_first` is the white space that the template writes before the first call, longest spelling first; it is
    `before_first_kind`, taken where a block follows, or already where a section opens or any marker follows
    (`before_first_marker`).
    `any_space_before_first` takes all white space there. `idle` are the characters that, like white space, make
    a piece behind a call markup. `trim` drops white space at both ends of the whole answer.
    """

    end_tokens: tuple[str, ...] = ()
    idle: str = ""
    before_first: tuple[str, ...] = ()
    before_first_kind: Literal["frame", "markup"] = "frame"
    before_first_marker: Literal["none", "section", "any"] = "none"
    any_space_before_first: bool = False
    trim: bool = False


class Outline:
    """Turns what a reader meets outside calls into tiles."""

    __slots__ = (
        "_after_token",
        "_begun",
        "_blank",
        "_blank_characters",
        "_context",
        "_head",
        "_held",
        "_layout",
        "_longest_frame",
        "_pending",
        "_pending_size",
        "_trailing",
        "exhausted",
        "settled",
        "waiting",
    )

    def __init__(self, context: Context, layout: Layout) -> None:
        self._context = context
        self._layout = layout
        self._head = True
        self._blank = False
        self._blank_characters = WHITE_SPACE + layout.idle
        self._longest_frame = len(layout.before_first[0]) if layout.before_first else 0
        # The end of the piece so far that may yet turn out markup or frame, or the whole of a blank piece.
        self._held: list[tuple[int, str]] = []
        self._after_token = False
        # What waits for the first call, with what it is beside a call; without one it is content.
        self._pending: list[tuple[Kind, int, str]] = []
        self._pending_size = 0
        self._begun = not layout.trim
        self._trailing: list[tuple[int, str]] = []
        self.waiting = False
        self.settled = False
        self.exhausted = False

    # What the reader meets

    def text(self, end: int) -> None:
        """Consume the window up to position `end`: plain text of the current piece."""
        window = self._context.window
        pos = window.pos
        if end > pos:
            window.pos = end
            self.passage(window.base + pos, window.text[pos:end])

    def passage(self, start: int, text: str) -> None:
        """Consumed text of the current piece: not empty, from raw offset `start` on."""
        layout = self._layout
        if self._blank:
            if not text.strip(self._blank_characters):
                self._held.append((start, text))
                return
            self._blank = False
            self._drop_hold()
        elif self._after_token:
            if not text.strip(WHITE_SPACE):
                self._held.append((start, text))
                return
            self._drop_hold()
        if self._head and not self._blank:
            if layout.any_space_before_first:
                body = text.rstrip(WHITE_SPACE)
                if body:
                    self._drop_hold()
                    self._emit("content", start, body)
                if len(body) < len(text):
                    self._held.append((start + len(body), text[len(body) :]))
                return
            if self._longest_frame:
                if self._held:
                    start, held = self._held.pop()
                    text = held + text
                size = len(text) - min(self._longest_frame, len(text) - len(text.rstrip("\n")))
                if size < len(text):
                    self._held.append((start + size, text[size:]))
                    text = text[:size]
                if not text:
                    return
        self._emit("content", start, text)

    def end_token(self, length: int) -> None:
        """Consume an end-of-turn token."""
        self.end_token_passage(*self._take(length))

    def end_token_passage(self, start: int, token: str) -> None:
        """A consumed end-of-turn token."""
        if not self._blank and not self._after_token:
            self._drop_hold()
            self._after_token = True
        self._held.append((start, token))

    def marker(self, length: int, *, section: bool = False) -> None:
        """Consume a marker that opens no call: it ends the piece. It may open a section."""
        start, text = self._take(length)
        self.waiting = not self.settled
        self._close("section" if section else "marker")
        self._emit("markup", start, text)

    def wrapper(self, length: int) -> None:
        """Consume a marker that is markup also in a text without a call, and that does not end the first piece."""
        start, text = self._take(length)
        self.wrapped(start, start + len(text))

    def wrapped(self, start: int, end: int) -> None:
        """The same, consumed before: from raw offset `start` to `end`."""
        if not self._head:
            self._close("marker")
        self._context.events.append(_MARKUP(start, end))

    def thought(self, reasoning: Reasoning) -> None:
        """A channel of reasoning, consumed before; it belongs to no piece."""
        self._context.events.append(reasoning)

    def block(self) -> None:
        """A call, or what began as one, starts here: the piece has ended."""
        self.waiting = not self.settled
        self._close("block")

    def call(self, call: CallEnd) -> None:
        """A call is complete: everything that waited is decided."""
        if not self.settled:
            self.settled = True
            self.waiting = False
            for kind, start, text in self._pending:
                self._produce(kind, start, text)
            self._pending.clear()
        self._context.events.append(call)

    def fault(self, start: int, text: str) -> None:
        """A block that cannot be read."""
        self._emit("fault", start, text)

    def markup(self, start: int, text: str) -> None:
        """Text between the calls of one block."""
        self._emit("markup", start, text)

    def finish(self) -> None:
        """The text has ended."""
        self._close("end")
        for _, start, text in self._pending:
            self._content(start, text)
        self._pending.clear()
        for start, text in self._trailing:
            self._context.events.append(_MARKUP(start, start + len(text)))
        self._trailing.clear()

    # How it is decided

    def _take(self, length: int) -> tuple[int, str]:
        window = self._context.window
        pos = window.pos
        window.pos = pos + length
        return window.base + pos, window.text[pos : pos + length]

    def _drop_hold(self) -> None:
        """What was held is content after all."""
        for start, text in self._held:
            self._emit("content", start, text)
        self._held.clear()
        self._after_token = False

    def _close(self, by: ClosedBy) -> None:
        if self._held:
            if self._blank or self._after_token:
                for start, text in self._held:
                    self._emit("markup", start, text)
                self._held.clear()
            elif by == "block" or self._layout.before_first_marker in {"any", by}:
                self._close_head()
            self._drop_hold()
        self._head = False
        self._blank = True
        self._after_token = False

    def _close_head(self) -> None:
        """The first piece ended before the first call: its end is the template's, if it is what the template writes."""
        layout = self._layout
        if layout.any_space_before_first:
            for start, text in self._held:
                self._emit("markup", start, text)
            self._held.clear()
            return
        start, text = self._held.pop()
        for frame in layout.before_first:
            if text.endswith(frame):
                size = len(text) - len(frame)
                if size:
                    self._emit("content", start, text[:size])
                self._emit(layout.before_first_kind, start + size, frame)
                return
        self._emit("content", start, text)

    def _emit(self, kind: Kind, start: int, text: str) -> None:
        if self.settled:
            self._produce(kind, start, text)
        elif not self.waiting:
            self._content(start, text)
        else:
            self._pending.append((kind, start, text))
            self._pending_size += len(text)
            if self._pending_size > self._context.held_text_limit:
                self._give_up()

    def _give_up(self) -> None:
        """Too much waits for a first call: it is content, and later markers stay text."""
        first = self._pending[0][1]
        for _, start, text in self._pending:
            self._content(start, text)
        self._pending.clear()
        self.waiting = False
        self.exhausted = True
        end = self._context.window.offset
        self._context.report(
            "held_text_limit",
            "warning",
            first,
            end,
            f"more than {self._context.held_text_limit} code points waited for a first call; what follows is text",
        )

    def _produce(self, kind: Kind, start: int, text: str) -> None:
        end = start + len(text)
        if kind == "content":
            self._content(start, text)
        elif kind == "markup":
            self._context.events.append(_MARKUP(start, end))
        elif kind == "frame":
            self._context.events.append(_FRAME(start, end, text, "content"))
        else:
            self._context.events.append(_FAULT(start, end, text))

    def _content(self, start: int, text: str) -> None:
        if not self._layout.trim:
            self._context.events.append(_CONTENT(start, start + len(text), text))
            return
        if not self._begun:
            body = text.lstrip(WHITE_SPACE)
            skipped = len(text) - len(body)
            if skipped:
                self._context.events.append(_MARKUP(start, start + skipped))
            if not body:
                return
            self._begun = True
            start, text = start + skipped, body
        body = text.rstrip(WHITE_SPACE)
        if body:
            for at, space in self._trailing:
                self._context.events.append(_CONTENT(at, at + len(space), space))
            self._trailing.clear()
            self._context.events.append(_CONTENT(start, start + len(body), body))
        if len(body) < len(text):
            self._trailing.append((start + len(body), text[len(body) :]))
