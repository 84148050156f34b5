"""Admission of several processes, without the processes: messages cross each other in every order."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.admission.ticket import State
from sluicegate.server.admission import build_admission
from sluicegate.server.processes.messages import Lend
from sluicegate.server.processes.remote_admission import RemoteAdmission, RemotePlace
from sluicegate.server.processes.shared_admission import Holder, SharedAdmission
from sluicegate.server.processes.sharing import lends_places, tells_tenants_apart
from sluicegate.server.request import Request
from sluicegate.server.response import Refused
from sluicegate.settings import Settings, resolve


def request(tenant: str = "", **headers: str) -> Request:
    fields = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    made = Request("POST", "/v1/tokenize", fields, peer="192.0.2.1", request_id=b"x", started=0.0)
    made.tenant = tenant or None
    return made


class Process:
    """A process as both sides see it, and the messages that are on their way between them."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.down: deque[Any] = deque()
        self.up: deque[Any] = deque()
        self.holder = Holder(self.down.append)
        settings = service.settings
        self.remote = RemoteAdmission(
            self.up.append, knows_tenants=tells_tenants_apart(settings), tenant_header=b"x-tenant"
        )
        self.remote.begin(service.shared.epoch, service.shared.places)
        service.shared.join(self.holder)
        self.tasks: list[asyncio.Task[RemotePlace]] = []
        self.places: list[RemotePlace] = []
        self.refused: list[str | None] = []

    async def ask(self, asking: Request | None = None) -> None:
        """Send a request, which goes as far as it can without messages."""
        task = asyncio.create_task(self.remote.admit(asking or request()))
        self.tasks.append(task)
        task.add_done_callback(self._decided)
        await settle()

    async def ask_and_hear(self, asking: Request | None = None) -> None:
        """Send a request, and let every message arrive, whoever sends it."""
        await self.ask(asking)
        await self.service.deliver_all()

    def _decided(self, task: asyncio.Task[RemotePlace]) -> None:
        self.tasks.remove(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            self.places.append(task.result())
        else:
            assert isinstance(error, Refused)
            self.refused.append(error.response.code)

    async def deliver(self, queue: deque[Any]) -> None:
        """Let the oldest message of a direction arrive."""
        message = queue.popleft()
        if queue is self.up:
            self.service.shared.receive(self.holder, message)
        else:
            self.remote.receive(message)
        await settle()


async def settle() -> None:
    for _ in range(4):
        await asyncio.sleep(0)


class Service:
    """All of it."""

    def __init__(self, processes: int = 2, **flags: Any) -> None:
        self.settings: Settings = resolve(flags, {})
        self.admission, _ = build_admission(self.settings)
        self.shared = SharedAdmission(self.admission, lends=lends_places(self.settings), processes=processes)
        self.processes = [Process(self) for _ in range(processes)]

    async def deliver_all(self) -> None:
        while queues := [(p, queue) for p in self.processes for queue in (p.up, p.down) if queue]:
            for process, queue in queues:
                await process.deliver(queue)

    def replace(self, number: int) -> None:
        """A process is killed, and another starts in its place."""
        dead = self.processes[number]
        for task in dead.tasks:
            task.remove_done_callback(dead._decided)
            task.cancel()
        self.shared.leave(dead.holder)
        self.processes[number] = Process(self)

    @property
    def in_progress(self) -> int:
        return sum(len(process.places) for process in self.processes)


def test_lent_places_need_no_message() -> None:
    async def main() -> None:
        service = Service(max_concurrent_requests="10")
        first, second = service.processes
        for _ in range(5):
            await first.ask()
        await second.ask()
        assert (len(first.places), len(second.places), first.up, second.up) == (5, 1, deque(), deque())
        first.places.pop().release()
        await first.ask()
        assert (len(first.places), first.up) == (5, deque())

    asyncio.run(main())


def test_without_a_limit_nothing_is_ever_asked() -> None:
    async def main() -> None:
        service = Service(max_concurrent_requests="0")
        for _ in range(100):
            await service.processes[0].ask()
        assert (service.in_progress, service.processes[0].up) == (100, deque())

    asyncio.run(main())


def test_one_process_may_have_all_places_if_the_other_needs_none() -> None:
    async def main() -> None:
        service = Service(max_concurrent_requests="10", queue_size="2")
        first, second = service.processes
        for _ in range(13):
            await first.ask_and_hear()
        assert (len(first.places), len(first.tasks), first.refused) == (10, 2, ["admission_queue_full"])
        await second.ask_and_hear()
        assert second.refused == ["admission_queue_full"]
        first.places.pop().release()
        await service.deliver_all()
        assert (len(first.places), len(first.tasks)) == (10, 1)
        for place in first.places:
            place.release()
        await service.deliver_all()
        assert (service.admission.pool.inflight, service.admission.pool.waiting) == (1, 0)

    asyncio.run(main())


def test_those_who_wait_are_admitted_in_the_order_of_asking() -> None:
    async def main() -> None:
        service = Service(max_concurrent_requests="1", queue_size="9")
        first, second = service.processes
        await first.ask_and_hear()
        for process in (second, first, first, second):
            await process.ask()
            await service.deliver_all()
        order = []
        for _ in range(4):
            holder = first if first.places else second
            holder.places.pop().release()
            await service.deliver_all()
            order.append("first" if first.places else "second")
        assert order == ["second", "first", "first", "second"]

    asyncio.run(main())


def test_places_are_lent_again_when_it_is_quiet() -> None:
    async def main() -> None:
        service = Service(max_concurrent_requests="4")
        first, _ = service.processes
        for _ in range(3):
            await first.ask_and_hear()
        service.shared.lend_if_quiet()  # three of four are taken
        assert service.shared.places == 0
        while len(first.places) > 1:
            first.places.pop().release()
        await first.ask()  # crosses what follows, and asks again
        service.shared.lend_if_quiet()
        assert service.shared.places == 0
        await service.deliver_all()
        first.places.pop().release()
        await service.deliver_all()
        service.shared.lend_if_quiet()
        await first.ask_and_hear()
        assert (service.shared.places, service.admission.pool.inflight, len(first.places)) == (2, 0, 2)
        first.places.pop().release()
        first.places.pop().release()
        assert (first.up, first.remote.inflight) == (deque(), 0)

    asyncio.run(main())


def test_a_killed_process_gives_everything_back() -> None:
    async def main() -> None:
        service = Service(max_concurrent_requests="2", queue_size="4")
        first, second = service.processes
        await first.ask()
        await first.ask_and_hear()
        await second.ask_and_hear()
        assert (len(first.places), len(second.places), len(second.tasks)) == (2, 0, 1)
        await first.ask_and_hear()
        service.replace(0)
        await service.deliver_all()
        assert (len(second.places), service.admission.pool.inflight, service.admission.pool.waiting) == (1, 1, 0)

    asyncio.run(main())


def test_a_process_that_is_killed_while_places_are_called_back_keeps_nobody_waiting() -> None:
    async def main() -> None:
        service = Service(max_concurrent_requests="2", queue_size="4")
        first, second = service.processes
        await first.ask()
        await second.ask()
        await first.ask()
        await first.deliver(first.up)
        assert second.down == deque([Lend(2, 0)])
        service.replace(1)
        await service.deliver_all()
        assert len(first.places) == 2

    asyncio.run(main())


def test_a_request_that_goes_away_leaves_the_queue() -> None:
    async def main() -> None:
        service = Service(max_concurrent_requests="1", queue_size="4")
        first, second = service.processes
        await first.ask_and_hear()
        await second.ask_and_hear()
        assert service.admission.pool.waiting == 1
        second.tasks[0].cancel()
        await settle()
        await service.deliver_all()
        assert (service.admission.pool.waiting, service.admission.pool.inflight) == (0, 1)

    asyncio.run(main())


RULES = "{reserved_floor: 0, queue_size: 2, queue_timeout_secs: 20, starvation_threshold_secs: 10, can_preempt: %s}"


@pytest.fixture
def scheduled(tmp_path: Any) -> dict[str, Any]:
    path = tmp_path / "scheduler.yaml"
    classes = {"bulk": "false", "default": "false", "interactive": "true", "system": "true"}
    path.write_text("\n".join(["classes:", *(f"  {name}: {RULES % preempts}" for name, preempts in classes.items())]))
    return {
        "priority_scheduler_enabled": True,
        "priority_scheduler_config": str(path),
        "priority_scheduler_default_max_class": "system",
        "max_concurrent_requests": "1",
    }


def test_a_place_is_taken_away_from_a_request_of_another_process(scheduled: dict[str, Any]) -> None:
    async def main() -> None:
        service = Service(**scheduled)
        first, second = service.processes
        await first.ask_and_hear()
        ended: list[str] = []
        first.places[0].cancel = lambda: ended.append("reading")
        await second.ask(request(x_smg_priority="interactive"))
        await service.deliver_all()
        assert (len(second.places), ended) == (1, ["reading"])
        refusal = first.places[0].refusal
        assert refusal is not None
        assert (refusal.status, refusal.code, refusal.close) == (503, "scheduler_preempted", True)
        first.places[0].release()
        await service.deliver_all()
        assert service.admission.pool.inflight == 1

    asyncio.run(main())


def test_a_request_whose_place_is_taken_as_its_body_ends_does_no_work(scheduled: dict[str, Any]) -> None:
    async def main() -> None:
        service = Service(**scheduled)
        first, second = service.processes
        await first.ask_and_hear()
        place = first.places[0]
        place.cancel = lambda: None
        await second.ask(request(x_smg_priority="interactive"))
        await second.deliver(second.up)  # decided, but the message is on its way
        place.cancel = None
        counting = place.charge(request(), "m", 1)
        assert counting is not None
        charging = asyncio.ensure_future(counting)
        await settle()
        await service.deliver_all()
        with pytest.raises(Refused) as caught:
            await charging
        assert caught.value.response.code == "scheduler_preempted"

    asyncio.run(main())


def test_a_request_that_has_begun_its_work_keeps_its_place(scheduled: dict[str, Any]) -> None:
    async def main() -> None:
        service = Service(**scheduled)
        first, second = service.processes
        await first.ask_and_hear()
        first.places[0].cancel = lambda: None
        first.places[0].cancel = None
        await service.deliver_all()
        await second.ask(request(x_smg_priority="system"))
        await service.deliver_all()
        assert (len(second.places), len(second.tasks), first.places[0].refusal) == (0, 1, None)
        second.tasks[0].cancel()
        await settle()

    asyncio.run(main())


@given(st.data())
def test_never_more_than_the_limit_and_never_a_wait_while_there_is_room(data: st.DataObject) -> None:
    """Requests come and go in three processes that may be killed; each message takes as long as it likes."""
    capacity = data.draw(st.integers(1, 9), "places")

    async def main() -> None:
        service = Service(3, max_concurrent_requests=str(capacity), queue_size="100")
        for _ in range(data.draw(st.integers(1, 60), "steps")):
            process = data.draw(st.sampled_from(service.processes), "process")
            choices = ["ask", "ask", "lend", "kill"]
            choices += ["up"] * 4 * bool(process.up) + ["down"] * 4 * bool(process.down)
            choices += ["release"] * 3 * bool(process.places) + ["cancel"] * bool(process.tasks)
            match data.draw(st.sampled_from(choices), "step"):
                case "ask":
                    await process.ask()
                case "up":
                    await process.deliver(process.up)
                case "down":
                    await process.deliver(process.down)
                case "release":
                    process.places.pop(0).release()
                case "cancel":
                    process.tasks[0].cancel()
                    await settle()
                case "lend":
                    service.shared.lend_if_quiet()
                case "kill":
                    if data.draw(st.booleans(), "really"):
                        service.replace(service.processes.index(process))
                        await settle()
            assert service.in_progress <= capacity
        await service.deliver_all()
        waiting = sum(len(process.tasks) for process in service.processes)
        assert service.in_progress == capacity or waiting == 0
        pool = service.admission.pool
        assert pool.inflight + sum(process.remote.inflight for process in service.processes) == service.in_progress
        assert pool.waiting == waiting
        for process in service.processes:
            for task in process.tasks:
                task.cancel()
        await settle()

    asyncio.run(main())


def test_states_of_tickets_that_were_lent() -> None:
    """What a process names as its own when places are called back is counted once, and given back once."""

    async def main() -> None:
        service = Service(max_concurrent_requests="2", queue_size="4")
        first, second = service.processes
        await first.ask()
        await first.ask_and_hear()
        tickets = [*first.holder.tickets.values()]
        assert [ticket.state for ticket in tickets] == [State.ADMITTED, State.ADMITTED]
        for place in first.places:
            place.release()
            place.release()
        await service.deliver_all()
        assert (service.admission.pool.inflight, first.holder.tickets, second.holder.tickets) == (0, {}, {})

    asyncio.run(main())
