"""Which process of a service serves a connection, and waiting for what a service does."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.service import Service, running

SECONDS = 20.0
"""For anything that has to happen; only a service that is broken takes so long."""


@contextlib.contextmanager
def running_processes(
    *flags: str, processes: int = 2, ready: str = "/readiness", cwd: pathlib.Path | None = None
) -> Iterator[Service]:
    """A service of several processes whose log can be read by `processes_of`."""
    with running("--processes", str(processes), "--log-json", *flags, ready=ready, cwd=cwd) as service:
        yield service


def eventually(condition: Callable[[], Any], what: str) -> Any:
    """Ask until the condition holds, and return what it says."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError(f"does not come true: {what}")


def records(service: Service, event: str) -> list[dict[str, Any]]:
    """All records of the log with this event."""
    lines = service.log.read_text("utf-8", "replace").splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
    return [record for record in found if record["event"] == event]


def processes_of(service: Service) -> dict[int, int]:
    """The process ids by number, as the log says: those that were started last."""
    return {record["number"]: record["pid"] for record in records(service, "process_started")}


def is_alive(pid: int) -> bool:
    """Whether this process runs."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def process_of(service: Service, client: socket.socket) -> int:
    """The id of the process that serves this connection."""
    return int(eventually(lambda: _owner(service, client.getsockname()[1]), "the connection is accepted"))


def _owner(service: Service, client_port: int) -> int | None:
    wanted = f":{service.port:04X}", f":{client_port:04X}"
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(wanted[0]) and fields[2].endswith(wanted[1]):
            return next((pid for pid in processes_of(service).values() if _has_socket(pid, fields[9])), None)
    return None


def _has_socket(pid: int, inode: str) -> bool:
    with contextlib.suppress(OSError):
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{descriptor}") == f"socket:[{inode}]":
                    return True
    return False


def connect_to(service: Service, pid: int) -> socket.socket:
    """A connection that this process serves."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        client = socket.create_connection(("127.0.0.1", service.port), 20)
        if process_of(service, client) == pid:
            return client
        client.close()
    raise AssertionError(f"process {pid} accepts no connection")


class Client(http.client.HTTPConnection):
    """A kept connection that this process serves."""

    def __init__(self, service: Service, pid: int) -> None:
        super().__init__("127.0.0.1", service.port, timeout=SECONDS)
        self.auto_open = False  # another connection could be served by another process
        self.sock = connect_to(service, pid)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and JSON of the answer."""
        raw = None if body is None else json.dumps(body)
        self.request(method, path, raw, {} if raw is None else {"content-type": "application/json"})
        answer = self.getresponse()
        return answer.status, json.loads(answer.read())


def metrics_of(service: Service) -> dict[str, float]:
    """All numbers, by name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{service.metrics_port}/metrics", timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:1] not in "#")}


def await_metric(service: Service, name: str, value: float) -> None:
    """Ask until a metric has this value."""
    eventually(lambda: metrics_of(service).get(name) == value, f"{name} is {value}")
