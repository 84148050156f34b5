"""From the settings to a running service, and from a signal to its end."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sys

import uvloop

from sluicegate.settings import Settings

from .connections import Connections
from .listeners import Listener, bind, side_listeners, timeouts, tls_context
from .logs import configure_logs, get_logger
from .memory import freeze_present_objects
from .service import Service
from .upkeep import drain, grace_after, log_listening, signals, sweep, tick

SWITCH_SECONDS = 0.00005
"""How long a thread may keep the interpreter while another wants it; a hundredth of what Python starts with."""


def run(settings: Settings, *, ignored_flags: tuple[str, ...] = ()) -> None:
    """Serve until SIGTERM or SIGINT. Raises `InvalidSetting` when the service cannot start with these settings.

    `ignored_flags` were given although they have no effect here; the log says so.
    """
    configure_logs(settings.log_level, as_json=settings.log_json, directory=settings.log_dir)
    for flag in ignored_flags:
        get_logger().warning("flag_without_effect", flag=flag)
    prepare_process()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if settings.processes == 1:
            runner.run(_serve(settings))
        else:
            from .processes.supervisor import supervise  # noqa: PLC0415 - only where there are several

            runner.run(supervise(settings))


def prepare_process() -> None:
    """Use all the file descriptors that this process may have: what it starts with is often as few as 1,024.

    And let threads that work on long inputs, and garbage collections, give way to the event loop soon.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    freeze_present_objects()
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
    side = side_listeners(settings, service.metrics.exposition, service.health_routes)
    all_connections = [listener.connections for listener in (main, *side)]
    stop = signals()

    sweep(all_connections)
    await main.start(tls)
    for listener in side:
        await listener.start()
    ticking = asyncio.create_task(tick(all_connections))
    service.warn()
    await service.start()
    log_listening(settings)
    received = await stop.get()
    grace = grace_after(received, settings.shutdown_grace_period_secs)
    log.info("draining", signal=received.name, grace_seconds=grace)
    service.state.draining = True
    await drain(main.connections, grace, stop)
    for listener in (main, *side):
        listener.close()
    ticking.cancel()
    await service.stop()
    log.info("stopped")
