"""Long inputs: worked on in threads and in steps, with the same answers as short ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest

import sluicegate
from sluicegate.server import long_inputs
from sluicegate.server.long_inputs import LONG_BODY, PIECE
from sluicegate.server.routes.tokens import STEP
from sluicegate.server.routing import SMALL_BODY
from sluicegate.settings import Settings
from sluicegate.tokenizers.checkpoint import CheckpointConfig
from sluicegate.tokenizers.rank_file import format_ranks, rank_tokenizer
from tests.support.in_process import InProcess
from tests.tokenizers import miniatures


@pytest.fixture(scope="module")
def service() -> Iterator[InProcess]:
    service = InProcess(Settings(host="127.0.0.1", max_batch_items=60), tiny=True)
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
        '{"model": "", "prompt": [%s' + ', ""' * 60 + "]}": "batch_too_large",
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


def test_a_long_prompt_gives_the_ids_of_the_library(service: InProcess) -> None:
    prompt = "x y\nhi there é " * 10_000
    reply = service("POST", "/v1/tokenize", {"model": "", "prompt": [prompt]}).json()
    alone = service("POST", "/v1/tokenize", {"model": "", "prompt": prompt}).json()
    assert alone == {"tokens": reply["tokens"][0], "count": reply["count"][0], "char_count": len(prompt)}


@pytest.mark.parametrize("flags", [{}, {"add_special_tokens": True}, {"parse_special": False}])
def test_a_long_batch_gives_what_its_prompts_give_alone(service: InProcess, flags: dict[str, bool]) -> None:
    words = "hello the world <|begin|>\n"
    prompts = ["", words, words * 3_000, "", "", words * 900, words * 900, *["hi"] * 9, words * 2_000, ""]
    model = {"model": "with ends", **flags}
    service.service.state.store.add("with ends", miniatures.byte_level(), "with ends")
    try:
        alone = [service("POST", "/v1/tokenize", {**model, "prompt": prompt}).json() for prompt in prompts]
        for first in range(3):
            together = service("POST", "/v1/tokenize", {**model, "prompt": prompts[first:]}).json()
            assert together == {name: [answer[name] for answer in alone[first:]] for name in alone[0]}
    finally:
        service.service.state.store.remove("with ends")


@pytest.mark.parametrize("place", [0, 1, 2, 40, 41])
def test_a_prompt_of_a_long_batch_that_cannot_be_encoded_is_named(service: InProcess, place: int) -> None:
    ranks = {token: rank for token, rank in miniatures.ranks().items() if b"z" not in token}
    tokenizer = rank_tokenizer(format_ranks(ranks), CheckpointConfig({}), origin="no z")
    service.service.state.store.add("no z", tokenizer, "no z")
    prompts = ["hello " * 300] * 40
    prompts.insert(1, "hello the world " * 10_000)
    try:
        prompts.insert(place, "z")
        reply = service("POST", "/v1/tokenize", {"model": "no z", "prompt": prompts})
        assert reply.status == 500
        assert f"prompt[{place}]: the ranks have no token for the byte 0x7A" in reply.json()["error"]["message"]
    finally:
        service.service.state.store.remove("no z")


def test_what_is_put_around_a_long_prompt_is_put_there_once(service: InProcess) -> None:
    tokenizer = miniatures.byte_level()
    service.service.state.store.add("with ends", tokenizer, "with ends")
    prompt = "hello the world " * 10_000
    body = {"model": "with ends", "prompt": prompt, "add_special_tokens": True}
    tokens = service("POST", "/v1/tokenize", body).json()["tokens"]
    assert tokens == tokenizer.encode(prompt, add_special_tokens=True)
    assert len(tokens) > len(tokenizer.encode(prompt))
    assert len([*tokenizer.parts(prompt)]) > 1


CALL = '<tool_call>\n{"name": "f", "arguments": {"a": "%s"}}\n</tool_call>\n'
LONG_OUTPUTS = {
    "calls": "So: " + "".join(CALL % f"Zürich {number}" for number in range(4_000)) + "done",
    "one long argument": CALL % ("print(1)\\n" * 3 * PIECE) + "done",
    "prose": "hello wörld\n" * 3 * PIECE,
    "cut": CALL % "a" + "<tool_call>\n{" + "x" * 4 * PIECE,
}


@pytest.mark.parametrize("text", LONG_OUTPUTS.values(), ids=LONG_OUTPUTS)
def test_a_long_output_is_read_as_the_library_reads_it(service: InProcess, text: str) -> None:
    body = {"text": text, "tool_call_parser": "qwen", "tools": [], "explain": True}
    reply = service("POST", "/parse/function_call", body).json()
    outcome = sluicegate.parse_tool_calls(text, "qwen", tools=[], details=True)
    assert reply["remaining_text"] == outcome.content
    assert [call["function"]["arguments"] for call in reply["tool_calls"]] == [c.arguments for c in outcome.calls]
    assert [(span["start"], span["end"]) for span in reply["spans"]] == [(s.start, s.end) for s in outcome.spans]
    assert [found["code"] for found in reply["diagnostics"]] == [found.code for found in outcome.diagnostics]

    body = {"text": "<think>" + text + "</think>" + text, "reasoning_parser": "qwen3", "tool_call_parser": "qwen"}
    whole = sluicegate.parse(body["text"], reasoning_parser="qwen3", tool_call_parser="qwen")
    reply = service("POST", "/parse", body).json()
    assert (reply["content"], reply["reasoning_text"]) == (whole.content, whole.reasoning)
    assert len(reply["tool_calls"]) == len(whole.calls)


def test_a_few_ids_that_are_a_long_text_are_parsed_in_a_thread(
    service: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    resting: list[threading.Thread] = []
    monkeypatch.setattr(long_inputs, "rest", lambda: resting.append(threading.current_thread()))
    rule = miniatures.added(600, "=" * 200, special=False)
    tokenizer = miniatures.byte_level(added_tokens=[rule], post_processor=None)
    service.service.state.store.add("rules", tokenizer, "rules")
    rule_id = tokenizer.id_of("=" * 200)
    body = {"model": "rules", "tool_call_parser": "qwen", "token_ids": [rule_id] * 300}
    reply = service("POST", "/parse", body).json()
    assert len(reply["content"]) > SMALL_BODY
    assert resting
    assert threading.current_thread() not in resting


def test_a_text_beyond_the_limit_is_refused_before_it_is_read(
    service: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    resting: list[None] = []
    monkeypatch.setattr(long_inputs, "rest", lambda: resting.append(None))
    size = sluicegate.parsing.TEXT_LIMIT + 100_000
    reply = service("POST", "/parse", {"text": "x" * size, "reasoning_parser": "qwen3"})
    assert reply.status == 400
    assert f"{size} bytes exceeds maximum" in reply.json()["error"]
    assert not resting
