"""Tokenizers beyond the reference gateway: SentencePiece's tokenizer.model and Mistral's tekken.json."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest
import sentencepiece
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

from sluicegate.tokenizers import StreamingDetokenizer, TokenizerFileInvalid, UnknownTokenId, load_tokenizer
from sluicegate.tokenizers.openai_encodings import CL100K_PATTERN
from tests.tokenizers import miniatures


def sentencepiece_model() -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["hello world", "the quick brown fox", "hello there"] * 20), model_writer=model,
        vocab_size=300, model_type="bpe", byte_fallback=True, minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    return model.getvalue()


def tekken_json() -> dict[str, object]:
    vocabulary = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for token, rank in miniatures.ranks().items()
    ]
    special = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"]
    return {
        "config": {
            "pattern": CL100K_PATTERN, "num_vocab_tokens": len(vocabulary), "default_num_special_tokens": 10,
            "default_vocab_size": len(vocabulary) + 10, "version": "v11",
        },
        "vocab": vocabulary,
        "special_tokens": [
            {"rank": rank, "token_str": token, "is_control": True} for rank, token in enumerate(special)
        ],
    }  # fmt: skip


@pytest.fixture(scope="module")
def model() -> bytes:
    return sentencepiece_model()


def test_sentencepiece_ids_are_those_of_the_library(tmp_path: Path, model: bytes) -> None:
    (tmp_path / "tokenizer.model").write_bytes(model)
    library = sentencepiece.SentencePieceProcessor(model_proto=model)
    tokenizer = load_tokenizer(tmp_path)
    for text in ("hello world", "", "unseen ß 😀", "  two  blanks "):
        assert tokenizer.encode(text) == library.encode(text)
        assert tokenizer.encode(text, add_special_tokens=True) == [library.bos_id(), *library.encode(text)]
        assert tokenizer.decode(tokenizer.encode(text)) == library.decode(library.encode(text))
        assert [piece.id for piece in tokenizer.pieces(text)] == library.encode(text)
    assert tokenizer.encode_batch(["hello", "world"]) == library.encode(["hello", "world"])
    assert tokenizer.encode_flat("hello").tolist() == library.encode("hello")
    assert [*tokenizer.parts("hello " * 50_000)] == ["hello " * 50_000]
    assert tokenizer.vocab_size == library.vocab_size()
    assert tokenizer.engine.encode == "sentencepiece"


def test_sentencepiece_control_tokens_and_unknown_ids(tmp_path: Path, model: bytes) -> None:
    (tmp_path / "tokenizer.model").write_bytes(model)
    tokenizer = load_tokenizer(tmp_path / "tokenizer.model")
    ids = tokenizer.encode("hello", add_special_tokens=True)
    assert tokenizer.decode(ids) == "hello"
    assert tokenizer.decode(ids, skip_special_tokens=False) == "<s>hello"
    for wrong in (-1, tokenizer.vocab_size):
        with pytest.raises(UnknownTokenId):
            tokenizer.decode([*ids, wrong])
    stream = StreamingDetokenizer(tokenizer)
    ids = tokenizer.encode("hello 😀 the")
    assert "".join(stream.add([token]) for token in ids) + stream.finish() == "hello 😀 the"


@pytest.mark.parametrize("content", [b"", b"\x00\x01", b"not a model at all"])
def test_broken_sentencepiece_model_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.model").write_bytes(content)
    with pytest.raises(TokenizerFileInvalid):
        load_tokenizer(tmp_path)


def test_tekken_ids_are_those_of_the_library(tmp_path: Path) -> None:
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(tekken_json()))
    library = Tekkenizer.from_file(path)
    tokenizer = load_tokenizer(tmp_path)
    for text in ("hello world 12345", "", "ß 😀\n\n"):
        ids = library.encode(text, bos=False, eos=False)
        assert tokenizer.encode(text) == ids
        assert tokenizer.encode(text, add_special_tokens=True) == library.encode(text, bos=True, eos=False)
        assert tokenizer.decode(ids) == text
    assert tokenizer.encode("[INST]hi", parse_special=False) == library.encode("[INST]hi", bos=False, eos=False)
    assert tokenizer.encode("[INST]") == [3]
    assert tokenizer.decode([1, 3]) == ""
    assert tokenizer.decode([1, 3], skip_special_tokens=False) == "<s>[INST]"
    assert tokenizer.vocab_size == library.n_words
    assert tokenizer.engine.encode == "splintr"


@pytest.mark.parametrize(
    "change", [{"vocab": []}, {"config": {}}, {"config": {"pattern": "a"}}, {"special_tokens": [1]}]
)
def test_broken_tekken_file_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    (tmp_path / "tekken.json").write_text(json.dumps(tekken_json() | change))
    with pytest.raises(TokenizerFileInvalid, match=r"tekken\.json"):
        load_tokenizer(tmp_path)
