"""SIGTERM under load: every request that was sent is answered, and the service ends well."""

from __future__ import annotations

import asyncio
import json
import signal

import pytest

from tests.support.service import Service, running

BODY = json.dumps({"text": "<think>why</think>because", "reasoning_parser": "qwen3"}).encode()
HEAD = (
    b"POST /parse/reasoning HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n" % len(BODY)
)
CLIENTS, UPLOADS, WARM = 16, 8, 20


async def ask(service: Service) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(HEAD + BODY)
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize("processes", [1, 2])
def test_every_request_is_answered_and_the_exit_status_is_0(processes: int) -> None:
    with running("--processes", str(processes)) as service:
        asyncio.run(asyncio.wait_for(terminate_under_load(service), 60))
        assert service.process.wait(20) == 0


async def terminate_under_load(service: Service) -> None:
    answers: list[bytes] = []
    warm, terminated = asyncio.Event(), asyncio.Event()

    async def go_on() -> None:
        while not terminated.is_set():
            answers.append(await ask(service))
            if len(answers) >= CLIENTS * WARM:
                warm.set()

    uploads = [await asyncio.open_connection("127.0.0.1", service.port) for _ in range(UPLOADS)]
    for _, writer in uploads:
        writer.write(HEAD + BODY[:5])
    clients = [asyncio.create_task(go_on()) for _ in range(CLIENTS)]
    await warm.wait()
    service.process.send_signal(signal.SIGTERM)
    terminated.set()
    await asyncio.gather(*clients)
    # The service waits for what is in upload, and serves new requests meanwhile.
    answers.append(await ask(service))
    for reader, writer in uploads:
        writer.write(BODY[5:])
        answers.append(await reader.read())
        writer.close()
    assert len(answers) >= CLIENTS * WARM + UPLOADS + 1
    wrong = [answer for answer in answers if not answer.startswith(b"HTTP/1.1 200 ") or answer.count(b"HTTP/1.1") != 1]
    assert wrong == []
