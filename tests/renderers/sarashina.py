"""Messages as the chat template of Sarashina writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def render(content: str, calls: Sequence[tuple[str, dict[str, Any]]], *, marker: bool = True) -> str:
    """The message as raw text: the answer, then the calls as Python prints them, behind the marker or without it."""
    if not calls:
        return content + "</s>"
    listed = repr([{"name": name, "arguments": arguments} for name, arguments in calls])
    return f"{content}<|tool_calls|>{listed}</s>" if marker else f"{listed}{content}</s>"
