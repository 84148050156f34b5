"""What every tokenizer can do, whatever library serves it."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import msgspec

if TYPE_CHECKING:
    from sluicegate.tokenizers.chat_template import ChatTemplate


Bytes: TypeAlias = bytes  # the members of `Piece` hide the name


class Engine(msgspec.Struct, frozen=True):
    """Which library serves a tokenizer, and why.

    `encode` and `decode` name the library in use ("splintr", "tokenizers", "tiktoken", "table", …); `reference` is the
    library whose answers are the truth and which takes over when the fast one must not be used; `reason` is a sentence.
    """

    encode: str
    decode: str
    reference: str
    reason: str


class Piece(msgspec.Struct, frozen=True):
    """One token of a text.

    `text` is what the token alone decodes to (U+FFFD where it ends inside a character), `bytes` are its bytes.
    `start` and `end` are code points of the text: those of the first and behind the last character that the token has a
    byte of; None where the text is not known or the engine cannot tell. `special` is the token's special flag.
    """

    id: int
    text: str
    bytes: Bytes
    start: int | None
    end: int | None
    special: bool


@runtime_checkable
class Tokenizer(Protocol):
    """Text to token ids and back. Every method may be called from many threads at once."""

    @property
    def vocab_size(self) -> int:
        """Number of ids of the base vocabulary: without added tokens for tokenizer.json, highest id + 1 for ranks."""
        ...

    @property
    def engine(self) -> Engine:
        """Which library serves this tokenizer and why."""
        ...

    @property
    def chat_template(self) -> ChatTemplate | None:
        """The checkpoint's chat template, if it has one."""
        ...

    def encode(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = True) -> list[int]:
        """Return the token ids of `text`.

        `add_special_tokens` adds what the checkpoint puts around a text (BOS, [CLS], …). With `parse_special` false the
        spelling of a special or added token inside the text stays ordinary text.

        Raises TokenizationFailed.
        """
        ...

    def encode_flat(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = True) -> array[int]:
        """Return the ids that `encode` returns as an array of 32-bit numbers: less time and memory for long texts.

        Raises TokenizationFailed.
        """
        ...

    def encode_batch(
        self, texts: Sequence[str], *, add_special_tokens: bool = False, parse_special: bool = True
    ) -> list[list[int]]:
        """Return the token ids of each text. Raises TokenizationFailed with the text's index."""
        ...

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """Return the text of `ids`; with `skip_special_tokens` without tokens flagged special.

        Raises UnknownTokenId with the id and its position, DetokenizationFailed.
        """
        ...

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes that this token stands for. Raises UnknownTokenId."""
        ...

    def is_special(self, token_id: int) -> bool:
        """Whether the token is flagged special, so that `skip_special_tokens` drops it."""
        ...

    def is_byte(self, token_id: int) -> bool:
        """Whether the token stands for one byte, so that others may be needed to make a character."""
        ...

    @property
    def decodes_by_bytes(self) -> bool:
        """Whether `decode` is exactly the joined `token_bytes` read as UTF-8 with U+FFFD for what is broken."""
        ...

    @property
    def cut_marks(self) -> frozenset[str]:
        """Spellings of tokens behind which a text can be cut so that both parts, encoded alone, give the same ids.

        Empty where that is not certain.
        """
        ...

    def parts(self, text: str) -> Iterator[str]:
        """Cut a long text into parts which, encoded alone, one after another, give the ids of `encode(text)`.

        So a thread that encodes a long text can let others go first in between. The text as a whole where it is not
        certain that it can be cut.
        """
        ...

    def pieces(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = True) -> list[Piece]:
        """Return the tokens of `text` one by one, with their place in it. Raises TokenizationFailed."""
        ...
