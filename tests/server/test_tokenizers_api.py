"""`/v1/tokenizers`: every state and every answer."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import stamina

from sluicegate.server.jobs import JobQueue
from sluicegate.server.routes.tokenizers import TokenizerRoutes
from sluicegate.server.tokenizer_jobs import TokenizerJobs, load_in_thread
from sluicegate.tokenizers.errors import HubUnavailable, TokenizerFileInvalid
from sluicegate.tokenizers.store import TokenizerStore
from tests.support.route_client import FakeTokenizer, RouteClient

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_pauses() -> Iterator[None]:
    with stamina.set_testing(True, attempts=10, cap=True):
        yield


class Service:
    """The routes over loads that the test controls: a source is what `loads` says of it, `gate` waits for the test."""

    def __init__(self, *, capacity: int = 1000, concurrency: int = 200, total_seconds: float = 300.0) -> None:
        self.now = 0.0
        self.loads: dict[str, Callable[[], Any]] = {"tiny": FakeTokenizer, "gate": self._wait}
        self.asked: list[tuple[str, str | None]] = []
        self.started, self.gate = threading.Event(), threading.Event()
        self.queue = JobQueue(capacity, concurrency)
        numbers = iter(range(1, 10_000))
        self.jobs = TokenizerJobs(
            TokenizerStore(),
            self.queue,
            clock=lambda: self.now,
            new_id=lambda: f"id-{next(numbers)}",
            total_seconds=total_seconds,
        )
        self.call = RouteClient(TokenizerRoutes(self.jobs, self._load).routes())

    def _load(self, source: str, chat_template: str | None, cancelled: Callable[[], bool]) -> Any:
        self.asked.append((source, chat_template))
        self.cancelled = cancelled
        return self.loads[source]()

    def _wait(self) -> Any:
        self.started.set()
        assert self.gate.wait(30)
        return FakeTokenizer()

    async def add(self, name: str, source: str = "tiny", **more: Any) -> Any:
        return await self.call("POST", "/v1/tokenizers", {"name": name, "source": source, **more})

    async def until(self, tokenizer_id: str, state: str) -> Any:
        async with asyncio.timeout(10):
            while True:
                answer = await self.call("GET", f"/v1/tokenizers/{tokenizer_id}/status")
                if answer.status == 200 and answer.json["status"] == state:
                    return answer.json
                await asyncio.sleep(0.001)

    async def close(self) -> None:
        self.gate.set()
        await self.queue.close()


async def test_a_tokenizer_from_adding_to_removing() -> None:
    service = Service()
    accepted = await service.add("owner/name", chat_template_path="chat.jinja")
    assert (accepted.status, accepted.json) == (
        202,
        {
            "id": "id-1",
            "status": "pending",
            "message": "Tokenizer 'owner/name' registration job submitted. Loading from: tiny",
        },
    )
    done = {
        "id": "id-1",
        "status": "completed",
        "message": "Tokenizer 'owner/name' is loaded and ready",
        "vocab_size": 258,
    }
    assert await service.until("id-1", "completed") == done
    assert service.asked == [("tiny", "chat.jinja")]
    assert (await service.call("GET", "/v1/tokenizers/owner%2Fname/status")).json == done
    shown = {"id": "id-1", "name": "owner/name", "source": "tiny", "vocab_size": 258}
    for key in ("id-1", "owner%2Fname"):
        answer = await service.call("GET", f"/v1/tokenizers/{key}")
        assert (answer.status, answer.json) == (200, shown)
    assert answer.headers["x-sluicegate-engine"] == (
        "encode=splintr; decode=table; reference=tokenizers; "
        'reason="admitted: 100 %25 of %E2%80%9Cprobes%E2%80%9D equal"'
    )
    assert (await service.call("GET", "/v1/tokenizers")).json == {"tokenizers": [shown]}

    again = await service.add("owner/name")
    assert (again.status, again.json) == (
        409,
        {"id": "id-1", "status": "failed", "message": "Tokenizer 'owner/name' already exists"},
    )
    removed = await service.call("DELETE", "/v1/tokenizers/owner%2Fname")
    assert (removed.status, removed.json) == (
        200,
        {"success": True, "message": "Tokenizer 'owner/name' removed successfully"},
    )
    assert (await service.call("GET", "/v1/tokenizers/id-1/status")).status == 404
    assert (await service.add("owner/name")).status == 202
    await service.close()


async def test_what_is_not_there() -> None:
    service = Service()
    show = await service.call("GET", "/v1/tokenizers/x")
    status = await service.call("GET", "/v1/tokenizers/x/status")
    remove = await service.call("DELETE", "/v1/tokenizers/x")
    assert (show.status, show.json) == (
        404,
        {"error": {"message": "Tokenizer 'x' not found", "type": "tokenizer_not_found"}},
    )
    assert (status.status, status.json) == (
        404,
        {"error": {"message": "Tokenizer 'x' not found and no pending job", "type": "not_found"}},
    )
    assert (remove.status, remove.json) == (404, {"success": False, "message": "Tokenizer 'x' not found"})


async def test_the_list_is_in_byte_order() -> None:
    service = Service()
    for name in ("b", "é", "B", "a", "中", "\U0001f600", "\uff5e"):
        await service.until((await service.add(name)).json["id"], "completed")
    listed = (await service.call("GET", "/v1/tokenizers")).json["tokenizers"]
    names = [entry["name"] for entry in listed]
    assert names == sorted(names, key=str.encode)


async def test_while_loading_only_the_id_knows() -> None:
    service = Service()
    await service.add("s", "gate")
    processing = {"id": "id-1", "status": "processing", "message": "Tokenizer job is processing"}
    assert await service.until("id-1", "processing") == processing
    for path in ("/v1/tokenizers/s/status", "/v1/tokenizers/s", "/v1/tokenizers/id-1"):
        assert (await service.call("GET", path)).status == 404
    assert (await service.call("GET", "/v1/tokenizers")).json == {"tokenizers": []}
    again = await service.add("s")
    assert (again.status, again.json) == (
        409,
        {"id": "id-1", "status": "pending", "message": "Tokenizer 's' is already being loaded"},
    )
    await service.close()


async def test_four_simultaneous_adds_of_one_name() -> None:
    service = Service()
    answers = await asyncio.gather(*(service.add("q", "gate") for _ in range(4)))
    assert sorted(answer.status for answer in answers) == [202, 409, 409, 409]
    assert {answer.json["id"] for answer in answers} == {"id-1"}
    await service.close()


def _becomes_true(condition: Callable[[], bool]) -> bool:
    waiting = threading.Event()
    return any(condition() or waiting.wait(0.005) for _ in range(2000))


@pytest.mark.parametrize("key", ["id-1", "s"])
async def test_removing_while_loading_cancels_for_good(key: str) -> None:
    service = Service()
    await service.add("s", "gate")
    assert await asyncio.to_thread(service.started.wait, 10)
    removed = await service.call("DELETE", f"/v1/tokenizers/{key}")
    assert (removed.status, removed.json) == (
        200,
        {"success": True, "message": "Loading of tokenizer 's' cancelled"},
    )
    assert await asyncio.to_thread(_becomes_true, service.cancelled)
    service.gate.set()  # the load comes to its end all the same, and nobody wants it any more
    cancelled = {"id": "id-1", "status": "failed", "message": "Loading was cancelled"}
    assert (await service.call("GET", "/v1/tokenizers/id-1/status")).json == cancelled
    assert (await service.add("s")).status == 202
    await service.until("id-2", "completed")
    assert (await service.call("GET", "/v1/tokenizers")).json["tokenizers"][0]["id"] == "id-2"
    assert (await service.call("DELETE", "/v1/tokenizers/id-1")).status == 404


async def test_a_load_that_waits_is_pending_and_can_be_cancelled() -> None:
    service = Service(concurrency=1, capacity=1)
    await service.add("first", "gate")
    await service.add("second")
    pending = {"id": "id-2", "status": "pending", "message": "Tokenizer job is pending"}
    assert (await service.call("GET", "/v1/tokenizers/id-2/status")).json == pending
    full = await service.add("third")
    assert (full.status, full.json["id"], full.json["status"]) == (503, "", "failed")
    assert full.json["message"].startswith("Job queue is full")
    assert (await service.call("DELETE", "/v1/tokenizers/second")).status == 200
    assert (await service.add("third")).status == 202
    service.gate.set()
    await service.until("id-1", "completed")
    assert [source for source, _ in service.asked].count("tiny") <= 1
    await service.close()


async def test_what_cannot_change_fails_at_once() -> None:
    def broken() -> None:
        raise TokenizerFileInvalid("not a tokenizer")

    service = Service()
    service.loads["broken"] = broken
    await service.add("b", "broken")
    failed = {"id": "id-1", "status": "failed", "message": "not a tokenizer"}
    assert await service.until("id-1", "failed") == failed
    assert len(service.asked) == 1
    assert (await service.call("GET", "/v1/tokenizers/b/status")).status == 404


@pytest.mark.parametrize(("failures", "state"), [(2, "completed"), (3, "failed")])
async def test_network_errors_are_tried_three_times(failures: int, state: str) -> None:
    def flaky() -> Any:
        if len(service.asked) <= failures:
            raise HubUnavailable("no answer")
        return FakeTokenizer()

    service = Service()
    service.loads["flaky"] = flaky
    await service.add("f", "flaky")
    await service.until("id-1", state)
    assert len(service.asked) == 3


async def test_a_load_has_an_end() -> None:
    service = Service(total_seconds=0.01)
    await service.add("s", "gate")
    failed = await service.until("id-1", "failed")
    assert failed["message"] == "Loading took longer than 0.01 seconds"
    await service.close()


async def test_an_unforeseen_error_is_a_failed_load_that_tells_nothing() -> None:
    def surprising() -> None:
        raise KeyError("/home/somebody/secret")

    service = Service()
    service.loads["surprising"] = surprising
    await service.add("s", "surprising")
    assert (await service.until("id-1", "failed"))["message"] == "Loading failed: KeyError"


async def test_failures_are_forgotten_after_five_minutes() -> None:
    service = Service()
    service.loads["broken"] = lambda: (_ for _ in ()).throw(TokenizerFileInvalid("no"))
    await service.add("b", "broken")
    await service.until("id-1", "failed")
    service.now = 299.9
    assert (await service.call("GET", "/v1/tokenizers/id-1/status")).status == 200
    service.now = 300.1
    assert (await service.call("GET", "/v1/tokenizers/id-1/status")).status == 404


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *[("", "must not be empty"), ("unknown", "selects the first tokenizer"), ("n" * 513, "longer than 512")],
        *[(name, "white space or control") for name in (" q", "q ", "  ", "\tq", "q\n", "a\0b", "a\x7fb", "a\u0085b")],
    ],
)
async def test_names_that_are_refused(name: str, reason: str) -> None:
    answer = await Service().add(name)
    assert (answer.status, answer.json["id"], answer.json["status"]) == (400, "", "failed")
    assert reason in answer.json["message"]


@pytest.mark.parametrize("name", ["n" * 512, "Unknown", "a b", "a/b", "é", "👩‍👩‍👧", "."])
async def test_names_that_are_taken(name: str) -> None:
    service = Service()
    assert (await service.add(name)).status == 202
    await service.until("id-1", "completed")


@pytest.mark.parametrize("source", ["", "  ", "a\0b", "s" * 4097])
async def test_sources_that_are_refused(source: str) -> None:
    answer = await Service().add("q", source)
    assert (answer.status, answer.json["id"], answer.json["status"]) == (400, "", "failed")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"source": "x"}, "name"),
        ({"name": None, "source": "x"}, "name"),
        ({"name": "q"}, "source"),
        ({"name": "q", "source": ["x"]}, "source"),
        ({"name": "q", "source": "x", "chat_template_path": 1}, "chat_template_path"),
        (b'{"name":"q","name":"r","source":"x"}', "name"),
        ([], None),
    ],
)
async def test_bodies_of_the_wrong_shape(body: Any, param: str | None) -> None:
    answer = await Service().call("POST", "/v1/tokenizers", body)
    assert (answer.status, answer.json["error"]["param"]) == (422, param)


async def test_further_members_and_a_null_template_are_fine() -> None:
    service = Service()
    assert (await service.add("q", chat_template_path=None, more=[1])).status == 202
    await service.close()


async def test_a_name_that_is_the_id_of_another_tokenizer() -> None:
    service = Service()
    await service.until((await service.add("q")).json["id"], "completed")
    await service.until((await service.add("id-1")).json["id"], "completed")
    assert (await service.add("id-1")).json["id"] == "id-2"
    assert (await service.call("GET", "/v1/tokenizers/id-1")).json["name"] == "q"
    assert (await service.call("DELETE", "/v1/tokenizers/id-2")).status == 200


async def test_whoever_submits_a_load_is_told_how_it_ends() -> None:
    service, ends = Service(), []
    service.loads["broken"] = lambda: (_ for _ in ()).throw(TokenizerFileInvalid("no"))
    for source in ("tiny", "broken", "gate"):
        load = functools.partial(load_in_thread, functools.partial(service._load, source, None))
        service.jobs.submit(source, source, load, ends.append)
    await service.until("id-1", "completed")
    await service.until("id-2", "failed")
    service.jobs.remove("gate")
    assert sorted(ends, key=str) == ["Loading was cancelled", None, "no"]
    await service.close()
