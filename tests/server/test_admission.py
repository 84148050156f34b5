"""Admission in front of the serving routes: refusals, tenants, classes and metrics."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from sluicegate.core.errors import InvalidSetting
from sluicegate.server.admission import build_admission
from sluicegate.server.request import Request
from sluicegate.settings import resolve
from tests.support.application import asked_in_process
from tests.support.service import Service, running

TEXT = {"model": "none", "prompt": "four"}  # an admitted request is answered 400: there is no tokenizer

RULES = "{reserved_floor: 0, queue_size: 2, queue_timeout_secs: 20, starvation_threshold_secs: 10, can_preempt: %s}"


def scheduler_file(tmp_path: Path) -> str:
    path = tmp_path / "scheduler.yaml"
    classes = {"bulk": "false", "default": "false", "interactive": "true", "system": "true"}
    lines = [f"  {name}: {RULES % preempt}" for name, preempt in classes.items()]
    ceilings = ['  "auth:red": {max_class: system}', '  "header:blue": {max_class: bulk}']
    path.write_text("\n".join(["classes:", *lines, "tenant_policies:", *ceilings]))
    return str(path)


def test_a_rate_refusal_says_when_the_next_request_can_pass() -> None:
    async def main() -> None:
        limits = {"rate_limit_tokens_per_second": "0.25", "max_concurrent_requests": "1", "queue_size": "0"}
        async with asked_in_process(**limits) as (client, service):
            assert (await client.post("/v1/tokenize", json=TEXT)).status_code == 400
            refused = await client.post("/v1/detokenize", content=b"{bad")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "4")
            assert refused.json()["error"]["type"] == "rate_limit_error"
            assert (await client.post("/parse/reasoning", json={})).status_code == 422
            exposition = service.metrics.exposition().decode()
            for line in (
                'smg_http_rate_limit_total{result="allowed"} 1.0',
                'smg_http_rate_limit_total{result="rejected"} 1.0',
                "smg_admission_inflight 0.0",
                "smg_admission_queue_depth 0.0",
                'smg_admission_queue_rejected_total{cause="rate"} 1.0',
            ):
                assert line in exposition

    asyncio.run(main())


def test_who_waits_is_let_in_when_a_request_that_was_answered_at_once_goes() -> None:
    async def main() -> None:
        admission, _ = build_admission(resolve({"max_concurrent_requests": "1", "queue_size": "1"}, {}))
        request = Request("POST", "/v1/tokenize", {}, peer="", request_id=b"", started=0.0)
        place = admission.admit_now(request)
        assert place is not None
        assert admission.admit_now(request) is None
        waiting = asyncio.create_task(admission.admit(request))
        await asyncio.sleep(0)
        place.release()
        place.release()
        assert (admission.pool.inflight, admission.pool.waiting) == (1, 0)
        (await waiting).release()
        assert admission.pool.inflight == 0

    asyncio.run(main())


def test_tenants_by_header_and_address(tmp_path: Path) -> None:
    path = tmp_path / "tenants.yaml"
    path.write_text(
        "default_policy: {requests_per_minute: 1}\n"
        "tenants:\n"
        "  - {tenant_key: 'header:blue', characters_per_minute: 9}\n"
        "  - tenant_key: 'ip:10.0.0.1'\n"
        "    requests_per_minute: 100\n"
        "    model_rules: [{rule_id: r, matcher: {type: exact, value: 'none'}, requests_per_minute: 2}]\n"
    )

    async def main() -> None:
        flags = {"tenant_rate_limit_enabled": True, "tenant_rate_limit_config": str(path)}
        async with asked_in_process(**flags, trust_tenant_header=True) as (client, service):

            async def ask(**headers: str) -> tuple[int, str | None]:
                answer = await client.post("/v1/tokenize", json=TEXT, headers=headers)
                return answer.status_code, answer.headers.get("retry-after")

            tenant = "x-smg-tenant-id"
            assert [await ask(**{tenant: "green"}) for _ in range(2)] == [(400, None), (429, "60")]
            assert [await ask(**{tenant: " blue "}) for _ in range(3)] == [(400, None), (400, None), (429, "20")]
            assert [await ask() for _ in range(3)] == [(400, None), (400, None), (429, "30")]
            exposition = service.metrics.exposition().decode()
            assert (
                'smg_tenant_rate_limit_total{limit="requests",result="rejected",tenant="header:green"} 1.0'
                in exposition
            )
            assert 'limit="model_requests",result="rejected",tenant="ip:10.0.0.1"' in exposition

    asyncio.run(main())


def test_a_tenant_header_counts_only_where_it_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "tenants.yaml"
    path.write_text("default_policy: {requests_per_minute: 1}\n")

    async def main() -> None:
        flags = {"tenant_rate_limit_enabled": True, "tenant_rate_limit_config": str(path)}
        async with asked_in_process(**flags) as (client, _):
            statuses = [
                (await client.post("/v1/tokenize", json=TEXT, headers={"x-smg-tenant-id": name})).status_code
                for name in ("a", "b")
            ]
            assert statuses == [400, 429]

    asyncio.run(main())


class Upload:
    """A request whose body is held back."""

    def __init__(self, service: Service, body: bytes, sent: int, **headers: str) -> None:
        lines = ["POST /v1/tokenize HTTP/1.1", "host: x", "content-type: application/json"]
        lines += [f"content-length: {len(body)}", *(f"{name}: {value}" for name, value in headers.items())]
        self.rest = body[sent:]
        self.socket = socket.create_connection(("127.0.0.1", service.port), 20)
        self.socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body[:sent])

    def finish(self) -> tuple[int, dict[str, Any]]:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may have been answered before
            self.socket.sendall(self.rest)
        data = b""
        while b"\r\n\r\n" not in data or b"}}" not in data:
            piece = self.socket.recv(65536)
            if not piece:
                break
            data += piece
        self.socket.close()
        head, _, body = data.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)["error"]


BODY = json.dumps(TEXT).encode()


def wait_until(service: Service, metric: str) -> None:
    """Ask for the metrics until one has the wanted value."""
    import time
    import urllib.request

    end = time.monotonic() + 20
    while time.monotonic() < end:
        with urllib.request.urlopen(f"http://127.0.0.1:{service.metrics_port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
        if metric in text.splitlines():
            return
        time.sleep(0.02)
    raise AssertionError(f"{metric} does not come:\n" + "\n".join(line for line in text.splitlines() if "smg_" in line))


def test_a_queued_client_that_goes_away_frees_its_place_whatever_it_has_sent() -> None:
    with running("--max-concurrent-requests", "1", "--queue-size", "1", ready="/health") as service:
        held = Upload(service, BODY, 1)
        wait_until(service, "smg_admission_inflight 1.0")
        big = json.dumps({**TEXT, "prompt": "x" * 400_000}).encode()
        queued = Upload(service, big, 300_000)
        wait_until(service, "smg_admission_queue_depth 1.0")
        assert Upload(service, BODY, 1).finish()[1]["code"] == "admission_queue_full"
        queued.socket.close()
        wait_until(service, "smg_admission_queue_depth 0.0")
        assert held.finish()[0] == 400


def test_classes_ceilings_and_preemption(tmp_path: Path) -> None:
    flags = ["--priority-scheduler-enabled", "--priority-scheduler-config", scheduler_file(tmp_path)]
    flags += ["--max-concurrent-requests", "1", "--trust-tenant-header", "--priority-scheduler-default-max-class"]
    with running(*flags, "interactive", ready="/health") as service:
        victim = Upload(service, BODY, 1, **{"x-smg-priority": "nonsense"})
        wait_until(service, 'smg_scheduler_inflight{class="default"} 1.0')
        clamped = Upload(service, BODY, 1, **{"x-smg-priority": "System", "x-smg-tenant-id": "blue"})
        wait_until(service, 'smg_scheduler_queue_depth{class="bulk"} 1.0')
        winner = Upload(service, BODY, len(BODY), **{"x-smg-priority": " INTERACTIVE "})
        assert winner.finish()[0] == 400
        status, error = victim.finish()
        assert (status, error["code"], error["type"]) == (503, "scheduler_preempted", "server_error")
        assert clamped.finish()[0] == 400
        for line in (
            'smg_scheduler_unknown_priority_value_total{tenant="ip:127.0.0.1"} 1.0',
            'smg_scheduler_clamp_total{effective_class="bulk",requested_class="system",tenant="header:blue"} 1.0',
            'smg_scheduler_preemption_total{by_class="interactive",victim_class="default"} 1.0',
            'smg_scheduler_admit_total{class="default",outcome="preempted"} 1.0',
            'smg_scheduler_queue_size_limit{class="bulk"} 2.0',
            'smg_scheduler_queue_wait_seconds_count{class="interactive"} 1.0',
            "smg_scheduler_utilization 0.0",
        ):
            wait_until(service, line)


@pytest.mark.parametrize(
    ("flags", "field"),
    [
        ({"queue_timeout_secs": "0"}, "queue_timeout_secs"),
        ({"queue_size": "-1"}, "queue_size"),
        ({"rate_limit_tokens_per_second": "-1"}, "rate_limit_tokens_per_second"),
        ({"tenant_rate_limit_enabled": True}, "tenant_rate_limit_enabled"),
        ({"tenant_rate_limit_config": "x"}, "tenant_rate_limit_config"),
        ({"priority_scheduler_enabled": True, "priority_scheduler_config": "nope"}, "priority_scheduler_config"),
        ({"priority_scheduler_enabled": True, "max_concurrent_requests": "160"}, "max_concurrent_requests"),
        ({"priority_scheduler_default_max_class": "urgent"}, "priority_scheduler_default_max_class"),
    ],
)
def test_settings_that_stop_the_start(flags: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        build_admission(resolve(flags, {}))
    assert caught.value.field == field


def test_capacities() -> None:
    def pool(**flags: Any) -> Any:
        return build_admission(resolve(flags, {}))[0].pool

    assert pool().capacity >= 4096
    assert pool(max_concurrent_requests="0").capacity is None
    assert pool(max_concurrent_requests="7").capacity == 7
    for number, capacity in (("-1", 1024), ("0", 1024), ("100000", 65535), ("512", 512)):
        assert pool(priority_scheduler_enabled=True, max_concurrent_requests=number).capacity == capacity
    assert pool(priority_scheduler_config="/nonexistent").capacity >= 4096
