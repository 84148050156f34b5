"""Rules of Kimi's tokenizer (K2 to K3): its pattern, its reserved tokens, and how it cuts long texts.

Source: the `tokenization_kimi.py` that the published checkpoints carry; it is never run here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sluicegate.tokenizers.openai_encodings import CONTRACTION

_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"

PATTERN = (
    rf"[\p{{Han}}]+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{CONTRACTION}"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{CONTRACTION}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How a text is split into words before merging; `&&` is class intersection."""

RESERVED = 256
"""Ids behind the ranks that always have a token; those without a name of their own get a made-up one."""

WINDOW = 400_000
"""Code points that are encoded at a time."""

RUN = 25_000
"""Characters of one kind (white space or not) after which a new piece starts."""

_LONG_RUNS = re.compile(rf"\s{{{RUN + 1},}}|\S{{{RUN + 1},}}")


def special_tokens(ranks: int, named: Mapping[int, str]) -> dict[str, int]:
    """Return all special tokens by name: the named ones and a reserved name for each free id behind the ranks."""
    tokens = {name: token_id for token_id, name in named.items()}
    for token_id in range(ranks, ranks + RESERVED):
        if token_id not in named:
            tokens.setdefault(f"<|reserved_token_{token_id}|>", token_id)
    return tokens


def cut(text: str) -> list[str]:
    """Cut a text into the pieces that are encoded each by itself; joined they are the text."""
    if len(text) <= RUN:
        return [text]
    return [piece for start in range(0, len(text), WINDOW) for piece in _cut_runs(text[start : start + WINDOW])]


def _cut_runs(window: str) -> Iterator[str]:
    start = 0
    for run in _LONG_RUNS.finditer(window) if _may_have_long_run(window) else ():
        for end in range(run.start() + RUN, run.end(), RUN):
            yield window[start:end]
            start = end
    yield window[start:]


def _may_have_long_run(window: str) -> bool:
    """Look at aligned blocks only, one of which a run of more than RUN characters fills."""
    block = RUN // 2
    for start in range(0, len(window) - block + 1, block):
        part = window[start : start + block]
        if part.isspace() or len(part.split(maxsplit=1)[0]) == block:
            return True
    return False
