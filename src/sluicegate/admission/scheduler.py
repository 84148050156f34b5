"""The priority scheduler: classes with reserved places, a queue each, and three ways not to wait for ever.

Places are reserved for higher classes against lower ones; a high class may take the place of a low request that is
still in upload; a request that has starved in its queue passes ahead, whatever is reserved.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from sluicegate.admission.bucket import TokenBucket
from sluicegate.admission.observer import Observer
from sluicegate.admission.ticket import Priority, Refusal, State, Ticket, whole_seconds

QUEUE_FULL = Refusal(429, "scheduler_queue_full", "request queue is full for this priority class")
TIMED_OUT = Refusal(503, "scheduler_queue_timeout", "timed out waiting for an admission slot")
PREEMPTED = Refusal(503, "scheduler_preempted", "request preempted by higher-priority traffic", preempted=True)

_BY_RANK = tuple(reversed(Priority))
_STARVED_FIRST = (Priority.BULK, Priority.DEFAULT, Priority.INTERACTIVE)


@dataclass(frozen=True, slots=True)
class ClassRules:
    """Rules of one class. Places are reserved for it: the larger of a fixed number and a share of the capacity."""

    reserved_floor: int
    reserved_per_slot: float
    queue_size: int
    queue_timeout_secs: float
    starvation_threshold_secs: float
    can_preempt: bool

    def reservation(self, capacity: int) -> int:
        """Return how many places are reserved for the class."""
        # A share like 0.1 is no binary fraction: 0.1 of 30 must be 3 places, not 4.
        return max(self.reserved_floor, math.ceil(round(self.reserved_per_slot * capacity, 9)))


BUILT_IN_RULES: Mapping[Priority, ClassRules] = {
    Priority.SYSTEM: ClassRules(32, 0.0, 64, 30.0, 5.0, can_preempt=True),
    Priority.INTERACTIVE: ClassRules(128, 0.25, 256, 30.0, 5.0, can_preempt=True),
    Priority.DEFAULT: ClassRules(0, 0.10, 512, 60.0, 30.0, can_preempt=False),
    Priority.BULK: ClassRules(0, 0.0, 1024, 300.0, 120.0, can_preempt=False),
}


class OverReserved(ValueError):
    """More places are reserved than there are; the message names the numbers."""


class Scheduler:
    """Admits by class. `capacity` is the number of places; `rate` and `burst` are those of the limit in front.

    Raises `OverReserved`.
    """

    def __init__(
        self,
        *,
        capacity: int,
        rules: Mapping[Priority, ClassRules] = BUILT_IN_RULES,
        rate: float | None = None,
        burst: float = 1.0,
        now: float = 0.0,
        observer: Observer | None = None,
    ) -> None:
        self.capacity = capacity
        self.rules = rules
        self.reservations = {priority: rules[priority].reservation(capacity) for priority in Priority}
        if sum(self.reservations.values()) > capacity:
            parts = " + ".join(f"{self.reservations[priority]} {priority.label}" for priority in _BY_RANK)
            total = sum(self.reservations.values())
            raise OverReserved(f"the classes reserve {total} places ({parts}), but the capacity is {capacity}")
        self._bucket = TokenBucket(burst, rate, now) if rate else None
        self._observer = observer or Observer()
        self._queues: dict[Priority, OrderedDict[Ticket, None]] = {priority: OrderedDict() for priority in Priority}
        # Admitted tickets whose body is still being read, in order of admission.
        self._uploading: dict[Priority, OrderedDict[Ticket, None]] = {priority: OrderedDict() for priority in Priority}
        self._inflight = dict.fromkeys(Priority, 0)
        self._used = 0

    @property
    def inflight(self) -> int:
        """Tickets that are admitted."""
        return self._used

    @property
    def waiting(self) -> int:
        """Tickets that wait."""
        return sum(map(len, self._queues.values()))

    def inflight_of(self, priority: Priority) -> int:
        """Admitted tickets of one class."""
        return self._inflight[priority]

    def waiting_of(self, priority: Priority) -> int:
        """Waiting tickets of one class."""
        return len(self._queues[priority])

    def free_for(self, priority: Priority) -> int:
        """Return how many places a class could take now; none if the number is not above 0."""
        held = sum(
            max(0, self.reservations[higher] - self._inflight[higher]) for higher in Priority if higher > priority
        )
        return self.capacity - self._used - held

    def pressure(self, priority: Priority) -> float:
        """Return the share of the places within reach of a class that are taken, from 0 to 1."""
        reach = self.free_for(priority) + self._used
        return 1.0 if reach <= 0 else min(1.0, self._used / reach)

    def ask(self, ticket: Ticket, now: float) -> None:
        """Admit the ticket, at the cost of a lower one if need be; else let it wait or refuse it."""
        self.advance(now)
        ticket.asked_at = now
        priority = ticket.priority
        if self._bucket is not None:
            if not self._bucket.holds(1.0, now):
                wait = whole_seconds(self._bucket.wait(1.0, now) or 0.0)
                message = "request rate limit reached"
                self._turn_away(ticket, Refusal(429, "scheduler_queue_full", message, wait), "rejected_queue_full")
                return
            self._bucket.take(1.0, now)
        queue = self._queues[priority]
        if not queue and self.free_for(priority) > 0:
            self._admit(ticket, now)
            return
        queue[ticket] = None
        if self._preempt_for(priority, now) and ticket.state is State.ADMITTED:
            return
        if len(queue) > self.rules[priority].queue_size:
            del queue[ticket]
            self._turn_away(ticket, QUEUE_FULL, "rejected_queue_full")
        else:
            ticket.settle(State.WAITING)

    def start(self, ticket: Ticket) -> None:
        """Note that the body of an admitted ticket has been read: it can no longer be preempted."""
        ticket.started = True
        self._uploading[ticket.priority].pop(ticket, None)

    def leave(self, ticket: Ticket, now: float) -> None:
        """Give up the place of a ticket, admitted or waiting."""
        if ticket.state is State.ADMITTED:
            self._vacate(ticket)
        elif ticket.state is State.WAITING:
            del self._queues[ticket.priority][ticket]
            self._observer.scheduled(ticket.priority, "client_cancelled")
        else:
            return
        ticket.state = State.LEFT
        self.advance(now)

    def advance(self, now: float) -> None:
        """End waits that have lasted too long; give free places to those who wait."""
        for priority, queue in self._queues.items():
            timeout = self.rules[priority].queue_timeout_secs
            while queue and now >= next(iter(queue)).asked_at + timeout:
                head, _ = queue.popitem(last=False)
                self._turn_away(head, TIMED_OUT, "rejected_queue_timeout")
        while self._used < self.capacity and (next_class := self._next_class(now)) is not None:
            head, _ = self._queues[next_class].popitem(last=False)
            self._admit(head, now)

    def next_due(self, now: float) -> float | None:
        """Return when the next wait ends by time: too long a wait, or starvation while a reserved place is free."""
        del now
        times: list[float] = []
        for priority, queue in self._queues.items():
            if not queue:
                continue
            rules, asked_at = self.rules[priority], next(iter(queue)).asked_at
            times.append(asked_at + rules.queue_timeout_secs)
            if self._used < self.capacity and priority in _STARVED_FIRST:
                times.append(asked_at + rules.starvation_threshold_secs)
        return min(times, default=None)

    def _next_class(self, now: float) -> Priority | None:
        """Return the class whose head gets the next free place."""
        for priority in _STARVED_FIRST:
            queue = self._queues[priority]
            if queue and now >= next(iter(queue)).asked_at + self.rules[priority].starvation_threshold_secs:
                self._observer.promoted(priority)
                return priority
        for priority in _BY_RANK:
            if self._queues[priority] and self.free_for(priority) > 0:
                return priority
        return None

    def _preempt_for(self, priority: Priority, now: float) -> bool:
        """Take the place of a lower request in upload for the head of this class; tell whether there was one."""
        if not self.rules[priority].can_preempt:
            return False
        for lower in Priority:
            if lower < priority and self._uploading[lower]:
                victim = next(reversed(self._uploading[lower]))
                self._vacate(victim)
                victim.settle(State.PREEMPTED, PREEMPTED)
                self._observer.scheduled(lower, "preempted")
                self._observer.preempted(lower, priority)
                head, _ = self._queues[priority].popitem(last=False)
                self._admit(head, now)
                return True
        return False

    def _admit(self, ticket: Ticket, now: float) -> None:
        self._used += 1
        self._inflight[ticket.priority] += 1
        self._uploading[ticket.priority][ticket] = None
        ticket.admitted_at = now
        ticket.settle(State.ADMITTED)
        self._observer.scheduled(ticket.priority, "admitted")
        self._observer.waited(ticket.priority, now - ticket.asked_at)

    def _vacate(self, ticket: Ticket) -> None:
        self._used -= 1
        self._inflight[ticket.priority] -= 1
        self._uploading[ticket.priority].pop(ticket, None)

    def _turn_away(self, ticket: Ticket, refusal: Refusal, outcome: str) -> None:
        ticket.settle(State.REFUSED, refusal)
        self._observer.scheduled(ticket.priority, outcome)
