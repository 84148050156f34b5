"""SentencePiece's tokenizer.model, read by the `sentencepiece` library. Beyond the reference gateway."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import sentencepiece

from sluicegate.tokenizers.chat_template import ChatTemplate
from sluicegate.tokenizers.checkpoint import CheckpointConfig
from sluicegate.tokenizers.errors import TokenizationFailed, TokenizerFileInvalid, UnknownTokenId
from sluicegate.tokenizers.failures import reason_of
from sluicegate.tokenizers.pieces import tile
from sluicegate.tokenizers.protocol import Engine, Piece


def load(
    model: bytes, config: CheckpointConfig, *, origin: str, chat_template: ChatTemplate | None = None
) -> SentencePieceTokenizer:
    """Load a serialised model. Raises TokenizerFileInvalid."""
    try:
        processor: Any = sentencepiece.SentencePieceProcessor(model_proto=model)
        processor.encode("x")
    except Exception as error:
        raise TokenizerFileInvalid(f"'{origin}' is not a SentencePiece model: {reason_of(error)}") from None
    return SentencePieceTokenizer(
        processor, add_bos=config.members.get("add_bos_token") is not False, template=chat_template
    )


class SentencePieceTokenizer:
    """A SentencePiece model. Its control symbols (<s>, </s>) are never read from a text, as the library has it."""

    def __init__(self, processor: Any, *, add_bos: bool, template: ChatTemplate | None) -> None:
        self._processor = processor
        self._size: int = processor.vocab_size()
        self._before: list[int] = [processor.bos_id()] if add_bos and processor.bos_id() >= 0 else []
        self._chat_template = template
        self._special = frozenset(token_id for token_id in range(self._size) if processor.is_control(token_id))

    @property
    def vocab_size(self) -> int:
        return self._size

    @property
    def engine(self) -> Engine:
        return Engine("sentencepiece", "sentencepiece", "sentencepiece", "SentencePiece models have no fast path")

    @property
    def chat_template(self) -> ChatTemplate | None:
        return self._chat_template

    @property
    def decodes_by_bytes(self) -> bool:
        return False

    def encode(
        self,
        text: str,
        *,
        add_special_tokens: bool = False,
        parse_special: bool = True,  # noqa: ARG002
    ) -> list[int]:
        try:
            ids: list[int] = self._processor.encode(text)
        except Exception as error:
            raise TokenizationFailed(f"Encoding failed: {reason_of(error)}") from None
        return [*self._before, *ids] if add_special_tokens else ids

    def encode_flat(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = True) -> array[int]:
        return array("I", self.encode(text, add_special_tokens=add_special_tokens, parse_special=parse_special))

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        add_special_tokens: bool = False,
        parse_special: bool = True,  # noqa: ARG002
    ) -> list[list[int]]:
        encoded: list[list[int]] = []
        for index, text in enumerate(texts):
            try:
                encoded.append(self.encode(text, add_special_tokens=add_special_tokens))
            except TokenizationFailed as failure:
                raise TokenizationFailed(failure.reason, index) from None
        return encoded

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        for position, token_id in enumerate(ids):
            if not 0 <= token_id < self._size:
                raise UnknownTokenId(token_id, position)
        if skip_special_tokens:
            return self._decode([token_id for token_id in ids if token_id not in self._special])
        parts: list[str] = []
        start = 0
        for position, token_id in enumerate(ids):
            if token_id in self._special:
                parts += [self._decode(ids[start:position]), self._processor.id_to_piece(token_id)]
                start = position + 1
        return "".join([*parts, self._decode(ids[start:])])

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self._processor.decode(list(ids))) if ids else ""

    def token_bytes(self, token_id: int) -> bytes:
        if not 0 <= token_id < self._size:
            raise UnknownTokenId(token_id)
        piece: str = self._processor.id_to_piece(token_id)
        if self._processor.is_byte(token_id):
            return bytes.fromhex(piece[3:5])
        return piece.replace("▁", " ").encode()

    def is_byte(self, token_id: int) -> bool:
        return bool(self._processor.is_byte(token_id))

    def is_special(self, token_id: int) -> bool:
        return token_id in self._special

    @property
    def cut_marks(self) -> frozenset[str]:
        return frozenset()

    def parts(self, text: str) -> Iterator[str]:
        return iter((text,))

    def pieces(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = True) -> list[Piece]:
        ids = self.encode(text, add_special_tokens=add_special_tokens, parse_special=parse_special)
        tokens = [(token_id, self.token_bytes(token_id), self.is_special(token_id)) for token_id in ids]
        if b"".join(data for _, data, _ in tokens) == text.encode():
            return tile(tokens)
        return [
            Piece(token_id, data.decode("utf-8", "replace"), data, None, None, special)
            for token_id, data, special in tokens
        ]
