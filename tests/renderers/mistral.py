"""Messages as the chat templates of the Mistral models write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

Version = Literal["v3", "v7", "v11", "v13"]


def render(content: str, calls: Sequence[tuple[str, dict[str, Any]]], *, version: Version = "v13") -> str:
    """The message as raw text, in the form of a tokenizer version: a list up to v7, then a name and its arguments."""
    if not calls:
        return content + "</s>"
    if version in {"v3", "v7"}:
        objects = [
            {"name": name, "arguments": arguments, "id": f"{index:09}"} for index, (name, arguments) in enumerate(calls)
        ]
        space = " " if version == "v3" else ""
        return f"{content}[TOOL_CALLS]{space}{json.dumps(objects, ensure_ascii=False)}</s>"
    blocks = [
        f"[TOOL_CALLS]{name}"
        + (f"[CALL_ID]{index:09}" if version == "v11" else "")
        + f"[ARGS]{json.dumps(arguments, ensure_ascii=False)}"
        for index, (name, arguments) in enumerate(calls)
    ]
    return content + "".join(blocks) + "</s>"
