"""Long answers: written in slices, so that others get their turn, whether or not the client reads them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator

import pytest

from sluicegate.server.connections import Connections, Timeouts
from sluicegate.server.exchange import SLICE
from sluicegate.server.protocol import Connection
from sluicegate.settings import Settings
from tests.support.in_process import InProcess, Reply

TEXT = "the mill " * SLICE
BODY = json.dumps({"text": TEXT, "reasoning_parser": "qwen3"}).encode()
REQUEST = b"POST /parse/reasoning HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"


@pytest.fixture(scope="module")
def service() -> Iterator[InProcess]:
    service = InProcess()
    yield service
    service.close()


def written_to(service: InProcess, then: Callable[[Connection], None]) -> tuple[list[tuple[int, bytes]], Connection]:
    """What a client is written, with the number of the turn. `then` is called after the first write."""
    written: list[tuple[int, bytes]] = []

    async def ask() -> Connection:
        connections, turn = Connections(Timeouts(0, 0)), 0
        connections.sweep(0, 0)
        connection = service.connection(connections)

        def write(data: bytes | bytearray | memoryview) -> None:
            written.append((turn, bytes(data)))
            if len(written) == 1:
                then(connection)

        connection.transport.write = write  # type: ignore[method-assign]
        connection.data_received(REQUEST % (len(BODY), BODY))
        async with asyncio.timeout(30):
            while connection.is_busy and not connection.cycle.disconnected:
                turn += 1
                await asyncio.sleep(0)
        return connection

    return written, service.run(ask())


def read(_connection: Connection) -> None:
    """A client that reads what it is written."""


def stop_reading(connection: Connection) -> None:
    connection.pause_writing()


def go_away(connection: Connection) -> None:
    connection.connection_lost(None)


@pytest.mark.parametrize("then", [read, stop_reading])
def test_others_get_their_turn_between_the_slices_of_a_long_answer(
    service: InProcess, then: Callable[[Connection], None]
) -> None:
    written, connection = written_to(service, then)
    turns = [turn for turn, _ in written]
    assert len(written) > len(BODY) // SLICE
    assert turns == sorted(set(turns))
    _, _, body = written[0][1].partition(b"\r\n\r\n")
    assert [len(body), *(len(data) for _, data in written[1:-1])] == [SLICE] * (len(written) - 1)
    assert not connection.is_busy  # so that who does not read has no place among the requests in progress
    assert Reply("POST", b"".join(data for _, data in written)).json()["normal_text"] == TEXT


def test_nothing_is_written_to_a_client_that_has_gone(service: InProcess) -> None:
    written, _ = written_to(service, go_away)
    assert len(written) == 1


def test_who_does_not_read_does_not_keep_a_place() -> None:
    service = InProcess(Settings(host="127.0.0.1", max_concurrent_requests=1, queue_size=0), tiny=True)

    def post(prompt: str) -> bytes:
        body = json.dumps({"model": "", "prompt": prompt}).encode()
        return REQUEST.replace(b"/parse/reasoning", b"/v1/tokenize") % (len(body), body)

    async def ask() -> None:
        connections = Connections(Timeouts(0, 0))
        connections.sweep(0, 0)
        deaf = service.connection(connections)
        deaf.pause_writing()  # as after an answer that fills all buffers
        deaf.data_received(post("hi"))
        for _ in range(10):  # until its answer waits for it
            await asyncio.sleep(0)
        assert deaf.is_busy
        assert await answered(service.connection(connections))
        deaf.connection_lost(None)
        await asyncio.sleep(0)

    async def answered(other: Connection) -> bool:
        written: list[bytes] = []
        other.transport.write = lambda data: written.append(bytes(data))  # type: ignore[method-assign]
        other.data_received(post("hi"))
        while not written:
            await asyncio.sleep(0)
        return b"".join(written).startswith(b"HTTP/1.1 200")

    try:
        service.run(ask())
    finally:
        service.close()
