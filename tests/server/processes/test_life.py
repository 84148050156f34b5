"""Processes start, end, are killed and replaced."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import threading
from collections import Counter
from pathlib import Path

import pytest

from tests.support.processes import (
    Client,
    eventually,
    is_alive,
    metrics_of,
    process_of,
    processes_of,
    records,
    running_processes,
)
from tests.support.service import free_port, running

REASONING = {"text": "<think>why</think>because", "reasoning_parser": "qwen3"}
REQUESTS = 'smg_http_requests_total{method="POST",path="/parse/reasoning"}'


def test_requests_of_the_others_go_on_when_a_process_is_killed() -> None:
    with running_processes() as service:
        first, second = processes_of(service).values()
        kept = Client(service, second)
        statuses: list[int] = []
        enough, done = threading.Event(), threading.Event()

        def go_on() -> None:
            while not done.is_set():
                statuses.append(kept.ask("POST", "/parse/reasoning", REASONING)[0])
                if len(statuses) >= 50:
                    enough.set()

        thread = threading.Thread(target=go_on)
        thread.start()
        assert enough.wait(20)
        os.kill(first, signal.SIGKILL)
        (replacement,) = eventually(lambda: {*processes_of(service).values()} - {first, second}, "a new process")
        again = Client(service, replacement)
        assert again.ask("POST", "/parse/reasoning", REASONING)[0] == 200
        done.set()
        thread.join(20)
        assert {*statuses} == {200}
        (record,) = records(service, "process_ended")
        assert (record["number"], record["pid"], record["status"]) == (1, first, -signal.SIGKILL)
        kept.close()
        again.close()


def test_new_connections_are_served_while_a_process_is_missing() -> None:
    with running_processes() as service:
        for pid in processes_of(service).values():
            os.kill(pid, signal.SIGKILL)
            for _ in range(20):
                connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
                connection.request("GET", "/health", headers={"connection": "close"})
                assert connection.getresponse().status == 200
                connection.close()


def test_connections_are_spread_over_the_processes() -> None:
    with running_processes() as service:
        clients = [socket.create_connection(("127.0.0.1", service.port), 20) for _ in range(16)]
        served = Counter(process_of(service, client) for client in clients)
        assert min(served[pid] for pid in processes_of(service).values()) >= 4
        for client in clients:
            client.close()


def test_metrics_are_sums_that_never_fall() -> None:
    with running_processes() as service:
        first, second = processes_of(service).values()
        for pid, number in ((first, 30), (second, 12)):
            client = Client(service, pid)
            for _ in range(number):
                client.ask("POST", "/parse/reasoning", REASONING)
            client.close()
        counted = metrics_of(service)
        assert counted[REQUESTS] == 42
        assert counted['smg_http_responses_total{error_code="",path="/parse/reasoning",status_code="200"}'] == 42
        assert counted['smg_http_request_duration_seconds_bucket{le="+Inf",path="/parse/reasoning"}'] == 42
        held = [Client(service, pid) for pid in (first, second, second)]
        assert metrics_of(service)["smg_http_connections_active"] == 3
        os.kill(second, signal.SIGKILL)
        eventually(lambda: len({*processes_of(service).values()} - {first, second}) == 1, "a new process")
        counted = metrics_of(service)
        assert counted[REQUESTS] == 42  # also those of the process that is gone
        assert counted["smg_http_connections_active"] == 1
        for client in held:
            client.close()


def test_processes_end_with_the_supervisor() -> None:
    with running_processes() as service:
        pids = [*processes_of(service).values()]
        service.process.kill()
        service.process.wait(20)
        for pid in pids:
            eventually(lambda pid=pid: not is_alive(pid), "the process ends")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_all_processes_ends_the_service_well(number: signal.Signals) -> None:
    """As a terminal sends it, or a service manager."""
    with running_processes() as service:
        pids = [*processes_of(service).values()]
        for pid in (*pids, service.process.pid):
            os.kill(pid, number)
        assert service.process.wait(20) == 0
        assert [record["status"] for record in records(service, "process_ended")] == []
        assert not any(map(is_alive, pids))


def test_a_port_that_is_taken_is_refused_as_ever() -> None:
    with running(ready="/health") as service:
        import subprocess
        import sys

        command = [sys.executable, "-m", "sluicegate", "serve", "--processes", "2", "--host", "127.0.0.1"]
        command += ["--port", str(service.port), "--prometheus-port", str(free_port())]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith(f"Configuration error: Invalid value for field 'port': {service.port} - cannot")


def test_probes_and_logs_of_each_process(tmp_path: Path) -> None:
    probes = free_port()
    flags = ["--health-check-port", str(probes), "--log-dir", str(tmp_path)]
    with running("--processes", "2", "--log-json", *flags) as service:
        for path in ("/health", "/liveness", "/readiness"):
            connection = http.client.HTTPConnection("127.0.0.1", probes, timeout=20)
            connection.request("GET", path)
            assert connection.getresponse().status == 200
            connection.close()
        assert service.process.poll() is None
    lines = (tmp_path / "sluicegate.log").read_text().splitlines()
    assert {"process_started", "listening", "stopped"} <= {json.loads(line)["event"] for line in lines}
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "sluicegate-1.log",
        "sluicegate-2.log",
        "sluicegate.log",
    ]


def test_records_say_which_process_has_written_them() -> None:
    with running_processes("--api-key", "sekret") as service:
        pids = processes_of(service)
        client = Client(service, pids[2])
        assert client.ask("POST", "/v1/tokenize", {})[0] == 401
        client.close()
        (record,) = eventually(lambda: records(service, "credential_refused"), "a record")
        assert (record["process"], record["status"]) == (2, 401)


def test_a_service_whose_processes_cannot_start_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    import uvloop

    from sluicegate.server.processes import member, supervisor
    from sluicegate.settings import resolve

    monkeypatch.setattr(member, "_PROGRAM", "raise SystemExit(3)")
    monkeypatch.setattr(supervisor, "FAILURES", 3)
    monkeypatch.setattr(supervisor, "FIRST_PAUSE_SECONDS", 0.01)
    flags = {"host": "127.0.0.1", "port": str(free_port()), "prometheus_port": str(free_port()), "processes": "2"}
    with (
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        pytest.raises(supervisor.ServiceFailed, match="no process can serve: 3 starts in a row"),
    ):
        runner.run(asyncio.wait_for(supervisor.supervise(resolve(flags, {})), 60))
