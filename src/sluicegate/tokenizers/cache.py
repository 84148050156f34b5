"""Optional caches in front of a tokenizer: whole texts (L0), and beginnings that end at a special token (L1).

Both are exact and bounded. They pay off where the same prompts, or long conversations turn by turn, come again.
"""

from __future__ import annotations

import re
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Generic, Protocol, TypeVar

import msgspec

from sluicegate.tokenizers.chat_template import ChatTemplate
from sluicegate.tokenizers.errors import TokenizationFailed
from sluicegate.tokenizers.protocol import Engine, Piece, Tokenizer

Key = TypeVar("Key")

LARGEST_SHARE = 4
"""An entry of more than one fourth of a cache's memory is not kept."""

FIRST_BEGINNINGS = 8
"""L1 keeps this many beginnings from the start of a text (system prompts) and its longest (the turns so far)."""


class CacheObserver(Protocol):
    """Is told what the caches do; `layer` is "l0" or "l1"."""

    def looked_up(self, layer: str, *, hit: bool) -> None: ...

    def evicted(self, layer: str, entries: int) -> None: ...

    def reused(self, layer: str, size: int) -> None:
        """`size` is bytes of text that did not have to be encoded."""
        ...


class Silent:
    """An observer that does nothing."""

    def looked_up(self, layer: str, *, hit: bool) -> None:
        pass

    def evicted(self, layer: str, entries: int) -> None:
        pass

    def reused(self, layer: str, size: int) -> None:
        pass


class CacheLimits(msgspec.Struct, frozen=True):
    """Bounds of the caches; memory is in bytes. A layer that is not enabled does not exist."""

    l0_enabled: bool = False
    l0_max_entries: int = 10_000
    l0_max_memory: int = 256 * 1024 * 1024
    l1_enabled: bool = False
    l1_max_memory: int = 50 * 1024 * 1024


class _Layer(Generic[Key]):
    """Ids by key, the least recently used of which go first. Thread-safe."""

    OVERHEAD = 200  # bytes of an entry's objects, roughly

    def __init__(self, name: str, max_entries: int | None, max_memory: int, observer: CacheObserver) -> None:
        self._name = name
        self._max_entries = max_entries
        self._max_memory = max_memory
        self._observer = observer
        self._entries: OrderedDict[Key, tuple[array[int], int]] = OrderedDict()
        self._memory = 0
        self._lock = threading.Lock()

    def get(self, key: Key) -> array[int] | None:
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
        return found[0] if found is not None else None

    def put(self, key: Key, ids: Sequence[int], key_size: int) -> None:
        size = key_size + 4 * len(ids) + self.OVERHEAD
        if size > self._max_memory // LARGEST_SHARE:
            return
        stored = array("I", ids)
        evicted = 0
        with self._lock:
            if (old := self._entries.pop(key, None)) is not None:
                self._memory -= old[1]
            self._entries[key] = (stored, size)
            self._memory += size
            while self._memory > self._max_memory or len(self._entries) > (self._max_entries or len(self._entries)):
                _, (_, freed) = self._entries.popitem(last=False)
                self._memory -= freed
                evicted += 1
        if evicted:
            self._observer.evicted(self._name, evicted)


class CachedTokenizer:
    """A tokenizer that remembers. Everything but encoding with the default options goes straight through."""

    def __init__(self, tokenizer: Tokenizer, limits: CacheLimits, observer: CacheObserver | None = None) -> None:
        self._tokenizer = tokenizer
        self._observer = observer or Silent()
        self._texts: _Layer[str] | None = None
        self._beginnings: _Layer[bytes] | None = None
        if limits.l0_enabled:
            self._texts = _Layer("l0", limits.l0_max_entries, limits.l0_max_memory, self._observer)
        marks = sorted(tokenizer.cut_marks, key=len, reverse=True)
        if limits.l1_enabled and marks:
            self._beginnings = _Layer("l1", None, limits.l1_max_memory, self._observer)
        self._mark = re.compile("|".join(map(re.escape, marks)))
        self._remembers = self._texts is not None or self._beginnings is not None

    @property
    def vocab_size(self) -> int:
        return self._tokenizer.vocab_size

    @property
    def engine(self) -> Engine:
        return self._tokenizer.engine

    @property
    def chat_template(self) -> ChatTemplate | None:
        return self._tokenizer.chat_template

    @property
    def decodes_by_bytes(self) -> bool:
        return self._tokenizer.decodes_by_bytes

    @property
    def cut_marks(self) -> frozenset[str]:
        return self._tokenizer.cut_marks

    def encode(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = True) -> list[int]:
        if add_special_tokens or not parse_special:
            return self._tokenizer.encode(text, add_special_tokens=add_special_tokens, parse_special=parse_special)
        try:
            size = len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError:
            return self._tokenizer.encode(text)  # which says what is wrong with it
        if self._texts is None:
            return self._encode_by_beginning(text)
        found = self._texts.get(text)
        self._observer.looked_up("l0", hit=found is not None)
        if found is not None:
            self._observer.reused("l0", size)
            return found.tolist()
        ids = self._encode_by_beginning(text)
        self._texts.put(text, ids, size)
        return ids

    def encode_flat(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = True) -> array[int]:
        if add_special_tokens or not parse_special or not self._remembers:
            return self._tokenizer.encode_flat(text, add_special_tokens=add_special_tokens, parse_special=parse_special)
        return array("I", self.encode(text))

    def encode_batch(
        self, texts: Sequence[str], *, add_special_tokens: bool = False, parse_special: bool = True
    ) -> list[list[int]]:
        if add_special_tokens or not parse_special or not self._remembers:
            return self._tokenizer.encode_batch(
                texts, add_special_tokens=add_special_tokens, parse_special=parse_special
            )
        encoded: list[list[int]] = []
        for index, text in enumerate(texts):
            try:
                encoded.append(self.encode(text))
            except TokenizationFailed as failure:
                raise TokenizationFailed(failure.reason, index) from None
        return encoded

    def _encode_by_beginning(self, text: str) -> list[int]:
        if self._beginnings is None:
            return self._tokenizer.encode(text)
        ends = [match.end() for match in self._mark.finditer(text)]
        if not ends:
            return self._tokenizer.encode(text)
        beginnings = list(_digests(text, [*ends[:FIRST_BEGINNINGS], *ends[FIRST_BEGINNINGS:][-1:]]))
        done, ids = 0, list[int]()
        for end, key in reversed(beginnings):
            if (found := self._beginnings.get(key)) is not None:
                done, ids = end, found.tolist()
                break
        self._observer.looked_up("l1", hit=done > 0)
        if done:
            self._observer.reused("l1", len(text[:done].encode()))
        for end, key in beginnings:
            if end > done:
                ids += self._tokenizer.encode(text[done:end])
                self._beginnings.put(key, ids, len(key))
                done = end
        return ids + self._tokenizer.encode(text[done:])

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)

    def token_bytes(self, token_id: int) -> bytes:
        return self._tokenizer.token_bytes(token_id)

    def is_special(self, token_id: int) -> bool:
        return self._tokenizer.is_special(token_id)

    def is_byte(self, token_id: int) -> bool:
        return self._tokenizer.is_byte(token_id)

    def parts(self, text: str) -> Iterator[str]:
        # What is remembered is found by the whole text.
        return iter((text,)) if self._remembers else self._tokenizer.parts(text)

    def pieces(self, text: str, *, add_special_tokens: bool = False, parse_special: bool = True) -> list[Piece]:
        return self._tokenizer.pieces(text, add_special_tokens=add_special_tokens, parse_special=parse_special)


def _digests(text: str, ends: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """Yield each end with a digest of the text up to there; the text is read once."""
    digest, start = blake2b(digest_size=16), 0
    for end in ends:
        digest.update(text[start:end].encode())
        start = end
        yield end, digest.copy().digest()
