"""A real service on free ports, for tests."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass
class Service:
    """A running service: where it listens, its process and what it printed."""

    port: int
    metrics_port: int
    process: subprocess.Popen[bytes]
    log: pathlib.Path

    @property
    def url(self) -> str:
        """Base URL of the main port."""
        return f"http://127.0.0.1:{self.port}"


_given_ports: set[int] = set()


def free_port() -> int:
    """A loopback port that nothing listens on, and none that was given before."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port not in _given_ports:
            _given_ports.add(port)
            return port


@contextlib.contextmanager
def running(
    *flags: str, ready: str = "/readiness", seconds: float = 240, cwd: pathlib.Path | None = None
) -> Iterator[Service]:
    """Start `sluicegate serve` with these flags and end it afterwards."""
    port, metrics_port = free_port(), free_port()
    command = [sys.executable, "-m", "sluicegate", "serve", "--host", "127.0.0.1", "--port", str(port)]
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, "--prometheus-port", str(metrics_port), *flags],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        service = Service(port, metrics_port, process, log)
        try:
            wait_until_ready(service, ready, seconds)
            yield service
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def wait_until_ready(service: Service, path: str, seconds: float) -> None:
    """Ask until the service answers 200, or fail with what it printed."""
    base = f"http://127.0.0.1:{service.metrics_port}" if path == "/metrics" else service.url
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if service.process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(base + path, timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.05)
    raise AssertionError(f"the service is not ready; it printed:\n{service.log.read_text('utf-8', 'replace')}")
