"""Messages as Llama 4 writes them in Python's notation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def render(content: str, calls: Sequence[tuple[str, dict[str, Any]]], *, tags: bool = True) -> str:
    """The message as raw text: the answer, then one list of calls, between tags or without."""
    if not calls:
        return content + "<|eot|>"
    listed = ", ".join(
        f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})" for name, arguments in calls
    )
    return f"{content}<|python_start|>[{listed}]<|python_end|><|eot|>" if tags else f"{content}[{listed}]<|eot|>"
