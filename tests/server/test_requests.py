"""The rules of every route: the order of the checks, shapes of errors, request ids, content types, CORS, OpenAPI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sluicegate.server.logs import configure_logs
from sluicegate.server.openapi import openapi_document
from sluicegate.settings import Settings
from tests.support.in_process import InProcess, Reply

TOKENIZE = {"model": "", "prompt": "hi"}


@pytest.fixture(scope="module")
def service() -> Iterator[InProcess]:
    service = InProcess(Settings(host="127.0.0.1", max_payload_size=5000, max_batch_items=3), tiny=True)
    yield service
    service.close()


@pytest.fixture(scope="module")
def guarded() -> Iterator[InProcess]:
    service = InProcess(Settings(host="127.0.0.1", api_key=("k",), max_payload_size=5000), tiny=True)
    yield service
    service.close()


def code(reply: Reply) -> str | None:
    return reply.headers.get("x-smg-error-code")


def test_checks_come_in_their_order(guarded: InProcess) -> None:
    key, huge, text = {"authorization": "Bearer k"}, {"content-length": "5001"}, {"content-type": "text/plain"}
    ask = lambda path, body, headers, method="POST": guarded(method, path, body, headers)  # noqa: E731
    assert code(ask("/nope", b"", {**huge})) == "request_body_too_large"
    assert code(ask("/nope", b"{", text)) == "unknown_url"
    assert code(ask("/v1/tokenize", b"{", text, "PUT")) == "method_not_allowed"
    assert code(ask("/v1/tokenize", b"{", text)) == "invalid_api_key"
    assert code(ask("/v1/tokenize", b"{", {**text, **key})) == "unsupported_media_type"
    assert code(ask("/v1/tokenize", b"{", {**key, "content-encoding": "br"})) == "unsupported_content_encoding"
    assert code(ask("/v1/tokenize", b"{", key)) == "invalid_json"
    assert code(ask("/v1/tokenize", b"{}", key)) == "invalid_body"
    assert ask("/v1/tokenize", {"model": "zz", "prompt": ""}, key).json()["error"]["type"] == "tokenizer_not_found"
    assert ask("/v1/tokenize", TOKENIZE, key).status == 200


@pytest.mark.parametrize("pieces", [1, 2, 1000])
def test_a_body_that_comes_in_pieces_gets_the_same_answer(service: InProcess, pieces: int) -> None:
    body = {"model": "", "prompt": "hi é" * 100}
    whole = service("POST", "/v1/tokenize", body)
    assert service("POST", "/v1/tokenize", body, pieces=pieces).json() == whole.json()
    assert code(service("POST", "/v1/tokenize", b"{}  ", pieces=pieces)) == "invalid_body"
    assert code(service("POST", "/v1/tokenize", b'{"model": 1, ', pieces=pieces)) == "invalid_json"
    assert code(service("POST", "/v1/tokenize", {"model": "x" * 5000}, pieces=pieces)) == "request_body_too_large"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            "/v1/tokenize",
            {"error": {"message": "", "type": "invalid_request_error", "param": "model", "code": "invalid_body"}},
        ),
        ("/parse/reasoning", {"error": "", "success": False}),
        ("/workers", {"error": "", "code": "BAD_REQUEST"}),
    ],
)
def test_errors_have_the_shape_of_the_path(service: InProcess, path: str, body: dict[str, Any]) -> None:
    found = service("POST", path, {"text": "x", "reasoning_parser": 1} if "reasoning" in path else {}).json()
    if isinstance(found["error"], dict):
        found["error"]["message"] = ""
    else:
        found["error"] = ""
    assert found == body


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("Application/JSON", 200),
        (" application/json ; charset=latin-1", 200),
        ("application/vnd.x+json;q=1", 200),
        ("application/json-seq", 415),
        ("text/json", 415),
        ("application/json, text/plain", 415),
        ("application/+json", 415),
        ("", 415),
    ],
)
def test_content_types(service: InProcess, content_type: str, status: int) -> None:
    assert service("POST", "/v1/tokenize", TOKENIZE, {"content-type": content_type}).status == status


@pytest.mark.parametrize(
    "path",
    ["/V1/tokenize", "/v1/tokenize/", "//v1/tokenize", "/v1//tokenize", "/v1/%74okenize", "/v1/tokenize%20", "*", "/"],
)
def test_paths_are_exact(service: InProcess, path: str) -> None:
    reply = service("POST", path, TOKENIZE)
    assert (reply.status, code(reply)) == (404, "unknown_url")
    assert reply.json()["error"]["message"] == f"Invalid URL (POST {path})"


def test_a_method_that_is_not_allowed_names_those_that_are(service: InProcess) -> None:
    for method, path, allow in (
        ("HEAD", "/v1/tokenize", "POST"),
        ("POST", "/health", "GET,HEAD"),
        ("PATCH", "/v1/tokenizers", "POST,GET,HEAD"),
        ("OPTIONS", "/parse", "POST"),
    ):
        reply = service(method, path)
        assert (reply.status, reply.headers["allow"]) == (405, allow)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"x-request-id": "abc"}, "abc"),
        ({"x-request-id": "  abc \t"}, "abc"),
        ({"x-request-id": " \t "}, None),
        ({"request-id": "r", "x-correlation-id": "c"}, "c"),
        ({"x-request-id": "a b", "request-id": "r"}, None),
        ({"x-request-id": "é"}, None),
        ({"x-request-id": "x" * 128}, "x" * 128),
        ({"x-request-id": "x" * 129}, None),
        ({"x-request-id": ""}, None),
        ({}, None),
    ],
)
def test_request_ids(service: InProcess, headers: dict[str, str], expected: str | None) -> None:
    for path in ("/health", "/nope", "/v1/tokenizers"):
        found = service("GET", path, headers=headers).headers["x-request-id"]
        assert found == expected if expected else (found.startswith("req-") and len(found) == 28)


def test_request_ids_differ(service: InProcess) -> None:
    assert len({service("GET", "/health").headers["x-request-id"] for _ in range(200)}) == 200


def test_origins() -> None:
    service = InProcess(Settings(host="127.0.0.1", cors_allowed_origins=("http://a.example",)))
    try:
        for origin, allowed in (("http://a.example", "http://a.example"), ("http://b.example", None), (None, None)):
            headers = {"origin": origin} if origin else {}
            for method, path in (("GET", "/health"), ("GET", "/nope"), ("POST", "/health"), ("POST", "/v1/tokenize")):
                reply = service(method, path, headers=headers)
                assert reply.headers.get("access-control-allow-origin") == allowed
                assert reply.headers["vary"] == "origin"
                assert "x-smg-error-code" in reply.headers["access-control-expose-headers"]
            preflight = service("OPTIONS", "/v1/tokenizers", headers=headers)
            assert preflight.status == (403 if origin == "http://b.example" else 200)
        assert service("OPTIONS", "/nope", headers={"origin": "http://a.example"}).status == 200
    finally:
        service.close()


def test_the_health_routes_have_no_json_and_readiness_has(service: InProcess) -> None:
    assert service("GET", "/health").headers["content-type"] == "text/plain; charset=utf-8"
    assert service("GET", "/readiness").json() == {"status": "ready", "tokenizers": 1}


@pytest.mark.parametrize("as_json", [True, False])
def test_a_fault_of_the_service_is_a_json_500_and_logged_without_the_prompt(
    service: InProcess, as_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("inside")

    monkeypatch.setattr("sluicegate.parse_reasoning", fail)
    configure_logs("debug", as_json=as_json, directory=None)
    reply = service("POST", "/parse/reasoning", {"text": "top secret", "reasoning_parser": "qwen3"})
    assert (reply.status, code(reply)) == (500, "internal_error")
    assert "inside" not in json.dumps(reply.json())
    printed = "".join(capsys.readouterr())
    assert "top secret" not in printed
    assert reply.headers["x-request-id"] in printed


def test_every_route_is_described(service: InProcess) -> None:
    document = service("GET", "/openapi.json").json()
    routes = service.service.application.routes.routes
    assert json.loads(json.dumps(openapi_document(routes))) == document
    described = {path.replace("{id_or_name}", "{}").replace("{worker_id}", "{}") for path in document["paths"]}
    assert described == {route.path for route in routes}


def test_references_of_the_description_lead_somewhere(service: InProcess) -> None:
    text = service("GET", "/openapi.json").body.decode()
    schemas = json.loads(text)["components"]["schemas"]
    for reference in text.split('"$ref":"#/components/schemas/')[1:]:
        assert reference.partition('"')[0] in schemas


def test_answers_are_counted(service: InProcess) -> None:
    service("POST", "/v1/tokenize", {})
    service("GET", "/some/path")
    text = service.service.metrics.exposition().decode()
    assert 'smg_http_responses_total{error_code="invalid_body",path="/v1/tokenize",status_code="422"}' in text
    assert 'smg_http_requests_total{method="GET",path="other"}' in text
    assert "/some/path" not in text
