"""The priority scheduler: examples of each rule, and invariants under any sequence of events."""

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sluicegate.admission.observer import Observer
from sluicegate.admission.scheduler import (
    BUILT_IN_RULES,
    PREEMPTED,
    QUEUE_FULL,
    TIMED_OUT,
    ClassRules,
    OverReserved,
    Scheduler,
)
from sluicegate.admission.ticket import Priority, State, Ticket

BULK, DEFAULT, INTERACTIVE, SYSTEM = Priority
PLAIN = ClassRules(0, 0.0, 4, 60.0, 30.0, can_preempt=False)


def scheduler(capacity, rules=None, **more):
    return Scheduler(capacity=capacity, rules=dict.fromkeys(Priority, PLAIN) | (rules or {}), **more)


def ask(pool, priority=DEFAULT, now=0.0, *, started=True):
    ticket = Ticket(priority)
    pool.ask(ticket, now)
    if started and ticket.state is State.ADMITTED:
        pool.start(ticket)
    return ticket


@pytest.mark.parametrize(
    ("floor", "share", "capacity", "reserved"),
    [(0, 0.25, 10, 3), (5, 0.25, 10, 5), (0, 0.1, 30, 3), (0, 0.07, 100, 7), (0, 1.0, 7, 7), (0, 0.0, 7, 0)],
)
def test_reservation(floor, share, capacity, reserved):
    assert replace(PLAIN, reserved_floor=floor, reserved_per_slot=share).reservation(capacity) == reserved


def test_reservations_above_the_capacity_are_refused_with_the_numbers():
    with pytest.raises(
        OverReserved, match=r"reserve 161 places \(32 system \+ 128 interactive \+ 1 default \+ 0 bulk\).*is 1$"
    ):
        Scheduler(capacity=1)
    Scheduler(capacity=200, rules=BUILT_IN_RULES)


def test_places_are_held_for_higher_classes():
    pool = scheduler(4, {SYSTEM: replace(PLAIN, reserved_floor=1), INTERACTIVE: replace(PLAIN, reserved_floor=1)})
    assert [ask(pool, BULK).state for _ in range(3)] == [State.ADMITTED, State.ADMITTED, State.WAITING]
    assert ask(pool, INTERACTIVE).state is State.ADMITTED
    assert ask(pool, INTERACTIVE).state is State.WAITING
    assert ask(pool, SYSTEM).state is State.ADMITTED
    assert ask(pool, SYSTEM).state is State.WAITING


def test_a_class_that_uses_its_reservation_holds_no_more():
    pool = scheduler(3, {SYSTEM: replace(PLAIN, reserved_floor=2)})
    assert pool.free_for(BULK) == 1
    ask(pool, SYSTEM)
    ask(pool, SYSTEM)
    assert pool.free_for(BULK) == 1
    assert ask(pool, BULK).state is State.ADMITTED


def test_a_free_place_goes_to_the_highest_class():
    pool = scheduler(1)
    first = ask(pool)
    waiting = {priority: ask(pool, priority) for priority in Priority}
    order = []
    for _ in range(4):
        pool.leave(first, 1.0)
        first = next(ticket for ticket in waiting.values() if ticket.state is State.ADMITTED)
        order.append(first.priority)
    assert order == [SYSTEM, INTERACTIVE, DEFAULT, BULK]


def test_starved_heads_come_first_lowest_class_first():
    pool = scheduler(1)
    first = ask(pool)
    waiting = {priority: ask(pool, priority) for priority in Priority}
    order = []
    for _ in range(4):
        pool.leave(first, 30.0)
        first = next(ticket for ticket in waiting.values() if ticket.state is State.ADMITTED)
        order.append(first.priority)
    assert order == [BULK, DEFAULT, INTERACTIVE, SYSTEM]


def test_a_starved_head_ignores_reservations():
    pool = scheduler(1, {SYSTEM: replace(PLAIN, reserved_floor=1)})
    bulk = ask(pool, BULK)
    assert bulk.state is State.WAITING
    assert pool.next_due(0.0) == 30.0
    pool.advance(29.9)
    assert bulk.state is State.WAITING
    pool.advance(30.0)
    assert bulk.state is State.ADMITTED


def test_each_class_has_its_own_queue_and_time():
    pool = scheduler(
        1, {BULK: replace(PLAIN, queue_size=0), DEFAULT: replace(PLAIN, queue_size=1, queue_timeout_secs=2.0)}
    )
    ask(pool, SYSTEM)
    assert ask(pool, BULK).refusal == QUEUE_FULL
    waiting = ask(pool, DEFAULT)
    assert ask(pool, DEFAULT).refusal == QUEUE_FULL
    assert ask(pool, INTERACTIVE).state is State.WAITING
    assert pool.next_due(0.0) == 2.0
    pool.advance(2.0)
    assert waiting.refusal == TIMED_OUT


PREEMPTING = {SYSTEM: replace(PLAIN, can_preempt=True), INTERACTIVE: replace(PLAIN, can_preempt=True)}


def test_the_lowest_and_latest_upload_is_preempted():
    pool = scheduler(4, PREEMPTING)
    default = ask(pool, DEFAULT, started=False)
    early, late, started = (ask(pool, BULK, started=False) for _ in range(3))
    pool.start(started)
    assert ask(pool, INTERACTIVE).state is State.ADMITTED
    assert (late.state, late.refusal) == (State.PREEMPTED, PREEMPTED)
    assert ask(pool, SYSTEM).state is State.ADMITTED
    assert early.state is State.PREEMPTED
    assert ask(pool, SYSTEM).state is State.ADMITTED
    assert default.state is State.PREEMPTED
    assert ask(pool, SYSTEM).state is State.WAITING
    assert started.state is State.ADMITTED
    pool.leave(late, 1.0)  # the victim's departure gives nothing back twice
    assert pool.inflight == 4


def test_who_may_not_preempt_or_finds_no_lower_upload_waits():
    pool = scheduler(1, PREEMPTING)
    upload = ask(pool, INTERACTIVE, started=False)
    assert ask(pool, INTERACTIVE).state is State.WAITING
    assert ask(pool, DEFAULT).state is State.WAITING
    assert upload.state is State.ADMITTED
    pool = scheduler(1, PREEMPTING)
    bulk = ask(pool, BULK, started=False)
    assert ask(pool, DEFAULT).state is State.WAITING
    assert bulk.state is State.ADMITTED


def test_a_preempted_place_goes_to_the_head_of_the_class():
    pool = scheduler(1, PREEMPTING | {BULK: replace(PLAIN, starvation_threshold_secs=1.0)})
    first = ask(pool, SYSTEM)
    bulk, waiting = ask(pool, BULK), ask(pool, INTERACTIVE)
    pool.leave(first, 2.0)  # the starved one passes ahead, and is in upload
    assert (bulk.state, waiting.state) == (State.ADMITTED, State.WAITING)
    newcomer = ask(pool, INTERACTIVE, 2.0)
    assert (bulk.state, waiting.state, newcomer.state) == (State.PREEMPTED, State.ADMITTED, State.WAITING)


def test_a_rate_in_front():
    pool = scheduler(10, rate=0.5, burst=1.0)
    assert ask(pool).state is State.ADMITTED
    refusal = ask(pool).refusal
    assert (refusal.status, refusal.code, refusal.retry_after) == (429, "scheduler_queue_full", 2)
    assert ask(pool, now=2.0).state is State.ADMITTED


def test_pressure():
    pool = scheduler(4, {SYSTEM: replace(PLAIN, reserved_floor=2)})
    ask(pool, BULK)
    assert pool.pressure(BULK) == 0.5
    assert pool.pressure(SYSTEM) == 0.25
    full = scheduler(1, {SYSTEM: replace(PLAIN, reserved_floor=1)})
    assert full.pressure(BULK) == 1.0


def test_what_is_counted():
    class Counts(Observer):
        def __init__(self):
            self.seen = []

        def scheduled(self, priority, outcome):
            self.seen.append((priority.label, outcome))

        def waited(self, priority, seconds):
            self.seen.append(seconds)

        def preempted(self, victim, by):
            self.seen.append((victim.label, by.label))

        def promoted(self, priority):
            self.seen.append(priority.label)

    counts = Counts()
    pool = scheduler(1, PREEMPTING | {DEFAULT: replace(PLAIN, queue_size=1, queue_timeout_secs=40.0)}, observer=counts)
    ask(pool, BULK, started=False)
    high = ask(pool, SYSTEM)
    gone, starved, _ = ask(pool, BULK), ask(pool, DEFAULT), ask(pool, DEFAULT)
    pool.leave(gone, 1.0)
    pool.leave(high, 31.0)
    ask(pool, DEFAULT, 31.0)
    pool.advance(71.0)
    assert starved.state is State.ADMITTED
    assert counts.seen == [
        ("bulk", "admitted"),
        0.0,
        ("bulk", "preempted"),
        ("bulk", "system"),
        ("system", "admitted"),
        0.0,
        ("default", "rejected_queue_full"),
        ("bulk", "client_cancelled"),
        "default",
        ("default", "admitted"),
        31.0,
        ("default", "rejected_queue_timeout"),
    ]


priorities = st.sampled_from(list(Priority))


class SchedulerMachine(RuleBasedStateMachine):
    """Any sequence of arrivals, completed uploads, departures and time, with any rules."""

    @initialize(
        capacity=st.integers(1, 6),
        floors=st.tuples(*[st.integers(0, 2)] * 4),
        preempt=st.tuples(*[st.booleans()] * 4),
        queue=st.integers(0, 3),
    )
    def set_up(self, capacity, floors, preempt, queue):
        self.now = 0.0
        self.tickets = []
        self.changes = {}
        rules = {
            priority: ClassRules(floor, 0.0, queue, 10.0, 4.0, can_preempt=can)
            for priority, floor, can in zip(Priority, floors, preempt, strict=True)
        }
        if sum(floors) > capacity:
            with pytest.raises(OverReserved):
                Scheduler(capacity=capacity, rules=rules)
            capacity = sum(floors)
        self.rules, self.capacity = rules, capacity
        self.pool = Scheduler(capacity=capacity, rules=rules)

    def of(self, state):
        return [ticket for ticket in self.tickets if ticket.state is state]

    @rule(priority=priorities)
    def arrive(self, priority):
        ticket = Ticket(priority)
        self.changes[ticket] = []
        ticket.on_change = lambda: self.changes[ticket].append(ticket.state)
        self.tickets.append(ticket)
        free, queued = self.pool.free_for(priority), self.pool.waiting_of(priority)
        self.pool.ask(ticket, self.now)
        if free > 0 and not queued:
            assert ticket.state is State.ADMITTED, "refused although there was a place"
        if queued and self.pool.waiting_of(priority):
            assert ticket.state is not State.ADMITTED, "a newcomer has overtaken its own class"

    @precondition(lambda self: self.of(State.ADMITTED))
    @rule(data=st.data())
    def start(self, data):
        self.pool.start(data.draw(st.sampled_from(self.of(State.ADMITTED))))

    @precondition(lambda self: self.tickets)
    @rule(data=st.data())
    def leave(self, data):
        self.pool.leave(data.draw(st.sampled_from(self.tickets)), self.now)

    @rule(seconds=st.sampled_from([0.5, 2.0, 4.0, 10.0]))
    def wait(self, seconds):
        end = self.now + seconds
        while (due := self.pool.next_due(self.now)) is not None and due <= end:
            assert due > self.now, "time would stand still"
            self.now = due
            self.pool.advance(self.now)
        self.now = end
        self.pool.advance(end)

    @invariant()
    def never_above_capacity(self):
        admitted = self.of(State.ADMITTED)
        assert len(admitted) == self.pool.inflight <= self.capacity
        for priority in Priority:
            assert sum(ticket.priority is priority for ticket in admitted) == self.pool.inflight_of(priority)
            waiting = sum(ticket.priority is priority for ticket in self.of(State.WAITING))
            assert waiting == self.pool.waiting_of(priority) <= self.rules[priority].queue_size

    @invariant()
    def reservations_hold(self):
        """Nobody who may have a place waits for it, and nobody who has not starved has one held for others."""
        for ticket in self.of(State.WAITING):
            assert self.pool.free_for(ticket.priority) <= 0
            assert self.now < ticket.asked_at + self.rules[ticket.priority].queue_timeout_secs

    @invariant()
    def nothing_is_lost(self):
        for ticket, told in self.changes.items():
            final = [state for state in told if state is not State.WAITING]
            assert len(told) - len(final) <= 1
            assert final in ([], [State.ADMITTED], [State.REFUSED], [State.ADMITTED, State.PREEMPTED])
            if not final and ticket.state is State.WAITING:
                assert self.pool.next_due(self.now) is not None
            if State.PREEMPTED in final:
                assert not ticket.started, "work that had begun was preempted"

    @invariant()
    def first_come_first_served_in_each_class(self):
        for priority in Priority:
            own = [ticket for ticket in self.tickets if ticket.priority is priority]
            waiting = [index for index, ticket in enumerate(own) if ticket.state is State.WAITING]
            entered = [index for index, ticket in enumerate(own) if State.ADMITTED in self.changes[ticket]]
            assert not waiting or not entered or entered[-1] < waiting[0]


class ReservedMachine(SchedulerMachine):
    """Without starvation, higher classes always find the places that are reserved for them."""

    @rule()
    def system_finds_its_places(self):
        held = self.rules[SYSTEM].reserved_floor - self.pool.inflight_of(SYSTEM)
        promoted = any(ticket.admitted_at - ticket.asked_at >= 4.0 for ticket in self.tickets)
        preempted = any(self.rules[priority].can_preempt for priority in Priority)
        if held > 0 and not promoted and not preempted:
            assert self.pool.free_for(SYSTEM) >= held


TestSchedulerMachine = SchedulerMachine.TestCase
TestReservedMachine = ReservedMachine.TestCase
TestSchedulerMachine.settings = settings(max_examples=40, deadline=None)
TestReservedMachine.settings = settings(max_examples=40, deadline=None)
