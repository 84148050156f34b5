"""OpenAI's encodings by model name: no files needed where the fast engine's package carries the ranks.

Ranks of other encodings come through `tiktoken`, which takes them from its cache directory (`TIKTOKEN_CACHE_DIR`) or
downloads them; it checks their hash.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from sluicegate.tokenizers.errors import HubUnavailable
from sluicegate.tokenizers.failures import is_engine_failure, reason_of

_NAMED_LIKE_OPENAI = re.compile(
    r"gpt-[0-9].*|chatgpt-.*|o[0-9](-.*)?|davinci|curie|babbage|ada"
    r"|(text-(davinci|curie|babbage|ada|embedding-ada)|code-(davinci|cushman)).*",
    re.DOTALL,
)

CL100K_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
"""What may end a word, in the patterns that take it for a part of the word before it."""
O200K_PATTERN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{CONTRACTION}"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{CONTRACTION}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

END_OF_TEXT = "<|endoftext|>"
_FILL_IN = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")


class Encoding(msgspec.Struct, frozen=True):
    """An encoding: its pattern, special tokens, the vocabulary size that is reported, and where its ranks are."""

    name: str
    pattern: str
    special_tokens: dict[str, int]
    vocab_size: int
    bundled: tuple[int, str] | None = None
    """Number of ranks and SHA-256 of the rank file, where the fast engine's package carries them."""


ENCODINGS = {
    encoding.name: encoding
    for encoding in (
        Encoding(
            "cl100k_base", CL100K_PATTERN,
            {END_OF_TEXT: 100257, **{token: 100258 + n for n, token in enumerate(_FILL_IN)}, "<|endofprompt|>": 100276},
            100256, (100256, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
        ),
        Encoding(
            "o200k_base", O200K_PATTERN, {END_OF_TEXT: 199999, "<|endofprompt|>": 200018},
            200019, (199998, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
        ),
        Encoding("p50k_base", GPT2_PATTERN, {END_OF_TEXT: 50256}, 50281),
        Encoding(
            "p50k_edit", GPT2_PATTERN, {END_OF_TEXT: 50256, **{token: 50281 + n for n, token in enumerate(_FILL_IN)}},
            50284,
        ),
        Encoding("r50k_base", GPT2_PATTERN, {END_OF_TEXT: 50256}, 50257),
    )
}  # fmt: skip


def encoding_of_model(name: str) -> Encoding | None:
    """Return the encoding of an OpenAI model name (the last component of a path), or None if it is not one."""
    model = name.rsplit("/", 1)[-1]
    if not _NAMED_LIKE_OPENAI.fullmatch(model):
        return None
    from tiktoken import encoding_name_for_model  # noqa: PLC0415 - heavy

    try:
        return ENCODINGS.get(encoding_name_for_model(model))
    except KeyError:
        return None


def ranks_of(encoding: Encoding) -> dict[bytes, int]:
    """Return the ranks of an encoding. Raises HubUnavailable when they can neither be found nor downloaded."""
    if encoding.bundled is not None and (bundled := _bundled_ranks(encoding.name, *encoding.bundled)) is not None:
        return bundled
    import tiktoken  # noqa: PLC0415 - heavy

    try:
        engine = tiktoken.get_encoding(encoding.name)
    except BaseException as failure:
        if not is_engine_failure(failure):
            raise
        raise HubUnavailable(
            f"Failed to download the ranks of {encoding.name}: {reason_of(failure)}. "
            "Set TIKTOKEN_CACHE_DIR to a directory that holds them to do without the network."
        ) from None
    special = set(encoding.special_tokens)
    return {
        token: engine.encode_single_token(token)
        for token in engine.token_byte_values()
        if token.decode("utf-8", "replace") not in special
    }


def _bundled_ranks(name: str, count: int, sha256: str) -> dict[bytes, int] | None:
    try:
        from splintr import Tokenizer  # noqa: PLC0415 - heavy, and an extra

        engine: Any = Tokenizer.from_pretrained(name)
        ranks = {engine.decode_token_bytes(rank): rank for rank in range(count)}
    except BaseException as failure:
        if not is_engine_failure(failure):
            raise
        return None
    from sluicegate.tokenizers.rank_file import format_ranks  # noqa: PLC0415 - heavy

    return ranks if hashlib.sha256(format_ranks(ranks)).hexdigest() == sha256 else None
