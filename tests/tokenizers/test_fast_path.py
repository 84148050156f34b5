"""The fast encoder: admitted only where it is exact, guarded where it could differ."""

from __future__ import annotations

import json
from functools import cache

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.tokenizers.fast_path import DIFFERING, FastPath, admit, has_long_run
from sluicegate.tokenizers.huggingface import HuggingFaceTokenizer
from sluicegate.tokenizers.probes import probe_texts
from tests.tokenizers import miniatures

PARTS = st.sampled_from(
    ["hello", " world", "<|begin|>", "<|end|>", "<|end|", "<think>", "[BOS]", "<|open|>", "\n\n", "   ", "\t", "1234",
     "'s", "ſ", "é", "e\u0301", "中国", "😀", "\u0301", "\ufffd", "\x00", "\U00011383", "\U000323b0", "\U00016ff2",
     "\u1ad5"]
)  # fmt: skip
TEXTS = st.lists(PARTS | st.text(max_size=6), max_size=12).map("".join)


@pytest.fixture(scope="module", params=["byte_level", "byte_fallback", "ranks", "kimi"])
def pair(request: pytest.FixtureRequest) -> tuple[object, object]:
    """The same tokenizer with and without the fast path."""
    if request.param == "byte_level":
        return miniatures.byte_level(), miniatures.byte_level(use_fast_path=False)
    if request.param == "byte_fallback":
        return miniatures.byte_fallback(), miniatures.byte_fallback(use_fast_path=False)
    kimi = request.param == "kimi"
    return miniatures.ranked(kimi=kimi), miniatures.ranked(kimi=kimi, use_fast_path=False)


@settings(deadline=None, max_examples=200)
@given(texts=st.lists(TEXTS, max_size=4))
def test_fast_path_equals_reference(pair: tuple[HuggingFaceTokenizer, HuggingFaceTokenizer], texts: list[str]) -> None:
    fast, reference = pair
    assert fast.engine.encode == "splintr"
    assert reference.engine.encode != "splintr"
    expected = [reference.encode(text) for text in texts]
    assert [fast.encode(text) for text in texts] == expected
    assert fast.encode_batch(texts) == expected
    assert [fast.encode_flat(text).tolist() for text in texts] == expected


def test_long_text_equals_reference(pair: tuple[HuggingFaceTokenizer, HuggingFaceTokenizer]) -> None:
    fast, reference = pair
    for text in (miniatures.TEXT * 8, "\n" * 50_000, "a" * 30_000 + " b" * 10_000):
        assert fast.encode(text) == reference.encode(text)
        assert fast.encode_flat(text).tolist() == reference.encode(text)


def test_a_contraction_with_a_long_s_is_left_to_the_reference() -> None:
    kimi = miniatures.ranked(kimi=True)
    # "a'ſ" is a word there, and "'the" the next one; to the fast engine "'ſ't" is one, with a contraction.
    for text in ("a'ſ'the", "the'ſ'the hello"):
        assert kimi.encode(text) == miniatures.ranked(kimi=True, use_fast_path=False).encode(text)


@pytest.mark.parametrize("mark", ["\u07fd", "\u0eba", "\u0c3c", "\u1abf", "\u1add", "\U0001e136", "\U00010f50"])
@pytest.mark.parametrize("context", ["={}\u0338", "e{}\u0301", "e\u0301{}\u0323"])
def test_marks_newer_than_the_references_nfc_are_left_to_it(mark: str, context: str) -> None:
    text = context.format(mark)
    library = tokenizers.Tokenizer.from_buffer(miniatures.byte_level_json())
    assert normalizing().encode(text) == library.encode(text, add_special_tokens=False).ids


@cache
def normalizing() -> HuggingFaceTokenizer:
    return miniatures.byte_level()


def test_tokenizer_that_differs_is_not_admitted() -> None:
    """Merges that make a token in another way than byte pair encoding would: the fast engine does not follow them."""
    parts = json.loads(miniatures.byte_level_json())
    vocabulary = parts["model"]["vocab"]
    for token in ("xy", "xyz", "yz"):
        vocabulary[token] = len(vocabulary) + 4
    parts["model"]["merges"] += [["x", "y"], ["y", "z"], ["x", "yz"]]
    content = json.dumps(parts).encode()
    tokenizer = HuggingFaceTokenizer(content)
    assert tokenizer.engine.encode == "tokenizers"
    assert "differs from the reference" in tokenizer.engine.reason
    library = tokenizers.Tokenizer.from_buffer(content)
    assert tokenizer.encode(miniatures.TEXT) == library.encode(miniatures.TEXT, add_special_tokens=False).ids


def test_engine_that_fails_is_not_admitted() -> None:
    def build() -> FastPath:
        raise ValueError("no such kind\nwith details")

    found, reason = admit(build, lambda probes: [[] for _ in probes], ["a"])
    assert found is None
    assert reason.endswith("no such kind")


def test_engine_that_is_not_installed_is_said_so() -> None:
    def build() -> FastPath:
        raise ImportError

    found, reason = admit(build, lambda probes: [[] for _ in probes], ["a"])
    assert found is None
    assert "not installed" in reason


def test_failure_at_run_time_leaves_the_text_to_the_reference() -> None:
    def fail(_: object) -> list[list[int]]:
        raise RuntimeError("broken")

    path = FastPath(fail, fail, flat=fail)  # type: ignore[arg-type]
    assert path.encode("a") is None
    assert path.encode_flat("a") is None
    assert path.encode("a" * 9000) is None
    assert path.encode_batch(["a", "b"]) == [None, None]


def test_interrupt_is_not_swallowed() -> None:
    def interrupt(_: object) -> list[list[int]]:
        raise KeyboardInterrupt

    path = FastPath(interrupt, interrupt, flat=interrupt)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        path.encode_flat("a")
    with pytest.raises(KeyboardInterrupt):
        path.encode("a")
    with pytest.raises(KeyboardInterrupt):
        path.encode_batch(["a"])


@pytest.mark.parametrize(
    "character",
    ["\U000105d2", "\U000105da", "\U00011382", "\U000113c9", "\U00011930", "\U00011935", "\U0001611e", "\U00016129",
     "\U00016d63", "\U00016d6a", "\U00016ff2", "\U00016ff6", "\U0002b73a", "\U0002b73f", "\U0002cea2", "\U0002cead",
     "\U000323b0", "\U00033479"],
)  # fmt: skip
def test_guard_sees_every_end_of_its_ranges(character: str) -> None:
    assert DIFFERING.occur_in(f"ab中{character}c")


def test_guard_and_its_cheap_form_agree_everywhere() -> None:
    ranges = [
        (0x105D2, 0x105D2), (0x105DA, 0x105DA), (0x11382, 0x113C9), (0x11930, 0x11935), (0x1611E, 0x16129),
        (0x16D63, 0x16D6A), (0x16FF2, 0x16FF6), (0x2B73A, 0x2B73F), (0x2CEA2, 0x2CEAD), (0x323B0, 0x33479),
    ]  # fmt: skip
    for code in (*range(0x10000, 0x17000), *range(0x2B700, 0x2CF00), *range(0x32300, 0x33500), 0xFFFF, 0x61, 0x10FFFF):
        expected = any(first <= code <= last for first, last in ranges)
        assert DIFFERING.occur_in(f"x{chr(code)}") is expected, hex(code)


@given(st.integers(0, 30_000), st.integers(0, 45_000), st.integers(0, 30_000))
@settings(max_examples=50, deadline=None)
def test_runs_of_twenty_thousand_are_always_found(before: int, run: int, after: int) -> None:
    found = has_long_run("ab" * (before // 2) + "\n" * run + "cd" * (after // 2))
    if run >= 20_000:
        assert found
    if run < 10_000:
        assert not found


def test_probe_texts_hold_every_added_token_and_are_the_same_each_time() -> None:
    tokens = [f"<|{place}|>" for place in range(500)]
    texts = probe_texts(tokens)
    assert texts == probe_texts(tokens)
    assert set(tokens) <= set(texts)
    assert len(texts) >= 2_000
