"""Limits hold for the whole service, whichever process a request comes to."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import (
    await_metric,
    connect_to,
    eventually,
    metrics_of,
    process_of,
    processes_of,
    running_processes,
)
from tests.support.service import Service, running

BODY = json.dumps({"model": "none", "prompt": "four"}).encode()  # an admitted request gets 400: there is no tokenizer
INFLIGHT, WAITING = "smg_admission_inflight", "smg_admission_queue_depth"


class Upload:
    """A request whose body is held back, on a connection that is there already."""

    def __init__(self, client: socket.socket, **headers: str) -> None:
        lines = ["POST /v1/tokenize HTTP/1.1", "host: x", "connection: close", "content-type: application/json"]
        lines += [f"content-length: {len(BODY)}", *(f"{name}: {value}" for name, value in headers.items())]
        self.socket = client
        self.socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + BODY[:1])

    def finish(self) -> tuple[int, dict[str, str], bytes]:
        """Send the rest; status, headers and body of the answer."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may have been answered before
            self.socket.sendall(BODY[1:])
        answer = http.client.HTTPResponse(self.socket)
        answer.begin()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        body = answer.read()
        self.socket.close()
        return answer.status, headers, body

    def code(self) -> Any:
        """The error code of the answer."""
        _, headers, body = self.finish()
        assert headers.get("x-smg-error-code", "tokenizer_not_found") in body.decode()
        return headers.get("x-smg-error-code")


def new(service: Service) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), 20)


def refusal(answer: tuple[int, dict[str, str], bytes]) -> tuple[int, dict[str, str], bytes]:
    """What all answers of this kind have in common."""
    status, headers, body = answer
    return status, {name: value for name, value in headers.items() if name not in ("date", "x-request-id")}, body


def test_the_concurrency_limit_its_queue_and_its_refusals() -> None:
    flags = ["--max-concurrent-requests", "3", "--queue-size", "2"]
    with running(*flags, ready="/health") as service:
        uploads = [Upload(new(service)) for _ in range(5)]
        await_metric(service, WAITING, 2)
        refused_by_one_process = refusal(Upload(new(service)).finish())
        for upload in uploads:
            upload.socket.close()
    with running_processes(*flags) as service:
        first, second = processes_of(service).values()
        held = [Upload(connect_to(service, pid)) for pid in (first, second, second)]
        await_metric(service, INFLIGHT, 3)
        queue = []
        for number, pid in enumerate((second, first)):
            queue.append(Upload(connect_to(service, pid)))
            await_metric(service, WAITING, number + 1)
        for pid in (first, second):
            assert refusal(Upload(connect_to(service, pid)).finish()) == refused_by_one_process
        assert held[0].code() is None
        await_metric(service, WAITING, 1)
        assert metrics_of(service)[INFLIGHT] == 3
        assert queue[0].code() is None  # it came first, so it has the place that became free
        await_metric(service, WAITING, 0)
        for upload in (*held[1:], queue[1]):
            assert upload.code() is None
        await_metric(service, INFLIGHT, 0)
        assert metrics_of(service)['smg_http_rate_limit_total{result="rejected"}'] == 2


def test_a_client_that_goes_away_frees_its_place_in_the_queue() -> None:
    with running_processes("--max-concurrent-requests", "1", "--queue-size", "1") as service:
        first, second = processes_of(service).values()
        held = Upload(connect_to(service, first))
        await_metric(service, INFLIGHT, 1)
        queued = Upload(connect_to(service, second))
        await_metric(service, WAITING, 1)
        queued.socket.close()
        await_metric(service, WAITING, 0)
        assert held.code() is None
        await_metric(service, INFLIGHT, 0)


def test_a_killed_process_gives_its_places_back_and_is_replaced() -> None:
    with running_processes("--max-concurrent-requests", "2", "--queue-size", "9") as service:
        first, second = processes_of(service).values()
        lost = [Upload(connect_to(service, first)) for _ in range(2)]
        await_metric(service, INFLIGHT, 2)
        lost.append(Upload(connect_to(service, first)))
        await_metric(service, WAITING, 1)
        kept = Upload(connect_to(service, second))
        await_metric(service, WAITING, 2)
        os.kill(first, signal.SIGKILL)
        await_metric(service, WAITING, 0)
        assert metrics_of(service)[INFLIGHT] == 1
        assert kept.code() is None
        replacement = eventually(lambda: {*processes_of(service).values()} - {first, second}, "a new process")
        again = [Upload(connect_to(service, pid)) for pid in (*replacement, second)]
        await_metric(service, INFLIGHT, 2)
        for upload in again:
            assert upload.code() is None
        for upload in lost:
            upload.socket.close()


def ask_everywhere(service: Service, number: int, **headers: str) -> list[str | None]:
    """The codes of so many requests, half of them to each process."""
    pids = [*processes_of(service).values()]
    return [Upload(connect_to(service, pids[place % 2]), **headers).code() for place in range(number)]


def test_the_rate_limit() -> None:
    flags = ["--rate-limit-tokens-per-second", "0.001", "--max-concurrent-requests", "5", "--queue-size", "0"]
    with running_processes(*flags) as service:
        assert ask_everywhere(service, 8) == [None] * 5 + ["admission_queue_full"] * 3
        numbers = metrics_of(service)
        assert numbers['smg_http_rate_limit_total{result="allowed"}'] == 5
        assert numbers['smg_admission_queue_rejected_total{cause="rate"}'] == 3


def test_tenant_limits(tmp_path: Path) -> None:
    path = tmp_path / "tenants.yaml"
    path.write_text(
        "default_policy: {requests_per_minute: 3}\n"
        "tenants:\n"
        "  - {tenant_key: 'header:blue', characters_per_minute: 9}\n"  # each request has four
    )
    flags = ["--tenant-rate-limit-enabled", "--tenant-rate-limit-config", str(path), "--trust-tenant-header"]
    with running_processes(*flags) as service:
        over = "tenant_rate_limit_exceeded"
        assert ask_everywhere(service, 5, **{"x-smg-tenant-id": "green"}) == [None] * 3 + [over] * 2
        assert ask_everywhere(service, 4, **{"x-smg-tenant-id": "blue"}) == [None] * 2 + [over] * 2
        counted = metrics_of(service)
        name = "smg_tenant_rate_limit_total"
        assert counted[f'{name}{{limit="requests",result="allowed",tenant="header:green"}}'] == 3
        assert counted[f'{name}{{limit="characters",result="rejected",tenant="header:blue"}}'] == 2


RULES = "{reserved_floor: 0, queue_size: 2, queue_timeout_secs: 20, starvation_threshold_secs: 10, can_preempt: %s}"


def test_a_request_of_a_higher_class_takes_the_place_of_one_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    classes = {"bulk": "false", "default": "false", "interactive": "true", "system": "true"}
    path.write_text("\n".join(["classes:", *(f"  {name}: {RULES % preempts}" for name, preempts in classes.items())]))
    flags = ["--priority-scheduler-enabled", "--priority-scheduler-config", str(path)]
    flags += ["--max-concurrent-requests", "1", "--priority-scheduler-default-max-class", "interactive"]
    preempted = []
    starts: list[Callable[[], contextlib.AbstractContextManager[Service]]] = [
        lambda: running(*flags, ready="/health"),
        lambda: running_processes(*flags),
    ]
    for start in starts:
        with start() as service:
            victim = Upload(new(service))
            await_metric(service, 'smg_scheduler_inflight{class="default"}', 1)
            others = {*processes_of(service).values()}
            if others:
                others.remove(process_of(service, victim.socket))
            other = connect_to(service, others.pop()) if others else new(service)
            winner = Upload(other, **{"x-smg-priority": "interactive"})
            await_metric(service, 'smg_scheduler_admit_total{class="default",outcome="preempted"}', 1)
            preempted.append(refusal(victim.finish()))
            assert winner.code() is None
            await_metric(service, "smg_scheduler_utilization", 0)
    assert preempted[0][0] == 503
    assert preempted[0] == preempted[1]


@pytest.mark.parametrize("value", ["0", "-1", "two"])
def test_less_than_one_process_is_refused(value: str) -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "sluicegate", "serve", "--processes", value]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Configuration error: Invalid value for field 'processes': {value} - must be")
