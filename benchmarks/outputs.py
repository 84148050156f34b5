"""Outputs as models write them, in every format and of every size: an answer, then calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.renderers import cohere, gemma4, inkling, json_calls, kimik2, llama, minimax_m3, mistral, pythonic, sarashina
from tests.renderers.tagged import TEMPLATES

Calls = Sequence[tuple[str, dict[str, Any]]]

PROSE = "I will look at the forecast first, then write the script that you asked for and run it once. "
CODE = (
    "def rainfall(rows: list[dict[str, float]]) -> float:\n"
    '    """Sum the rain of all rows, in mm; a < b && c > d stays as it is."""\n'
    '    return sum(row.get("rain", 0.0) for row in rows if row["day"] >= 1)\n\n'
)
PARAMETERS: dict[str, dict[str, dict[str, str]]] = {
    "get_weather": {"city": {"type": "string"}, "days": {"type": "integer"}, "metric": {"type": "boolean"}},
    "write_file": {"path": {"type": "string"}, "content": {"type": "string"}},
    "search": {"query": {"type": "string"}, "limit": {"type": "integer"}},
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name,
            "parameters": {"type": "object", "properties": properties},
        },
    }
    for name, properties in PARAMETERS.items()
]
WEATHER = ("get_weather", {"city": "Oslo", "days": 3, "metric": True})
SEARCH = ("search", {"query": "rain gauge calibration", "limit": 10})


def _envelopes(content: str, calls: Calls) -> str:
    blocks = [
        f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}\n</tool_call>"
        for name, arguments in calls
    ]
    return content + "\n" + "\n".join(blocks)


def _deepseek(content: str, calls: Calls) -> str:
    blocks = [
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n"
        f"{json.dumps(arguments, ensure_ascii=False)}\n```<｜tool▁call▁end｜>"
        for name, arguments in calls
    ]
    return f"{content}<｜tool▁calls▁begin｜>" + "\n".join(blocks) + "<｜tool▁calls▁end｜>"


def _deepseek31(content: str, calls: Calls) -> str:
    blocks = [
        f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{json.dumps(arguments, ensure_ascii=False)}<｜tool▁call▁end｜>"
        for name, arguments in calls
    ]
    return f"{content}<｜tool▁calls▁begin｜>" + "".join(blocks) + "<｜tool▁calls▁end｜>"


def _mistral(content: str, calls: Calls) -> str:
    return mistral.render(content, calls, version="v3").removesuffix("</s>")


RENDERERS: dict[str, Callable[[str, Calls], str]] = {
    "json": json_calls.render,
    "mistral": _mistral,
    "qwen": _envelopes,
    "llama": llama.render,
    "deepseek": _deepseek,
    "deepseek31": _deepseek31,
    "kimik2": kimik2.render,
    "sarashina": sarashina.render,
    "cohere": cohere.render,
    "inkling": inkling.render,
    "pythonic": lambda content, calls: pythonic.render(content, calls, tags=False).removesuffix("<|eot|>"),
    "gemma4": gemma4.render,
    "minimax_m3": minimax_m3.render,
    **{template.parser: template.render for template in TEMPLATES},
}
"""A text of an answer and its calls, by the format's name."""

JSON_FORMATS = (
    "json",
    "mistral",
    "qwen",
    "llama",
    "deepseek",
    "deepseek31",
    "kimik2",
    "sarashina",
    "cohere",
    "inkling",
)
"""The formats whose arguments are JSON."""

ONLY_CALLS = frozenset({"llama", "pythonic", "json"})
"""The formats in which an output is either an answer or calls."""


def text_of(length: int, piece: str) -> str:
    """Repetitions of a text, cut to a length in code points."""
    return (piece * (length // len(piece) + 1))[:length]


def message(size: int) -> tuple[str, Calls]:
    """An answer and its calls which together make an output of about `size` bytes."""
    if size < 1_000:
        return text_of(size // 2, PROSE), [WEATHER]
    code = ("write_file", {"path": "rain.py", "content": text_of(size - 1_300 if size > 4_000 else 600, CODE)})
    return text_of(900, PROSE), [WEATHER, code, SEARCH]


def output(name: str, size: int) -> str:
    """An output of about `size` bytes in a format."""
    content, calls = message(size)
    return RENDERERS[name]("" if name in ONLY_CALLS else content, calls)


def long_argument(name: str, size: int) -> str:
    """An output with one call, whose one argument has `size` code points."""
    return RENDERERS[name]("", [("write_file", {"path": "rain.py", "content": text_of(size, CODE)})])
