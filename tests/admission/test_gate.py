"""The way into a pool for asynchronous code."""

import asyncio

import pytest
import uvloop

from sluicegate.admission.gate import Gate
from sluicegate.admission.limiter import Limiter
from sluicegate.admission.scheduler import ClassRules, Scheduler
from sluicegate.admission.ticket import Priority, State, Ticket


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request):
    def run(scenario):
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(scenario)

    return run


def limiter(**more):
    return Gate(Limiter(**{"capacity": 1, "queue_size": 2, "queue_timeout": 30.0, "now": 0.0} | more))


def test_a_place_is_handed_on(run):
    async def scenario():
        gate = limiter()
        first, second = Ticket(), Ticket()
        gate.ask(first)
        gate.ask(second)
        waiting = asyncio.create_task(gate.wait(second))
        await asyncio.sleep(0)
        assert second.state is State.WAITING
        gate.leave(first)
        await waiting
        assert second.state is State.ADMITTED

    run(scenario())


def test_a_cancelled_wait_frees_its_place(run):
    async def scenario():
        gate = limiter()
        tickets = [Ticket() for _ in range(3)]
        for ticket in tickets:
            gate.ask(ticket)
        waits = [asyncio.create_task(gate.wait(ticket)) for ticket in tickets[1:]]
        await asyncio.sleep(0)
        waits[0].cancel()
        await asyncio.gather(*waits[:1], return_exceptions=True)
        assert gate.pool.waiting == 1
        gate.leave(tickets[0])
        await waits[1]
        assert tickets[2].state is State.ADMITTED

    run(scenario())


def test_a_wait_that_is_cancelled_just_as_it_is_admitted_gives_the_place_back(run):
    async def scenario():
        gate = limiter()
        first, second = Ticket(), Ticket()
        gate.ask(first)
        gate.ask(second)
        wait = asyncio.create_task(gate.wait(second))
        await asyncio.sleep(0)
        gate.leave(first)
        assert second.state is State.ADMITTED
        wait.cancel()
        await asyncio.gather(wait, return_exceptions=True)
        assert gate.pool.inflight == 0

    run(scenario())


def test_a_wait_ends_by_time(run):
    async def scenario():
        gate = limiter(queue_timeout=0.02)
        first, second = Ticket(), Ticket()
        gate.ask(first)
        gate.ask(second)
        async with asyncio.timeout(5):
            await gate.wait(second)
        assert second.refusal.code == "admission_queue_timeout"
        assert gate.pool.inflight == 1

    run(scenario())


def test_the_rate_lets_pass_by_time(run):
    async def scenario():
        now = asyncio.get_running_loop().time()
        gate = limiter(capacity=9, rate=50.0, burst=1.0, now=now)
        tickets = [Ticket() for _ in range(3)]
        for ticket in tickets:
            gate.ask(ticket)
        async with asyncio.timeout(5):
            for ticket in tickets:
                await gate.wait(ticket)
        assert all(ticket.state is State.ADMITTED for ticket in tickets)
        assert asyncio.get_running_loop().time() - now >= 0.039

    run(scenario())


def test_a_preempted_request_is_told_at_once(run):
    async def scenario():
        rules = dict.fromkeys(Priority, ClassRules(0, 0.0, 1, 30.0, 30.0, can_preempt=True))
        gate = Gate(Scheduler(capacity=1, rules=rules))
        victim, winner = Ticket(Priority.BULK), Ticket(Priority.SYSTEM)
        gate.ask(victim)
        told = []
        victim.on_change = lambda: told.append(victim.state)
        gate.ask(winner)
        assert told == [State.PREEMPTED]
        assert winner.state is State.ADMITTED

    run(scenario())
