"""Small tokenizers of every kind, made here from nothing: no file of them is downloaded or kept."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import tokenizers

from sluicegate.tokenizers.byte_level import spell, unspell
from sluicegate.tokenizers.checkpoint import CheckpointConfig
from sluicegate.tokenizers.huggingface import HuggingFaceTokenizer
from sluicegate.tokenizers.probes import SENTENCES
from sluicegate.tokenizers.qwen import PATTERN
from sluicegate.tokenizers.rank_file import RankTokenizer, format_ranks, rank_tokenizer

TEXT = " ".join(SENTENCES) + "hello world, hello 中国! " * 20 + "    the hello\n\n" * 20


@cache
def merges() -> tuple[tuple[str, str], ...]:
    """Merges in the order in which the library learns them from a text, so that they are consistent."""
    learning = tokenizers.Tokenizer(tokenizers.models.BPE())
    learning.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([  # pyright: ignore
        tokenizers.pre_tokenizers.Split(tokenizers.Regex(PATTERN), "isolated"),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=512, show_progress=False, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    learning.train_from_iterator([TEXT], trainer)
    return tuple((left, right) for left, right in json.loads(learning.to_str())["model"]["merges"])


@cache
def ranks() -> dict[bytes, int]:
    """All single bytes, then the merged tokens; a byte's rank is its value."""
    merged = [unspell(left + right) for left, right in merges()]
    return {bytes([byte]): byte for byte in range(256)} | {token: 256 + rank for rank, token in enumerate(merged)}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def added(token_id: int, content: str, *, special: bool, **flags: bool) -> dict[str, Any]:
    """An entry of added_tokens."""
    return {"id": token_id, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": special, **flags}  # fmt: skip


def byte_level_json(**members: Any) -> bytes:
    """A tokenizer.json with two special tokens, two other added tokens and a BOS template."""
    vocabulary = {spell(token): rank for token, rank in ranks().items()}
    size = len(vocabulary)
    split = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            added(size, "<|begin|>", special=True),
            added(size + 1, "<|end|>", special=True),
            added(size + 2, "<think>", special=False),
            added(size + 3, "</think>", special=False),
        ],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, BYTE_LEVEL]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<|begin|>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [],
            "special_tokens": {"<|begin|>": {"id": "<|begin|>", "ids": [size], "tokens": ["<|begin|>"]}},
        },
        "decoder": BYTE_LEVEL,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": merges()},
    }
    return json.dumps(tokenizer | members).encode()


def byte_level(
    *, use_fast_path: bool = True, config: dict[str, Any] | None = None, **members: Any
) -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(byte_level_json(**members), CheckpointConfig(config or {}), use_fast_path=use_fast_path)


WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "hello",
    "world",
    ",",
    "!",
    "'",
    "s",
    "##s",
    "##ing",
    "sing",
    "a",
    "##b",
    "b",
]


def wordpiece(**members: Any) -> HuggingFaceTokenizer:
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added(place, WORDS[place], special=True) for place in range(4)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2],
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {word: place for place, word in enumerate(WORDS)},
        },
    }  # fmt: skip
    return HuggingFaceTokenizer(json.dumps(tokenizer | members).encode())


PADDING = {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
           "pad_token": "[PAD]"}  # fmt: skip
TRUNCATION = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}


def byte_fallback(*, use_fast_path: bool = True) -> HuggingFaceTokenizer:
    """SentencePiece-like BPE as Gemma has it: blanks as ▁, unknown characters as single bytes."""
    letters = [chr(code) for code in range(0x20, 0x7F) if chr(code) not in " <>"] + ["▁", "\n", "<", ">"]
    pieces = ["<pad>", "<eos>", "<bos>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *letters]
    pairs = [("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o"), ("▁", "w"), ("▁", "▁")]
    vocabulary = {piece: place for place, piece in enumerate([*pieces, *(left + right for left, right in pairs)])}
    size = len(vocabulary)
    replace = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            *(added(place, pieces[place], special=True) for place in range(4)),
            added(size, "\n\n", special=False),
            added(size + 1, "<table>", special=False),
        ],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        "pre_tokenizer": {
            "type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False,
        },
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [replace, {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {
            "type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": vocabulary,
            "merges": pairs,
        },
    }  # fmt: skip
    return HuggingFaceTokenizer(json.dumps(tokenizer).encode(), use_fast_path=use_fast_path)


def rank_config(first: int, *, kimi: bool = False) -> dict[str, Any]:
    """A tokenizer_config.json with two special tokens and one that is not flagged so."""
    tokens = {first: ("[BOS]", True), first + 1: ("<|end|>", True), first + 3: ("<|open|>", False)}
    config: dict[str, Any] = {
        "added_tokens_decoder": {
            str(token_id): {"content": content, "special": special} for token_id, (content, special) in tokens.items()
        }
    }
    return config | ({"auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}} if kimi else {})


def ranked(*, kimi: bool = False, use_fast_path: bool = True) -> RankTokenizer:
    config = CheckpointConfig(rank_config(len(ranks()), kimi=kimi))
    return rank_tokenizer(format_ranks(ranks()), config, origin="tiktoken.model", use_fast_path=use_fast_path)


def write_checkpoint(directory: Path, files: dict[str, bytes | dict[str, Any]]) -> Path:
    """Write files; objects as JSON."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return directory
