"""A whole service with a gRPC worker: the tokenizer arrives over the wire and serves requests."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from smg_grpc_servicer.tokenizer_bundle import build_tokenizer_zip

from sluicegate.tokenizers.worker.runtimes import RUNTIMES
from tests.support.grpc_worker import Worker, chunks, serving
from tests.support.service import Service, running

VLLM = next(runtime for runtime in RUNTIMES if runtime.name == "vllm")
TINY = Path(__file__).parents[1] / "fixtures" / "http" / "tiny"
INFO = {"served_model_name": "tiny", "model_path": "/nowhere/tiny"}


@pytest.fixture
def worker() -> Iterator[Worker]:
    bundle = build_tokenizer_zip(TINY).getvalue()  # what the real workers send
    with serving(Worker(VLLM, INFO, chunks(bundle))) as running_worker:
        yield running_worker


def until(service: Service, path: str, member: str, value: str) -> dict[str, Any]:
    """Ask until a member of the answer has a value."""
    answer: dict[str, Any] = {}
    end = time.monotonic() + 30
    while time.monotonic() < end:
        answer = httpx.get(service.url + path).json()
        if answer.get(member) == value:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"{path} is {answer}")


def test_a_worker_of_the_command_line_brings_its_tokenizer(worker: Worker, tmp_path: Path) -> None:
    with running("--worker-urls", worker.url, cwd=tmp_path) as service:
        (registered,) = httpx.get(service.url + "/workers").json()["workers"]
        shown = until(service, f"/workers/{registered['id']}", "status", "ready")
        assert (shown["runtime"], shown["model_id"]) == ("vllm", "tiny")
        until(service, f"/v1/tokenizers/{shown['tokenizer_job']}/status", "status", "completed")
        answer = httpx.post(service.url + "/v1/tokenize", json={"model": "tiny", "prompt": "hi hi<|s|>é"})
        assert answer.json()["tokens"] == [256, 257, 258, 127, 102]
        assert httpx.delete(service.url + f"/workers/{registered['id']}").status_code == 202
        assert httpx.get(service.url + "/v1/tokenizers/tiny").headers["x-sluicegate-engine"].startswith("encode=")


def test_parsers_that_a_worker_names_are_used_by_the_unified_parse(worker: Worker, tmp_path: Path) -> None:
    card = {"id": "support-bot", "tool_parser": "qwen"}
    wrong = {"id": "support-bot", "tool_parser": "qwem"}
    text = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    with running(cwd=tmp_path) as service:
        refused = httpx.post(service.url + "/workers", json={"url": worker.url, "models": [wrong]})
        assert (refused.status_code, "qwen" in refused.json()["error"]) == (400, True)
        added = httpx.post(service.url + "/workers", json={"url": worker.url, "models": [card]})
        assert (added.status_code, added.headers["location"]) == (202, added.json()["location"])
        answer = httpx.post(service.url + "/parse", json={"text": text, "model": "support-bot"}).json()
        assert [call["function"]["name"] for call in answer["tool_calls"]] == ["f"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--worker-urls", "http://127.0.0.1:1"], "Invalid value for field 'worker_urls': http://127.0.0.1:1 - "),
        (["--ca-cert-paths", "missing.pem"], "Invalid value for field 'ca_cert_paths': missing.pem - "),
    ],
)
def test_what_stops_the_start(flags: list[str], message: str) -> None:
    with pytest.raises(AssertionError, match=message), running(*flags):
        pass


def test_the_service_ends_well_while_a_worker_hangs(worker: Worker, tmp_path: Path) -> None:
    started, over = threading.Event(), threading.Event()

    def hanging(context: Any) -> Iterator[Any]:
        context.add_callback(over.set)
        started.set()
        over.wait(60)
        yield from ()

    worker.stream = hanging
    with running("--worker-urls", worker.url, "grpc://127.0.0.1:1", cwd=tmp_path) as service:
        assert started.wait(30)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(15) == 0
    assert over.wait(10)
