"""Long prompts and long lists of ids: worked on in threads and in steps, with the same answers as short ones."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from sluicegate.server.routes.tokens import LONG_BODY, STEP
from sluicegate.settings import Settings
from tests.support.in_process import InProcess


@pytest.fixture(scope="module")
def service() -> Iterator[InProcess]:
    service = InProcess(Settings(host="127.0.0.1", max_batch_items=3), tiny=True)
    yield service
    service.close()


@pytest.mark.parametrize("count", [STEP - 1, STEP, STEP + 1, 2 * STEP, 5 * STEP + 1])
def test_ids_of_a_long_prompt_are_those_of_its_parts(service: InProcess, count: int) -> None:
    (hi,) = service("POST", "/v1/tokenize", {"model": "", "prompt": ["hi é"]}).json()["tokens"]
    repeats = count // len(hi) + 1
    reply = service("POST", "/v1/tokenize", {"model": "", "prompt": "hi é" * repeats})
    assert reply.json() == {"tokens": hi * repeats, "count": len(hi) * repeats, "char_count": 4 * repeats}


def test_a_long_body_is_read_as_strictly_as_a_short_one(service: InProcess) -> None:
    long = json.dumps("x" * LONG_BODY)
    for body, code in {
        '{"model": "", "prompt": %s, "prompt": ""}': "invalid_body",
        '{"model": "", "prompt": [%s, 1]}': "invalid_body",
        '{"model": "", "prompt": %s': "invalid_json",
        '{"model": "", "prompt": [%s, "", "", ""]}': "batch_too_large",
        '{"model": "", "prompt": %s, "tools": []}': "invalid_body",
    }.items():
        reply = service("POST", "/v1/tokenize", (body % long).encode())
        assert reply.headers.get("x-smg-error-code") == code, body


def test_a_long_list_of_ids_comes_back_as_text(service: InProcess) -> None:
    text = "hi é" * 40_000
    for prompt in (text, [text, "hi"]):
        tokens = service("POST", "/v1/tokenize", {"model": "", "prompt": prompt}).json()["tokens"]
        reply = service("POST", "/v1/detokenize", {"model": "", "tokens": tokens})
        assert reply.json() == {"text": prompt}
