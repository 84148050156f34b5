"""Messages as the chat template of Command A writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def render(content: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """The message as raw text: the answer in its wrapper, then the action block."""
    answer = f"<|START_RESPONSE|>{content}<|END_RESPONSE|>" if content else ""
    if not calls:
        return answer + "<|END_OF_TURN_TOKEN|>"
    objects = [
        json.dumps({"tool_call_id": str(index), "tool_name": name, "parameters": arguments}, ensure_ascii=False)
        for index, (name, arguments) in enumerate(calls)
    ]
    block = ",\n".join("    " + item for item in objects)
    return f"{answer}<|START_ACTION|>[\n{block}\n]<|END_ACTION|><|END_OF_TURN_TOKEN|>"
