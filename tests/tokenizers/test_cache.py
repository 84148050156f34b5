"""The caches: exact whatever they hold, and within their bounds."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.tokenizers import CachedTokenizer, CacheLimits, TokenizationFailed, Tokenizer
from tests.tokenizers import miniatures

PARTS = st.sampled_from(
    [
        "hello",
        " world",
        "<|begin|>",
        "<|end|>",
        "<think>",
        "</think>",
        "[BOS]",
        "<|open|>",
        "<|op",
        " ",
        "\n",
        "é",
        "\u0338",
    ]
)
TEXTS = st.lists(PARTS, max_size=14).map("".join)


class Counting:
    """An observer that counts."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def looked_up(self, layer: str, *, hit: bool) -> None:
        self.counts[f"{layer} {'hit' if hit else 'miss'}"] += 1

    def evicted(self, layer: str, entries: int) -> None:
        self.counts[f"{layer} evicted"] += entries

    def reused(self, layer: str, size: int) -> None:
        self.counts[f"{layer} reused"] += size


@pytest.fixture(scope="module", params=["byte_level", "ranks", "kimi", "wordpiece"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    if request.param == "byte_level":
        return miniatures.byte_level()
    return miniatures.wordpiece() if request.param == "wordpiece" else miniatures.ranked(kimi=request.param == "kimi")


@settings(deadline=None, max_examples=100)
@given(texts=st.lists(TEXTS, max_size=6), l0=st.booleans(), l1=st.booleans())
def test_caches_are_invisible(tokenizer: Tokenizer, texts: list[str], l0: bool, l1: bool) -> None:
    limits = CacheLimits(l0_enabled=l0, l0_max_entries=3, l0_max_memory=4096, l1_enabled=l1, l1_max_memory=4096)
    cached = CachedTokenizer(tokenizer, limits)
    expected = [tokenizer.encode(text) for text in texts]
    assert [cached.encode(text) for text in texts] == expected
    assert cached.encode_batch(texts) == expected
    assert [cached.encode_flat(text).tolist() for text in texts] == expected
    assert [cached.encode(text) for text in texts] == expected
    for options in ({"add_special_tokens": True}, {"parse_special": False}):
        assert [cached.encode(text, **options) for text in texts] == [
            tokenizer.encode(text, **options) for text in texts
        ]


def test_whole_text_is_reused_and_counted() -> None:
    observer = Counting()
    cached = CachedTokenizer(miniatures.ranked(), CacheLimits(l0_enabled=True), observer)
    first = cached.encode("hellö")
    first.append(1)
    assert cached.encode("hellö") == first[:-1]
    assert observer.counts == {"l0 miss": 1, "l0 hit": 1, "l0 reused": 6}


def test_beginning_of_a_conversation_is_reused() -> None:
    observer = Counting()
    tokenizer = miniatures.byte_level()
    cached = CachedTokenizer(tokenizer, CacheLimits(l1_enabled=True), observer)
    start = "<|begin|>system\nhello<|end|>" + "<|begin|>user\nquestion<|end|>" * 12
    for text in (start, start + "answer<|end|>", start + "other", "<|begin|>system\nhello<|end|>new"):
        assert cached.encode(text) == tokenizer.encode(text)
    assert observer.counts["l1 hit"] == 3
    assert observer.counts["l1 miss"] == 1


def test_bounds_hold_by_dropping_what_was_used_least_recently() -> None:
    observer = Counting()
    cached = CachedTokenizer(miniatures.ranked(), CacheLimits(l0_enabled=True, l0_max_entries=2), observer)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.encode(text)
    assert observer.counts["l0 hit"] == 2
    assert observer.counts["l0 evicted"] == 2


def test_entry_above_a_fourth_of_the_memory_is_not_kept() -> None:
    observer = Counting()
    cached = CachedTokenizer(miniatures.ranked(), CacheLimits(l0_enabled=True, l0_max_memory=4000), observer)
    for _ in range(2):
        cached.encode("x" * 900)
    assert observer.counts == {"l0 miss": 2}


def test_failing_text_is_named_as_without_a_cache() -> None:
    cached = CachedTokenizer(miniatures.ranked(), CacheLimits(l0_enabled=True, l1_enabled=True))
    with pytest.raises(TokenizationFailed) as caught:
        cached.encode_batch(["a", "\ud800"])
    assert caught.value.index == 1


def test_everything_else_goes_through() -> None:
    tokenizer = miniatures.byte_level()
    cached = CachedTokenizer(tokenizer, CacheLimits(l0_enabled=True))
    assert isinstance(cached, Tokenizer)
    ids = cached.encode("hello<think>")
    assert cached.decode(ids) == "hello<think>"
    assert cached.vocab_size == tokenizer.vocab_size
    assert cached.engine == tokenizer.engine
    assert cached.pieces("a") == tokenizer.pieces("a")
    assert cached.encode_flat("<think>", parse_special=False) == tokenizer.encode_flat("<think>", parse_special=False)
    assert cached.token_bytes(97) == b"a"
    assert not cached.is_special(97)
    assert cached.is_byte(97)
    assert cached.decodes_by_bytes
    assert cached.chat_template is None
    assert cached.cut_marks == tokenizer.cut_marks
