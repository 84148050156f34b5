"""Rank files: reading them, special tokens, Kimi's rules."""

from __future__ import annotations

import base64
from itertools import groupby

import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluicegate.tokenizers import kimi
from sluicegate.tokenizers.checkpoint import CheckpointConfig
from sluicegate.tokenizers.errors import TokenizationFailed, TokenizerFileInvalid, UnknownTokenId
from sluicegate.tokenizers.fast_path import any_of
from sluicegate.tokenizers.openai_encodings import CL100K_PATTERN
from sluicegate.tokenizers.rank_file import RankTokenizer, format_ranks, parse_ranks, rank_tokenizer
from tests.tokenizers import miniatures

SIZE = len(miniatures.ranks())


@pytest.fixture(scope="module")
def plain() -> RankTokenizer:
    return miniatures.ranked()


@pytest.fixture(scope="module")
def of_kimi() -> RankTokenizer:
    return miniatures.ranked(kimi=True)


def test_ranks_survive_writing_and_reading() -> None:
    assert parse_ranks(format_ranks(miniatures.ranks()) + b"\n\n", "x") == miniatures.ranks()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no ranks"),
        (b"YQ== 0\nnot a line\n", "line 2"),
        (b"YQ== 0\nYg==\n", "line 2"),
        (b"YQ== x\n", "line 1"),
        (b"YQ== -1\n", "rank -1"),
        (b"YQ== 4294967296\n", "rank 4294967296"),
        (b"YQ== 0\nYg== 0\n", "one rank to several"),
        (b"\x00\xff 0\n", "line 1"),
        (b"YQ!= 0\n", "line 1"),
    ],
)
def test_bad_rank_file_names_the_line(data: bytes, message: str) -> None:
    with pytest.raises(TokenizerFileInvalid, match=message):
        parse_ranks(data, "x.tiktoken")


def test_vocab_size_is_the_highest_id_plus_one(plain: RankTokenizer, of_kimi: RankTokenizer) -> None:
    assert plain.vocab_size == SIZE + 4
    assert of_kimi.vocab_size == SIZE + 256
    assert rank_tokenizer(format_ranks(miniatures.ranks()), CheckpointConfig({}), origin="x").vocab_size == SIZE


def test_pattern_is_that_of_cl100k(plain: RankTokenizer) -> None:
    expected = tiktoken.Encoding("x", pat_str=CL100K_PATTERN, mergeable_ranks=miniatures.ranks(), special_tokens={})
    for text in ("1234567 hello world's\r\n\n  x", "ſ K 中国", ""):
        assert plain.encode(text) == expected.encode_ordinary(text)


def test_special_tokens_are_recognised_and_only_flagged_ones_dropped(plain: RankTokenizer) -> None:
    ids = plain.encode("[BOS]a<|open|><|end|>")
    assert ids == [SIZE, 97, SIZE + 3, SIZE + 1]
    assert plain.decode(ids) == "a<|open|>"
    assert plain.decode(ids, skip_special_tokens=False) == "[BOS]a<|open|><|end|>"
    assert plain.decode(plain.encode("[BOS]", parse_special=False)) == "[BOS]"
    assert plain.encode("a", add_special_tokens=True) == [97]


def test_hole_in_the_ids_is_unknown(plain: RankTokenizer) -> None:
    with pytest.raises(UnknownTokenId) as caught:
        plain.decode([97, SIZE + 2])
    assert (caught.value.token_id, caught.value.position) == (SIZE + 2, 1)


def test_entries_without_use_are_skipped() -> None:
    config = CheckpointConfig(
        {"added_tokens_decoder": {"x": {"content": "a"}, "1.5": {"content": "b"}, "300": {}, "301": {"content": "<s>"}}}
    )
    tokenizer = rank_tokenizer(format_ranks(miniatures.ranks()), config, origin="x")
    assert tokenizer.encode("<s>") == [301]


def test_text_with_a_byte_that_has_no_token_fails_without_panic() -> None:
    tokenizer = rank_tokenizer(b"YQ== 0\nYg== 1\nYWI= 2\n", CheckpointConfig({}), origin="x")
    assert tokenizer.encode("abab") == [2, 2]
    with pytest.raises(TokenizationFailed, match="0x63"):
        tokenizer.encode("abc")
    with pytest.raises(TokenizationFailed) as caught:
        tokenizer.encode_batch(["ab", "c"])
    assert caught.value.index == 1


def test_lone_surrogate_is_not_replaced_in_silence(plain: RankTokenizer) -> None:
    with pytest.raises(TokenizationFailed, match="surrogate"):
        plain.encode("a\ud800")


def test_reserved_names_of_kimi_are_recognised_and_never_dropped(of_kimi: RankTokenizer) -> None:
    reserved = f"<|reserved_token_{SIZE + 2}|>"
    assert of_kimi.encode(reserved) == [SIZE + 2]
    assert of_kimi.decode([SIZE, SIZE + 1, SIZE + 2, SIZE + 255]) == f"{reserved}<|reserved_token_{SIZE + 255}|>"
    with pytest.raises(UnknownTokenId):
        of_kimi.decode([SIZE + 256])


def test_reserved_name_that_exists_already_is_not_given_twice() -> None:
    tokens = kimi.special_tokens(10, {300: "<|reserved_token_12|>", 11: "[X]"})
    assert tokens["<|reserved_token_12|>"] == 300
    assert 12 not in tokens.values()
    assert tokens["[X]"] == 11
    assert tokens["<|reserved_token_265|>"] == 265


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}}, True),
        ({"x": [{"y": "a.tokenization_kimi"}]}, True),
        ({"x": "tokenization_kimi_2.T"}, False),
        ({"tokenization_kimi": 1}, False),
    ],
)
def test_what_makes_a_checkpoint_kimi(config: dict[str, object], expected: bool) -> None:
    assert CheckpointConfig(config).is_kimi() is expected


@pytest.mark.parametrize(("model_type", "expected"), [("kimi_k3", True), ("kimi_k25", True), ("kimi", False)])
def test_model_type_makes_a_checkpoint_kimi(model_type: str, expected: bool) -> None:
    assert CheckpointConfig({}, model_type).is_kimi() is expected


def simple_cut(text: str) -> list[str]:
    """The rule as the checkpoints state it, character by character."""
    pieces: list[str] = []
    for start in range(0, len(text), kimi.WINDOW):
        piece, kind, run = "", None, 0
        for character in text[start : start + kimi.WINDOW]:
            run = run + 1 if character.isspace() is kind else 1
            kind = character.isspace()
            if run > kimi.RUN:
                pieces.append(piece)
                piece, run = "", 1
            piece += character
        pieces.append(piece)
    return pieces or [""]


RUNS = st.lists(
    st.tuples(st.sampled_from("a \n中\u3000\x1c\u200b"), st.sampled_from([1, 3, 24_999, 25_000, 25_001])), max_size=6
)


@settings(deadline=None, max_examples=25)
@given(RUNS)
@example([("a", 25_001)])
@example([(" ", 75_001)])
@example([("a", 24_999), (" ", 1), ("a", 25_001)])
def test_long_texts_are_cut_as_the_checkpoints_do(runs: list[tuple[str, int]]) -> None:
    text = "".join(character * times for character, times in runs)
    pieces = kimi.cut(text)
    assert "".join(pieces) == text
    assert [piece for piece in pieces if piece] == [piece for piece in simple_cut(text) if piece]


def test_window_restarts_the_count() -> None:
    text = "ab " * 133_000 + "x" * 30_000
    assert [len(piece) for piece in kimi.cut(text)] == [len(piece) for piece in simple_cut(text)]
    assert len(kimi.cut("a b" * 200_000)[0]) == kimi.WINDOW


def test_special_token_on_a_cut_is_text(of_kimi: RankTokenizer) -> None:
    assert SIZE + 3 in of_kimi.encode("x" * 100 + "<|open|>y")
    assert SIZE + 3 not in of_kimi.encode("x" * 24_998 + "<|open|>y")
    assert of_kimi.decode(of_kimi.encode("x" * 24_998 + "<|open|>y")) == "x" * 24_998 + "<|open|>y"


def test_cut_text_is_encoded_piece_by_piece(of_kimi: RankTokenizer) -> None:
    text = " " * 60_001
    expected = [token for piece in kimi.cut(text) for token in of_kimi.encode(piece)]
    assert [len(list(run)) for _, run in groupby(kimi.cut(text), len)] == [2, 1]
    assert of_kimi.encode(text) == expected
    assert of_kimi.encode_batch([text, "a"]) == [expected, [97]]
    assert of_kimi.encode_flat(text).tolist() == expected
    assert of_kimi.encode(text, parse_special=False) == expected


SPECIAL_BITS = [
    "[BOS]",
    "<|end|>",
    "<|open|>",
    "<|reserved_token_",
    f"{SIZE + 9}|>",
    "[",
    "<|",
    "hello the",
    " world",
    "é",
]


@given(st.lists(st.sampled_from(SPECIAL_BITS) | st.text(max_size=3), max_size=12).map("".join), st.integers(1, 3_000))
def test_flat_ids_are_those_of_the_list(plain: RankTokenizer, of_kimi: RankTokenizer, text: str, times: int) -> None:
    for tokenizer in (plain, of_kimi):
        for flags in ({}, {"add_special_tokens": True}, {"parse_special": False}):
            assert tokenizer.encode_flat(text, **flags).tolist() == tokenizer.encode(text, **flags)
    long = text * times
    assert of_kimi.encode_flat(long).tolist() == of_kimi.encode(long)


@given(st.lists(st.sampled_from(SPECIAL_BITS), max_size=4), st.text("[]<|>BOSendp", max_size=12))
def test_any_of_some_tokens_is_found_where_it_occurs(tokens: list[str], text: str) -> None:
    assert any_of(tokens)(text) == any(token in text for token in tokens)


def test_base64_of_every_byte_is_readable() -> None:
    line = base64.b64encode(bytes(range(256)))
    assert parse_ranks(line + b" 7\n", "x") == {bytes(range(256)): 7}
