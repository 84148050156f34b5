"""Admission in a serving process: places that the supervisor has lent are given out here, others are asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from sys import maxsize
from typing import TypeAlias

from sluicegate.admission.observer import Observer
from sluicegate.admission.ticket import Refusal
from sluicegate.server.admission import answer, tenant_of
from sluicegate.server.request import Request
from sluicegate.server.response import Refused, Response

from .messages import (
    Admitted,
    Ask,
    AskAgain,
    Charge,
    Charged,
    Leave,
    Lend,
    NotAdmitted,
    Returned,
    Started,
    ToSupervisor,
)

Send: TypeAlias = Callable[[ToSupervisor], None]


class RemotePlace:
    """A place among the requests in progress of the whole service."""

    __slots__ = ("_admission", "_cancel", "_tenant", "_ticket", "refusal")

    def __init__(self, admission: RemoteAdmission, ticket: int, tenant: str) -> None:
        self._admission = admission
        self._ticket = ticket
        self._tenant = tenant
        self._cancel: Callable[[], object] | None = None
        self.refusal: Response | None = None
        """Set when the place was taken away."""

    @property
    def cancel(self) -> Callable[[], object] | None:
        """What ends the reading of the body. Once it is None again the place can no longer be taken away."""
        return self._cancel

    @cancel.setter
    def cancel(self, cancel: Callable[[], object] | None) -> None:
        self._cancel = cancel
        if cancel is None:
            self._admission.start(self._ticket)
        elif self.refusal is not None:
            asyncio.get_running_loop().call_soon(self._end_reading)  # the reading has not begun yet

    def take_away(self, refusal: Refusal) -> None:
        """The supervisor has given the place to another request."""
        self.refusal = answer(refusal)
        self._end_reading()

    def _end_reading(self) -> None:
        if self._cancel is not None:
            self._cancel()

    def charge(self, request: Request, model: str, characters: int) -> Awaitable[None] | None:
        """Count the characters of the prompts, or the ids. What it returns raises `Refused`."""
        del request
        return self._admission.charge(self._ticket, self._tenant, model, characters)

    def release(self) -> None:
        """Give the place back; once is enough, twice is harmless."""
        self._admission.leave(self._ticket)


class RemoteAdmission:
    """Belongs to one event loop. `knows_tenants` says that tenants or classes are told apart, `tenant_header` where
    requests may name theirs. `observer` is told of what is admitted here.
    """

    def __init__(
        self, send: Send, *, knows_tenants: bool, tenant_header: bytes | None, observer: Observer | None = None
    ) -> None:
        self._send = send
        self._knows_tenants = knows_tenants
        self._tenant_header = tenant_header
        self._observer = observer or Observer()
        self._numbers = count(1)
        self._epoch = 0
        self._lent = 0
        self._held: set[int] = set()  # tickets in places that are lent
        # Tickets that the supervisor counts one by one; None where nothing can be taken away.
        self._remote: dict[int, RemotePlace | None] = {}
        self._asking: dict[int, asyncio.Future[Refusal | bool]] = {}
        self._charging: dict[int, asyncio.Future[Refusal | None]] = {}

    @property
    def inflight(self) -> int:
        """Requests that are in progress in lent places: the supervisor knows the others."""
        return len(self._held)

    @property
    def waiting(self) -> int:
        """Requests wait at the supervisor."""
        return 0

    # ------------------------------------------------------------ requests

    def admit_now(self, request: Request) -> RemotePlace | None:
        """A lent place if there is one, None if `admit` has to be asked."""
        del request  # where places are lent, all requests are equal
        if len(self._held) >= self._lent:
            return None
        ticket = next(self._numbers)
        self._held.add(ticket)
        self._observer.limited(allowed=True)
        return RemotePlace(self, ticket, "")

    async def admit(self, request: Request) -> RemotePlace:
        """Wait for a place. Raises `Refused`."""
        tenant = tenant_of(request, self._tenant_header) if self._knows_tenants else ""
        while True:
            place = self.admit_now(request) or await self._ask(tenant, request.headers.get(b"x-smg-priority"))
            if place is not None:
                return place

    async def _ask(self, tenant: str, priority: bytes | None) -> RemotePlace | None:
        ticket = next(self._numbers)
        outcome = self._asking[ticket] = asyncio.get_running_loop().create_future()
        # What comes for this ticket from now on is meant for this place, whether its request has woken up or not.
        place = self._remote[ticket] = RemotePlace(self, ticket, tenant)
        self._send(Ask(ticket, self._epoch, tenant, priority))
        try:
            decided = await outcome
        except asyncio.CancelledError:
            self.leave(ticket)
            raise
        finally:
            self._asking.pop(ticket, None)
        if decided is True:
            return place
        self._remote.pop(ticket, None)
        if isinstance(decided, Refusal):
            raise Refused(answer(decided))
        return None

    def start(self, ticket: int) -> None:
        """The body of a request has been read."""
        if self._knows_tenants and ticket in self._remote:
            self._send(Started(ticket))

    def charge(self, ticket: int, tenant: str, model: str, characters: int) -> Awaitable[None] | None:
        """Count the characters of a request, or nothing where all requests are equal."""
        return self._charge(ticket, tenant, model, characters) if self._knows_tenants else None

    async def _charge(self, ticket: int, tenant: str, model: str, characters: int) -> None:
        outcome = self._charging[ticket] = asyncio.get_running_loop().create_future()
        self._send(Charge(ticket, tenant, model, characters))
        try:
            refusal = await outcome
        finally:
            del self._charging[ticket]
        if refusal is not None:
            raise Refused(answer(refusal))

    def leave(self, ticket: int) -> None:
        """Give a place back, or stop waiting for it."""
        if ticket in self._held:
            self._held.remove(ticket)
        elif ticket in self._remote:
            del self._remote[ticket]
            self._send(Leave(ticket))

    # ------------------------------------------------------------ the supervisor

    def receive(self, message: Lend | Admitted | NotAdmitted | AskAgain | Charged) -> None:
        """Do what the supervisor says."""
        match message:
            case Lend(epoch, places):
                self._lend(epoch, places)
            case Admitted(ticket):
                self._decide(ticket, True)
            case AskAgain(ticket):
                self._decide(ticket, False)
            case NotAdmitted(ticket, refusal):
                if not self._decide(ticket, refusal) and (place := self._remote.get(ticket)) is not None:
                    place.take_away(refusal)
            case Charged(ticket, refused):
                outcome = self._charging.get(ticket)
                if outcome is not None and not outcome.done():
                    outcome.set_result(refused)

    def begin(self, epoch: int, places: int | None) -> None:
        """Take over what is lent to a process that has no requests yet."""
        self._epoch, self._lent = epoch, maxsize if places is None else places

    def _lend(self, epoch: int, places: int | None) -> None:
        self.begin(epoch, places)
        if self._lent:
            # Requests that have asked meanwhile are told to ask again.
            admitted = self._remote.keys() - self._asking.keys()
            self._held |= admitted
            for ticket in admitted:
                del self._remote[ticket]
        else:
            self._remote |= dict.fromkeys(self._held)
            self._send(Returned(epoch, [*self._held]))
            self._held.clear()

    def _decide(self, ticket: int, outcome: Refusal | bool) -> bool:
        """Tell the request that waits; whether it did."""
        waiting = self._asking.pop(ticket, None)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(outcome)
        return True
