"""One output through one format: text in, events out.

A format's reader is a generator: it takes what it can from the window, appends events to the context and
yields when it needs more text. A complete parse is one `feed` and one `finish` of the same machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sluicegate.core.context import Context
from sluicegate.core.errors import MachineFinished
from sluicegate.core.events import Event
from sluicegate.core.patterns import Steps


class ToolFormat(Protocol):
    """How a model family writes tool calls."""

    @property
    def names(self) -> tuple[str, ...]:
        """Parser names of the format, the first is the main one."""
        ...

    @property
    def markers(self) -> tuple[str, ...]:
        """The literals that open a call or a section, for detection and diagnostics."""
        ...

    def read(self, context: Context) -> Steps:
        """Read one output."""
        ...


class ReasoningFormat(Protocol):
    """How a model family writes its chain of thought."""

    @property
    def names(self) -> tuple[str, ...]:
        """Parser names of the format, the first is the main one."""
        ...

    @property
    def markers(self) -> tuple[str, ...]:
        """The literals that open a block, for detection and diagnostics."""
        ...

    @property
    def begins_in_reasoning(self) -> bool:
        """Whether an output begins inside a block if the caller does not know the prompt."""
        ...

    def read(self, context: Context, in_reasoning: bool | None = None, opened_by: str = "") -> Steps:
        """Read one output; `in_reasoning` says what the prompt left open, None is the format's own default.

        `opened_by` is the marker that opened the block in the prompt, if it is known.
        """
        ...

    def opened_by(self, prompt: str) -> str:
        """The start marker that a rendered prompt, or its tail, left open, or nothing."""
        ...


class FormatMachine:
    """Runs one reader over one output. No input makes it raise; using it after `finish` does (`MachineFinished`)."""

    __slots__ = ("_context", "_finished", "_steps")

    def __init__(self, steps: Steps, context: Context) -> None:
        self._context = context
        self._steps = steps
        self._finished = False

    def feed(self, chunk: str) -> list[Event]:
        """Take the next piece of the raw text and return what is certain now."""
        if self._finished:
            raise MachineFinished("the machine has finished; make a new one for each output")
        context = self._context
        context.window.feed(chunk)
        next(self._steps)
        if context.deltas and context.open_call is not None:
            context.open_call.send()
        events = context.events[:]
        context.events.clear()
        return events

    def read(self, text: str) -> list[Event]:
        """Read a whole text: one `feed` that is known to be the last, and `finish`."""
        self._context.window.feed(text)
        return self.finish()

    def finish(self) -> list[Event]:
        """The text has ended: decide what was open and return the last events."""
        if self._finished:
            raise MachineFinished("the machine has finished; make a new one for each output")
        self._finished = True
        context = self._context
        context.window.final = True
        for _ in self._steps:
            raise AssertionError("a reader asked for text after the end")
        return context.events


def read_tool_calls(
    form: ToolFormat, text: str, tools: Sequence[Any] | None, details: bool, held_text_limit: int
) -> list[Event]:
    """The events of a whole text. Here, and with plain parameters, because that costs a compiled core least."""
    context = Context(tools, details=details, held_text_limit=held_text_limit)
    return FormatMachine(form.read(context), context).read(text)


def read_reasoning(form: ReasoningFormat, text: str, in_reasoning: bool | None, opened_by: str) -> list[Event]:
    """The same for reasoning."""
    context = Context()
    return FormatMachine(form.read(context, in_reasoning, opened_by), context).read(text)
