"""Byte-level vocabularies: how bytes are spelt in tokenizer.json, and decoding by a table of bytes per id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

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
        self.bytes_of_id = bytes_of_id
        self.rows = rows
        self.special = frozenset(special)
        self._visible = bytes_of_id | dict.fromkeys(self.special, b"")

    def join(self, ids: Sequence[int], *, skip_special_tokens: bool) -> bytes:
        """Return the bytes of a sequence. Raises UnknownTokenId with the position."""
        table = self._visible if skip_special_tokens else self.bytes_of_id
        try:
            return b"".join([table[token_id] for token_id in ids])
        except KeyError:
            return b"".join([self._bytes_of(token_id, place, table) for place, token_id in enumerate(ids)])

    def bytes_of(self, token_id: int) -> bytes:
        """Return the bytes of one id. Raises UnknownTokenId."""
        return self._bytes_of(token_id, 0, self.bytes_of_id)

    def _bytes_of(self, token_id: int, position: int, table: dict[int, bytes]) -> bytes:
        if (found := table.get(token_id)) is not None:
            return found
        if 0 <= token_id < self.rows:
            return b""
        raise UnknownTokenId(token_id, position)
