"""What goes on beside the requests: signals, the clock of the connections, the wait for the last answers."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterable

from sluicegate.settings import Settings

from .connections import Connections
from .logs import get_logger
from .playground import PREFIX as PLAYGROUND

TICK_SECONDS = 0.25
QUIET_TICKS = 2  # without a request in progress, before a draining service ends
INTERRUPT_GRACE_SECONDS = 5.0


def signals() -> asyncio.Queue[signal.Signals]:
    """The signals that end the service, as they come; SIGHUP is ignored."""
    received: asyncio.Queue[signal.Signals] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, received.put_nowait, number)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return received


def log_listening(settings: Settings) -> None:
    """Log where the service can be reached."""
    log, tls = get_logger(), settings.tls_cert_path is not None
    log.info("listening", host=settings.host, port=settings.port, tls=tls)
    if settings.shows_playground:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        # Nobody can go to "all addresses", but this machine is one of them.
        host = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)  # noqa: S104
        log.info("playground", url=f"{'https' if tls else 'http'}://{host}:{settings.port}{PLAYGROUND}/")


async def tick(connections: Iterable[Connections]) -> None:
    """Look after the time limits of all these connections, until cancelled."""
    while True:
        await asyncio.sleep(TICK_SECONDS)
        sweep(connections)


def sweep(connections: Iterable[Connections]) -> None:
    """Look after the time limits once."""
    now, wall_clock = time.monotonic(), time.time()
    for some in connections:
        some.sweep(now, wall_clock)


async def drain(connections: Connections, grace: float, stop: asyncio.Queue[signal.Signals]) -> None:
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


def grace_after(received: signal.Signals, grace: float) -> float:
    """Seconds that requests in progress have after this signal."""
    return min(grace, INTERRUPT_GRACE_SECONDS) if received == signal.SIGINT else grace
