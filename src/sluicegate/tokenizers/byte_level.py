"""Byte-level vocabularies: how bytes are spelt in tokenizer.json, and decoding by a table of bytes per id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, filterfalse

from sluicegate.tokenizers.errors import UnknownTokenId


def _spelling() -> dict[int, str]:
    """GPT-2's spelling of bytes: printable Latin-1 characters stand for themselves, the rest moves to U+0100 and up."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [byte for byte in range(256) if byte not in set(printable)]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + place) for place, byte in enumerate(moved)}


CHARACTER_OF_BYTE: Mapping[int, str] = _spelling()
_BYTE_OF_CHARACTER = {ord(character): byte for byte, character in CHARACTER_OF_BYTE.items()}
_SPELT = re.compile(f"[{re.escape(''.join(CHARACTER_OF_BYTE.values()))}]*")


def spell(data: bytes) -> str:
    """Return bytes as the characters that stand for them in a byte-level vocabulary."""
    return "".join(map(CHARACTER_OF_BYTE.__getitem__, data))


def unspell(token: str) -> bytes:
    """Return the bytes of a token; one with characters outside the spelling stands for its own UTF-8."""
    if _SPELT.fullmatch(token):
        return token.translate(_BYTE_OF_CHARACTER).encode("latin-1")
    return token.encode("utf-8", "surrogatepass")


class ByteTable:
    """Bytes of every id, and the ids that `skip_special_tokens` drops.

    Ids below `rows` that have no token stand for no bytes.
    """

    def __init__(self, bytes_of_id: dict[int, bytes], special: Iterable[int], rows: int = 0) -> None:
        self.rows = rows
        self.special = frozenset(special)
        # A list is twice as fast as a dictionary and takes a fourth of its memory, but has no holes.
        first_hole = next(filterfalse(bytes_of_id.__contains__, count()))
        self._all = list(map(bytes_of_id.__getitem__, range(first_hole)))
        self._behind = {token_id: data for token_id, data in bytes_of_id.items() if not 0 <= token_id < first_hole}
        self._visible = self._all.copy()
        for token_id in self.special:
            if 0 <= token_id < first_hole:
                self._visible[token_id] = b""

    @property
    def highest(self) -> int:
        """The highest id, -1 if there is none."""
        return max(self._behind, default=len(self._all) - 1)

    def join(self, ids: Sequence[int], *, skip_special_tokens: bool) -> bytes:
        """Return the bytes of a sequence. Raises UnknownTokenId with the position."""
        table = self._visible if skip_special_tokens else self._all
        try:
            if ids and min(ids) >= 0:
                return b"".join([table[token_id] for token_id in ids])
        except LookupError:
            pass
        skipped = self.special if skip_special_tokens else frozenset[int]()
        parts = [b"" if token_id in skipped else self.bytes_of(token_id, place) for place, token_id in enumerate(ids)]
        return b"".join(parts)

    def bytes_of(self, token_id: int, position: int = 0) -> bytes:
        """Return the bytes of one id; `position` is for the error. Raises UnknownTokenId."""
        if 0 <= token_id < len(self._all):
            return self._all[token_id]
        if (found := self._behind.get(token_id)) is not None:
            return found
        if 0 <= token_id < self.rows:
            return b""
        raise UnknownTokenId(token_id, position)
