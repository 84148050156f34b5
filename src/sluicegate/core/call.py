"""One call while it is read: its name, its arguments text as it grows, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sluicegate.core.context import Context
from sluicegate.core.events import ArgumentsDelta, CallEnd, CallFault, CallStart, Part, PartKind
from sluicegate.core.outline import Outline

# Names of other modules are looked up at each use, also when compiled; these are not.
_CALL_END: Final = CallEnd
_CALL_START: Final = CallStart
_PART: Final = Part


class CallBuilder:
    """Collects one call. It starts where the window is; the text from there on is kept until `end` or `fault`.

    `written` is the arguments text so far, in pieces that join to it. `word_start` is the raw offset of a word directly
    before the call that belongs to it if it is the call's name, and is text if not; -1 if there is none.
    `settle` is called before the first event of the call: then it is certain that a call or a fault stands here.
    """

    __slots__ = (
        "_context",
        "_outline",
        "_sent",
        "index",
        "name",
        "parts",
        "settle",
        "start",
        "word_start",
        "written",
    )

    def __init__(self, context: Context, outline: Outline, start: int) -> None:
        self._context = context
        self._outline = outline
        self._sent = 0
        self.start = start
        self.word_start = -1
        self.settle: Callable[[int], None] | None = None
        self.index: int | None = None
        self.name: str | None = None
        self.written: list[str] = []
        self.parts: list[Part] = []
        context.window.keep(start)

    def announce(self, name: str) -> None:
        """The name is known and nothing later can disqualify it."""
        self.name = name
        if self.index is None:
            self._begin()
            context = self._context
            self.index = context.announced
            context.announced += 1
            context.open_call = self
            context.events.append(_CALL_START(self.index, name, self.start))

    def write(self, json: str) -> None:
        """Add to the arguments text."""
        self.written.append(json)

    def write_whole(self, name: str, name_at: tuple[int, int], arguments: str, arguments_at: tuple[int, int]) -> None:
        """Write a call that is there as a whole: its name and its arguments, with their places as raw offsets."""
        self.parts.append(_PART("name", name_at[0], name_at[1]))
        self.parts.append(_PART("arguments", arguments_at[0], arguments_at[1]))
        self.announce(name)
        self.written.append(arguments)

    def part(self, kind: PartKind, start: int, end: int) -> None:
        """Note a sub-span."""
        self.parts.append(_PART(kind, start, end))

    def send(self) -> None:
        """Send what was written since the last time."""
        written, sent = self.written, self._sent
        size = len(written)
        if sent < size and self.index is not None:
            json = written[-1] if size - sent == 1 else "".join(written[sent:])
            self._context.events.append(ArgumentsDelta(self.index, json))
            self._sent = size

    def _begin(self) -> None:
        settle, self.settle = self.settle, None
        if settle is not None:
            settle(self.start)
        if self.word_start >= 0:
            start, self.word_start = self.word_start, -1
            word = self._context.window.slice(start, self.start)
            if word == self.name:
                self.start = start
            else:
                self._outline.passage(start, word)
            self._outline.block()

    def end(self, name: str, arguments: str | None = None, *, repeated: Sequence[str] = ()) -> None:
        """The call is complete and ends where the window is.

        `arguments` defaults to what was written; `repeated` are its keys, as JSON strings, that are written again.
        """
        context = self._context
        self.announce(name)
        if context.deltas:
            self.send()
        context.open_call = None
        end = context.window.offset
        text = "".join(self.written) if arguments is None else arguments
        index = self.index
        assert index is not None
        self._outline.call(_CALL_END(index, name, text, self.start, end, tuple(self.parts)))
        if context.tools.given and not context.tools.declares(name):
            context.report(
                "undeclared_tool",
                "warning",
                self.start,
                end,
                f"the call names {name!r}, which no tool declares",
                call=index,
            )
        for key in repeated:
            context.report(
                "duplicate_key",
                "warning",
                self.start,
                end,
                f"the key {key} is written twice; its last value counts",
                call=index,
            )
        context.window.release()

    def fault(self, code: str, message: str, *, incomplete: bool = False) -> None:
        """The block cannot be read as a call; it ends where the window is."""
        context = self._context
        self._begin()
        if context.deltas:
            self.send()
        context.open_call = None
        raw = context.window.slice(self.start, context.window.offset)
        arguments = "".join(self.written)
        fault = CallFault(self.index, code, incomplete, self.name, arguments, self.start, context.window.offset)
        report_fault(context, self._outline, fault, raw, message)
        context.window.release()


def report_fault(context: Context, outline: Outline, fault: CallFault, raw: str, message: str) -> None:
    """A block of the raw text `raw` is no call: say so to everyone."""
    context.events.append(fault)
    context.report(
        fault.code,
        "error",
        fault.start,
        fault.end,
        message,
        call=fault.index,
        raw=raw,
        incomplete=fault.incomplete,
    )
    outline.fault(fault.start, raw)
