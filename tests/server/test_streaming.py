"""`/parse/stream`, `/parse/session` and `/parse/check` against a real service."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.support.parsing import cases
from tests.support.service import Service, running

OUTPUT = (
    '<think>\nTwo 😀.\n</think>\n\nOn it.\n<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": "é"}}\n</tool_call>'
)
MODEL = {"model": "Qwen/Qwen3-8B"}


def post(service: Service, path: str, body: Any, **headers: str) -> tuple[int, Any, bytes]:
    request = urllib.request.Request(
        service.url + path, json.dumps(body).encode(), {"content-type": "application/json", **headers}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def events(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[5:]) for line in data.split(b"\n") if line.startswith(b"data:")]


def without_ids(answer: dict[str, Any]) -> dict[str, Any]:
    calls = [{**call, "id": None} for call in answer["tool_calls"]]
    return {key: value for key, value in {**answer, "tool_calls": calls}.items() if key != "type"}


def parsed(service: Service, body: Any) -> dict[str, Any]:
    return without_ids(json.loads(post(service, "/parse", body)[2]))


def test_events_come_when_they_are_certain_and_the_outcome_last(demo_service: Service) -> None:
    status, headers, data = post(demo_service, "/parse/stream", {"text": OUTPUT, "chunk_size": 3, **MODEL})
    found = events(data)
    assert status == 200
    assert headers["content-type"] == "text/event-stream"
    assert headers["x-request-id"]
    assert [event["fed"] for event in found[:-1]] == sorted(event["fed"] for event in found[:-1])
    assert "".join(event["json"] for event in found if event["type"] == "arguments_delta") == '{"a":1,"b":"é"}'
    assert "".join(event["text"] for event in found if event["type"] == "content") == "On it."
    assert found[-1]["type"] == "outcome"
    assert without_ids(found[-1]) == parsed(demo_service, {"text": OUTPUT, **MODEL})


def test_chunks_of_the_callers_own(demo_service: Service) -> None:
    chunks = [OUTPUT[:9], "", OUTPUT[9:40], OUTPUT[40:]]
    found = events(post(demo_service, "/parse/stream", {"chunks": chunks, "explain": True, **MODEL})[2])
    assert without_ids(found[-1]) == parsed(demo_service, {"text": OUTPUT, "explain": True, **MODEL})


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"text": "x"}, 422, "model"),
        ({**MODEL}, 422, "text"),
        ({"text": "x", "chunks": ["x"], **MODEL}, 422, "chunks"),
        ({"text": "x", "chunk_size": 0, **MODEL}, 422, "chunk_size"),
        ({"chunks": "x", **MODEL}, 422, "chunks"),
        ({"text": "x", "tool_call_parser": "nothing"}, 400, "nothing"),
        ({"text": "x", "reasoning_parser": "qwen3", "in_reasoning": False, "prompt": "<think>"}, 422, "in_reasoning"),
    ],
)
def test_wrong_bodies_are_refused_before_the_stream_begins(
    demo_service: Service, body: Any, status: int, said: str
) -> None:
    for path in ("/parse/stream", "/parse/check"):
        if path == "/parse/check" and not ({"text"} <= set(body) and "chunks" not in body and "chunk_size" not in body):
            continue
        got, _, answer = post(demo_service, path, body)
        assert (got, said in json.loads(answer)["error"]) == (status, True), answer


@pytest.fixture
def session(demo_service: Service) -> Iterator[ClientConnection]:
    with connect(f"ws://127.0.0.1:{demo_service.port}/parse/session") as connection:
        yield connection


def until_outcome(session: ClientConnection) -> list[dict[str, Any]]:
    found = [json.loads(session.recv(10))]
    while found[-1]["type"] != "outcome":
        found.append(json.loads(session.recv(10)))
    return found


def test_a_session_reads_an_output_while_it_is_written(demo_service: Service, session: ClientConnection) -> None:
    session.send(json.dumps(MODEL))
    session.send("<think>Two")
    assert json.loads(session.recv(10))["type"] == "markup"
    assert json.loads(session.recv(10)) == {"fed": 10, "type": "reasoning", "start": 7, "end": 10, "text": "Two"}
    session.send("</think>four")
    session.send("")
    found = until_outcome(session)
    assert without_ids(found[-1]) == parsed(demo_service, {"text": "<think>Two</think>four", **MODEL})
    with pytest.raises(ConnectionClosed):
        session.recv(10)


def test_bytes_may_be_cut_inside_a_character(demo_service: Service, session: ClientConnection) -> None:
    session.send(json.dumps(MODEL))
    data = OUTPUT.encode()
    for start in range(0, len(data), 3):
        session.send(data[start : start + 3])
    session.send(b"")
    assert without_ids(until_outcome(session)[-1]) == parsed(demo_service, {"text": OUTPUT, **MODEL})


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (["no json"], "JSON"),
        (["{}"], "model"),
        (['{"tool_call_parser":"nothing"}'], "nothing"),
        ([json.dumps(MODEL), b"\xff"], "UTF-8"),
        ([json.dumps(MODEL), b"\xf0\x9f", b""], "UTF-8"),
        ([json.dumps({**MODEL, "text": 1, "tools": 5})], "tools"),
    ],
)
def test_a_session_says_what_is_wrong_and_ends(session: ClientConnection, messages: list[Any], said: str) -> None:
    for message in messages:
        session.send(message)
    answer = json.loads(session.recv(10))
    assert answer["type"] == "error"
    assert said in answer["error"]
    with pytest.raises(ConnectionClosed) as closed:
        session.recv(10)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008


def test_many_who_vanish_leave_the_service_as_it_was(demo_service: Service) -> None:
    for _ in range(20):
        with connect(f"ws://127.0.0.1:{demo_service.port}/parse/session") as connection:
            connection.send(json.dumps(MODEL))
            connection.send("<think>")
            connection.socket.close()
    assert post(demo_service, "/parse/stream", {"text": OUTPUT, **MODEL})[0] == 200


def test_the_check_finds_no_difference(demo_service: Service) -> None:
    status, _, answer = post(demo_service, "/parse/check", {"text": OUTPUT, "cuttings": 5, **MODEL})
    assert (status, json.loads(answer)) == (200, {"same": True, "cuttings": 12, "difference": None})
    status, _, answer = post(demo_service, "/parse/check", {"text": "x" * 1_000_001, **MODEL})
    assert status == 422
    assert "1000000" in json.loads(answer)["error"]


def test_streams_are_guarded_as_parsing_is() -> None:
    with running("--api-key", "secret") as service:
        assert post(service, "/parse/stream", {"text": "x", **MODEL})[0] == 401
        assert post(service, "/parse/check", {"text": "x", **MODEL})[0] == 401
        key = {"authorization": "Bearer secret"}
        assert post(service, "/parse/stream", {"text": "x", **MODEL}, **key)[0] == 200
        address = f"ws://127.0.0.1:{service.port}/parse/session"
        with pytest.raises(InvalidStatus) as refused:
            connect(address)
        assert refused.value.response.status_code == 401
        with connect(address, additional_headers=key) as session:
            session.send(json.dumps(MODEL))
            session.send("")
            assert until_outcome(session)[-1]["finish"] == "stop"


def test_pages_of_another_origin_open_no_session(demo_service: Service) -> None:
    address = f"ws://127.0.0.1:{demo_service.port}/parse/session"
    with pytest.raises(InvalidStatus) as refused:
        connect(address, additional_headers={"origin": "https://elsewhere.example"})
    assert refused.value.response.status_code == 403
    with connect(address, additional_headers={"origin": f"http://127.0.0.1:{demo_service.port}"}) as session:
        session.send(json.dumps(MODEL))
        session.send("")
        assert until_outcome(session)[-1]["finish"] == "stop"


def test_recorded_outputs_give_the_same_outcome_streamed_and_whole(demo_service: Service) -> None:
    for case in cases("combined.jsonl"):
        body = {
            key: case[key]
            for key in ("text", "reasoning_parser", "tool_call_parser", "tools", "in_reasoning")
            if key in case
        }
        whole = parsed(demo_service, body)
        assert without_ids(events(post(demo_service, "/parse/stream", {**body, "chunk_size": 5})[2])[-1]) == whole
        with connect(f"ws://127.0.0.1:{demo_service.port}/parse/session") as session:
            session.send(json.dumps({key: value for key, value in body.items() if key != "text"}))
            for start in range(0, len(body["text"]), 7):
                session.send(body["text"][start : start + 7])
            session.send("")
            assert without_ids(until_outcome(session)[-1]) == whole
