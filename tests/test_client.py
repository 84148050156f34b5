"""The client: typed answers, refusals, retries, and a real service."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx
import pytest
import stamina

from sluicegate.client import AsyncClient, Busy, Client, FunctionCalls, ServiceError
from tests.support.service import Service

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


@pytest.fixture(autouse=True)
def no_pauses() -> Iterator[None]:
    with stamina.set_testing(True, attempts=3, cap=True):
        yield


def answering(*answers: httpx.Response | Exception) -> tuple[httpx.MockTransport, list[httpx.Request]]:
    """A transport that gives these answers one after another, and what it was asked."""
    left, asked = list(answers), []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return httpx.MockTransport(handle), asked


def refused(status: int, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"error": {"message": "no", "type": "t", "code": "c"}}, headers=headers)


def test_answers_are_typed_and_absent_options_are_not_sent() -> None:
    transport, asked = answering(
        httpx.Response(
            200,
            json={
                "remaining_text": "",
                "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}],
                "success": True,
            },
        )
    )
    with Client("http://service", api_key="secret", transport=transport) as client:
        answer = client.parse_function_call(CALL, "qwen", explain=None)
    assert isinstance(answer, FunctionCalls)
    assert answer.tool_calls[0].function.name == "f"
    assert asked[0].headers["authorization"] == "Bearer secret"
    assert httpx.Response(200, content=asked[0].content).json() == {
        "text": CALL,
        "tool_call_parser": "qwen",
        "tools": [],
    }


@pytest.mark.parametrize(
    "first",
    [refused(503, **{"retry-after": "1"}), refused(429), httpx.ConnectError("refused"), httpx.ReadTimeout("late")],
)
def test_what_can_pass_is_sent_again(first: httpx.Response | Exception) -> None:
    transport, asked = answering(first, httpx.Response(200, json={"text": "hi"}))
    with Client("http://service", transport=transport) as client:
        assert client.detokenize([1], model="m").text == "hi"
    assert len(asked) == 2


def test_after_the_last_attempt_the_refusal_comes_through() -> None:
    transport, asked = answering(refused(503), refused(503), refused(503, **{"retry-after": "7"}))
    with Client("http://service", transport=transport) as client, pytest.raises(Busy) as error:
        client.tokenize("x", model="m")
    assert (error.value.status, error.value.retry_after, len(asked)) == (503, 7, 3)


def test_a_wrong_request_is_not_sent_again() -> None:
    transport, asked = answering(
        httpx.Response(400, json={"error": "Unknown tool parser: x", "success": False}),
        httpx.Response(502, text="<html>"),
    )
    with (
        Client("http://service", transport=transport) as client,
        pytest.raises(ServiceError, match="Unknown tool parser: x"),
    ):
        client.parse_function_call("", "x")
    assert len(asked) == 1


def test_refusals_that_are_no_json_are_told_as_they_are() -> None:
    transport, _ = answering(httpx.Response(404, text="not here"))
    with Client("http://service", transport=transport) as client, pytest.raises(ServiceError, match="not here"):
        client.parse("x")


def test_asynchronous_client_sends_again_too() -> None:
    transport, asked = answering(refused(429), httpx.Response(200, json={"normal_text": "a", "reasoning_text": "b"}))

    async def ask() -> str:
        async with AsyncClient("http://service", transport=transport) as client:
            return (await client.parse_reasoning("x", "qwen3")).reasoning_text

    assert asyncio.run(ask()) == "b"
    assert len(asked) == 2


def test_against_the_service(demo_service: Service) -> None:
    with Client(demo_service.url) as client:
        tokens = client.tokenize("Hello world", model="qwen3")
        assert tokens.tokens == [9707, 1879]
        assert client.detokenize([9707, 1879], model="qwen3").text == "Hello world"
        assert client.parse_function_call("a" + CALL, "qwen").remaining_text == "a"
        assert client.parse_reasoning("<think>a</think>b", "qwen3").reasoning_text == "a"
        parsed = client.parse("<think>a</think>b" + CALL, model="Qwen/Qwen3-8B")
        assert (parsed.reasoning_text, parsed.content, parsed.finish) == ("a", "b", "tool_calls")
        events = list(client.stream("<think>a</think>b" + CALL, model="Qwen/Qwen3-8B", chunk_size=3))
        assert events[-1]["content"] == "b"
        with pytest.raises(ServiceError) as error:
            list(client.stream("x", tool_call_parser="nothing"))
        assert error.value.status == 400


def test_asynchronous_client_against_the_service(demo_service: Service) -> None:
    async def ask() -> None:
        async with AsyncClient(demo_service.url) as client:
            both = await asyncio.gather(
                client.tokenize(["a", "b"], model="qwen3"), client.parse(CALL, model="Qwen/Qwen3-8B")
            )
            assert both[0].count == [1, 1]
            assert both[1].tool_calls[0].function.arguments == '{"a":1}'
            assert (await client.detokenize([[9707]], model="qwen3")).text == ["Hello"]
            assert (await client.parse_function_call(CALL, "qwen")).tool_calls
            last = [event async for event in client.stream(CALL, model="Qwen/Qwen3-8B")][-1]
            assert last["finish"] == "tool_calls"

    asyncio.run(ask())
