"""The tokenizer.json that Qwen2 and Qwen3 checkpoints have, made from their vocabulary, merges and added tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sluicegate.tokenizers.checkpoint import ConfiguredToken

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How a text is split into words before merging: cl100k's pattern, but digits one by one."""


def qwen_tokenizer_json(
    vocabulary: Mapping[str, int], merges: Iterable[tuple[str, str]], added_tokens: Mapping[int, ConfiguredToken], *,
    add_prefix_space: bool = False,
) -> bytes:  # fmt: skip
    """Return the file's bytes. A token whose `normalized` is not set is matched before normalization if special."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
    added = [
        {"id": token_id, "content": token.content, "single_word": token.single_word, "lstrip": token.lstrip,
         "rstrip": token.rstrip, "normalized": not token.special if token.normalized is None else token.normalized,
         "special": token.special}
        for token_id, token in sorted(added_tokens.items())
    ]  # fmt: skip
    tokenizer: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [split, {**byte_level, "add_prefix_space": add_prefix_space}],
        },
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": list(merges)},
    }
    return msgspec.json.encode(tokenizer)
