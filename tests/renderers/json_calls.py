"""Messages as models without markup of their own write them: the answer, then the calls as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def render(content: str, calls: Sequence[tuple[str, dict[str, Any]]], *, as_list: bool = False) -> str:
    """The message as raw text: one object for each call, on lines of their own, or one list."""
    objects = [{"name": name, "arguments": arguments} for name, arguments in calls]
    if as_list:
        return content + json.dumps(objects, ensure_ascii=False)
    return content + "\n".join(json.dumps(item, ensure_ascii=False) for item in objects)
