"""Reasoning between one start marker and one end marker: a table, and the one reader of all such formats.

The first end marker, or the first call, settles the split: behind it everything is content, verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from sluicegate.core.context import Context
from sluicegate.core.errors import InvalidDialect
from sluicegate.core.events import Content, Frame, Markup, Reasoning, Side
from sluicegate.core.patterns import SPACE_CLASS, Element, Markers, Pattern, Steps
from sluicegate.core.tokens import Token, Vocabulary

State: TypeAlias = Literal["lead", "content", "reasoning", "behind", "done"]
Next: TypeAlias = Generator[None, None, State]

START: Final = "start"
END: Final = "end"
CALL: Final = "call"

_BLANK: Final = re.compile(f"[{SPACE_CLASS}]*")

CONTROL_TOKEN: Final = re.compile(
    r"<[|｜][^<>|｜]{1,64}[|｜]?>|<[^<>|｜]{1,64}[|｜]>|</?s>|<(?:start|end)_of_turn>|\[/?INST\]|\]~!?b[\[\]]|\[e~\["
)
"""Tokens with which chat templates begin and end turns: behind one of them a block is no longer open."""


@dataclass(frozen=True, kw_only=True)
class Frames:
    """The white space that the templates write: where a newline is theirs, and what stands behind the end marker."""

    output_start: bool = False
    block_start: bool = False
    block_end: bool = False
    behind: Literal["", "\n", "\n\n"] = ""


NO_FRAMES: Final = Frames()


def call_opener(literal: str, *condition: Element) -> Token:
    """A marker of the tool section, kept as content.

    It counts only if `condition` follows, or if the output ends before that is decided.
    """
    pattern = Pattern(literal, *condition) if condition else None
    return Token(CALL, literal, pattern, only_literal=True, when_cut="marker")


def send(context: Context, end: int, side: Side) -> None:
    """Consume the window up to position `end`: text of this side."""
    window = context.window
    pos = window.pos
    if end > pos:
        event = Reasoning if side == "reasoning" else Content
        base = window.base
        context.events.append(event(base + pos, base + end, window.text[pos:end]))
        window.pos = end


def drop(context: Context, end: int) -> None:
    """Consume the window up to position `end`: a marker."""
    window = context.window
    context.events.append(Markup(window.offset, window.base + end))
    window.pos = end


def send_frame(context: Context, end: int, side: Side) -> None:
    """Consume the window up to position `end`: white space of the template."""
    window = context.window
    pos = window.pos
    context.events.append(Frame(window.offset, window.base + end, window.text[pos:end], side))
    window.pos = end


def report_unclosed(context: Context, start: int, *, by_call: bool = False) -> None:
    """The block that began at offset `start` has no end marker."""
    end = context.window.offset
    if by_call:
        context.report("unclosed_reasoning", "info", start, end, "a call ended the reasoning, without an end marker")
    else:
        context.report("unclosed_reasoning", "info", start, end, "the output ended inside the reasoning")


def report_stray(context: Context, start: int, marker: str, *, dropped: bool) -> None:
    """The reasoning marker at offset `start` opened and closed nothing."""
    what = "was dropped: it closed nothing" if dropped else "is text here"
    end = start + len(marker)
    context.report("stray_reasoning_marker", "warning", start, end, f"{marker} {what}", raw=marker)


def send_rest(context: Context, markers: Markers) -> Steps:
    """Send everything as content and hold nothing; a marker that is left as text is only reported."""
    window = context.window
    carried = ""
    while True:
        text = carried + window.text[window.pos :]
        offset = window.offset - len(carried)
        send(context, len(window.text), "content")
        marker, at = markers.find(text, 0, window.final)
        while marker is not None:
            report_stray(context, offset + at, marker, dropped=False)
            marker, at = markers.find(text, at + len(marker), window.final)
        carried = text[at:]
        if window.final:
            return
        yield


def open_block(prompt: str, start: str, end: str) -> str:
    """The start marker if the prompt's tail is inside a block, else nothing.

    Inside is: behind the last start marker comes neither the end marker nor a token that begins or ends a turn.
    """
    at = prompt.rfind(start)
    if at < 0:
        return ""
    behind = at + len(start)
    return "" if prompt.find(end, behind) >= 0 or CONTROL_TOKEN.search(prompt, behind) else start


class PairFormat:
    """One start marker, one end marker.

    Attributes
    ----------
    names: parser names, the first is the main one.
    start, end: the markers.
    begins_in_reasoning: the start state if the caller does not know the prompt.
    openers: markers of the tool section (`call_opener`); one in the answer settles the split.
    call_ends_reasoning: one inside the block ends it, too.
    blank_prefix_is_answer: white space in front of the first marker is answer, and end markers in front of the
        block or directly behind it are dropped, however many.
    drops_stray_end: an end marker in the answer that closes nothing is dropped instead of shown.
    frames: the white space of the templates.
    """

    def __init__(
        self,
        *names: str,
        start: str,
        end: str,
        begins_in_reasoning: bool = False,
        openers: tuple[Token, ...] = (),
        call_ends_reasoning: bool = False,
        blank_prefix_is_answer: bool = False,
        drops_stray_end: bool = False,
        frames: Frames = NO_FRAMES,
    ) -> None:
        if not names:
            raise InvalidDialect("a reasoning format needs a name")
        if start == end:
            raise InvalidDialect(f"{names[0]}: the start marker and the end marker are the same: {start!r}")
        self.names = names
        self.start = start
        self.end = end
        self.begins_in_reasoning = begins_in_reasoning
        self.openers = openers
        self.call_ends_reasoning = call_ends_reasoning
        self.blank_prefix_is_answer = blank_prefix_is_answer
        self.drops_stray_end = drops_stray_end
        self.frames = frames
        pair = (Token(START, start), Token(END, end))
        self._outside = Vocabulary((*pair, *openers))
        self._inside = self._outside if call_ends_reasoning else Vocabulary(pair)
        self._pair = Markers((start, end))
        self._closers = Markers((end,))

    @property
    def markers(self) -> tuple[str, ...]:
        """The literals that open a block."""
        return (self.start,)

    def opened_by(self, prompt: str) -> str:
        """The marker that the rendered prompt left open, or nothing."""
        return open_block(prompt, self.start, self.end)

    def read(self, context: Context, in_reasoning: bool | None = None, opened_by: str = "") -> Steps:  # noqa: ARG002
        """Read one output; the marker that opened the block is always the same."""
        inside = self.begins_in_reasoning if in_reasoning is None else in_reasoning
        state: State = "reasoning" if inside else "lead"
        while state != "done":
            if state == "reasoning":
                state = yield from self._read_reasoning(context)
            elif state == "lead":
                state = yield from self._read_lead(context)
            elif state == "content":
                state = yield from self._read_content(context)
            else:
                state = yield from self._read_behind(context)
        yield from send_rest(context, self._pair)

    # The states

    def _read_lead(self, context: Context) -> Next:
        """White space in front of the first marker or the first text."""
        window = context.window
        start = window.offset
        held: list[str] = []
        while True:
            text, pos = window.text, window.pos
            blank = _BLANK.match(text, pos)
            end = blank.end() if blank else pos
            if end > pos:
                if self.blank_prefix_is_answer:
                    send(context, end, "content")
                else:
                    held.append(text[pos:end])
                    window.pos = end
            if end < len(text):
                token, at, behind = self._outside.find(text, end, window.final)
                if token is None and at == end:
                    yield
                    continue
                if at == end and token == START:
                    self._send_prefix(context, start, "".join(held), "reasoning")
                    drop(context, behind)
                    return "reasoning"
                if at == end and token == END:
                    self._send_prefix(context, start, "".join(held), "reasoning", is_block=True)
                    report_stray(context, window.offset, self.end, dropped=True)
                    drop(context, behind)
                    if self.blank_prefix_is_answer:
                        continue
                    return "behind"
                break
            if window.final:
                break
            yield
        self._send_prefix(context, start, "".join(held), "content")
        return "content"

    def _read_content(self, context: Context) -> Next:
        """Answer text in front of the block."""
        window = context.window
        scan = window.pos
        while True:
            token, at, behind = self._outside.find(window.text, scan, window.final)
            send(context, at, "content")
            if token is None:
                if window.final:
                    return "done"
                yield
                scan = window.pos
            elif token == START:
                drop(context, behind)
                return "reasoning"
            else:
                if token == END:
                    report_stray(context, window.offset, self.end, dropped=self.drops_stray_end)
                    if self.drops_stray_end:
                        drop(context, behind)
                    else:
                        send(context, behind, "content")
                else:
                    send(context, behind, "content")
                return "done"

    def _read_reasoning(self, context: Context) -> Next:
        window = context.window
        block_start = window.offset
        frames = self.frames
        # Whether the block's first character is still to come, which may be the template's newline.
        fresh = frames.block_start
        while True:
            text, pos, final = window.text, window.pos, window.final
            if fresh and pos < len(text) and text[pos] == "\n":
                send_frame(context, pos + 1, "reasoning")
                fresh = False
                pos += 1
            token, at, behind = self._inside.find(text, pos, final)
            fresh = fresh and at == pos
            if token == END:
                if frames.block_end and at > pos and text[at - 1] == "\n":
                    send(context, at - 1, "reasoning")
                    send_frame(context, at, "reasoning")
                else:
                    send(context, at, "reasoning")
                drop(context, behind)
                return "behind"
            if token == START:
                send(context, at, "reasoning")
                drop(context, behind)
            elif token == CALL:
                send(context, at, "reasoning")
                report_unclosed(context, block_start, by_call=True)
                send(context, behind, "content")
                return "done"
            elif final:
                send(context, at, "reasoning")
                report_unclosed(context, block_start)
                return "done"
            else:
                # The newline in front of an end marker is the template's: it waits for the next character.
                waits = frames.block_end and at > pos and text[at - 1] == "\n"
                send(context, at - 1 if waits else at, "reasoning")
                yield

    def _read_behind(self, context: Context) -> Next:
        """Directly behind the end marker that closed the block."""
        window = context.window
        frame = self.frames.behind
        while frame:
            text, pos = window.text, window.pos
            if text.startswith(frame, pos):
                send_frame(context, pos + len(frame), "content")
                break
            if window.final or not frame.startswith(text[pos:]):
                break
            yield
        while self.blank_prefix_is_answer:
            text, pos = window.text, window.pos
            blank = _BLANK.match(text, pos)
            send(context, blank.end() if blank else pos, "content")
            pos = window.pos
            if pos < len(text):
                token, at = self._closers.find(text, pos, window.final)
                if at > pos or (token is None and window.final):
                    break
                if token is not None:
                    report_stray(context, window.offset, self.end, dropped=True)
                    drop(context, pos + len(token))
                    continue
            if window.final:
                break
            yield
        return "done"

    # White space of the templates

    def _send_prefix(self, context: Context, start: int, text: str, side: Side, *, is_block: bool = False) -> None:
        """White space from the start of the output on, consumed before; `is_block`: an end marker closes it."""
        if not text:
            return
        frames = self.frames
        first = text[0] == "\n" and (frames.output_start or (is_block and frames.block_start))
        last = is_block and frames.block_end and len(text) > first and text[-1] == "\n"
        events = context.events
        end = start + len(text)
        if first:
            events.append(Frame(start, start + 1, "\n", side))
        if start + first < end - last:
            event = Reasoning if side == "reasoning" else Content
            events.append(event(start + first, end - last, text[int(first) : len(text) - last]))
        if last:
            events.append(Frame(end - 1, end, "\n", side))
