"""Requests whose head was read before are answered as if it were read again; answers keep their order."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluicegate.server.connections import Connections, Timeouts
from sluicegate.server.head import LONGEST_KNOWN, MOST_KNOWN, Head, KnownHeads
from sluicegate.server.outbox import LONG_REQUEST, MOST_TOGETHER, Outbox
from sluicegate.settings import Settings
from tests.support.in_process import InProcess

PARSE = b'{"text":"hi","tool_call_parser":"json","tools":[]}'
TOKENIZE = b'{"model":"tiny","prompt":"hi"}'


def post(path: bytes, body: bytes, *lines: bytes) -> bytes:
    head = [b"POST %b HTTP/1.1" % path, b"Host: x", b"Content-Type: application/json", *lines]
    return b"\r\n".join([*head, b"Content-Length: %d" % len(body), b"", body])


REQUESTS = (
    post(b"/parse/function_call", PARSE),
    post(b"/v1/tokenize", TOKENIZE),
    post(b"/v1/tokenize", b"{"),
    post(b"/v1/tokenize", TOKENIZE, b"Connection: close"),
    post(b"/v1/tokenize", TOKENIZE, b"X-Request-Id: mine"),
    post(b"/v1/tokenize", TOKENIZE, b"Expect: 100-continue"),
    post(b"/v1/tokenize", TOKENIZE, b"Content-Encoding: gzip"),
    post(b"/nope", b"{}"),
    post(b"/health", b"{}"),
    post(b"/v1/tokenize", TOKENIZE).replace(b"HTTP/1.1", b"HTTP/1.0"),
    b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n",
    b"HEAD /health HTTP/1.1\r\nhost: x\r\n\r\n",
    b"GET /v1/tokenizers?x=1 HTTP/1.1\r\nhost: x\r\n\r\n",
    b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
)
# What may stand where something else stood: mostly what decides how a request is framed.
BITS = (
    b"",
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b" ",
    b"\0",
    b"0",
    b"1",
    b":",
    b"Content-Length: 2\r\n",
    b"Content-Length: \r\n",
)
BITS += (b"Transfer-Encoding: chunked\r\n", b"connection: close\r\n", b"\r\n Content-Length: 2")


def fresh() -> Connections:
    connections = Connections(Timeouts(0, 0))
    connections.sweep(0, 0)
    return connections


def comparable(answers: tuple[bytes, bool]) -> tuple[bytes, bool]:
    return re.sub(rb"x-request-id: req-[0-9a-f]+", b"x-request-id: req-", answers[0]), answers[1]


@pytest.fixture(scope="module")
def service() -> Iterator[InProcess]:
    service = InProcess(Settings(host="127.0.0.1"), tiny=True)
    yield service
    service.close()


@pytest.fixture(scope="module")
def warm(service: InProcess) -> Connections:
    """Connections that have seen all the requests."""
    connections = fresh()
    for request in REQUESTS:
        service.raw(connections, [request])
    return connections


@st.composite
def changed_requests(draw: st.DrawFn) -> list[bytes]:
    """One piece or more: a few requests, something of which is exchanged for something else."""
    data = b"".join(draw(st.lists(st.sampled_from(REQUESTS), min_size=1, max_size=3)))
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + draw(st.sampled_from((0, 1, 2, 20))))))
        data = data[:start] + draw(st.sampled_from(BITS)) + data[end:]
    cut = draw(st.one_of(st.just(len(data)), st.integers(0, len(data))))
    return [piece for piece in (data[:cut], data[cut:]) if piece]


@settings(max_examples=400, deadline=None)
@given(pieces=changed_requests())
@example(pieces=[re.sub(rb"[0-9]+\r\n\r\n.*", b"\r\n\r\n", REQUESTS[0])])  # a length without digits
@example(pieces=[re.sub(rb"[0-9]+\r\n\r\n.*", b"\0\r\n\r\n", REQUESTS[0])])  # what stands for the length in a key
@example(pieces=[b"\0" + REQUESTS[10]])
@example(pieces=[b"\r\n\r\n" + REQUESTS[0]])
@example(pieces=[REQUESTS[0].replace(b"\r\n\r\n", b"\n\r\n")])
def test_answers_do_not_depend_on_the_heads_that_were_read_before(
    service: InProcess, warm: Connections, pieces: list[bytes]
) -> None:
    expected = comparable(service.raw(fresh(), pieces))
    assert comparable(service.raw(warm, pieces)) == expected
    again = fresh()
    service.raw(again, pieces)
    assert comparable(service.raw(again, pieces)) == expected


@settings(max_examples=400, deadline=None)
@given(pieces=changed_requests(), latest=st.sampled_from(REQUESTS))
@example(pieces=[re.sub(rb"[0-9]+\r\n\r\n.*", b"\r\n\r\n", REQUESTS[0])], latest=REQUESTS[0])
@example(pieces=[re.sub(rb"[0-9]+\r\n\r\n.*", b"00000000050\r\n\r\n", REQUESTS[0]) + PARSE], latest=REQUESTS[0])
@example(pieces=[b""], latest=REQUESTS[0])
def test_the_latest_head_of_a_connection_is_found_as_any_other(
    warm: Connections, pieces: list[bytes], latest: bytes
) -> None:
    known = warm.heads.find(latest)
    head = None if known is None else known[0]
    for data in (*pieces, b"".join(pieces)):
        assert warm.heads.find(data, head) == warm.heads.find(data)


def test_a_head_is_known_whatever_the_length_of_its_body(service: InProcess) -> None:
    connections = fresh()
    service.raw(connections, [post(b"/v1/tokenize", TOKENIZE)])
    found = connections.heads.find(post(b"/v1/tokenize", b"12345"))
    assert found is not None
    head, body = found
    assert (head.method, head.path, head.query, head.keep_alive, body) == ("POST", "/v1/tokenize", b"", True, b"12345")
    assert head.fields == {b"host": b"x", b"content-type": b"application/json"}


@pytest.mark.parametrize(
    "data",
    [
        post(b"/v1/tokenize", TOKENIZE)[:-1],
        post(b"/v1/tokenize", TOKENIZE) + b"x",
        post(b"/v1/tokenize", TOKENIZE).replace(b"Content-Length: 30", b"Content-Length: "),
        post(b"/v1/tokenize", TOKENIZE).replace(b"Content-Length: 30", b"Content-Length: 31"),
        post(b"/v1/tokenize", TOKENIZE).replace(b"/v1/t", b"/v2/t"),
        b"",
    ],
)
def test_what_is_not_exactly_a_known_request_is_not_found(service: InProcess, data: bytes) -> None:
    connections = fresh()
    service.raw(connections, [post(b"/v1/tokenize", TOKENIZE)])
    assert connections.heads.find(data) is None


def test_a_very_long_head_is_not_kept(service: InProcess) -> None:
    connections = fresh()
    for length, kept in ((LONGEST_KNOWN // 2, True), (LONGEST_KNOWN, False)):
        request = post(b"/v1/tokenize", TOKENIZE, b"X: " + b"y" * length)
        service.raw(connections, [request])
        assert (connections.heads.find(request) is not None) == kept


def test_heads_that_never_come_twice_do_not_fill_the_memory() -> None:
    heads = KnownHeads()
    head = Head("GET", b"/", b"", [], keep_alive=True, expects_continue=False)
    requests = [b"GET / HTTP/1.1\r\nx: %d\r\n\r\n" % number for number in range(MOST_KNOWN + 1)]
    for request in requests:
        heads.add(request, head)
    assert [heads.find(request) is not None for request in (requests[0], requests[-1])] == [False, True]


# ------------------------------------------------------------ answers that go out together


class Transport:
    """Keeps what is written to it in a list that it shares with others."""

    def __init__(self, name: str, written: list[tuple[str, bytes]]) -> None:
        self.name = name
        self.written = written
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.written.append((self.name, data))

    def is_closing(self) -> bool:
        return self.is_closed


def test_answers_are_written_in_their_order_at_the_end_of_the_turn() -> None:
    written: list[tuple[str, bytes]] = []
    first, second, gone = (cast(Any, Transport(name, written)) for name in ("first", "second", "gone"))

    async def turn() -> None:
        outbox, loop = Outbox(), asyncio.get_running_loop()
        for transport, data in ((first, b"1"), (second, b"2"), (gone, b"x"), (first, b"3")):
            outbox.post(loop, transport, data)
        gone.is_closed = True
        assert written == []
        await asyncio.sleep(0)

    asyncio.run(turn())
    assert written == [("first", b"1"), ("second", b"2"), ("first", b"3")]


def test_no_answer_waits_for_too_many_others() -> None:
    written: list[tuple[str, bytes]] = []
    transport = cast(Any, Transport("one", written))

    async def turn() -> None:
        outbox, loop = Outbox(), asyncio.get_running_loop()
        for number in range(MOST_TOGETHER + 1):
            outbox.post(loop, transport, b"%d" % number)
        assert len(written) == MOST_TOGETHER
        outbox.flush()

    asyncio.run(turn())
    assert [data for _, data in written] == [b"%d" % number for number in range(MOST_TOGETHER + 1)]


def test_no_answer_waits_for_a_long_request(service: InProcess) -> None:
    written: list[tuple[str, bytes]] = []

    async def turn() -> None:
        connections = fresh()
        connections.outbox.post(asyncio.get_running_loop(), cast(Any, Transport("one", written)), b"1")
        connection = service.connection(connections)
        connection.data_received(b"POST / HTTP/1.1\r\n")
        assert written == []
        connection.data_received(b"x: " + b"y" * LONG_REQUEST)
        assert written == [("one", b"1")]

    asyncio.run(turn())


@pytest.mark.parametrize(
    ("pieces", "statuses"),
    [
        ([REQUESTS[1] + b"nonsense\r\n\r\n"], [200, 400]),
        ([REQUESTS[1] + REQUESTS[7] + REQUESTS[0]], [200, 404, 200]),
        ([REQUESTS[1], REQUESTS[1] + REQUESTS[3] + REQUESTS[0]], [200, 200, 200]),
        ([REQUESTS[1], REQUESTS[3]], [200, 200]),
        ([REQUESTS[3]], [200]),
    ],
    ids=["a refusal behind", "a task between", "the end behind", "the end apart", "the end alone"],
)
def test_answers_come_in_the_order_of_their_requests_and_before_the_end(
    service: InProcess, pieces: list[bytes], statuses: list[int]
) -> None:
    for connections in (fresh(), fresh()):
        for _ in range(2):  # the second time with heads that are known
            answers, _ = service.raw(connections, pieces)
            assert [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", answers)] == statuses
