"""Long texts in parts: the ids of the parts are those of the whole, and nothing of the text is lost."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.tokenizers import CachedTokenizer, CacheLimits, Tokenizer, demo_tokenizers, kimi
from sluicegate.tokenizers.cutting import PART, can_be_cut, parts_of
from sluicegate.tokenizers.huggingface import HuggingFaceTokenizer
from sluicegate.tokenizers.openai_encodings import CL100K_PATTERN, GPT2_PATTERN
from tests.tokenizers import miniatures

BITS = st.sampled_from(
    ["hello", " world", "the hello", "a b", "I'll", " 's", "\n", "\n\n", " \n ", "\r\n", "\t", "  ", "12", " 345", "/",
     "中国", "。", "です。", "、が", "：", "！", " слово", " 한국어 ", "は ",
     " é", "e\u0301", "\u0301", "・", "<|begin|>", "<think>", "(x) y", "½", "ſ", "😀"]
)  # fmt: skip
TEXTS = st.lists(BITS | st.text(max_size=4), max_size=30).map("".join)


@pytest.fixture(scope="module", params=["byte_level", "ranks", "kimi", "deepseek"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    kinds: dict[str, Callable[[], Tokenizer]] = {
        "byte_level": miniatures.byte_level,
        "ranks": miniatures.ranked,
        "kimi": lambda: miniatures.ranked(kimi=True),
        "deepseek": demo_tokenizers()["deepseek-v4"],
    }
    return kinds[request.param]()


@settings(deadline=None, max_examples=200)
@given(text=TEXTS, length=st.integers(1, 12))
def test_the_ids_of_the_parts_are_those_of_the_whole(tokenizer: Tokenizer, text: str, length: int) -> None:
    parts = [*parts_of(text, length)]
    assert "".join(parts) == text
    assert [token_id for part in parts for token_id in tokenizer.encode(part)] == tokenizer.encode(text)


@pytest.mark.parametrize(
    "words", ["hello the world\nhello ", "слово и дело ", "水門は川が運ぶ、ものを通す。 ", "한국어 문장 ", "één çà "]
)
def test_long_texts_are_cut_and_come_together(tokenizer: Tokenizer, words: str) -> None:
    text = "x " * 10 + words * 16_000
    parts = [*tokenizer.parts(text)]
    assert len(parts) == len(text) // PART + 1
    assert "".join(parts) == text
    assert [token_id for part in parts for token_id in tokenizer.encode_flat(part)] == tokenizer.encode(text)


def test_a_text_without_a_place_stays_whole() -> None:
    for text in ("", "a b", "x" * 3 * PART, "中" * PART + "。\n\n. "):
        assert [*parts_of(text)] == [text]
    begin = "x" * (PART + 5_000)
    assert [*parts_of(begin + " y" + begin)] == [begin + " y" + begin]  # not where a place is looked for
    assert [*map(len, parts_of("x" * (2 * PART + 9) + " y"))] == [2 * PART + 9, 2]


def test_kimis_own_rule_comes_first() -> None:
    text = "y" * (kimi.RUN + 7) + " hello world" * (PART // 6)
    tokenizer = miniatures.ranked(kimi=True)
    parts = [*tokenizer.parts(text)]
    assert len(parts[0]) == kimi.RUN
    assert len(parts) > len(kimi.cut(text))
    assert [token_id for part in parts for token_id in tokenizer.encode(part)] == tokenizer.encode(text)


def test_what_reaches_over_a_place_forbids_cutting() -> None:
    assert can_be_cut((CL100K_PATTERN,), ["<|end|>", "\n\n", "two  blanks", "。", "。終"])
    for splits, token in (
        ((GPT2_PATTERN,), "<|end|>"),
        ((), "<|end|>"),
        ((CL100K_PATTERN, CL100K_PATTERN), "<|end|>"),
        ((CL100K_PATTERN,), "<|end of text|>"),
        ((CL100K_PATTERN,), "<|\nend|>"),
        ((CL100K_PATTERN,), "User "),
        ((CL100K_PATTERN,), "слово "),
        ((CL100K_PATTERN,), "終。"),
        ((CL100K_PATTERN,), "<終。終>"),
    ):
        assert not can_be_cut(splits, [token])


LONG = "hello the world " * 10_000


@pytest.mark.parametrize(
    "change",
    [
        {"add_prefix_space": True},
        {"use_regex": True},
        {"behavior": "MergedWithNext"},
        {"pattern": {"Regex": GPT2_PATTERN}},
        {"padding": {"strategy": {"Fixed": 4}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                     "pad_type_id": 0, "pad_token": "x"}},
    ],
)  # fmt: skip
def test_other_files_are_not_cut(change: dict[str, object]) -> None:
    parts = json.loads(miniatures.byte_level_json())
    split, byte_level = parts["pre_tokenizer"]["pretokenizers"]
    for name, value in change.items():
        (split if name in split else byte_level if name in byte_level else parts)[name] = value
    tokenizer = HuggingFaceTokenizer(json.dumps(parts).encode())
    assert [*tokenizer.parts(LONG)] == [LONG]


@pytest.mark.parametrize("kind", ["alone", "bytes first", "no pattern", "other type"])
def test_files_whose_words_are_other_ones_are_not_cut(kind: str) -> None:
    parts = json.loads(miniatures.byte_level_json())
    split, byte_level = parts["pre_tokenizer"]["pretokenizers"]
    literal = {"String": split["pattern"]["Regex"]}
    parts["pre_tokenizer"] = {
        "alone": split | {"behavior": "Contiguous"},
        "bytes first": {"type": "Sequence", "pretokenizers": [byte_level, split]},
        "no pattern": {"type": "Sequence", "pretokenizers": [split | {"pattern": literal}, byte_level]},
        "other type": byte_level | {"add_prefix_space": True, "pretokenizers": [split, byte_level]},
    }[kind]  # fmt: skip
    tokenizer = HuggingFaceTokenizer(json.dumps(parts).encode())
    assert [*tokenizer.parts(LONG)] == [LONG]


def test_a_token_that_ends_with_a_blank_is_found_in_a_long_text() -> None:
    parts = json.loads(miniatures.byte_level_json())
    parts["added_tokens"].append(miniatures.added(9_000, "User ", special=False))
    tokenizer = HuggingFaceTokenizer(json.dumps(parts).encode())
    text = "User b" * 20_000
    assert [token_id for part in tokenizer.parts(text) for token_id in tokenizer.encode(part)] == tokenizer.encode(text)


def test_tokenizers_that_know_no_words_take_a_text_whole() -> None:
    assert [*miniatures.byte_fallback().parts(LONG)] == [LONG]


def test_a_cache_takes_a_text_whole() -> None:
    tokenizer = miniatures.byte_level()
    assert [*CachedTokenizer(tokenizer, CacheLimits(l0_enabled=True)).parts(LONG)] == [LONG]
    assert [*CachedTokenizer(tokenizer, CacheLimits()).parts(LONG)] == [*tokenizer.parts(LONG)]
    assert len([*tokenizer.parts(LONG)]) > 1
