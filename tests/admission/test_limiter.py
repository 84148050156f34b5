"""The plain limiter: examples, and invariants under any sequence of events."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sluicegate.admission.limiter import FULL, QUEUE_FULL, TIMED_OUT, Limiter
from sluicegate.admission.observer import Observer
from sluicegate.admission.ticket import State, Ticket


def limiter(capacity=1, queue_size=0, queue_timeout=10.0, **more):
    return Limiter(capacity=capacity, queue_size=queue_size, queue_timeout=queue_timeout, **more)


def ask(pool, now=0.0):
    ticket = Ticket()
    pool.ask(ticket, now)
    return ticket


def states(tickets):
    return [ticket.state for ticket in tickets]


def test_a_full_pool_without_a_queue_refuses_at_once():
    pool = limiter(capacity=2)
    tickets = [ask(pool) for _ in range(3)]
    assert states(tickets) == [State.ADMITTED, State.ADMITTED, State.REFUSED]
    assert tickets[2].refusal == FULL
    pool.leave(tickets[0], 1.0)
    assert ask(pool, 1.0).state is State.ADMITTED


def test_the_queue_is_first_come_first_served_and_bounded():
    pool = limiter(queue_size=2)
    first, second, third, fourth = (ask(pool, now) for now in (0.0, 1.0, 2.0, 3.0))
    assert states([first, second, third, fourth]) == [State.ADMITTED, State.WAITING, State.WAITING, State.REFUSED]
    assert fourth.refusal == QUEUE_FULL
    pool.leave(first, 4.0)
    assert states([second, third]) == [State.ADMITTED, State.WAITING]
    assert ask(pool, 4.0).state is State.WAITING  # a newcomer never overtakes


def test_who_leaves_the_queue_frees_its_place_at_once():
    pool = limiter(queue_size=2)
    first, second, third = (ask(pool) for _ in range(3))
    pool.leave(second, 1.0)
    assert pool.waiting == 1
    assert ask(pool, 1.0).state is State.WAITING
    pool.leave(first, 2.0)
    assert third.state is State.ADMITTED
    for _ in range(3):
        pool.leave(first, 2.0)
        pool.leave(second, 2.0)
    assert (pool.inflight, pool.waiting) == (1, 1)


def test_a_wait_ends_with_its_time():
    pool = limiter(queue_size=2, queue_timeout=5.0)
    ask(pool)
    waiting = ask(pool, 1.0)
    assert pool.next_due(1.0) == 6.0
    pool.advance(5.999)
    assert waiting.state is State.WAITING
    pool.advance(6.0)
    assert (waiting.state, waiting.refusal) == (State.REFUSED, TIMED_OUT)
    assert pool.next_due(6.0) is None


def test_the_example_of_rate_and_queue():
    """Two at once, two per second, five waiting places, twelve requests in the same instant."""
    pool = limiter(capacity=2, queue_size=5, queue_timeout=60.0, rate=2.0, burst=2.0)
    passed = []
    tickets = []
    now = 0.0
    for _ in range(12):
        ticket = ask(pool, now)
        tickets.append(ticket)
        if ticket.state is State.ADMITTED:
            passed.append(now)
            pool.leave(ticket, now)
    assert states(tickets).count(State.REFUSED) == 5
    while (due := pool.next_due(now)) is not None:
        now = due
        waiting = [ticket for ticket in tickets if ticket.state is State.WAITING]
        pool.advance(now)
        for ticket in waiting:
            if ticket.state is State.ADMITTED:
                passed.append(now)
                pool.leave(ticket, now)
    assert passed == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5])


@pytest.mark.parametrize(("rate", "retry_after"), [(2.0, 1), (0.5, 2), (0.1, 10), (1 / 3, 3)])
def test_over_the_rate_the_refusal_says_when_to_come_again(rate, retry_after):
    pool = limiter(capacity=None, rate=rate, burst=1.0)
    assert ask(pool).state is State.ADMITTED
    refused = ask(pool)
    assert (refused.refusal.status, refused.refusal.retry_after) == (429, retry_after)
    assert ask(pool, retry_after).state is State.ADMITTED


def test_without_limits_everything_passes():
    pool = limiter(capacity=None)
    assert all(ask(pool).state is State.ADMITTED for _ in range(10_000))
    assert pool.inflight == 10_000


def test_without_a_ticket():
    pool = limiter(capacity=2, queue_size=1)
    assert [pool.enter(0.0) for _ in range(3)] == [True, True, False]
    waiting = ask(pool)
    pool.exit()
    assert not pool.enter(0.0), "a newcomer has overtaken"
    pool.advance(0.0)
    assert (waiting.state, pool.inflight) == (State.ADMITTED, 2)


def test_what_is_counted():
    class Counts(Observer):
        def __init__(self):
            self.seen = []

        def limited(self, *, allowed):
            self.seen.append(allowed)

        def turned_away(self, cause):
            self.seen.append(cause)

    counts = Counts()
    pool = limiter(queue_size=1, queue_timeout=1.0, observer=counts)
    ask(pool), ask(pool), ask(pool)
    pool.advance(1.0)
    ask(limiter(capacity=0 + 1, rate=1.0, burst=1.0, observer=counts))
    full = limiter(observer=counts)
    ask(full), ask(full)
    assert counts.seen == [True, False, "queue_full", False, "timeout", True, True, False, "concurrency"]


class LimiterMachine(RuleBasedStateMachine):
    """Any sequence of arrivals, departures and time."""

    CAPACITY, QUEUE, TIMEOUT, RATE, BURST = 3, 4, 5.0, 2.0, 3.0

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.pool = Limiter(
            capacity=self.CAPACITY, queue_size=self.QUEUE, queue_timeout=self.TIMEOUT, rate=self.RATE, burst=self.BURST
        )
        self.tickets = []
        self.inside = 0  # without a ticket
        self.entered = []
        self.changes = {}

    @rule()
    def arrive(self):
        ticket = Ticket()
        self.changes[ticket] = []
        ticket.on_change = lambda: self.changes[ticket].append((ticket.state, self.now))
        self.tickets.append(ticket)
        waiting = self.pool.waiting
        self.pool.ask(ticket, self.now)
        if waiting and self.pool.waiting:
            assert ticket.state is not State.ADMITTED, "a newcomer has overtaken"

    @rule()
    def enter(self):
        waiting, inflight = self.pool.waiting, self.pool.inflight
        if self.pool.enter(self.now):
            assert (waiting, inflight < self.CAPACITY) == (0, True)
            self.inside += 1
            self.entered.append(self.now)

    @precondition(lambda self: self.inside)
    @rule()
    def exit(self):
        self.inside -= 1
        self.pool.exit()
        self.pool.advance(self.now)

    @precondition(lambda self: self.tickets)
    @rule(data=st.data())
    def leave(self, data):
        self.pool.leave(data.draw(st.sampled_from(self.tickets)), self.now)

    @rule(seconds=st.sampled_from([0.1, 0.5, 1.0, 4.9, 5.0]))
    def wait(self, seconds):
        end = self.now + seconds
        while (due := self.pool.next_due(self.now)) is not None and due <= end:
            self.now = max(self.now, due)
            self.pool.advance(self.now)
            assert self.pool.next_due(self.now) != due or due > self.now, "time would stand still"
        self.now = end
        self.pool.advance(end)

    @invariant()
    def never_above_capacity(self):
        found = states(self.tickets)
        assert found.count(State.ADMITTED) + self.inside == self.pool.inflight <= self.CAPACITY
        assert found.count(State.WAITING) == self.pool.waiting <= self.QUEUE

    @invariant()
    def in_order_of_asking(self):
        """Of those who wait or have been admitted from the queue, nobody has passed an earlier one."""
        admissions = [
            (index, at)
            for index, ticket in enumerate(self.tickets)
            for state, at in self.changes[ticket]
            if state is State.ADMITTED
        ]
        assert [at for _, at in admissions] == sorted(at for _, at in admissions)
        still = [index for index, ticket in enumerate(self.tickets) if ticket.state is State.WAITING]
        assert not still or all(index < still[0] for index, _ in admissions)

    @invariant()
    def nothing_is_lost(self):
        """Every ticket has been told its fate, once; nobody waits in vain or too long."""
        for ticket in self.tickets:
            told = [state for state, _ in self.changes[ticket]]
            assert told in (
                [State.ADMITTED],
                [State.WAITING],
                [State.REFUSED],
                [State.WAITING, State.ADMITTED],
                [State.WAITING, State.REFUSED],
            )
            if ticket.state is State.WAITING:
                assert self.now < ticket.asked_at + self.TIMEOUT
                assert self.pool.next_due(self.now) is not None

    @invariant()
    def rate_holds(self):
        changes = [change for ticket in self.tickets for change in self.changes[ticket]]
        times = sorted([*self.entered, *(at for state, at in changes if state is State.ADMITTED)])
        for first in range(len(times)):
            for last in range(first, len(times)):
                assert last - first + 1 <= self.BURST + (times[last] - times[first]) * self.RATE + 1e-6


TestLimiterMachine = LimiterMachine.TestCase
TestLimiterMachine.settings = settings(max_examples=40, deadline=None)
