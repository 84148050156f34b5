"""Messages as the chat template of Inkling writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

MESSAGE, END = "<|message_model|>", "<|end_message|>"


def render(content: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """The message as raw text: a frame for the answer, one for each call, the end of sampling."""
    frames = [f"{MESSAGE}<|content_text|>{content}{END}"] if content else []
    for name, arguments in calls:
        payload = json.dumps({"name": name, "args": arguments}, ensure_ascii=False, separators=(",", ":"))
        frames.append(f"{MESSAGE}{name}<|content_invoke_tool_json|>{payload}{END}")
    return "".join(frames) + "<|content_model_end_sampling|>"
