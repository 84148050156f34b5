"""From the settings to a running service, and from a signal to its end."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
import time

import uvloop

from sluicegate.settings import Settings

from .connections import Connections
from .listeners import Listener, bind, metrics_application, probes_application, timeouts, tls_context
from .logs import configure_logs, get_logger
from .playground import PREFIX as PLAYGROUND
from .service import Service

TICK_SECONDS = 0.25
QUIET_TICKS = 2  # without a request in progress, before a draining service ends
INTERRUPT_GRACE_SECONDS = 5.0


def run(settings: Settings, *, ignored_flags: tuple[str, ...] = ()) -> None:
    """Serve until SIGTERM or SIGINT. Raises `InvalidSetting` when the service cannot start with these settings.

    `ignored_flags` were given although they have no effect here; the log says so.
    """
    configure_logs(settings.log_level, as_json=settings.log_json, directory=settings.log_dir)
    for flag in ignored_flags:
        get_logger().warning("flag_without_effect", flag=flag)
    _allow_many_connections()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings))


def _allow_many_connections() -> None:
    """Use all the file descriptors that this process may have: what it starts with is often as few as 1,024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _serve(settings: Settings) -> None:
    log = get_logger()
    service = Service(settings)
    tls = tls_context(settings)
    main = Listener(
        bind("port", settings.host, settings.port),
        service.application,
        Connections(timeouts(settings), service.metrics.connections_changed),
    )
    metrics = Listener(
        bind("prometheus_port", settings.metrics_host, settings.prometheus_port),
        metrics_application(service.metrics),
        Connections(timeouts(settings)),
    )
    listeners = [main, metrics]
    if settings.health_check_port is not None:
        probes = Listener(
            bind("health_check_port", settings.host, settings.health_check_port),
            probes_application(service.health_routes),
            Connections(timeouts(settings)),
        )
        listeners.append(probes)
    stop: asyncio.Queue[signal.Signals] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.put_nowait, number)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    _sweep(listeners)
    for listener in listeners:
        await listener.start(tls if listener is main else None)
    ticking = asyncio.create_task(_tick(listeners))
    await service.start()
    log.info("listening", host=settings.host, port=settings.port, tls=tls is not None)
    if settings.shows_playground:
        log.info("playground", url=_playground_url(settings, tls is not None))
    received = await stop.get()
    grace = settings.shutdown_grace_period_secs
    if received == signal.SIGINT:
        grace = min(grace, INTERRUPT_GRACE_SECONDS)
    log.info("draining", signal=received.name, grace_seconds=grace)
    service.state.draining = True
    await _drain(main.connections, grace, stop)
    for listener in listeners:
        listener.stop_accepting()
        for connection in list(listener.connections.open):
            connection.transport.close()
    ticking.cancel()
    await service.stop()
    log.info("stopped")


def _playground_url(settings: Settings, tls: bool) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    # Nobody can go to "all addresses", but this machine is one of them.
    host = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)  # noqa: S104
    return f"{'https' if tls else 'http'}://{host}:{settings.port}{PLAYGROUND}/"


async def _tick(listeners: list[Listener]) -> None:
    while True:
        await asyncio.sleep(TICK_SECONDS)
        _sweep(listeners)


def _sweep(listeners: list[Listener]) -> None:
    now, wall_clock = time.monotonic(), time.time()
    for listener in listeners:
        listener.connections.sweep(now, wall_clock)


async def _drain(connections: Connections, grace: float, stop: asyncio.Queue[signal.Signals]) -> None:
    """Wait until no request has been in progress for a moment; new ones are still served. `grace` is the bound.

    A second SIGINT ends the wait.
    """
    connections.draining = True
    deadline = time.monotonic() + grace
    quiet = 0
    while quiet < QUIET_TICKS and time.monotonic() < deadline:
        now = time.monotonic()
        connections.close_idle(now)
        quiet = 0 if connections.in_progress(now) else quiet + 1
        try:
            async with asyncio.timeout(0.05):
                if await stop.get() == signal.SIGINT:
                    return
        except TimeoutError:
            pass
