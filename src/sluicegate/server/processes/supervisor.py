"""Starts the serving processes, replaces those that end, and keeps what they have in common."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import time
from collections.abc import Coroutine
from typing import Any

from prometheus_client import CollectorRegistry

from sluicegate.core.errors import SluicegateError
from sluicegate.server.admission import ServiceAdmission, observed_admission
from sluicegate.server.control import Control, ControlPlane
from sluicegate.server.listeners import bind, side_listeners, tls_context
from sluicegate.server.logs import get_logger
from sluicegate.server.planes import Admission
from sluicegate.server.request import Request
from sluicegate.server.response import Response
from sluicegate.server.routing import Endpoint, Route, RouteTable
from sluicegate.server.service import Service
from sluicegate.server.state import ServiceState
from sluicegate.server.upkeep import TICK_SECONDS, grace_after, log_listening, signals, sweep, tick
from sluicegate.settings import Settings

from .connection_counts import ABSENT, ConnectionCounts, make_file
from .forwarding import READINESS, ForwardedAnswers
from .member import Member
from .messages import (
    Accept,
    Applied,
    Ask,
    Charge,
    Drain,
    Forward,
    Hurry,
    Leave,
    Loaded,
    NotLoaded,
    Ready,
    Returned,
    Started,
    ToSupervisor,
    Welcome,
)
from .shared_admission import SharedAdmission
from .shared_tokenizers import Fleet, SharedLoader, SharedStore
from .sharing import lends_places, settings_of_processes
from .summed_metrics import SummedMetrics, families_of

STEADY_SECONDS = 5.0
"""A process that has lived so long has not failed at its start."""
FAILURES = 5
"""Starts in a row that may fail before the service gives up, if it has not begun to serve or no process is left."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.25, 30.0
NOT_STARTED = -1
"""Exit status of a process that the system did not start."""
MEASURE_SECONDS = 2.0
KILL_SECONDS = 0.1
"""Between two looks whether a process has begun that is not wanted any more."""
LATE_SECONDS = 5.0
"""Time that processes have beyond their grace period, before they are killed."""


class ServiceFailed(SluicegateError):
    """No process can serve."""


class SharedPartsOfAll:
    """What the supervisor keeps for all processes."""

    admission_of_all: ServiceAdmission

    def __init__(self) -> None:
        self.fleet = Fleet()

    def store(self) -> SharedStore:
        """See `SharedParts`."""
        return SharedStore(self.fleet)

    def control(self, state: ServiceState) -> Control:
        """See `SharedParts`."""
        plane = ControlPlane(state, SharedLoader(self.fleet, asyncio.get_running_loop()))
        plane.workers.parsers_changed = self.fleet.set_parsers
        return plane

    def admission(self, settings: Settings, registry: CollectorRegistry) -> tuple[Admission, tuple[str, ...]]:
        """See `SharedParts`."""
        self.admission_of_all, warnings = observed_admission(settings, registry)
        return self.admission_of_all, warnings


async def supervise(settings: Settings) -> None:
    """Serve with several processes until SIGTERM or SIGINT. Raises `InvalidSetting` and `ServiceFailed`."""
    log = get_logger()
    parts = SharedPartsOfAll()
    service = Service(settings, parts)
    tls_context(settings)  # what cannot be used is refused before any process starts
    with bind("port", settings.host, settings.port) as listening:
        supervisor = Supervisor(settings, service, parts, listening)
        side = side_listeners(settings, supervisor.exposition, supervisor.probes())
        side_connections = [listener.connections for listener in side]
        stop = signals()
        sweep(side_connections)
        for listener in side:
            await listener.start()
        ticking = asyncio.create_task(tick(side_connections))
        service.warn()
        try:
            received = await supervisor.run(stop)
            grace = grace_after(received, settings.shutdown_grace_period_secs)
            log.info("draining", signal=received.name, grace_seconds=grace)
            service.state.draining = True
            listening.close()
            await supervisor.drain(grace, stop)
        finally:
            await supervisor.end()
            for listener in side:
                listener.close()
            ticking.cancel()
            await service.control.stop()
    log.info("stopped")


class Supervisor:
    """Keeps `settings.processes` processes alive that serve on `listening`. Belongs to one event loop."""

    def __init__(self, settings: Settings, service: Service, parts: SharedPartsOfAll, listening: socket.socket) -> None:
        self._settings = settings
        self._settings_of_processes = settings_of_processes(settings)
        self._service = service
        self._fleet = parts.fleet
        self._admission = SharedAdmission(
            parts.admission_of_all, lends=lends_places(settings), processes=settings.processes
        )
        self._answers = ForwardedAnswers((*service.control.health, *service.control.routes), self._fleet.settled)
        self._metrics = SummedMetrics()
        self._counts_file = make_file(settings.processes)
        self._counts = ConnectionCounts(self._counts_file.fileno(), settings.processes)
        self._listening = listening
        self._members: dict[int, Member] = {}
        self._has_begun = False
        self._ending = asyncio.Event()
        self._keeping: list[asyncio.Task[None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._log = get_logger()
        service.state.obstacle = self._obstacle

    # ------------------------------------------------------------ life

    async def run(self, stop: asyncio.Queue[signal.Signals]) -> signal.Signals:
        """Keep the processes alive until a signal comes, and return it. Raises `ServiceFailed`."""
        self._keeping = [asyncio.create_task(self._keep(number + 1)) for number in range(self._settings.processes)]
        self._begin(self._lend())
        stopping = asyncio.ensure_future(stop.get())
        await asyncio.wait({stopping, *self._keeping}, return_when=asyncio.FIRST_COMPLETED)
        if stopping.done():
            return stopping.result()
        stopping.cancel()
        for task in self._keeping:
            if task.done():
                task.result()
        raise AssertionError("unreachable: processes are kept until they fail")

    async def drain(self, grace: float, stop: asyncio.Queue[signal.Signals]) -> None:
        """Let all processes end: each once it has no request left, at the latest after `grace` seconds."""
        self._ending.set()
        self._tell(Drain(grace))
        deadline = time.monotonic() + grace + LATE_SECONDS
        waiting = set(self._keeping)
        signalled = asyncio.ensure_future(stop.get())
        while waiting and time.monotonic() < deadline:
            done, _ = await asyncio.wait(
                {*waiting, signalled}, timeout=deadline - time.monotonic(), return_when=asyncio.FIRST_COMPLETED
            )
            waiting -= done
            if signalled in done:
                if signalled.result() == signal.SIGINT:
                    self._tell(Hurry())
                signalled = asyncio.ensure_future(stop.get())
        signalled.cancel()

    async def end(self) -> None:
        """End what is still there, and wait until it has ended: the event loop cannot close before."""
        self._ending.set()
        waiting = {task for task in self._keeping if not task.done()}
        while waiting:
            for member in [*self._members.values()]:
                member.kill()
            _, waiting = await asyncio.wait(waiting, timeout=KILL_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._counts_file.close()

    async def _keep(self, number: int) -> None:
        """Start one process again and again. Raises `ServiceFailed`."""
        failures = 0
        while not self._ending.is_set():
            member, started = Member(number, self._receive), time.monotonic()
            status = await self._live(member)
            if self._ending.is_set():
                return
            failures = 0 if member.accepts and time.monotonic() - started >= STEADY_SECONDS else failures + 1
            self._log.error("process_ended", number=number, pid=member.pid, status=status)
            serves = self._has_begun and any(other.accepts for other in self._members.values())
            if failures >= FAILURES and not serves:
                raise ServiceFailed(f"no process can serve: {failures} starts in a row have failed, see the log")
            if failures > 1:
                with contextlib.suppress(TimeoutError):
                    pause = min(FIRST_PAUSE_SECONDS * 2 ** (failures - 2), LONGEST_PAUSE_SECONDS)
                    await asyncio.wait_for(self._ending.wait(), pause)

    async def _live(self, member: Member) -> int:
        """The life of one process; its exit status."""
        try:
            await member.start(self._listening, self._counts_file)
        except OSError as error:
            self._log.error("process_not_started", number=member.number, reason=str(error))
            return NOT_STARTED
        self._log.info("process_started", number=member.number, pid=member.pid)
        # Without a pause between them, so that no change goes past the process.
        self._members[member.number] = member
        member.send(self._welcome(member))
        if self._ending.is_set():
            member.send(Drain(0.0))
        try:
            await member.closed()
        finally:
            del self._members[member.number]
            self._counts.set(member.number, ABSENT)
            self._fleet.leave(member.keeper)
            self._admission.leave(member.holder)
            self._metrics.retire(member.families)
        return await member.status()

    def _welcome(self, member: Member) -> Welcome:
        published, parsers = self._fleet.join(member.keeper)
        self._admission.join(member.holder)
        epoch, places = self._admission.epoch, self._admission.places
        return Welcome(member.number, self._settings_of_processes, published, parsers, epoch, places)

    # ------------------------------------------------------------ what processes say

    def _receive(self, member: Member, message: ToSupervisor) -> None:
        match message:
            case Ask() | Started() | Charge() | Leave() | Returned():
                self._admission.receive(member.holder, message)
            case Forward():
                self._begin(self._answer(member, message))
            case Loaded() | NotLoaded() | Applied():
                self._fleet.receive(member.keeper, message)
            case Ready():
                member.send(Accept())
                member.accepts = member.keeper.accepts = True
                self._begin_service()
            case _:
                raise AssertionError(f"unexpected message {message!r}")

    def _begin_service(self) -> None:
        """Once all processes are there: what goes on in the background."""
        accepting = sum(member.accepts for member in self._members.values())
        if not self._has_begun and accepting == self._settings.processes:
            self._has_begun = True
            self._service.control.start()
            log_listening(self._settings)

    async def _answer(self, member: Member, forward: Forward) -> None:
        member.send(await self._answers.answer(forward))

    async def _lend(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self._admission.lend_if_quiet()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _tell(self, message: Drain | Hurry) -> None:
        for member in self._members.values():
            member.send(message)

    # ------------------------------------------------------------ probes and metrics

    def _obstacle(self) -> str | None:
        if not self._has_begun:
            return "the serving processes are starting"
        return None if any(member.accepts for member in self._members.values()) else "no process serves"

    def probes(self) -> RouteTable:
        """The health routes; readiness waits until all processes are as far as the supervisor."""
        return RouteTable(tuple(self._settled(route) for route in self._service.control.health))

    def _settled(self, route: Route) -> Route:
        if route.path != READINESS:
            return route

        async def ready(request: Request, body: bytes) -> Response:
            await self._fleet.settled()
            response = route.endpoints["GET"].handle(request, body)
            assert isinstance(response, Response)
            return response

        return Route(route.path, route.group, route.shape, {"GET": Endpoint(ready, reads_body=False)})

    async def exposition(self) -> bytes:
        """All metrics of all processes, in the text format."""
        living = [member for member in self._members.values() if member.accepts]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MEASURE_SECONDS):
                await asyncio.gather(*(member.measure() for member in living))
        own = families_of(self._service.metrics.registry)
        return self._metrics.exposition([own, *(member.families for member in self._members.values())])
