"""No reasoning: everything is answer."""

from __future__ import annotations

from sluicegate.core.context import Context
from sluicegate.core.patterns import Steps
from sluicegate.core.reasoning import send


class Passthrough:
    """All text is content, at once."""

    names = ("passthrough",)
    markers: tuple[str, ...] = ()
    begins_in_reasoning = False

    def opened_by(self, prompt: str) -> str:  # noqa: ARG002
        """No prompt opens a block."""
        return ""

    def read(self, context: Context, in_reasoning: bool | None = None, opened_by: str = "") -> Steps:  # noqa: ARG002
        """Send everything."""
        window = context.window
        while True:
            send(context, len(window.text), "content")
            if window.final:
                return
            yield


PASSTHROUGH = Passthrough()
