"""One call while it is read: its name, its arguments text as it grows, and how it ends."""

from __future__ import annotations

from sluicegate.core.context import Context
from sluicegate.core.events import ArgumentsDelta, CallEnd, CallFault, CallStart, Part, PartKind
from sluicegate.core.outline import Outline


class CallBuilder:
    """Collects one call. It starts where the window is; the text from there on is kept until `end` or `fault`.

    `written` is the arguments text so far, in pieces that join to it.
    """

    __slots__ = ("_context", "_outline", "_sent", "index", "name", "parts", "start", "written")

    def __init__(self, context: Context, outline: Outline, start: int) -> None:
        self._context = context
        self._outline = outline
        self._sent = 0
        self.start = start
        self.index: int | None = None
        self.name: str | None = None
        self.written: list[str] = []
        self.parts: list[Part] = []
        context.window.keep(start)

    def announce(self, name: str) -> None:
        """The name is known and nothing later can disqualify it."""
        self.name = name
        if self.index is None:
            context = self._context
            self.index = context.announced
            context.announced += 1
            context.open_call = self
            context.events.append(CallStart(self.index, name, self.start))

    def write(self, json: str) -> None:
        """Add to the arguments text."""
        self.written.append(json)

    def part(self, kind: PartKind, start: int, end: int) -> None:
        """Note a sub-span."""
        self.parts.append(Part(kind, start, end))

    def send(self) -> None:
        """Send what was written since the last time."""
        if self.index is not None and self._sent < len(self.written):
            self._context.events.append(ArgumentsDelta(self.index, "".join(self.written[self._sent :])))
            self._sent = len(self.written)

    def end(self, name: str, arguments: str | None = None) -> None:
        """The call is complete and ends where the window is. `arguments` defaults to what was written."""
        context = self._context
        self.announce(name)
        if context.deltas:
            self.send()
        context.open_call = None
        end = context.window.offset
        text = "".join(self.written) if arguments is None else arguments
        index = self.index
        assert index is not None
        self._outline.call(CallEnd(index, name, text, self.start, end, tuple(self.parts)))
        if context.tools.given and not context.tools.declares(name):
            context.report(
                "undeclared_tool",
                "warning",
                self.start,
                end,
                f"the call names {name!r}, which no tool declares",
                call=index,
            )
        context.window.release()

    def fault(self, code: str, message: str, *, incomplete: bool = False) -> None:
        """The block cannot be read as a call; it ends where the window is."""
        context = self._context
        if context.deltas:
            self.send()
        context.open_call = None
        end = context.window.offset
        raw = context.window.slice(self.start, end)
        arguments = "".join(self.written)
        context.events.append(CallFault(self.index, code, incomplete, self.name, arguments, self.start, end))
        context.report(code, "error", self.start, end, message, call=self.index, raw=raw, incomplete=incomplete)
        self._outline.fault(self.start, raw)
        context.window.release()
