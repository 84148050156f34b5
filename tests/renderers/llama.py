"""Messages as the chat template of Llama 3.1 writes them; the template knows one call, the models write several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def render(content: str, calls: Sequence[tuple[str, dict[str, Any]]], *, tag: bool = True) -> str:
    """The message as raw text: the calls behind the tag, or bare, which only a message without content can be."""
    objects = [json.dumps({"name": name, "parameters": arguments}, ensure_ascii=False) for name, arguments in calls]
    end = "<|eom_id|>" if tag else "<|eot_id|>"
    return content + ("<|python_tag|>" if tag and calls else "") + "; ".join(objects) + end
