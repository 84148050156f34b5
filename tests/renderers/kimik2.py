"""Messages as the chat template of Kimi-K2 writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def render(content: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """The message as raw text: the answer, then one section with all calls."""
    if not calls:
        return content + "<|im_end|>"
    blocks = [
        f"<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>"
        f"{json.dumps(arguments, ensure_ascii=False)}<|tool_call_end|>"
        for index, (name, arguments) in enumerate(calls)
    ]
    section = "".join(blocks)
    return f"{content}<|tool_calls_section_begin|>{section}<|tool_calls_section_end|><|im_end|>"
