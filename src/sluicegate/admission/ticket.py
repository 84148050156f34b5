"""What a request holds while it waits for admission, and what it is told when there is no place for it."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class Priority(enum.IntEnum):
    """Classes of the scheduler, low to high."""

    BULK = 0
    DEFAULT = 1
    INTERACTIVE = 2
    SYSTEM = 3

    @property
    def label(self) -> str:
        """Name in settings, headers and metrics."""
        return self.name.lower()

    @classmethod
    def named(cls, name: str) -> Priority | None:
        """Return the class of this name, in any case, or None."""
        return _BY_NAME.get(name.strip().lower())


_BY_NAME = {priority.label: priority for priority in Priority}


class State(enum.Enum):
    """Where a ticket is. `LEFT` is the end of every ticket that has not been turned away."""

    NEW = enum.auto()
    WAITING = enum.auto()
    ADMITTED = enum.auto()
    REFUSED = enum.auto()
    PREEMPTED = enum.auto()
    LEFT = enum.auto()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Answer to a request that is not admitted."""

    status: int
    code: str
    message: str
    retry_after: int | None = 1
    """Seconds; None if no retry can help."""
    preempted: bool = False

    @property
    def error_type(self) -> str:
        """The `type` of the error body."""
        return "rate_limit_error" if self.status == 429 else "server_error"


class Ticket:
    """One request on its way through admission.

    `priority` and `tenant` matter to the scheduler only. `on_change` is called when a waiting ticket is admitted or
    refused, and when an admitted one is preempted; it must not call the pool.
    """

    __slots__ = ("admitted_at", "asked_at", "on_change", "priority", "refusal", "started", "state", "tenant")

    def __init__(self, priority: Priority = Priority.DEFAULT, tenant: str = "") -> None:
        self.priority = priority
        self.tenant = tenant
        self.state = State.NEW
        self.refusal: Refusal | None = None
        self.asked_at = 0.0
        self.admitted_at = 0.0
        self.started = False
        """Whether its body has been read; from then on it cannot be preempted."""
        self.on_change: Callable[[], None] | None = None

    def settle(self, state: State, refusal: Refusal | None = None) -> None:
        """Move the ticket to another state and tell who waits for it."""
        self.state = state
        self.refusal = refusal
        if self.on_change is not None:
            self.on_change()


class Places(Protocol):
    """How many requests are in progress, and how many wait."""

    @property
    def inflight(self) -> int:
        """Tickets that are admitted."""
        ...

    @property
    def waiting(self) -> int:
        """Tickets that wait."""
        ...


class Pool(Places, Protocol):
    """The places for requests in progress. No method waits; `now` is seconds of a clock that only grows."""

    def ask(self, ticket: Ticket, now: float) -> None:
        """Admit a new ticket, let it wait, or refuse it."""
        ...

    def leave(self, ticket: Ticket, now: float) -> None:
        """Give up the place of a ticket, admitted or waiting. Leaving twice, or after a refusal, does nothing."""
        ...

    def advance(self, now: float) -> None:
        """Do what has become due."""
        ...

    def next_due(self, now: float) -> float | None:
        """Return when `advance` has to be called, or None if only other calls can change anything."""
        ...


def whole_seconds(wait: float) -> int:
    """Round a wait up to what `Retry-After` can say."""
    return max(1, math.ceil(wait - 1e-6))
