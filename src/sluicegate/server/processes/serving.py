"""A serving process: the service without what belongs to the supervisor."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from typing import Any, TypeAlias

import uvloop
from prometheus_client import CollectorRegistry

from sluicegate.admission.observer import TenantLabels
from sluicegate.core.errors import InvalidSetting
from sluicegate.server.admission import tenant_header
from sluicegate.server.admission_metrics import AdmissionMetrics
from sluicegate.server.connections import Connections
from sluicegate.server.control import Control, ControlPlane
from sluicegate.server.identifiers import new_identifier
from sluicegate.server.lifecycle import prepare_process
from sluicegate.server.listeners import timeouts, tls_context
from sluicegate.server.loading import LocalLoader
from sluicegate.server.logs import configure_logs, get_logger
from sluicegate.server.planes import Admission
from sluicegate.server.service import Service
from sluicegate.server.state import ServiceState
from sluicegate.server.upkeep import TICK_SECONDS, drain, sweep, tick
from sluicegate.settings import Settings
from sluicegate.tokenizers.errors import TokenizerLoadError
from sluicegate.tokenizers.store import TokenizerStore

from .accepting import SharedListener
from .channel import Channel
from .connection_counts import ConnectionCounts
from .forwarding import ForwardedControl
from .messages import (
    Accept,
    Admitted,
    Answer,
    AskAgain,
    Charged,
    Discard,
    Drain,
    Family,
    Hurry,
    Lend,
    Load,
    Measure,
    Measured,
    NotAdmitted,
    Publish,
    Ready,
    Remove,
    SetParsers,
    ToProcess,
    ToSupervisor,
    Welcome,
    read_to_process,
)
from .own_tokenizers import OwnTokenizers
from .remote_admission import RemoteAdmission, Send
from .sharing import lends_places, tells_tenants_apart
from .summed_metrics import families_of

InTurn: TypeAlias = Publish | Remove | SetParsers | Accept


class PartsOfProcess:
    """What a serving process has in common with the others: it asks the supervisor, by `send`."""

    tokenizers: OwnTokenizers
    forwarded: ForwardedControl
    remote: RemoteAdmission

    def __init__(self, send: Send) -> None:
        self._send = send

    def store(self) -> TokenizerStore:
        """See `SharedParts`."""
        return TokenizerStore(new_identifier)

    def control(self, state: ServiceState) -> Control:
        """See `SharedParts`."""
        loader = LocalLoader(state.settings, state.metrics.registry)
        self.tokenizers = OwnTokenizers(state.store, loader, self._send)
        self.forwarded = ForwardedControl(ControlPlane(state, loader), self.tokenizers, self._send)
        return self.forwarded

    def admission(self, settings: Settings, registry: CollectorRegistry) -> tuple[Admission, tuple[str, ...]]:
        """See `SharedParts`."""
        metrics = AdmissionMetrics(TenantLabels(0))
        self.remote = RemoteAdmission(
            self._send,
            knows_tenants=tells_tenants_apart(settings),
            tenant_header=tenant_header(settings),
            observer=metrics,
        )
        if lends_places(settings):
            metrics.pool = self.remote
            registry.register(metrics)
        return self.remote, ()


class ServingProcess:
    """One serving process, from its first message to its end.

    `listening` is the socket that all of them share, `counts` the descriptor of the numbers of their connections.
    """

    def __init__(self, listening: socket.socket, counts: int) -> None:
        self._listening = listening
        self._counts = counts
        self._channel: Channel[ToProcess, ToSupervisor] = Channel(read_to_process, self._receive, self._closed)
        self._parts = PartsOfProcess(self._channel.send)
        self._welcomed: asyncio.Future[Welcome] = asyncio.get_running_loop().create_future()
        self._in_turn: asyncio.Queue[InTurn] = asyncio.Queue()
        self._stop: asyncio.Queue[signal.Signals] = asyncio.Queue()
        self._grace = 0.0
        self._is_closed = asyncio.Event()
        self._told: list[Family] = []

    async def run(self, end: socket.socket) -> int:
        """Serve until the supervisor says otherwise, or is gone; the exit status."""
        await self._channel.open(end)
        welcome = await self._first(self._welcomed)
        if welcome is None:
            return 1
        try:
            return await self._serve(welcome)
        except (InvalidSetting, TokenizerLoadError) as error:
            get_logger().error("process_cannot_serve", reason=str(error))
            return 1

    async def _first(self, awaited: asyncio.Future[Welcome]) -> Welcome | None:
        closed = asyncio.ensure_future(self._is_closed.wait())
        either: set[asyncio.Future[Any]] = {awaited, closed}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        closed.cancel()
        return awaited.result() if awaited.done() else None

    async def _serve(self, welcome: Welcome) -> int:
        settings, service = welcome.settings, self._service
        tls = tls_context(settings)
        main: SharedListener

        def changed(change: int) -> None:
            service.metrics.connections_changed(change)
            main.count()

        connections = Connections(timeouts(settings), changed)
        counts = ConnectionCounts(self._counts, settings.processes)
        main = SharedListener(self._listening, service.application, connections, counts, welcome.number)
        sweep([connections])
        await service.start()

        async def change() -> None:
            for published in welcome.published:
                await self._parts.tokenizers.publish(published)
            self._channel.send(Ready())
            while True:
                message = await self._in_turn.get()
                if isinstance(message, Accept):
                    await main.start(tls)
                else:
                    await self._parts.tokenizers.apply(message)

        beside = [asyncio.create_task(work) for work in (tick([connections]), self._report())]
        changing = asyncio.create_task(change())
        stopped = asyncio.create_task(self._stop.get())
        closed = asyncio.create_task(self._is_closed.wait())
        await asyncio.wait({changing, stopped, closed}, return_when=asyncio.FIRST_COMPLETED)
        if changing.done():
            changing.result()  # it only ever ends with an error
        if not self._is_closed.is_set():
            await drain(connections, self._grace, self._stop)
        main.close()
        for task in (*beside, changing, stopped, closed):
            task.cancel()
        await service.stop()
        self._measure(0)
        self._channel.close()
        return 0

    # ------------------------------------------------------------ the supervisor

    def _receive(self, message: ToProcess) -> None:
        match message:
            case Welcome():
                self._begin(message)
            case Publish() | Remove() | SetParsers() | Accept():
                self._in_turn.put_nowait(message)
            case Load():
                self._parts.tokenizers.load(message)
            case Discard():
                self._parts.tokenizers.discard(message)
            case Answer():
                self._parts.forwarded.receive(message)
            case Lend() | Admitted() | NotAdmitted() | AskAgain() | Charged():
                self._parts.remote.receive(message)
            case Measure(number):
                self._measure(number)
            case Drain(grace):
                self._grace = grace
                self._stop.put_nowait(signal.SIGTERM)
            case Hurry():
                self._stop.put_nowait(signal.SIGINT)

    def _begin(self, welcome: Welcome) -> None:
        """Make the service at once: the messages that follow are meant for it."""
        settings = welcome.settings
        configure_logs(
            settings.log_level, as_json=settings.log_json, directory=settings.log_dir, process=welcome.number
        )
        _show_title(welcome.number, settings.processes)
        try:
            self._service = Service(settings, self._parts)
        except InvalidSetting as error:
            self._welcomed.set_exception(error)
            return
        self._parts.tokenizers.parsers = welcome.parsers
        self._parts.remote.begin(welcome.epoch, welcome.places)
        self._welcomed.set_result(welcome)

    def _closed(self) -> None:
        self._is_closed.set()

    async def _report(self) -> None:
        """Tell the metrics now and then, so that few are lost if this process is killed."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self._measure(0)

    def _measure(self, number: int) -> None:
        families = families_of(self._service.metrics.registry)
        if number or families != self._told:
            self._told = families
            self._channel.send(Measured(number, families))


def _show_title(number: int, processes: int) -> None:
    try:
        from setproctitle import setproctitle  # noqa: PLC0415 - a convenience
    except ModuleNotFoundError:
        return
    setproctitle(f"sluicegate serve: process {number} of {processes}")


async def _run(end: socket.socket, listening: socket.socket, counts: int) -> int:
    return await ServingProcess(listening, counts).run(end)


def main() -> None:
    """Serve. The arguments are inherited descriptors: the socket to the supervisor, the shared one, and the counts."""
    # The supervisor gets the signals, and says when this process is to end.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    prepare_process()
    end, listening, counts = map(int, sys.argv[1:4])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.exit(runner.run(_run(socket.socket(fileno=end), socket.socket(fileno=listening), counts)))
