"""Tokenizers and workers are the same in every process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from smg_grpc_servicer.tokenizer_bundle import build_tokenizer_zip

from sluicegate.tokenizers.worker.runtimes import RUNTIMES
from tests.support.grpc_worker import Worker, chunks, serving
from tests.support.processes import Client, eventually, processes_of, running_processes
from tests.support.service import Service

TINY = Path(__file__).parents[2] / "fixtures" / "http" / "tiny"
PROMPT = {"model": "tiny", "prompt": "hi hi"}
IDS = [256, 257]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running_processes("--tokenizer-roots", "/") as running:
        yield running


@pytest.fixture
def clients(service: Service) -> Iterator[list[Client]]:
    """One client of each process."""
    connected = [Client(service, pid) for pid in processes_of(service).values()]
    yield connected
    for client in connected:
        client.close()


def add(client: Client, name: str = "tiny", source: Path = TINY) -> tuple[int, Any]:
    return client.ask("POST", "/v1/tokenizers", {"name": name, "source": str(source)})


def wait_for(client: Client, job: str, state: str = "completed") -> Any:
    def asked() -> Any:
        _, answer = client.ask("GET", f"/v1/tokenizers/{job}/status")
        return answer if answer["status"] == state else None

    return eventually(asked, f"the job is {state}")


def tokens(client: Client, model: str = "tiny") -> Any:
    status, answer = client.ask("POST", "/v1/tokenize", PROMPT | {"model": model})
    return answer["tokens"] if status == 200 else answer["error"]["type"]


def test_it_is_there_in_all_processes_once_it_is_completed_and_gone_once_it_is_removed(clients: list[Client]) -> None:
    for turn in range(6):
        one, other = clients[turn % 2], clients[1 - turn % 2]
        status, accepted = add(one)
        assert (status, accepted["status"]) == (202, "pending")
        wait_for(one, accepted["id"])
        assert tokens(other) == IDS  # at once: there is nothing to wait for
        assert tokens(one) == IDS
        shown = [client.ask("GET", "/v1/tokenizers/tiny") for client in clients]
        assert shown[0] == shown[1]
        assert shown[0][1]["id"] == accepted["id"]
        assert tokens(other, accepted["id"]) == IDS
        assert one.ask("DELETE", "/v1/tokenizers/tiny")[0] == 200
        assert tokens(other) == "tokenizer_not_found"
        assert [client.ask("GET", "/v1/tokenizers")[1] for client in clients] == [{"tokenizers": []}] * 2


def test_the_name_is_taken_in_all_processes(service: Service, clients: list[Client]) -> None:
    answers: list[tuple[int, Any]] = []
    barrier = threading.Barrier(4)

    def add_one(client: Client) -> None:
        barrier.wait(20)
        answers.append(add(client))

    more = [*clients, *(Client(service, pid) for pid in processes_of(service).values())]
    threads = [threading.Thread(target=add_one, args=(client,)) for client in more]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(status for status, _ in answers) == [202, 409, 409, 409]
    (job,) = {answer["id"] for _, answer in answers}  # all of them name the one that there is
    wait_for(clients[0], job)
    assert add(clients[1])[0] == 409
    assert clients[1].ask("DELETE", f"/v1/tokenizers/{job}")[0] == 200
    for client in more[2:]:
        client.close()


def test_a_load_that_fails_leaves_nothing_behind(clients: list[Client], tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    _, accepted = add(clients[0], "broken", tmp_path)
    failed = [wait_for(client, accepted["id"], "failed") for client in clients]
    assert failed[0] == failed[1]
    assert [client.ask("GET", "/v1/tokenizers")[1] for client in clients] == [{"tokenizers": []}] * 2
    assert [tokens(client, "broken") for client in clients] == ["tokenizer_not_found"] * 2


def test_refusals_of_bodies_are_those_of_one_process(clients: list[Client]) -> None:
    status, answer = clients[0].ask("POST", "/v1/tokenizers", {"name": "x"})
    assert (status, answer["error"]["param"]) == (422, "source")
    status, answer = clients[1].ask("DELETE", "/v1/tokenizers/nobody")
    assert (status, answer) == (404, {"success": False, "message": "Tokenizer 'nobody' not found"})
    status, answer = clients[1].ask("GET", "/workers/nobody")
    assert (status, answer["code"]) == (400, "BAD_REQUEST")


def test_a_process_that_takes_the_place_of_another_has_them_all(tmp_path: Path) -> None:
    with running_processes("--tokenizer-roots", "/", "--model-path", str(TINY)) as service:
        first, second = processes_of(service).values()
        client = Client(service, second)
        _, accepted = add(client, "added")
        wait_for(client, accepted["id"])
        os.kill(first, signal.SIGKILL)
        (replacement,) = eventually(lambda: {*processes_of(service).values()} - {first, second}, "a new process")
        new = Client(service, replacement)
        assert [tokens(new, model) for model in ("added", accepted["id"], str(TINY))] == [IDS] * 3
        assert new.ask("GET", "/v1/tokenizers") == client.ask("GET", "/v1/tokenizers")
        assert new.ask("GET", "/readiness") == (200, {"status": "ready", "tokenizers": 2})
        new.close()
        client.close()


def test_the_tokenizer_and_the_parsers_of_a_worker_reach_all_processes(tmp_path: Path) -> None:
    runtime = next(runtime for runtime in RUNTIMES if runtime.name == "vllm")
    bundle = build_tokenizer_zip(TINY).getvalue()
    info = {"served_model_name": "tiny", "model_path": "/nowhere/tiny"}
    text = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    with serving(Worker(runtime, info, chunks(bundle))) as worker, running_processes(cwd=tmp_path) as service:
        pids = [*processes_of(service).values()]
        clients = [Client(service, pid) for pid in pids]
        card = {"id": "tiny", "tool_parser": "qwen"}  # no name that says which parser fits
        status, accepted = clients[0].ask("POST", "/workers", {"url": worker.url, "models": [card]})
        assert status == 202

        def ready() -> Any:
            _, shown = clients[1].ask("GET", f"/workers/{accepted['worker_id']}")
            return shown if shown["status"] == "ready" else None

        wait_for(clients[0], eventually(ready, "the worker is ready")["tokenizer_job"])
        os.kill(pids[0], signal.SIGKILL)
        (replacement,) = eventually(lambda: {*processes_of(service).values()} - {*pids}, "a new process")
        clients[0].close()
        clients[0] = Client(service, replacement)
        for client in clients:
            assert tokens(client) == IDS
            status, parsed = client.ask("POST", "/parse", {"model": "tiny", "text": text})
            assert (status, [call["function"]["name"] for call in parsed["tool_calls"]]) == (200, ["f"])
            client.close()
