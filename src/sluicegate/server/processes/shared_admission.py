"""Admission for all serving processes, decided by the supervisor.

Where requests are all equal and nothing but their number is limited, processes are lent places while few are taken,
each an equal share: they give them out without asking, and together never more than there are. As soon as one process
needs more than its share, all shares are called back, and every request is decided here, in the order of asking.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from sluicegate.admission.limiter import Limiter
from sluicegate.admission.ticket import State, Ticket
from sluicegate.server.admission import ServiceAdmission

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
    ToProcess,
)

Send: TypeAlias = Callable[[ToProcess], None]
Question: TypeAlias = Ask | Started | Charge | Leave | Returned


class Holder:
    """A serving process, as far as its places go. `send` reaches it."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.tickets: dict[int, Ticket] = {}


class SharedAdmission:
    """Belongs to one event loop. `lends` says whether places may be lent, to so many `processes`."""

    def __init__(self, admission: ServiceAdmission, *, lends: bool, processes: int) -> None:
        self._admission = admission
        self._gate = admission.gate
        capacity = admission.pool.capacity
        self._unlimited = lends and capacity is None
        self._share = capacity // processes if lends and capacity is not None else 0
        self._holders: set[Holder] = set()
        self._owing: set[Holder] = set()  # those that have not given back what was lent to them
        self._questions: deque[tuple[Holder, Ask]] = deque()  # while some owe
        self.epoch = 1
        self._lent = self._unlimited or self._share > 0

    @property
    def places(self) -> int | None:
        """What each process is lent now; None: any number."""
        if self._unlimited:
            return None
        return self._share if self._lent and not self._owing else 0

    def join(self, holder: Holder) -> None:
        """A process has started, and knows `epoch` and `places`."""
        self._holders.add(holder)

    def leave(self, holder: Holder) -> None:
        """A process has ended: all its places are free."""
        self._holders.discard(holder)
        self._questions = deque(entry for entry in self._questions if entry[0] is not holder)
        # Those that wait go first, or they would get the places of the others.
        for ticket in sorted(holder.tickets.values(), key=lambda ticket: ticket.state is not State.WAITING):
            ticket.on_change = None
            self._gate.leave(ticket)
        holder.tickets.clear()
        self._given_back(holder)

    def receive(self, holder: Holder, message: Question) -> None:
        """Do what a process asks for."""
        match message:
            case Ask():
                self._ask(holder, message)
            case Leave(number):
                self._leave(holder, number)
            case Started(number):
                ticket = holder.tickets.get(number)
                if ticket is not None and ticket.state is State.ADMITTED:
                    self._admission.start(ticket)
            case Charge(number, tenant, model, characters):
                ticket = holder.tickets.get(number)
                refusal = None if ticket is None else ticket.refusal
                if refusal is None:
                    refusal = self._admission.charge(tenant, model, characters)
                holder.send(Charged(number, refusal))
            case Returned(epoch, tickets):
                assert epoch == self.epoch
                for number in tickets:
                    self._adopt(holder, number)
                self._given_back(holder)

    def lend_if_quiet(self) -> None:
        """Lend places again if nobody waits and every process has more than enough in its share."""
        if self._lent or self._unlimited or self._share == 0 or self._admission.pool.waiting:
            return
        if any(len(holder.tickets) > self._share // 2 for holder in self._holders):
            return
        self._lent = True
        self.epoch += 1
        for holder in self._holders:
            for ticket in holder.tickets.values():
                self._gate.leave(ticket)  # counted by the process from now on
            holder.tickets.clear()
            holder.send(Lend(self.epoch, self._share))

    # ------------------------------------------------------------ one request

    def _ask(self, holder: Holder, question: Ask) -> None:
        if self._lent and not self._owing:
            if question.epoch < self.epoch:
                holder.send(AskAgain(question.ticket))
                return
            self._call_back()
        if self._owing:
            self._questions.append((holder, question))
        else:
            self._decide(holder, question)

    def _decide(self, holder: Holder, question: Ask) -> None:
        ticket = self._admission.ask(question.tenant, question.priority)
        if ticket.refusal is not None:
            holder.send(NotAdmitted(question.ticket, ticket.refusal))
            return
        holder.tickets[question.ticket] = ticket
        ticket.on_change = partial(self._changed, holder, question.ticket, ticket)
        if ticket.state is State.ADMITTED:
            holder.send(Admitted(question.ticket))

    def _changed(self, holder: Holder, number: int, ticket: Ticket) -> None:
        """A ticket that waited is decided, or one that was admitted has lost its place."""
        if ticket.refusal is None:
            holder.send(Admitted(number))
            return
        holder.send(NotAdmitted(number, ticket.refusal))
        if ticket.state is State.REFUSED:
            del holder.tickets[number]

    def _leave(self, holder: Holder, number: int) -> None:
        ticket = holder.tickets.pop(number, None)
        if ticket is not None:
            ticket.on_change = None
            self._gate.leave(ticket)
        elif self._questions:
            # It waits for others to give back, or was left while its place was lent.
            self._questions = deque(
                entry for entry in self._questions if entry[0] is not holder or entry[1].ticket != number
            )

    # ------------------------------------------------------------ lending

    def _call_back(self) -> None:
        self.epoch += 1
        self._owing = set(self._holders)
        for holder in self._holders:
            holder.send(Lend(self.epoch, 0))

    def _adopt(self, holder: Holder, number: int) -> None:
        pool: Any = self._admission.pool
        assert isinstance(pool, Limiter)  # a scheduler lends nothing
        ticket = holder.tickets[number] = Ticket()
        pool.adopt(ticket, asyncio.get_running_loop().time())

    def _given_back(self, holder: Holder) -> None:
        if holder not in self._owing:
            return
        self._owing.discard(holder)
        if self._owing:
            return
        self._lent = False
        questions, self._questions = self._questions, deque()
        for asker, question in questions:
            self._decide(asker, question)
