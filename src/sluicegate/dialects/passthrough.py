"""No tool calls: everything is content."""

from __future__ import annotations

from sluicegate.core.context import Context
from sluicegate.core.patterns import Steps
from sluicegate.core.reasoning import send


class ToolPassthrough:
    """All text is content, at once."""

    names = ("passthrough",)
    markers: tuple[str, ...] = ()

    def read(self, context: Context) -> Steps:
        """Send everything."""
        window = context.window
        while True:
            send(context, len(window.text), "content")
            if window.final:
                return
            yield


PASSTHROUGH = ToolPassthrough()
