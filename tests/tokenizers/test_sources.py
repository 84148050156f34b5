"""From a source to a tokenizer: what a directory or a name is taken for, and what is said when it is not one."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

from sluicegate.tokenizers import (
    SourceForbidden,
    TokenizerEngineMissing,
    TokenizerFileInvalid,
    TokenizerLoadError,
    TokenizerNotFound,
    TokenizerUnsupported,
    is_hub_id,
    load_tokenizer,
    resolve_under_roots,
)
from sluicegate.tokenizers.openai_encodings import encoding_of_model
from tests.tokenizers import miniatures
from tests.tokenizers.miniatures import write_checkpoint

JSON = miniatures.byte_level_json()
RANKS = b"".join(miniatures.format_ranks(miniatures.ranks()).splitlines(keepends=True))
VOCABULARY = json.loads(JSON)["model"]["vocab"]
MERGES = ("#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in miniatures.merges())).encode()
SIZE = len(miniatures.ranks())


def test_tokenizer_json_wins_over_ranks(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, {"tokenizer.json": JSON, "tiktoken.model": b"broken"})
    assert load_tokenizer(tmp_path).engine.reference == "tokenizers"


def test_qwen2_vocabulary_and_merges_win_over_ranks(tmp_path: Path) -> None:
    config = {
        "tokenizer_class": "Qwen2Tokenizer",
        "added_tokens_decoder": {
            str(SIZE): {"content": "<|begin|>", "special": True},
            str(SIZE + 1): {"content": "<think>", "special": False, "normalized": False},
        },
    }
    files = {"vocab.json": VOCABULARY, "merges.txt": MERGES, "tokenizer_config.json": config, "x.tiktoken": b"broken"}
    tokenizer = load_tokenizer(write_checkpoint(tmp_path, files))
    expected = miniatures.byte_level()
    for text in (miniatures.TEXT, "1234 e\u0301 don't"):
        assert tokenizer.encode(text) == expected.encode(text)
    assert tokenizer.encode("<|begin|><think>") == [SIZE, SIZE + 1]
    assert tokenizer.decode([SIZE, SIZE + 1]) == "<think>"
    assert tokenizer.vocab_size == SIZE


def test_added_token_with_another_id_is_refused(tmp_path: Path) -> None:
    config = {
        "tokenizer_class": "Qwen2TokenizerFast",
        "added_tokens_decoder": {str(SIZE + 7): {"content": "<|late|>", "special": True}},
    }
    write_checkpoint(tmp_path, {"vocab.json": VOCABULARY, "merges.txt": MERGES, "tokenizer_config.json": config})
    with pytest.raises(TokenizerFileInvalid, match=rf"Added token '<\|late\|>' expected ID {SIZE + 7}, got {SIZE}"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"merges.txt": b"a b c\nab\n"}, "line 2"),
        ({"merges.txt": b"\xff"}, "UTF-8"),
        ({"vocab.json": b"[]"}, "vocab.json"),
        ({"vocab.json": {"a": "b"}}, "vocab.json"),
    ],
)
def test_broken_vocabulary_or_merges_are_named(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    config = {"tokenizer_class": "Qwen2Tokenizer"}
    write_checkpoint(tmp_path, {"vocab.json": VOCABULARY, "merges.txt": b"", "tokenizer_config.json": config, **files})
    with pytest.raises(TokenizerFileInvalid, match=message):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"tokenizer_class": "GPT2Tokenizer"}, "Unsupported vocab.json + merges.txt tokenizer_class 'GPT2Tokenizer'"),
        ({}, "is missing tokenizer_class; cannot infer"),
        (None, "Failed to read"),
    ],
)
def test_vocabulary_of_another_class_says_what_is_wrong(
    tmp_path: Path, config: dict[str, object] | None, message: str
) -> None:
    files: dict[str, object] = {"vocab.json": VOCABULARY, "merges.txt": MERGES}
    if config is not None:
        files["tokenizer_config.json"] = config
    write_checkpoint(tmp_path, files)  # type: ignore[arg-type]
    with pytest.raises(TokenizerUnsupported) as caught:
        load_tokenizer(tmp_path)
    assert message in f"{caught.value}"
    assert not caught.value.retryable


@pytest.mark.parametrize("name", ["tiktoken.model", "any.tiktoken"])
def test_rank_files_by_either_name_in_a_directory_or_alone(tmp_path: Path, name: str) -> None:
    write_checkpoint(tmp_path, {name: RANKS, "tokenizer_config.json": miniatures.rank_config(SIZE)})
    for source in (tmp_path, tmp_path / name):
        assert load_tokenizer(source).encode("[BOS]a") == [SIZE, 97]


def test_directory_of_kimi_is_known_by_its_config(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, {"tiktoken.model": RANKS, "config.json": {"model_type": "kimi_k25"}})
    assert load_tokenizer(tmp_path).vocab_size == SIZE + 256


@pytest.mark.parametrize(
    ("name", "content", "engine"),
    [
        ("anything.json", JSON, "tokenizers"),
        ("tokenizer.bin", b"\xef\xbb\xbf \n" + JSON, None),
        ("tokenizer.bin", b" \n" + JSON, "tokenizers"),
        ("tokenizer.model", RANKS, "tiktoken"),
    ],
)
def test_files_are_told_by_name_or_first_bytes(tmp_path: Path, name: str, content: bytes, engine: str | None) -> None:
    (tmp_path / name).write_bytes(content)
    if engine is None:
        with pytest.raises(TokenizerFileInvalid):
            load_tokenizer(tmp_path / name)
    else:
        assert load_tokenizer(tmp_path / name).engine.reference == engine


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.gguf", b"anything", "GGUF format not yet supported"),
        ("model.bin", b"GGUF\x03", "GGUF format not yet supported"),
        ("README", b"hello", "Unable to determine tokenizer type for file"),
        ("empty", b"", "Unable to determine tokenizer type for file"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TokenizerUnsupported, match=message):
        load_tokenizer(tmp_path / name)


def test_empty_directory_lists_what_it_could_hold(tmp_path: Path) -> None:
    with pytest.raises(TokenizerNotFound, match=r"does not contain a valid tokenizer file \(tokenizer\.json, tiktoken"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("source", ["/no/such/path", "./no-such-path", "../no-such-path", "a b", "a/b/c", "", "\x00"])
def test_missing_path_is_not_taken_for_a_hub_id(source: str) -> None:
    with pytest.raises(TokenizerNotFound) as caught:
        load_tokenizer(source)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("source", "expected"),
    [("owner/name", True), ("name", True), ("Qwen/Qwen3-0.6B", True), ("/a", False), (".a", False), ("a/b/c", False),
     ("a b", False), ("", False), ("ä", False), ("owner/name\n", False)],
)  # fmt: skip
def test_what_can_be_a_hub_id(source: str, expected: bool) -> None:
    assert is_hub_id(source) is expected


def test_existing_path_is_never_a_hub_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_checkpoint(tmp_path / "owner" / "name", {"tokenizer.json": JSON})
    assert not is_hub_id("owner/name")
    assert load_tokenizer("owner/name").vocab_size == SIZE


def test_roots_hold_with_links_and_dots_resolved(tmp_path: Path) -> None:
    inside = write_checkpoint(tmp_path / "inside", {"tokenizer.json": JSON})
    outside = write_checkpoint(tmp_path / "outside", {"tokenizer.json": JSON})
    (inside / "link").symlink_to(outside)
    assert resolve_under_roots(outside / ".." / "inside" / "tokenizer.json", [inside]) == inside / "tokenizer.json"
    (write_checkpoint(inside / "links", {}) / "tokenizer.json").symlink_to(outside / "tokenizer.json")
    with pytest.raises(SourceForbidden):
        load_tokenizer(inside / "links", roots=[inside])
    messages = set()
    for path in (outside, inside / ".." / "outside", inside / "link" / "tokenizer.json", inside / "missing"):
        with pytest.raises(SourceForbidden) as caught:
            load_tokenizer(path, roots=[inside])
        messages.add(f"{caught.value}".replace(f"{path}", ""))
    assert len(messages) == 1
    assert load_tokenizer(inside, roots=[tmp_path]).vocab_size == SIZE
    assert resolve_under_roots(outside, ["/"]) == outside.resolve()


def test_messages_name_files_as_the_caller_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(tmp_path / "own", {"tokenizer.json": b"{}", "empty.jinja": b""})
    monkeypatch.chdir(tmp_path)
    for template in (None, "own/empty.jinja"):
        with pytest.raises(TokenizerFileInvalid) as caught:
            load_tokenizer("own", chat_template=template, roots=["."])
        assert f"{tmp_path}" not in f"{caught.value}"


def test_template_must_lie_under_the_roots_too(tmp_path: Path) -> None:
    inside = write_checkpoint(tmp_path / "inside", {"tokenizer.json": JSON, "own.jinja": b"own"})
    (tmp_path / "other.jinja").write_text("other")
    with pytest.raises(SourceForbidden):
        load_tokenizer(inside, chat_template=tmp_path / "other.jinja", roots=[inside])
    template = load_tokenizer(inside, chat_template=inside / "own.jinja", roots=[inside]).chat_template
    assert template is not None
    assert template.render([]) == "own"


@pytest.mark.parametrize(
    ("name", "encoding"),
    [("gpt-4", "cl100k_base"), ("gpt-3.5-turbo", "cl100k_base"), ("gpt-4o", "o200k_base"), ("gpt-5-mini", "o200k_base"),
     ("o1-mini", "o200k_base"), ("chatgpt-4o-latest", "o200k_base"), ("openai/gpt-4o", "o200k_base"),
     ("text-davinci-003", "p50k_base"), ("davinci", "r50k_base"), ("text-embedding-ada-002", "cl100k_base"),
     ("code-cushman-001", "p50k_base"), ("gpt-oss-20b", None), ("gpt2", None), ("o", None), ("o1x", None),
     ("qwen3", None), ("gpt-4o/other", None)],
)  # fmt: skip
def test_openai_model_names(name: str, encoding: str | None) -> None:
    found = encoding_of_model(name)
    assert (found.name if found else None) == encoding


def test_every_failure_says_whether_a_retry_can_help() -> None:
    def classes(base: type[TokenizerLoadError]) -> list[type[TokenizerLoadError]]:
        return [base, *(found for child in base.__subclasses__() for found in classes(child))]

    # Loading a worker's tokenizer, or one in several processes, fails in ways of its own.
    import_module("sluicegate.tokenizers.worker.errors")
    import_module("sluicegate.server.processes.shared_tokenizers")
    retryable = {found.__name__ for found in classes(TokenizerLoadError) if found.retryable}
    assert retryable == {"HubUnavailable", "WorkerUnreachable", "NotLoadedForNow"}


def test_missing_library_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    monkeypatch.delitem(__import__("sys").modules, "sluicegate.tokenizers.sentencepiece_model", raising=False)
    (tmp_path / "tokenizer.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\x00")
    with pytest.raises(TokenizerEngineMissing, match=r"sluicegate\[mistral\]"):
        load_tokenizer(tmp_path)
