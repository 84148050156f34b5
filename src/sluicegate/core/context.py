"""What a reader works with: the text, where its events go, the caller's tools and options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from sluicegate.core.events import Diagnostic, Event, Severity
from sluicegate.core.schema import Tools
from sluicegate.core.window import Window

if TYPE_CHECKING:
    from sluicegate.core.call import CallBuilder

HELD_TEXT_LIMIT: Final = 4_194_304
"""Default limit of text that waits for a decision, in code points."""


class Context:
    """Shared by the readers of one machine.

    `details` asks for the sub-spans of keys and values, `deltas` for arguments as they grow. `announced` counts the
    calls whose name went out, `open_call` is the one whose arguments are growing.
    """

    __slots__ = ("announced", "deltas", "details", "events", "held_text_limit", "open_call", "tools", "window")

    def __init__(
        self,
        tools: Sequence[Any] | None = None,
        *,
        deltas: bool = False,
        details: bool = False,
        held_text_limit: int = HELD_TEXT_LIMIT,
    ) -> None:
        self.window = Window()
        self.events: list[Event] = []
        self.announced = 0
        self.open_call: CallBuilder | None = None
        self.tools = Tools(tools)
        self.deltas = deltas
        self.details = details
        self.held_text_limit = held_text_limit

    def report(
        self,
        code: str,
        severity: Severity,
        start: int,
        end: int,
        message: str,
        *,
        call: int | None = None,
        raw: str | None = None,
        incomplete: bool = False,
    ) -> None:
        """Add a diagnostic; `start` and `end` are offsets in the raw text."""
        self.events.append(Diagnostic(code, severity, start, end, message, call, raw, incomplete))
