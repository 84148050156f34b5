"""What the files beside a tokenizer say about it: tokenizer_config.json and config.json."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from sluicegate.tokenizers.errors import TokenizerFileInvalid

NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")

KIMI_MODULE = "tokenization_kimi"
KIMI_MODEL_TYPES = frozenset({"kimi_k2", "kimi_k25", "kimi_k3"})


class ConfiguredToken(msgspec.Struct, frozen=True):
    """An entry of `added_tokens_decoder`. Unset flags are None, since their default depends on the reader."""

    content: str
    special: bool = False
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool | None = None


class CheckpointConfig:
    """A view of tokenizer_config.json that forgives what is absent or of another shape than expected."""

    def __init__(self, members: dict[str, Any], model_type: str | None = None) -> None:
        self.members = members
        self.model_type = model_type

    @property
    def tokenizer_class(self) -> str | None:
        found = self.members.get("tokenizer_class")
        return found if isinstance(found, str) else None

    @property
    def chat_template(self) -> Any:
        """As written: a string, a list of {"name", "template"}, or None."""
        return self.members.get("chat_template")

    def flag(self, name: str) -> bool:
        """Whether a member is the literal true."""
        return self.members.get(name) is True

    def named_tokens(self) -> dict[str, str]:
        """Return bos_token, eos_token and so on, each given as a string or as an object with `content`."""
        found: dict[str, str] = {}
        for name in NAMED_TOKENS:
            value = self.members.get(name)
            if isinstance(value, dict):
                value = cast("dict[str, Any]", value).get("content")
            if isinstance(value, str):
                found[name] = value
        return found

    def added_tokens(self) -> dict[int, ConfiguredToken]:
        """Return `added_tokens_decoder` by id; entries with a non-integer id or without content are skipped."""
        entries = self.members.get("added_tokens_decoder")
        found: dict[int, ConfiguredToken] = {}
        if not isinstance(entries, dict):
            return found
        for key, value in cast("dict[str, Any]", entries).items():
            if not (key.isascii() and key.isdecimal()):
                continue
            try:
                found[int(key)] = msgspec.convert(value, ConfiguredToken)
            except msgspec.ValidationError:
                continue
        return dict(sorted(found.items()))

    def is_kimi(self) -> bool:
        """Whether the checkpoint asks for Kimi's tokenizer code, by any of its spellings (the code is never run)."""
        return self.model_type in KIMI_MODEL_TYPES or any(
            KIMI_MODULE in value.split(".") for value in _strings(self.members)
        )


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and depth < 32:
        for member in cast("dict[str, Any]", value).values():
            yield from _strings(member, depth + 1)
    elif isinstance(value, list) and depth < 32:
        for member in cast("Iterable[Any]", value):
            yield from _strings(member, depth + 1)


def read_config(directory: Path) -> CheckpointConfig:
    """Read the two files of a checkpoint directory; a file that is absent or malformed says nothing."""
    members = _read_object(directory / "tokenizer_config.json") or {}
    model_type = (_read_object(directory / "config.json") or {}).get("model_type")
    return CheckpointConfig(members, model_type if isinstance(model_type, str) else None)


def _read_object(path: Path) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def read_file(path: Path) -> bytes:
    """Read a tokenizer file. Raises TokenizerFileInvalid."""
    try:
        return path.read_bytes()
    except (OSError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise TokenizerFileInvalid(f"Failed to read {path.name}: {reason}") from error
