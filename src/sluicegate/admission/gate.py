"""The way into a pool for asynchronous code: waits, timers and departures, on the running event loop."""

from __future__ import annotations

import asyncio

from sluicegate.admission.ticket import Pool, State, Ticket


class Gate:
    """Lets tickets into a pool. All methods are to be called on one event loop."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._timer: asyncio.TimerHandle | None = None
        self._due: float | None = None

    def ask(self, ticket: Ticket) -> None:
        """Ask for a place. A ticket that is `WAITING` afterwards has to be waited for."""
        self.pool.ask(ticket, asyncio.get_running_loop().time())
        self._set_timer()

    async def wait(self, ticket: Ticket) -> None:
        """Wait until the ticket is admitted or refused. If the wait is cancelled, the ticket leaves."""
        if ticket.state is not State.WAITING:
            return
        changed = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not changed.done():
                changed.set_result(None)

        ticket.on_change = wake
        try:
            await changed
        except asyncio.CancelledError:
            self.leave(ticket)
            raise
        finally:
            ticket.on_change = None

    def leave(self, ticket: Ticket) -> None:
        """Give up the place of the ticket; whoever is next gets it at once."""
        self.pool.leave(ticket, asyncio.get_running_loop().time())
        self._set_timer()

    def advance(self) -> None:
        """Let in who can be let in by now, and turn away who has waited too long."""
        self.pool.advance(asyncio.get_running_loop().time())
        self._set_timer()

    def _set_timer(self) -> None:
        if not self.pool.waiting and self._timer is None:
            return
        loop = asyncio.get_running_loop()
        due = self.pool.next_due(loop.time())
        if due == self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if due is None else loop.call_at(due, self._on_time)
        self._due = due

    def _on_time(self) -> None:
        self._timer = self._due = None
        self.advance()
