"""The plain limiter: at most so many requests in progress, a first-come queue with a time limit, a sustained rate."""

from __future__ import annotations

from collections import OrderedDict

from sluicegate.admission.bucket import TokenBucket
from sluicegate.admission.observer import Observer
from sluicegate.admission.ticket import Refusal, State, Ticket, whole_seconds

FULL = Refusal(429, "admission_queue_full", "concurrency limit reached and queuing is disabled")
QUEUE_FULL = Refusal(429, "admission_queue_full", "admission queue is full")
TIMED_OUT = Refusal(503, "admission_queue_timeout", "timed out waiting for an admission slot")


class Limiter:
    """Admits in the order of asking.

    `capacity`: most tickets in progress, None for no limit. `queue_size`: most that wait. `queue_timeout`: seconds a
    ticket may wait. `rate`: admissions per second, None for no limit; `burst` is how many may pass at once.
    """

    def __init__(
        self,
        *,
        capacity: int | None,
        queue_size: int,
        queue_timeout: float,
        rate: float | None = None,
        burst: float = 1.0,
        now: float = 0.0,
        observer: Observer | None = None,
    ) -> None:
        self.capacity = capacity
        self._queue_size = queue_size
        self._queue_timeout = queue_timeout
        self._bucket = TokenBucket(burst, rate, now) if rate else None
        self._observer = observer or Observer()
        self._inflight = 0
        # In order of asking, hence also in order of deadline. An ordered dictionary gives up any place at once.
        self._queue: OrderedDict[Ticket, None] = OrderedDict()

    @property
    def inflight(self) -> int:
        """Tickets that are admitted."""
        return self._inflight

    @property
    def waiting(self) -> int:
        """Tickets that wait."""
        return len(self._queue)

    def ask(self, ticket: Ticket, now: float) -> None:
        """Admit the ticket if nobody waits and there is room; else let it wait or refuse it."""
        self.advance(now)
        ticket.asked_at = now
        if not self._queue and self._has_room(now):
            self._admit(ticket, now)
        elif len(self._queue) < self._queue_size:
            ticket.settle(State.WAITING)
            self._queue[ticket] = None
        else:
            self._refuse(ticket, now)

    def enter(self, now: float) -> bool:
        """Admit a request without a ticket, which `exit` ends; false if it would have to wait or be refused."""
        if self._queue or not self._has_room(now):
            return False
        self._take_place(now)
        return True

    def exit(self) -> None:
        """End what `enter` has admitted. If tickets wait, `advance` is due."""
        self._inflight -= 1

    def leave(self, ticket: Ticket, now: float) -> None:
        """Give up the place of a ticket, admitted or waiting."""
        if ticket.state is State.ADMITTED:
            self._inflight -= 1
        elif ticket.state is State.WAITING:
            del self._queue[ticket]
        else:
            return
        ticket.state = State.LEFT
        self.advance(now)

    def adopt(self, ticket: Ticket, now: float) -> None:
        """Count a ticket as admitted that somebody else has admitted to one of these places."""
        self._inflight += 1
        ticket.asked_at = ticket.admitted_at = now
        ticket.state = State.ADMITTED

    def advance(self, now: float) -> None:
        """End waits that have lasted too long; admit from the head of the queue while there is room."""
        while self._queue:
            head = next(iter(self._queue))
            if now >= head.asked_at + self._queue_timeout:
                del self._queue[head]
                self._turn_away(head, TIMED_OUT, "timeout")
            elif self._has_room(now):
                del self._queue[head]
                self._admit(head, now)
            else:
                return

    def next_due(self, now: float) -> float | None:
        """Return when the head of the queue times out or the rate lets it pass."""
        if not self._queue:
            return None
        deadline = next(iter(self._queue)).asked_at + self._queue_timeout
        if self._bucket is None or not self._has_slot():
            return deadline
        return min(deadline, now + (self._bucket.wait(1.0, now) or 0.0))

    def _has_slot(self) -> bool:
        return self.capacity is None or self._inflight < self.capacity

    def _has_room(self, now: float) -> bool:
        return self._has_slot() and (self._bucket is None or self._bucket.holds(1.0, now))

    def _take_place(self, now: float) -> None:
        self._inflight += 1
        if self._bucket is not None:
            self._bucket.take(1.0, now)
        self._observer.limited(allowed=True)

    def _admit(self, ticket: Ticket, now: float) -> None:
        self._take_place(now)
        ticket.admitted_at = now
        ticket.settle(State.ADMITTED)

    def _refuse(self, ticket: Ticket, now: float) -> None:
        if self._queue_size:
            self._turn_away(ticket, QUEUE_FULL, "queue_full")
        elif self._has_slot() and self._bucket is not None:
            wait = whole_seconds(self._bucket.wait(1.0, now) or 0.0)
            message = "request rate limit reached and queuing is disabled"
            self._turn_away(ticket, Refusal(429, "admission_queue_full", message, wait), "rate")
        else:
            self._turn_away(ticket, FULL, "concurrency")

    def _turn_away(self, ticket: Ticket, refusal: Refusal, cause: str) -> None:
        ticket.settle(State.REFUSED, refusal)
        self._observer.limited(allowed=False)
        self._observer.turned_away(cause)
