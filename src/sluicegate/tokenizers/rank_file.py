"""Rank files (tiktoken.model, *.tiktoken) and OpenAI's encodings, read by `tiktoken`, with the fast path."""

from __future__ import annotations

import base64
import binascii
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise

import tiktoken

from sluicegate.tokenizers import kimi
from sluicegate.tokenizers.byte_level import ByteTable
from sluicegate.tokenizers.chat_template import ChatTemplate
from sluicegate.tokenizers.checkpoint import CheckpointConfig
from sluicegate.tokenizers.cutting import can_be_cut, parts_of
from sluicegate.tokenizers.errors import TokenizationFailed, TokenizerFileInvalid
from sluicegate.tokenizers.failures import is_engine_failure, reason_of
from sluicegate.tokenizers.fast_path import admit, fast_path_of_ranks
from sluicegate.tokenizers.openai_encodings import CL100K_PATTERN, Encoding, ranks_of
from sluicegate.tokenizers.pieces import tile
from sluicegate.tokenizers.probes import probe_texts
from sluicegate.tokenizers.protocol import Engine, Piece

MAX_TOKEN_ID = 2**32 - 1


def parse_ranks(data: bytes, origin: str) -> dict[bytes, int]:
    """Read lines of `base64(bytes) rank`. Raises TokenizerFileInvalid, which names the line."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            token, rank = line.split()
            value = int(rank)
            ranks[base64.b64decode(token, validate=True)] = value
        except (ValueError, binascii.Error):
            raise TokenizerFileInvalid(f"'{origin}' line {number} is not a base64 token and its rank") from None
        if not 0 <= value <= MAX_TOKEN_ID:
            raise TokenizerFileInvalid(f"'{origin}' line {number}: rank {value} is not an id")
    if not ranks:
        raise TokenizerFileInvalid(f"'{origin}' has no ranks")
    if len(set(ranks.values())) != len(ranks):
        raise TokenizerFileInvalid(f"'{origin}' gives one rank to several tokens")
    return ranks


def format_ranks(ranks: dict[bytes, int]) -> bytes:
    """Write ranks as a rank file, ordered by rank."""
    lines = sorted((rank, token) for token, rank in ranks.items())
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in lines)


class RankTokenizer:
    """Byte pair encoding by ranks.

    `special_tokens` are recognised in texts; those whose id is in `skipped` are dropped by `skip_special_tokens`.
    `cut` splits a text into pieces that are encoded each by itself (Kimi's rule). `before` are the ids that
    `add_special_tokens` puts in front: none for the checkpoints that come as a rank file.
    """

    def __init__(
        self, ranks: dict[bytes, int], *, pattern: str, special_tokens: dict[str, int], skipped: frozenset[int],
        cut: Callable[[str], list[str]] | None = None, before: Sequence[int] = (), vocab_size: int | None = None,
        name: str = "ranks", chat_template: ChatTemplate | None = None, use_fast_path: bool = True,
    ) -> None:  # fmt: skip
        try:
            self._reference = tiktoken.Encoding(
                name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special_tokens
            )
        except BaseException as failure:
            if not is_engine_failure(failure):
                raise
            raise TokenizerFileInvalid(f"'{name}' cannot be used as ranks: {reason_of(failure)}") from None
        named = {token_id: token.encode() for token, token_id in special_tokens.items()}
        self._table = ByteTable(named | {rank: token for token, rank in ranks.items()}, skipped)
        self._cut = cut
        self._can_be_cut = can_be_cut((pattern,), special_tokens)
        self._special_tokens = special_tokens
        self._before = list(before)
        self._vocab_size = vocab_size or self._table.highest + 1
        self._chat_template = chat_template
        self._missing = frozenset(range(256)) - {token[0] for token in ranks if len(token) == 1}
        reason = "the fast path is switched off" if not use_fast_path else None
        if self._missing:
            reason = "the ranks do not hold every single byte"
        self._fast = None
        if reason is None:
            self._fast, reason = admit(
                lambda: fast_path_of_ranks(format_ranks(ranks), pattern, special_tokens),
                lambda probes: self._reference.encode_batch(probes, allowed_special="all", disallowed_special=()),
                probe_texts(special_tokens),
            )
        self._engine = Engine("splintr" if self._fast else "tiktoken", "table", "tiktoken", reason)

    @property
    def vocab_size(self) -> int:
        return self._vocab_size

    @property
    def engine(self) -> Engine:
        return self._engine

    @property
    def chat_template(self) -> ChatTemplate | None:
        return self._chat_template

    @property
    def decodes_by_bytes(self) -> bool:
        return True

    def encode(
        self,
        text: str,
        *,
        add_special_tokens: bool = False,
        parse_special: bool = True,
    ) -> list[int]:
        if add_special_tokens and self._before:
            return [*self._before, *self.encode(text, parse_special=parse_special)]
        pieces = self._cut(text) if self._cut is not None else [text]
        if len(pieces) == 1:
            return self._encode_piece(text, parse_special)
        encoded = self._fast.encode_batch(pieces) if self._fast and parse_special else [None] * len(pieces)
        together: list[int] = []
        for piece, ids in zip(pieces, encoded, strict=True):
            together += self._encode_by_reference(piece, parse_special) if ids is None else ids
        return together

    def _encode_piece(self, text: str, parse_special: bool) -> list[int]:
        if self._fast is not None and parse_special and (ids := self._fast.encode(text)) is not None:
            return ids
        return self._encode_by_reference(text, parse_special)

    def _encode_by_reference(self, text: str, parse_special: bool) -> list[int]:
        try:
            data = text.encode()  # tiktoken would replace lone surrogates in silence
            if self._missing and not self._missing.isdisjoint(data):
                lacking = min(self._missing.intersection(data))
                raise TokenizationFailed(f"the ranks have no token for the byte 0x{lacking:02X}")
            if parse_special:
                return self._reference.encode(text, allowed_special="all", disallowed_special=())
            return self._reference.encode_ordinary(text)
        except TokenizationFailed:
            raise
        except BaseException as failure:
            if not is_engine_failure(failure):
                raise
            raise TokenizationFailed(f"Encoding failed: {reason_of(failure)}") from None

    def encode_flat(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = True) -> array[int]:
        ids = array("I", self._before if add_special_tokens else ())
        for piece in [text] if self._cut is None else self._cut(text):
            found = self._fast.encode_flat(piece) if self._fast is not None and parse_special else None
            ids.extend(self._encode_by_reference(piece, parse_special) if found is None else found)
        return ids

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        add_special_tokens: bool = False,
        parse_special: bool = True,
    ) -> list[list[int]]:
        whole = [self._cut is None or len(text) <= kimi.RUN for text in texts]
        encoded: list[list[int] | None] = [None] * len(texts)
        if self._fast is not None and parse_special and all(whole):
            encoded = self._fast.encode_batch(texts)
        done: list[list[int]] = []
        for index, (text, ids) in enumerate(zip(texts, encoded, strict=True)):
            try:
                done.append(self.encode(text, parse_special=parse_special) if ids is None else ids)
            except TokenizationFailed as failure:
                raise TokenizationFailed(failure.reason, index) from None
        return [[*self._before, *ids] for ids in done] if add_special_tokens and self._before else done

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        return self._table.join(ids, skip_special_tokens=skip_special_tokens).decode("utf-8", "replace")

    def token_bytes(self, token_id: int) -> bytes:
        return self._table.bytes_of(token_id)

    def is_byte(self, token_id: int) -> bool:
        return len(self.token_bytes(token_id)) == 1

    def is_special(self, token_id: int) -> bool:
        return token_id in self._table.special

    @property
    def cut_marks(self) -> frozenset[str]:
        # Kimi's pieces depend on what stands before; and of two tokens that begin alike the engine may take either.
        ordered = sorted(self._special_tokens)
        alike = any(longer.startswith(token) for token, longer in pairwise(ordered))
        return frozenset() if self._cut is not None or alike else frozenset(ordered)

    def parts(self, text: str) -> Iterator[str]:
        pieces = self._cut(text) if self._cut is not None else [text]
        return chain.from_iterable(map(parts_of, pieces)) if self._can_be_cut else iter(pieces)

    def pieces(
        self,
        text: str,
        *,
        add_special_tokens: bool = False,
        parse_special: bool = True,
    ) -> list[Piece]:
        bytes_of, special = self._table.bytes_of, self._table.special
        before = [
            Piece(
                token_id,
                bytes_of(token_id).decode("utf-8", "replace"),
                bytes_of(token_id),
                None,
                None,
                token_id in special,
            )
            for token_id in self._before
            if add_special_tokens
        ]
        return before + tile(
            (token_id, bytes_of(token_id), token_id in special)
            for token_id in self.encode(text, parse_special=parse_special)
        )


def rank_tokenizer(
    rank_file: bytes, config: CheckpointConfig, *, origin: str, chat_template: ChatTemplate | None = None,
    use_fast_path: bool = True,
) -> RankTokenizer:  # fmt: skip
    """Make the tokenizer of a rank file and its checkpoint's configuration. Raises TokenizerFileInvalid."""
    # The pattern of every rank file but Kimi's is that of cl100k, whatever the checkpoint says: so that ids are those
    # that gateways serve. (Qwen's own pattern takes digits one by one; its tokenizer.json has it.)
    ranks = parse_ranks(rank_file, origin)
    added = config.added_tokens()
    named = {token_id: token.content for token_id, token in added.items()}
    is_kimi = config.is_kimi()
    return RankTokenizer(
        ranks,
        pattern=kimi.PATTERN if is_kimi else CL100K_PATTERN,
        special_tokens=kimi.special_tokens(len(ranks), named) if is_kimi
        else {content: token_id for token_id, content in named.items()},
        skipped=frozenset(token_id for token_id, token in added.items() if token.special),
        cut=kimi.cut if is_kimi else None,
        name=origin,
        chat_template=chat_template,
        use_fast_path=use_fast_path,
    )  # fmt: skip


def openai_tokenizer(
    encoding: Encoding, *, chat_template: ChatTemplate | None = None, use_fast_path: bool = True
) -> RankTokenizer:
    """Make the tokenizer of one of OpenAI's encodings; all its special tokens are dropped by `skip_special_tokens`."""
    return RankTokenizer(
        ranks_of(encoding),
        pattern=encoding.pattern,
        special_tokens=encoding.special_tokens,
        skipped=frozenset(encoding.special_tokens.values()),
        vocab_size=encoding.vocab_size,
        name=encoding.name,
        chat_template=chat_template,
        use_fast_path=use_fast_path,
    )
