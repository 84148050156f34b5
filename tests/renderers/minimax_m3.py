"""Messages as the chat template of MiniMax-M3 writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

TOKEN = "]<]minimax[>["


def render(content: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """The message as raw text: the answer, then one section with all calls."""
    if not calls:
        return content + "[e~["
    invokes = [
        f'{TOKEN}<invoke name="{name}">'
        + "".join(element(key, value) for key, value in arguments.items())
        + f"{TOKEN}</invoke>\n"
        for name, arguments in calls
    ]
    return f"{content}{TOKEN}<tool_call>\n{''.join(invokes)}{TOKEN}</tool_call>[e~["


def element(name: str, value: Any) -> str:
    """One element with what it holds."""
    return f"{TOKEN}<{name}>{body(value)}{TOKEN}</{name}>"


def body(value: Any) -> str:
    """Members and items as elements, strings as they are, null in a list as nothing, all else as JSON."""
    if isinstance(value, dict):
        return "".join(element(key, member) for key, member in value.items())
    if isinstance(value, list):
        return "".join(element("item", item) if item is not None else element("item", "") for item in value)
    return value if isinstance(value, str) else json.dumps(value)
