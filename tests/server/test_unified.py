"""`POST /parse`, `/parse/detect`, `GET /parse/parsers`, and the optional members of the routes beside them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluicegate.core.errors import InvalidSetting
from sluicegate.parsing import TEXT_LIMIT
from sluicegate.server.parser_choice import ParserChoice
from sluicegate.settings import Settings
from tests.support.in_process import InProcess

VECTORS = Path(__file__).parent.parent / "vectors"
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


@pytest.fixture(scope="module")
def service() -> Iterator[InProcess]:
    settings = Settings(host="127.0.0.1", parser_override=("acme-*=qwen,deepseek_r1", "half=,qwen3"))
    service = InProcess(settings, tiny=True)
    yield service
    service.close()


def _cases(name: str) -> list[Any]:
    lines = (VECTORS / name).read_text(encoding="utf-8").splitlines()
    return [pytest.param(json.loads(line), id=json.loads(line)["id"]) for line in lines if line.strip()]


@pytest.mark.parametrize("case", _cases("combined.jsonl"))
def test_recorded_outputs(case: dict[str, Any], service: InProcess) -> None:
    members = ("text", "tools", "reasoning_parser", "tool_call_parser", "in_reasoning")
    body = {name: case[name] for name in members if case.get(name) is not None}
    answer = service("POST", "/parse", body).json()
    calls = [{name: call["function"][name] for name in ("name", "arguments")} for call in answer["tool_calls"]]
    expected = case["expect"]
    got = {"reasoning_text": answer["reasoning_text"], "content": answer["content"], "tool_calls": calls}
    assert got == {name: expected[name] for name in got}


def test_an_answer_has_all_members(service: InProcess) -> None:
    text = f"<think>so</think>\n\nyes\n{CALL}"
    answer = service("POST", "/parse", {"text": text, "model": "Qwen/Qwen3-8B", "explain": True}).json()
    (call,) = answer["tool_calls"]
    assert call.pop("id").startswith("call_")
    assert call == {"index": 0, "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    assert (answer["finish"], answer["faults"]) == ("tool_calls", [])
    assert answer["parsers"]["reasoning_parser"]["decided_by"] == "model"
    spans = answer["spans"]
    assert [span["start"] for span in spans[1:]] == [span["end"] for span in spans[:-1]]
    assert (spans[0]["start"], spans[-1]["end"]) == (0, len(text))
    assert any(part["kind"] == "value" for part in spans[-1]["parts"])


def test_a_call_that_is_cut_off_is_incomplete(service: InProcess) -> None:
    answer = service("POST", "/parse", {"text": CALL[:40], "tool_call_parser": "qwen"}).json()
    assert (answer["finish"], answer["tool_calls"]) == ("incomplete", [])
    assert answer["faults"][0]["incomplete"] is True


def test_token_ids_are_read_with_the_tokenizer_of_the_model(service: InProcess) -> None:
    text = f"é {CALL}"
    ids = service("POST", "/v1/tokenize", {"model": "tiny", "prompt": text}).json()["tokens"]
    body = {"token_ids": ids, "model": "tiny", "tool_call_parser": "qwen", "explain": True}
    answer = service("POST", "/parse", body).json()
    assert answer["content"] == "é "
    for span in answer["spans"]:
        first, last = span["tokens"]
        inside = service("POST", "/v1/detokenize", {"model": "tiny", "tokens": ids[first:last]}).json()["text"]
        assert text[span["start"] : span["end"]] in inside


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({}, 422, "field 'text' is required"),
        ({"text": "x"}, 422, "one of 'model', 'tool_call_parser' and 'reasoning_parser' is required"),
        ({"text": "x", "token_ids": [1], "model": "tiny"}, 422, "exclude each other"),
        ({"token_ids": [1], "tool_call_parser": "qwen"}, 422, "needs the field 'model'"),
        ({"token_ids": [999], "model": "tiny"}, 400, "token_ids[0]: id 999 is not in the vocabulary"),
        ({"token_ids": [1], "model": "nope"}, 400, "Tokenizer for model 'nope' not found"),
        ({"text": "x", "tool_call_parser": "qwem"}, 400, "Unknown tool parser: qwem"),
        ({"text": "x", "reasoning_parser": "nope"}, 400, "Unknown reasoning parser: nope"),
        ({"text": "x", "reasoning_parser": "qwen3", "prompt": "<think>", "in_reasoning": False}, 422, "give only one"),
        ({"text": "x", "model": None}, 422, "field 'model' has the wrong shape"),
    ],
)
def test_what_does_not_go_together(service: InProcess, body: dict[str, Any], status: int, error: str) -> None:
    reply = service("POST", "/parse", body)
    assert reply.status == status
    assert error in reply.json()["error"]
    assert reply.json()["success"] is False


@pytest.mark.parametrize(
    ("body", "tools", "reasoning"),
    [
        ({"model": "acme-7"}, ("qwen", "override"), ("deepseek_r1", "override")),
        ({"model": "acme-7", "tool_call_parser": "json"}, ("json", "request"), ("deepseek_r1", "override")),
        ({"model": "half"}, ("passthrough", "nothing"), ("qwen3", "override")),
        ({"model": "DeepSeek-V3.1"}, ("deepseek31", "model"), ("deepseek_v31", "model")),
        ({"model": "zz"}, ("passthrough", "nothing"), ("passthrough", "nothing")),
    ],
)
def test_what_decides(service: InProcess, body: dict[str, Any], tools: Any, reasoning: Any) -> None:
    parsers = service("POST", "/parse", {"text": "x", **body}).json()["parsers"]
    assert (parsers["tool_call_parser"]["parser"], parsers["tool_call_parser"]["decided_by"]) == tools
    assert (parsers["reasoning_parser"]["parser"], parsers["reasoning_parser"]["decided_by"]) == reasoning


def test_nothing_that_fits_is_said_aloud(service: InProcess) -> None:
    answer = service("POST", "/parse", {"text": "x", "model": "zz", "explain": True}).json()
    assert [diagnostic["code"] for diagnostic in answer["diagnostics"]] == ["no_parser", "no_parser"]


def test_a_start_that_no_parser_takes_is_said_aloud(service: InProcess) -> None:
    body = {"text": "x", "tool_call_parser": "qwen", "in_reasoning": True, "explain": True}
    assert "no_effect" in {entry["code"] for entry in service("POST", "/parse", body).json()["diagnostics"]}


def test_flags_count_before_detection_and_behind_overrides() -> None:
    settings = Settings(tool_call_parser="json", parser_override=("acme=qwen,",))
    choose = ParserChoice(settings)
    assert choose("acme").tools.decided_by == "override"
    assert choose("Qwen3-8B").tools.decided_by == "flag"
    assert choose("Qwen3-8B").reasoning.decided_by == "model"
    choose.of_workers = lambda model: ("llama", None) if model == "Qwen3-8B" else (None, None)
    assert choose("Qwen3-8B").tool_call_parser == "llama"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings(tool_call_parser="qwem"), ("unknown tool-call parser 'qwem'", "qwen")),
        (Settings(reasoning_parser="qwen33"), ("unknown reasoning parser 'qwen33'", "qwen3")),
        (Settings(parser_override=("x=qwem,",)), ("unknown tool-call parser 'qwem'",)),
        (Settings(parser_override=("x=,qwem",)), ("unknown reasoning parser 'qwem'",)),
        (Settings(parser_override=("x=qwen",)), ("PATTERN=TOOL_PARSER,REASONING_PARSER",)),
        (Settings(parser_override=("=qwen,qwen3",)), ("PATTERN=TOOL_PARSER,REASONING_PARSER",)),
        (Settings(parser_override=("**=qwen,qwen3",)), ("fits every model",)),
    ],
)
def test_settings_that_name_no_parser_are_refused(settings: Settings, words: tuple[str, ...]) -> None:
    with pytest.raises(InvalidSetting) as refusal:
        ParserChoice(settings)
    assert all(word in str(refusal.value) for word in words)


def test_detection(service: InProcess) -> None:
    by_name = service("POST", "/parse/detect", {"model": "Qwen/Qwen3-8B"}).json()
    assert (by_name["tool_call_parser"], by_name["reasoning_parser"], by_name["pattern"]) == ("qwen", "qwen3", "qwen3")
    by_text = service("POST", "/parse/detect", {"text": f"<think>a</think>{CALL}"}).json()
    assert "tool_call_parser" not in by_text
    best = next(entry for entry in by_text["candidates"] if entry["kind"] == "tool_call")
    assert best["parser"] == "qwen"
    assert best["reasons"]
    assert service("POST", "/parse/detect", {}).status == 422


def test_the_list_of_formats(service: InProcess) -> None:
    formats = service("GET", "/parse/parsers").json()["parsers"]
    starts = {entry["names"][0]: entry["start"] for entry in formats if entry["kind"] == "reasoning"}
    assert (starts["deepseek_r1"], starts["qwen3"]) == ("reasoning", "content")
    qwen = next(entry for entry in formats if "qwen" in entry["names"] and entry["kind"] == "tool_call")
    assert "<tool_call>" in qwen["markers"]
    assert "qwen3" in qwen["models"]


def test_single_formats_explain_when_asked_to(service: InProcess) -> None:
    body: dict[str, Any] = {"text": CALL, "tool_call_parser": "qwen", "tools": []}
    assert set(service("POST", "/parse/function_call", body).json()) == {"remaining_text", "tool_calls", "success"}
    explained = service("POST", "/parse/function_call", {**body, "explain": True}).json()
    assert [span["kind"] for span in explained["spans"]] == ["call"]
    reasoning = {"text": "a</think>b", "reasoning_parser": "qwen3", "explain": True}
    assert service("POST", "/parse/reasoning", reasoning).json()["reasoning_text"] == ""
    for extra in ({"in_reasoning": True}, {"prompt": "<|im_start|>assistant\n<think>\n"}):
        assert service("POST", "/parse/reasoning", {**reasoning, **extra}).json()["reasoning_text"] == "a"


def test_too_much_text_for_a_reasoning_parser_is_refused_in_the_established_words(service: InProcess) -> None:
    text = "é" * (TEXT_LIMIT // 2)
    full = {"text": text, "reasoning_parser": "qwen3"}
    assert service("POST", "/parse/reasoning", full).json()["normal_text"] == text
    answer = service("POST", "/parse/reasoning", {**full, "text": text + "a"})
    assert answer.status == 400
    assert answer.json() == {
        "error": f"Failed to separate reasoning: Buffer overflow: {TEXT_LIMIT + 1} bytes exceeds maximum",
        "success": False,
    }
    unknown = service("POST", "/parse/reasoning", {"text": text + "a", "reasoning_parser": "nope"})
    assert (unknown.status, unknown.json()["error"]) == (400, "Unknown reasoning parser: nope")
    unlimited = {"text": text + "a", "reasoning_parser": "passthrough"}
    assert service("POST", "/parse/reasoning", unlimited).status == 200


def test_pieces_and_flags_of_tokenize(service: InProcess) -> None:
    answer = service("POST", "/v1/tokenize", {"model": "", "prompt": "hi<|s|>é", "pieces": True}).json()
    assert b"".join(base64.b64decode(piece["bytes"]) for piece in answer["pieces"]).decode() == "hi<|s|>é"
    assert [piece["id"] for piece in answer["pieces"]] == answer["tokens"]
    assert [piece["special"] for piece in answer["pieces"]] == [False, True, False, False]
    plain = service("POST", "/v1/tokenize", {"model": "", "prompt": "<|s|>", "parse_special": False}).json()
    assert plain["count"] > 1
    cut = service("POST", "/v1/detokenize", {"model": "", "tokens": answer["tokens"][:-1], "pieces": True}).json()
    assert cut["incomplete"] is True
    batch = service("POST", "/v1/detokenize", {"model": "", "tokens": [[256], answer["tokens"][:-1]], "pieces": True})
    assert batch.json()["incomplete"] == [False, True]


def test_messages_need_a_template(service: InProcess) -> None:
    body = {"model": "", "messages": [{"role": "user", "content": "hi"}]}
    reply = service("POST", "/v1/tokenize", body)
    assert (reply.status, reply.headers["x-smg-error-code"]) == (400, "chat_template_error")
    assert service("POST", "/v1/tokenize", {**body, "prompt": "x"}).status == 422
    assert service("POST", "/v1/tokenize", {"model": "", "prompt": "x", "tools": []}).status == 422
