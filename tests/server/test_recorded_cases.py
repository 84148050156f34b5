"""Every recorded HTTP case, against real services: one for each set of flags."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.outside import Outside
from tests.support.recorded import Replay, recorded_service, refused_start
from tests.support.tokens_of_issuer import Issuer

TESTS = Path(__file__).parent.parent
QWEN3 = TESTS.parent / ".cache" / "tokenizers" / "qwen3"


def _groups() -> Iterator[Any]:
    """The cases that can share a service. Those that change it have one of their own."""
    shared: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for line in (TESTS / "vectors" / "http.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        alone = case.get("fresh") or any("jwks_mode" in step or "signal" in step for step in case.get("setup", []))
        own = (f"\0{case['id']}",) if alone or case["request"]["method"] == "START" else ()
        shared.setdefault((*case["config"], *own), []).append(case)
    for cases in shared.values():
        needs_qwen3 = "models/qwen3" in cases[0]["config"]
        yield pytest.param(cases, id=cases[0]["id"], marks=[pytest.mark.full] if needs_qwen3 else [])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory in which the services run."""
    place = tmp_path_factory.mktemp("recorded")
    shutil.copytree(TESTS / "fixtures" / "http", place / "fixtures")
    if QWEN3.is_dir():
        (place / "models").mkdir()
        (place / "models" / "qwen3").symlink_to(QWEN3, target_is_directory=True)
    return place


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    with Outside(Issuer(), TESTS / "fixtures" / "http" / "tiny" / "tokenizer.json").serving() as outside:
        yield outside


@pytest.mark.parametrize("cases", list(_groups()))
def test_recorded_cases(cases: list[dict[str, Any]], place: Path, outside: Outside) -> None:
    problems: dict[str, list[str]] = {}
    if cases[0]["request"]["method"] == "START":
        problems = {case["id"]: refused_start(case, outside, place) for case in cases}
    else:
        ready = "/health" if all(case.get("await") == "health" for case in cases) else "/readiness"
        with recorded_service(cases[0]["config"], outside, place, ready=ready) as service:
            for case in cases:
                problems[case["id"]] = Replay(case, service).run()
    assert {name: found for name, found in problems.items() if found} == {}
