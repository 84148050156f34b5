"""tokenizer.json, read by the `tokenizers` library, with the fast path where it is exact."""

from __future__ import annotations

import re
import threading
from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, cast

import msgspec
from tokenizers import Tokenizer as Reference
from tokenizers import processors

from sluicegate.tokenizers.byte_level import ByteTable, unspell
from sluicegate.tokenizers.chat_template import ChatTemplate
from sluicegate.tokenizers.checkpoint import CheckpointConfig
from sluicegate.tokenizers.cutting import can_be_cut, parts_of
from sluicegate.tokenizers.errors import (
    DetokenizationFailed,
    TokenizationFailed,
    TokenizerFileInvalid,
)
from sluicegate.tokenizers.failures import is_engine_failure, reason_of
from sluicegate.tokenizers.fast_path import (
    DEEPSEEK_INNER,
    DEEPSEEK_RUNS,
    DEEPSEEK_SPLITS,
    DIFFERING,
    DIFFERING_NORMALIZED,
    Detour,
    FastPath,
    admit,
    avoided_by,
    fast_path_of_json,
)
from sluicegate.tokenizers.pieces import tile
from sluicegate.tokenizers.probes import probe_texts
from sluicegate.tokenizers.protocol import Engine, Piece

RELEASE_LOCK_FROM = 2_048
"""Code points from which the reference encodes by its batch call, which releases the interpreter lock."""


_BYTE_TOKEN = re.compile(r"<0x[0-9A-F]{2}>")


class _AddedToken(msgspec.Struct, frozen=True):
    id: int
    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = False
    special: bool = False


class _Typed(msgspec.Struct, frozen=True):
    type: str | None = None


class _Outline(msgspec.Struct, frozen=True):
    """The parts of a tokenizer.json that decide who may encode and decode."""

    model: _Typed
    added_tokens: list[_AddedToken] = []
    normalizer: dict[str, Any] | None = None
    pre_tokenizer: dict[str, Any] | None = None
    decoder: dict[str, Any] | None = None
    padding: Any = None
    truncation: Any = None

    def decodes_bytes(self) -> bool:
        decoder = self.decoder or {}
        if decoder.get("type") == "Sequence" and len(decoder.get("decoders") or []) == 1:
            decoder = decoder["decoders"][0]
        return decoder.get("type") == "ByteLevel"

    def splits(self) -> tuple[str, ...]:
        """The patterns that split a text into words, in their order."""
        return tuple(_splits(self.pre_tokenizer or {}))

    def can_be_cut(self) -> bool:
        """Whether long texts can be encoded in parts."""
        tokens = [token.content for token in self.added_tokens]
        return (
            self.reason_against_fast_path() is None
            and _keeps_words_apart(self.pre_tokenizer)
            and can_be_cut(self.splits(), tokens)
        )

    def reason_against_fast_path(self) -> str | None:
        """Why the fast engine must not even be tried; None when it may."""
        if self.model.type != "BPE":
            return f"the fast engine is not exact for {self.model.type} models"
        if self.padding is not None or self.truncation is not None:
            return "the file asks for padding or truncation"
        if any(token.single_word or token.lstrip or token.rstrip for token in self.added_tokens):
            return "added tokens swallow white space or match whole words only"
        if len(splits := self.splits()) > 1 and splits != DEEPSEEK_SPLITS:
            return "the fast engine is not known to be exact for several splits one after another"
        if len(splits) > 1 and any(DEEPSEEK_RUNS.search(token.content) for token in self.added_tokens):
            return "added tokens hold characters at which the text must be cut"
        if self.normalizer is None or self.normalizer.get("normalizers") == []:
            return None
        if any(token.normalized for token in self.added_tokens):
            return "added tokens are matched after normalization"
        if not _is_exact_normalizer(self.normalizer):
            return f"the fast engine is not exact for the normalizer {self.normalizer.get('type')}"
        return None


def _splits(pre_tokenizer: dict[str, Any]) -> Iterator[str]:
    parts: list[dict[str, Any]] = pre_tokenizer.get("pretokenizers") or []
    for part in parts:
        yield from _splits(part)
    if pre_tokenizer.get("type") == "Split":
        pattern: dict[str, str] = pre_tokenizer.get("pattern") or {}
        # Some files have the escapes of line breaks, some the line breaks.
        yield next(iter(pattern.values()), "").replace("\r", "\\r").replace("\n", "\\n")


def _keeps_words_apart(pre_tokenizer: dict[str, Any] | None) -> bool:
    """Whether splits make each match of a pattern a word, and bytes are spelt as letters behind them only."""
    match pre_tokenizer:
        case {"type": "Sequence", "pretokenizers": [*splits, last]}:
            return _spells_bytes(last) and all(map(_makes_words, splits))
        case _:
            return False


def _makes_words(pre_tokenizer: dict[str, Any]) -> bool:
    match pre_tokenizer:
        case {"type": "Split", "pattern": {"Regex": _}, "behavior": behavior, "invert": invert}:
            return (behavior, invert) in {("Isolated", False), ("Removed", True)}
        case _:
            return False


def _spells_bytes(pre_tokenizer: dict[str, Any]) -> bool:
    """Whether a pre-tokenizer spells bytes, and neither splits nor puts anything before the first word."""
    match pre_tokenizer:
        case {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}:
            return True
        case _:
            return False


def _is_exact_normalizer(normalizer: dict[str, Any]) -> bool:
    match normalizer:
        case {"type": "NFC"} | {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}:
            return True
        case {"type": "Sequence"}:
            parts: list[dict[str, Any]] = normalizer["normalizers"]
            return all(map(_is_exact_normalizer, parts))
        case _:
            return False


class HuggingFaceTokenizer:
    """A tokenizer.json. `origin` names the file in error messages."""

    def __init__(
        self, tokenizer_json: bytes, config: CheckpointConfig | None = None, *, origin: str = "tokenizer.json",
        chat_template: ChatTemplate | None = None, use_fast_path: bool = True,
    ) -> None:  # fmt: skip
        self._config = config or CheckpointConfig({})
        self._chat_template = chat_template
        self._use_fast_path = use_fast_path
        self._outline, self._reference = _load(tokenizer_json, origin)
        self._apply_added_ends()
        self._vocab_size = self._reference.get_vocab_size(with_added_tokens=False)
        self._table = self._make_table()
        self._fast, self._engine = self._choose_engine(tokenizer_json)
        # A batch call pads every text to the longest one; each text must be encoded as if it were alone.
        self._alone = self._outline.padding is not None
        self._can_be_cut = self._outline.can_be_cut()
        self._variants = threading.Lock()
        self._plain: HuggingFaceTokenizer | None = None
        self._positions: Reference | None = None

    def _apply_added_ends(self) -> None:
        """`add_bos_token` and `add_eos_token` of the checkpoint replace the file's own post-processor."""
        ends: list[tuple[str, int] | None] = []
        named = self._config.named_tokens()
        for flag, name in (("add_bos_token", "bos_token"), ("add_eos_token", "eos_token")):
            token = named.get(name) if self._config.flag(flag) else None
            token_id = self._reference.token_to_id(token) if token is not None else None
            ends.append((token, token_id) if token is not None and token_id is not None else None)
        if not any(ends):
            return
        before, after = ([end[0]] if end else [] for end in ends)
        tokens = [end for end in ends if end is not None]
        self._reference.post_processor = cast("Any", processors.TemplateProcessing)(
            single=[*before, "$A", *after], special_tokens=tokens
        )

    def _make_table(self) -> ByteTable:
        vocabulary = self._reference.get_vocab(with_added_tokens=True)
        added = self._reference.get_added_tokens_decoder()
        special = [token_id for token_id, token in added.items() if token.special]
        rows = _padded_rows(max(vocabulary.values(), default=-1) + 1)
        if self._outline.decodes_bytes():
            return ByteTable({token_id: unspell(token) for token, token_id in vocabulary.items()}, special, rows)
        wordpiece = self._outline.model.type == "WordPiece"
        table = {token_id: _bytes_of_token(token, wordpiece) for token, token_id in vocabulary.items()}
        return ByteTable(table, special, rows)

    def _choose_engine(self, tokenizer_json: bytes) -> tuple[FastPath | None, Engine]:
        decode = "table" if self._outline.decodes_bytes() else "tokenizers"
        reason = self._outline.reason_against_fast_path() if self._use_fast_path else "the fast path is switched off"
        fast = None
        if reason is None:
            # Without `self`: a tokenizer that refers to itself would keep its memory until a full garbage collection.
            reference = partial(_ids, self._reference, add_special_tokens=False)
            guard = DIFFERING_NORMALIZED if self._outline.normalizer is not None else DIFFERING
            avoided = avoided_by(self._outline.splits())
            detour = None
            if self._outline.splits() == DEEPSEEK_SPLITS:
                detour = Detour(DEEPSEEK_INNER, DEEPSEEK_RUNS, reference)
            fast, reason = admit(
                lambda: fast_path_of_json(_without_surroundings(tokenizer_json), detour, guard, avoided),
                reference,
                probe_texts(token.content for token in self._outline.added_tokens),
            )
        return fast, Engine("splintr" if fast else "tokenizers", decode, "tokenizers", reason)

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
        return self._outline.decodes_bytes()

    def encode(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = True) -> list[int]:
        if not parse_special:
            return self._without_markers().encode(text, add_special_tokens=add_special_tokens)
        if self._fast is not None and not add_special_tokens and (ids := self._fast.encode(text)) is not None:
            return ids
        return self._encode_by_reference(text, add_special_tokens)

    def _encode_by_reference(self, text: str, add_special_tokens: bool) -> list[int]:
        try:
            if len(text) < RELEASE_LOCK_FROM:
                return self._reference.encode(text, add_special_tokens=add_special_tokens).ids
            return _ids(self._reference, [text], add_special_tokens=add_special_tokens)[0]
        except BaseException as failure:
            if not is_engine_failure(failure):
                raise
            raise TokenizationFailed(f"Encoding failed: {reason_of(failure)}") from None

    def encode_flat(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = True) -> array[int]:
        if self._fast is not None and parse_special and not add_special_tokens:
            ids = self._fast.encode_flat(text)
            return array("I", self._encode_by_reference(text, add_special_tokens)) if ids is None else ids
        return array("I", self.encode(text, add_special_tokens=add_special_tokens, parse_special=parse_special))

    def encode_batch(
        self, texts: Sequence[str], *, add_special_tokens: bool = False, parse_special: bool = True
    ) -> list[list[int]]:
        if not parse_special:
            return self._without_markers().encode_batch(texts, add_special_tokens=add_special_tokens)
        fast = self._fast if not add_special_tokens else None
        encoded: list[list[int] | None] = [None] * len(texts) if fast is None else fast.encode_batch(texts)
        rest = [index for index, ids in enumerate(encoded) if ids is None]
        if len(rest) > 1 and not self._alone:
            try:
                batch = _ids(self._reference, [texts[index] for index in rest], add_special_tokens=add_special_tokens)
            except BaseException as failure:
                if not is_engine_failure(failure):
                    raise
            else:
                for index, ids in zip(rest, batch, strict=True):
                    encoded[index] = ids
                rest = []
        for index in rest:
            try:
                encoded[index] = self.encode(texts[index], add_special_tokens=add_special_tokens)
            except TokenizationFailed as failure:
                raise TokenizationFailed(failure.reason, index) from None
        return cast("list[list[int]]", encoded)

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        # The join is needed for other decoders too: it names an unknown id, which the library drops in silence.
        data = self._table.join(ids, skip_special_tokens=skip_special_tokens)
        if self.decodes_by_bytes:
            return data.decode("utf-8", "replace")
        try:
            return self._reference.decode(ids, skip_special_tokens=skip_special_tokens)
        except BaseException as failure:
            if not is_engine_failure(failure):
                raise
            raise DetokenizationFailed(reason_of(failure)) from None

    def token_bytes(self, token_id: int) -> bytes:
        return self._table.bytes_of(token_id)

    def id_of(self, token: str) -> int | None:
        """Return the id of a token by its exact spelling in the file, None if there is none."""
        return self._reference.token_to_id(token)

    def is_byte(self, token_id: int) -> bool:
        if self.decodes_by_bytes:
            return len(self.token_bytes(token_id)) == 1
        return _byte_of_token(self._reference.id_to_token(token_id) or "") is not None

    def is_special(self, token_id: int) -> bool:
        return token_id in self._table.special

    @property
    def cut_marks(self) -> frozenset[str]:
        if self._fast is None or not self.decodes_by_bytes:
            return frozenset()
        # Tokens matched before normalization are looked for first, so of a mixture only they certainly match.
        tokens = self._outline.added_tokens
        first = [token for token in tokens if not token.normalized] or tokens
        return frozenset(token.content for token in first)

    def parts(self, text: str) -> Iterator[str]:
        return parts_of(text) if self._can_be_cut else iter((text,))

    def pieces(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = True) -> list[Piece]:
        if not parse_special:
            pieces = self._without_markers().pieces(text, add_special_tokens=add_special_tokens)
            return [msgspec.structs.replace(piece, special=self.is_special(piece.id)) for piece in pieces]
        bytes_of, special = self._table.bytes_of, self._table.special
        if not add_special_tokens:
            ids = self.encode(text)
            tokens = [(token_id, bytes_of(token_id), token_id in special) for token_id in ids]
            if b"".join(data for _, data, _ in tokens) == text.encode():
                return tile(tokens)
        return self._pieces_by_offsets(text, add_special_tokens=add_special_tokens)

    def _pieces_by_offsets(self, text: str, *, add_special_tokens: bool) -> list[Piece]:
        """Positions as the library reports them; None for a token that the post-processor or padding put there."""
        bytes_of, special = self._table.bytes_of, self._table.special
        try:
            encoding = self._with_whole_offsets().encode(text, add_special_tokens=add_special_tokens)
        except BaseException as failure:
            if not is_engine_failure(failure):
                raise
            raise TokenizationFailed(f"Encoding failed: {reason_of(failure)}") from None
        spans = [
            None if sequence is None else span
            for span, sequence in zip(encoding.offsets, encoding.sequence_ids, strict=True)
        ]
        if self.decodes_by_bytes:
            _close_gaps(spans, len(text))
        pieces: list[Piece] = []
        for token_id, span in zip(encoding.ids, spans, strict=True):
            start, end = span or (None, None)
            data = bytes_of(token_id)
            pieces.append(Piece(token_id, data.decode("utf-8", "replace"), data, start, end, token_id in special))
        return pieces

    def _with_whole_offsets(self) -> Reference:
        """The reference, with offsets that include the blank in front of a word (`trim_offsets` switched off)."""
        with self._variants:
            if self._positions is None:
                parts = msgspec.json.decode(self._reference.to_str())
                _switch_off_trimming(parts.get("post_processor"))
                self._positions = Reference.from_buffer(msgspec.json.encode(parts))
            return self._positions

    def _without_markers(self) -> HuggingFaceTokenizer:
        """The same tokenizer without its added tokens (but those of white space), made on first use."""
        with self._variants:
            if self._plain is None:
                parts = msgspec.json.decode(self._reference.to_str())
                _remove_markers(parts)
                self._plain = HuggingFaceTokenizer(
                    msgspec.json.encode(parts), origin="the same tokenizer without added tokens",
                    use_fast_path=self._use_fast_path,
                )  # fmt: skip
            return self._plain


def _load(tokenizer_json: bytes, origin: str) -> tuple[_Outline, Reference]:
    try:
        outline = msgspec.json.decode(tokenizer_json, type=_Outline)
        reference = Reference.from_buffer(tokenizer_json)
    except BaseException as failure:
        if not is_engine_failure(failure):
            raise
        raise TokenizerFileInvalid(f"'{origin}' is not a valid tokenizer.json: {reason_of(failure)}") from None
    return outline, reference


def _ids(reference: Reference, texts: Sequence[str], *, add_special_tokens: bool) -> list[list[int]]:
    """Encode by the batch call, which releases the interpreter lock."""
    encodings = reference.encode_batch_fast(texts, add_special_tokens=add_special_tokens)
    return [encoding.ids for encoding in encodings]


def _without_surroundings(tokenizer_json: bytes) -> bytes:
    """The file without what would add, pad or cut: so that every call of the fast engine returns the bare ids."""
    parts = msgspec.json.decode(tokenizer_json, type=dict[str, msgspec.Raw])
    return msgspec.json.encode(
        {**parts, **dict.fromkeys(("post_processor", "padding", "truncation"), msgspec.Raw(b"null"))}
    )


def _close_gaps(spans: list[tuple[int, int] | None], length: int) -> None:
    """Let tokens of a composed character cover all it was composed of; the library counts the first one only.

    `length` is the text's, in code points. Several tokens of one character share its span.
    """
    group: tuple[int, int] | None = None
    following = length
    for place in range(len(spans) - 1, -1, -1):
        if (span := spans[place]) is None:
            continue
        if span != group:
            following = length if group is None else group[0]
            group = span
        spans[place] = (span[0], max(span[1], following))


def _padded_rows(tokens: int) -> int:
    """How many rows a checkpoint's embedding may have for so many tokens.

    Embeddings are padded for the hardware, by up to 2.5 % in well-known checkpoints, and vocabularies have holes. A
    model can put out the id of such a row; it stands for nothing, here as in the library. Ids beyond are unknown.
    """
    return tokens + tokens // 32


def _bytes_of_token(token: str, wordpiece: bool) -> bytes:
    """The bytes of a token that is not spelt byte by byte: byte fallback, SentencePiece's blank, WordPiece's ##."""
    if (byte := _byte_of_token(token)) is not None:
        return byte
    if wordpiece:
        return token.removeprefix("##").encode()
    return token.replace("▁", " ").encode("utf-8", "surrogatepass")


def _byte_of_token(token: str) -> bytes | None:
    """The byte of a byte-fallback token like <0xE4>, None for any other token."""
    return bytes.fromhex(token[3:5]) if _BYTE_TOKEN.fullmatch(token) else None


def _switch_off_trimming(processor: dict[str, Any] | None) -> None:
    if processor is None:
        return
    if "trim_offsets" in processor:
        processor["trim_offsets"] = False
    parts: list[dict[str, Any]] = processor.get("processors") or []
    for part in parts:
        _switch_off_trimming(part)


def _remove_markers(parts: dict[str, Any]) -> None:
    """Take out every added token that could be written to steer a model; runs of blanks and newlines stay."""
    removed = {token["content"] for token in parts["added_tokens"] if token["content"].strip(" \t\r\n▁")}
    parts["added_tokens"] = [token for token in parts["added_tokens"] if token["content"] not in removed]
    model = parts["model"]
    if model.get("type") == "Unigram":
        # A piece of the vocabulary matches by itself here; no text spells this noncharacter.
        model["vocab"] = [["\ufdd0" * (index + 1) if piece in removed else piece, score]
                          for index, (piece, score) in enumerate(model["vocab"])]  # fmt: skip
