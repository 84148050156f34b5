"""Messages as the chat template of Gemma 4 writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

QUOTE = '<|"|>'


def render(content: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """The message as raw text: the calls stand before the answer."""
    blocks = [f"<|tool_call>call:{name}{value(arguments)}<tool_call|>" for name, arguments in calls]
    return "".join(blocks) + content + "<turn|>"


def value(item: Any) -> str:
    """A value: strings between delimiters, objects with bare keys, all else as JSON."""
    if isinstance(item, str):
        return QUOTE + item + QUOTE
    if isinstance(item, list):
        return "[" + ",".join(map(value, item)) + "]"
    if isinstance(item, dict):
        return "{" + ",".join(f"{key(name)}:{value(member)}" for name, member in item.items()) + "}"
    return json.dumps(item)


def key(name: str) -> str:
    """A key, bare where it can be."""
    return name if re.fullmatch(r"[\w.-]+", name) else QUOTE + name + QUOTE
