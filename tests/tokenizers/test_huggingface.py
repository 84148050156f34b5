"""tokenizer.json of every kind: ids, decoding, options, and errors that name the id."""

from __future__ import annotations

import pytest
import tokenizers

from sluicegate.tokenizers.errors import TokenizationFailed, TokenizerFileInvalid, UnknownTokenId
from sluicegate.tokenizers.huggingface import HuggingFaceTokenizer
from tests.tokenizers import miniatures

SIZE = len(miniatures.ranks())
SPLITS = [
    {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    for pattern in ({"Regex": r"\d"}, {"String": " "})
]
BEGIN, END, THINK, END_OF_THINK = range(SIZE, SIZE + 4)


@pytest.fixture(scope="module")
def byte_level() -> HuggingFaceTokenizer:
    return miniatures.byte_level()


@pytest.fixture(scope="module")
def byte_fallback() -> HuggingFaceTokenizer:
    return miniatures.byte_fallback()


def test_engine_is_fast_and_says_why(byte_level: HuggingFaceTokenizer) -> None:
    engine = byte_level.engine
    assert (engine.encode, engine.decode, engine.reference) == ("splintr", "table", "tokenizers")
    assert "probe texts" in engine.reason


def test_vocab_size_is_that_of_the_model_alone(byte_level: HuggingFaceTokenizer) -> None:
    assert byte_level.vocab_size == SIZE


@pytest.mark.parametrize("text", ["", "hello world", "<|begin|>hello<think>\n\n12345", "é e\u0301 中国 😀", "a" * 9000])
def test_ids_are_those_of_the_library(byte_level: HuggingFaceTokenizer, text: str) -> None:
    library = tokenizers.Tokenizer.from_buffer(miniatures.byte_level_json())
    assert byte_level.encode(text) == library.encode(text, add_special_tokens=False).ids
    assert byte_level.encode_batch([text, "x", text]) == [byte_level.encode(part) for part in (text, "x", text)]
    assert byte_level.encode_flat(text).tolist() == byte_level.encode(text)


def test_spelling_of_added_tokens_is_recognised_unless_told_not_to(byte_level: HuggingFaceTokenizer) -> None:
    text = "a<|end|><think>b"
    assert byte_level.encode(text) == [ord("a"), END, THINK, ord("b")]
    plain = byte_level.encode(text, parse_special=False)
    assert not {END, THINK} & set(plain)
    assert byte_level.decode(plain) == text
    assert byte_level.encode_batch([text, text], parse_special=False) == [plain, plain]
    assert byte_level.encode_flat(text, parse_special=False).tolist() == plain


def test_add_special_tokens_runs_the_post_processor(byte_level: HuggingFaceTokenizer) -> None:
    assert byte_level.encode("hello", add_special_tokens=True) == [BEGIN, *byte_level.encode("hello")]
    assert byte_level.encode_flat("hello", add_special_tokens=True).tolist() == [BEGIN, *byte_level.encode("hello")]
    assert byte_level.encode("<|end|>", add_special_tokens=True, parse_special=False)[0] == BEGIN


def test_checkpoint_may_ask_for_an_end_token_too() -> None:
    config = {
        "add_bos_token": True,
        "bos_token": "<|begin|>",
        "add_eos_token": True,
        "eos_token": {"content": "<|end|>"},
    }
    tokenizer = miniatures.byte_level(config=config, post_processor=None)
    assert tokenizer.encode("a", add_special_tokens=True) == [BEGIN, ord("a"), END]
    assert tokenizer.encode("a") == [ord("a")]


def test_skip_special_tokens_drops_only_flagged_ones(byte_level: HuggingFaceTokenizer) -> None:
    ids = [BEGIN, *byte_level.encode("hello"), THINK, END]
    assert byte_level.decode(ids) == "hello<think>"
    assert byte_level.decode(ids, skip_special_tokens=False) == "<|begin|>hello<think><|end|>"


def test_cut_character_becomes_one_replacement_per_broken_part(byte_level: HuggingFaceTokenizer) -> None:
    assert byte_level.decode([0xF0, 0x9F, 0x98]) == "\ufffd"
    assert byte_level.decode([0xF0, 0x9F, 0x98, THINK, 0x80]) == "\ufffd<think>\ufffd"


@pytest.mark.parametrize("skip", [True, False])
def test_unknown_id_names_position_and_id(byte_level: HuggingFaceTokenizer, skip: bool) -> None:
    with pytest.raises(UnknownTokenId) as caught:
        byte_level.decode([104, BEGIN, 999_999, 105], skip_special_tokens=skip)
    assert (caught.value.token_id, caught.value.position) == (999_999, 2)
    with pytest.raises(UnknownTokenId):
        byte_level.token_bytes(999_999)


def test_padded_row_of_an_embedding_decodes_to_nothing(byte_level: HuggingFaceTokenizer) -> None:
    assert byte_level.decode([104, SIZE + 5, 105]) == "hi"
    assert byte_level.token_bytes(SIZE + 5) == b""


def test_byte_fallback_replaces_each_byte_of_a_broken_run(byte_fallback: HuggingFaceTokenizer) -> None:
    cut = byte_fallback.encode("😀")[:3]
    assert byte_fallback.decode(cut) == "\ufffd\ufffd\ufffd"
    assert byte_fallback.decode(byte_fallback.encode("hello world 😀 中")) == "hello world 😀 中"
    assert byte_fallback.engine.decode == "tokenizers"


def test_white_space_tokens_are_no_markers(byte_fallback: HuggingFaceTokenizer) -> None:
    plain = byte_fallback.encode("a\n\n<table>", parse_special=False)
    assert byte_fallback.encode("\n\n")[0] in plain
    assert byte_fallback.encode("<table>")[0] not in plain


def test_wordpiece_decodes_token_by_token() -> None:
    tokenizer = miniatures.wordpiece()
    ids = {word: place for place, word in enumerate(miniatures.WORDS)}
    assert tokenizer.encode("Hello, world!") == [ids["hello"], ids[","], ids["world"], ids["!"]]
    assert tokenizer.decode([ids["hello"], ids[","], ids["world"], ids["'"], ids["s"], ids["!"]]) == "hello, world ' s!"
    assert tokenizer.decode([2, ids["sing"], ids["##s"], 3]) == "sings"
    assert tokenizer.decode([2, ids["sing"], 3], skip_special_tokens=False) == "[CLS] sing [SEP]"
    assert tokenizer.engine.encode == "tokenizers"


def test_padding_and_truncation_of_the_file_stay_active() -> None:
    tokenizer = miniatures.wordpiece(padding=miniatures.PADDING, truncation=miniatures.TRUNCATION)
    assert tokenizer.encode("hello world") == [4, 5, 0, 0, 0, 0, 0, 0]
    assert tokenizer.encode("") == [0] * 8
    assert tokenizer.encode("hello " * 300) == [4] * 8
    assert tokenizer.encode_batch(["hello", ""]) == [[4, *[0] * 7], [0] * 8]


def test_padding_to_the_longest_does_not_mix_texts() -> None:
    tokenizer = miniatures.wordpiece(padding=miniatures.PADDING | {"strategy": "BatchLongest"})
    assert tokenizer.encode_batch(["hello world", "hello"]) == [[4, 5], [4]]


def test_failure_of_one_text_names_it() -> None:
    model = {"type": "WordLevel", "vocab": {"hi": 0, "there": 1}, "unk_token": "[UNK]"}
    tokenizer = miniatures.byte_level(
        model=model, added_tokens=[], normalizer=None, pre_tokenizer={"type": "Whitespace"}, post_processor=None,
        decoder=None,
    )  # fmt: skip
    assert tokenizer.encode_batch(["hi there", "hi"]) == [[0, 1], [0]]
    with pytest.raises(TokenizationFailed, match="Missing \\[UNK\\]"):
        tokenizer.encode("zz")
    with pytest.raises(TokenizationFailed) as caught:
        tokenizer.encode_batch(["hi", "zz"])
    assert caught.value.index == 1
    assert f"{caught.value}".startswith("prompt[1]: ")


@pytest.mark.parametrize("text", ["\ud800", "a" * 9000 + "\udfff"])
def test_lone_surrogate_is_an_error_of_the_text(byte_level: HuggingFaceTokenizer, text: str) -> None:
    with pytest.raises(TokenizationFailed):
        byte_level.encode(text)
    with pytest.raises(TokenizationFailed):
        byte_level.encode_batch(["ok", text])
    with pytest.raises(TokenizationFailed):
        byte_level.encode_flat(text)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"model":{"type":"BPE"}}',
        b'{"model":{"type":"Nope"}}',
        b"[" * 100_000,
    ],
)
def test_broken_file_is_refused(content: bytes) -> None:
    with pytest.raises(TokenizerFileInvalid, match=r"here\.json"):
        HuggingFaceTokenizer(content, origin="here.json")


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"normalizer": {"type": "NFKC"}}, "normalizer NFKC"),
        (
            {"added_tokens": [miniatures.added(SIZE, "<m>", special=True, lstrip=True)], "post_processor": None},
            "swallow",
        ),
        ({"truncation": miniatures.TRUNCATION}, "truncation"),
        ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [*SPLITS, miniatures.BYTE_LEVEL]}}, "several splits"),
    ],
)
def test_fast_path_is_not_tried_where_it_is_not_exact(members: dict[str, object], reason: str) -> None:
    engine = miniatures.byte_level(**members).engine
    assert engine.encode == "tokenizers"
    assert reason in engine.reason
