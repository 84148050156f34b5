"""Tokens one by one: their bytes, and where they lie in the text."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence

from sluicegate.tokenizers.errors import UnknownTokenId
from sluicegate.tokenizers.protocol import Piece, Tokenizer

_utf8 = codecs.getincrementaldecoder("utf-8")


def tile(tokens: Iterable[tuple[int, bytes, bool]]) -> list[Piece]:
    """Lay tokens (id, bytes, special flag) side by side; positions are code points of the text they make together.

    Where a character's bytes are spread over several tokens, each of them covers that character.
    """
    decoder = _utf8("replace")
    pieces: list[Piece] = []
    position = 0
    for token_id, data, special in tokens:
        start = position
        position += len(decoder.decode(data))
        inside_character = bool(decoder.getstate()[0])
        pieces.append(
            Piece(token_id, data.decode("utf-8", "replace"), data, start, position + inside_character, special)
        )
    return pieces


def pieces_of_ids(tokenizer: Tokenizer, ids: Sequence[int]) -> list[Piece]:
    """Return the tokens of `ids`, specials included; start and end only where decoding is a matter of bytes.

    Raises UnknownTokenId with the position.
    """
    tokens: list[tuple[int, bytes, bool]] = []
    for position, token_id in enumerate(ids):
        try:
            tokens.append((token_id, tokenizer.token_bytes(token_id), tokenizer.is_special(token_id)))
        except UnknownTokenId:
            raise UnknownTokenId(token_id, position) from None
    if tokenizer.decodes_by_bytes:
        return tile(tokens)
    return [
        Piece(token_id, data.decode("utf-8", "replace"), data, None, None, special)
        for token_id, data, special in tokens
    ]


def ends_inside_character(pieces: Sequence[Piece]) -> bool:
    """Whether the bytes of the last tokens are the beginning of a character that is not complete.

    A sequence that no further byte can complete is broken, not incomplete.
    """
    tail = b"".join(piece.bytes for piece in pieces[-4:])[-4:]
    for length in range(1, len(tail) + 1):
        first = tail[-length]
        if first & 0xC0 == 0x80:
            continue
        needed = 2 if 0xC2 <= first <= 0xDF else 3 if first & 0xF0 == 0xE0 else 4 if 0xF0 <= first <= 0xF4 else 0
        missing = needed - length
        return missing > 0 and any(_is_character(tail[-length:] + byte * missing) for byte in (b"\x80", b"\xbf"))
    return False


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False
