"""`/workers` with real gRPC workers in this process: registration, tokenizer fetch, parsers of a model."""

from __future__ import annotations

import asyncio
import io
import stat
import threading
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import stamina

from sluicegate.core.errors import InvalidSetting, UnknownDialect
from sluicegate.server import workers as workers_module
from sluicegate.server.identifiers import new_identifier
from sluicegate.server.jobs import JobQueue
from sluicegate.server.routes.tokenizers import TokenizerRoutes
from sluicegate.server.routes.workers import WorkerRoutes
from sluicegate.server.tokenizer_jobs import TokenizerJobs
from sluicegate.server.workers import Parsers, Registration, WorkerRegistry, WorkerSettings, worker_settings
from sluicegate.settings import Settings
from sluicegate.tokenizers.errors import TokenizerFileInvalid, TokenizerNotFound
from sluicegate.tokenizers.store import TokenizerStore
from sluicegate.tokenizers.worker.bundle import BundleLimits
from sluicegate.tokenizers.worker.runtimes import RUNTIMES
from tests.support.grpc_worker import Worker, chunks, serving, zip_of
from tests.support.route_client import Answer, FakeTokenizer, RouteClient

pytestmark = pytest.mark.anyio

BY_NAME = {runtime.name: runtime for runtime in RUNTIMES}
ARCHIVE = zip_of({"tokenizer.json": b'{"model":{}}', "config.json": b"{}", "README.md": b"not written"})
INFO = {"served_model_name": "served", "model_path": "/models/path", "tokenizer_path": "/models/tokenizer"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_pauses() -> Iterator[None]:
    with stamina.set_testing(True, attempts=10, cap=True):
        yield


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where bundles are unpacked, so that a test sees that nothing stays."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


class Service:
    """The routes of workers and tokenizers. Local sources are those of `local`; the hub has nothing."""

    def __init__(self, **settings: Any) -> None:
        self.local: dict[str, Any] = {}
        self.asked: list[str] = []
        self.unpacked: list[dict[str, bytes]] = []
        self.load_directory: Callable[[Path], Any] = lambda _: FakeTokenizer()
        self.queue = JobQueue(settings.pop("capacity", 100), 20)
        self.jobs = TokenizerJobs(TokenizerStore(), self.queue, clock=lambda: 0.0, new_id=new_identifier)
        self.workers = WorkerRegistry(
            self.queue,
            self.jobs,
            WorkerSettings(load_source=self._load_source, load_directory=self._load_directory, **settings),
            check_parsers=self._check_parsers,
            wall_clock=lambda: 1_700_000_000.0,
            new_id=new_identifier,
        )
        tokenizers = TokenizerRoutes(self.jobs, self._load_source)
        self.call = RouteClient([*WorkerRoutes(self.workers).routes(), *tokenizers.routes()])

    def _load_source(self, source: str, _template: Any = None, _cancelled: Any = None) -> Any:
        self.asked.append(source)
        if source not in self.local:
            raise TokenizerNotFound(f"'{source}' does not exist")
        return self.local[source]

    def _load_directory(self, directory: Path) -> Any:
        assert stat.S_IMODE(directory.parent.stat().st_mode) == 0o700
        self.unpacked.append({path.name: path.read_bytes() for path in directory.iterdir()})
        return self.load_directory(directory)

    @staticmethod
    def _check_parsers(tool: str | None, reasoning: str | None) -> None:
        if tool not in (None, "hermes", "qwen"):
            raise UnknownDialect("tool", tool, ["hermes", "qwen"])
        if reasoning not in (None, "qwen3"):
            raise UnknownDialect("reasoning", reasoning, ["qwen3"])

    async def add(self, url: str, **more: Any) -> Answer:
        return await self.call("POST", "/workers", {"url": url, **more})

    async def ready(self, url: str, **more: Any) -> dict[str, Any]:
        return await self.until((await self.add(url, **more)).json["worker_id"], "ready")

    async def until(self, worker_id: str, status: str) -> dict[str, Any]:
        return await self._poll(f"/workers/{worker_id}", status)

    async def tokenizer(self, job: str, status: str) -> dict[str, Any]:
        return await self._poll(f"/v1/tokenizers/{job}/status", status)

    async def _poll(self, path: str, status: str) -> dict[str, Any]:
        async with asyncio.timeout(20):
            while True:
                answer = await self.call("GET", path)
                if answer.json.get("status") == status:
                    found: dict[str, Any] = answer.json
                    return found
                await asyncio.sleep(0.005)


@pytest.fixture
def sglang() -> Iterator[Worker]:
    with serving(Worker(BY_NAME["sglang"], INFO, chunks(ARCHIVE))) as worker:
        yield worker


async def test_a_worker_from_registration_to_removal(sglang: Worker, place: Path) -> None:
    service = Service()
    accepted = await service.add(sglang.url)
    worker_id = accepted.json["worker_id"]
    assert (accepted.status, accepted.headers["location"]) == (202, f"/workers/{worker_id}")
    assert accepted.json == {
        "status": "accepted",
        "worker_id": worker_id,
        "url": sglang.url,
        "location": f"/workers/{worker_id}",
        "message": "Worker addition queued for background processing",
    }
    assert uuid.UUID(worker_id).version == 7
    pending = (await service.call("GET", f"/workers/{worker_id}")).json
    assert (pending["id"], pending["url"], pending["status"]) == (worker_id, sglang.url, "pending")
    assert pending["job_status"]["status"] in ("pending", "processing")

    shown = await service.until(worker_id, "ready")
    job = shown["tokenizer_job"]
    assert shown == {
        "id": worker_id,
        "url": sglang.url,
        "status": "ready",
        "runtime": "sglang",
        "model_id": "served",
        "tokenizer_job": job,
    }
    await service.tokenizer(job, "completed")
    assert service.asked == ["/models/tokenizer"]
    assert service.unpacked == [{"tokenizer.json": b'{"model":{}}', "config.json": b"{}"}]
    assert list(place.iterdir()) == []
    loaded = (await service.call("GET", "/v1/tokenizers/served")).json
    assert (loaded["id"], loaded["source"]) == (job, "/models/tokenizer")

    listed = (await service.call("GET", "/workers")).json
    stats = {"prefill_count": 0, "decode_count": 0, "regular_count": 1}
    assert listed == {"workers": [shown], "total": 1, "stats": stats}
    again = await service.add(sglang.url + "/")
    assert (again.status, again.json["code"]) == (409, "WORKER_ALREADY_EXISTS")
    assert again.headers["x-smg-error-code"] == "WORKER_ALREADY_EXISTS"

    removed = await service.call("DELETE", f"/workers/{worker_id.upper()}")
    assert (removed.status, removed.json) == (
        202,
        {
            "status": "accepted",
            "worker_id": worker_id,
            "message": "Worker removal queued for background processing",
        },
    )
    assert (await service.call("GET", f"/workers/{worker_id}")).status == 404
    assert (await service.call("GET", "/v1/tokenizers/served")).status == 200
    assert (await service.add(sglang.url)).status == 202
    await service.queue.close()


async def test_the_local_source_is_preferred_to_the_worker(sglang: Worker) -> None:
    service = Service()
    service.local["/models/tokenizer"] = FakeTokenizer()
    shown = await service.ready(sglang.url)
    await service.tokenizer(shown["tokenizer_job"], "completed")
    assert "GetTokenizer" not in sglang.calls


@pytest.mark.parametrize(
    ("info", "more", "name", "source"),
    [
        (INFO, {"models": [{"id": "card"}]}, "card", "/models/tokenizer"),
        (INFO, {"labels": {"tokenizer_path": "/labelled"}}, "served", "/labelled"),
        ({"model_path": "/m"}, {}, "/m", "/m"),
        ({"served_model_name": "s"}, {}, "s", "the flag"),
        ({"served_model_name": "unknown", "model_path": "/m"}, {}, "/m", "/m"),
        ({"model_path": "/m"}, {"models": [{"id": "unknown"}]}, "/m", "/m"),
    ],
)
async def test_where_name_and_source_come_from(
    info: dict[str, str], more: dict[str, Any], name: str, source: str
) -> None:
    service = Service(default_source="the flag")
    with serving(Worker(BY_NAME["vllm"], info, chunks(ARCHIVE))) as worker:
        shown = await service.ready(worker.url, **more)
        await service.tokenizer(shown["tokenizer_job"], "completed")
    stored = service.jobs.store.list()[0]
    assert (stored.name, stored.source, service.asked) == (name, source, [source])


async def test_a_worker_that_names_no_model_gets_no_job() -> None:
    service = Service()
    with serving(Worker(BY_NAME["trtllm"], {"model_id": "m"}, chunks(ARCHIVE))) as worker:
        assert "tokenizer_job" not in await service.ready(worker.url)
    with serving(Worker(BY_NAME["trtllm"], {"model_id": "m"}, chunks(ARCHIVE))) as worker:
        shown = await service.ready(worker.url, models=[{"id": "named"}])
        await service.tokenizer(shown["tokenizer_job"], "completed")
    assert service.jobs.store.list()[0].source == worker.url


async def test_without_autoload_nothing_is_fetched(sglang: Worker) -> None:
    service = Service(autoload=False)
    shown = await service.ready(sglang.url)
    assert ("tokenizer_job" in shown, shown["model_id"], len(service.jobs.store)) == (False, "served", 0)


async def test_one_fetch_per_model(sglang: Worker) -> None:
    service = Service()
    with serving(Worker(BY_NAME["sglang"], INFO, chunks(ARCHIVE))) as second:
        shown = [await service.ready(worker.url) for worker in (sglang, second)]
        await service.tokenizer(shown[0]["tokenizer_job"], "completed")
        assert shown[0]["tokenizer_job"] == shown[1]["tokenizer_job"]
    assert "GetTokenizer" not in second.calls


async def test_a_worker_that_is_not_up_yet_is_asked_again(sglang: Worker) -> None:
    def starting(context: Any) -> None:
        if sglang.calls.count("GetModelInfo") < 3:
            context.abort(grpc.StatusCode.UNAVAILABLE, "starting")

    sglang.before_info = starting
    service = Service()
    assert (await service.ready(sglang.url))["runtime"] == "sglang"
    assert sglang.calls.count("HealthCheck") == 3


async def test_a_worker_that_cannot_say_what_it_serves(sglang: Worker) -> None:
    sglang.before_info = lambda context: context.abort(grpc.StatusCode.INTERNAL, "broken")
    service = Service()
    unnamed = await service.add(sglang.url)
    assert "INTERNAL: broken" in (await service.until(unnamed.json["worker_id"], "failed"))["message"]
    service.workers.remove(unnamed.json["worker_id"])
    shown = await service.ready(sglang.url, models=[{"id": "named"}])
    await service.tokenizer(shown["tokenizer_job"], "completed")


@pytest.mark.parametrize("seconds", [0.0, 0.2])
async def test_a_worker_that_never_comes_up_fails(seconds: float) -> None:
    service = Service(startup_seconds=seconds)
    with serving(Worker(BY_NAME["mlx"])) as worker:
        url = worker.url
    accepted = await service.add(url)
    failed = await service.until(accepted.json["worker_id"], "failed")
    assert "UNAVAILABLE" in failed["message"]
    assert "job_status" not in failed


async def test_a_pending_worker_says_what_went_wrong_last() -> None:
    service = Service()
    with serving(Worker(BY_NAME["mlx"])) as worker:
        url = worker.url
    with stamina.set_testing(False):
        worker_id = (await service.add(url)).json["worker_id"]
        async with asyncio.timeout(20):
            while not (shown := (await service.call("GET", f"/workers/{worker_id}")).json)["job_status"]["message"]:
                await asyncio.sleep(0.005)
        assert (shown["status"], shown["job_status"]["worker_url"]) == ("pending", url)
        assert "UNAVAILABLE" in shown["job_status"]["message"]
        await service.queue.close()


async def test_a_worker_that_dies_midway_is_asked_three_times(sglang: Worker, place: Path) -> None:
    def dying(_context: Any) -> Iterator[Any]:
        yield chunks(ARCHIVE, 100)[0]
        raise RuntimeError("died")

    sglang.stream = dying
    service = Service()
    shown = await service.ready(sglang.url)
    failed = await service.tokenizer(shown["tokenizer_job"], "failed")
    assert failed["message"].startswith(
        "Failed to load tokenizer locally ('/models/tokenizer' does not exist) and from worker grpc://127.0.0.1:"
    )
    assert sglang.calls.count("GetTokenizer") == 3
    assert list(place.iterdir()) == []
    assert (await service.call("GET", "/v1/tokenizers")).json == {"tokenizers": []}


async def test_a_worker_that_recovers_midway(sglang: Worker) -> None:
    def dying_twice(_context: Any) -> Iterator[Any]:
        if sglang.calls.count("GetTokenizer") < 3:
            raise RuntimeError("died")
        yield from chunks(ARCHIVE)

    sglang.stream = dying_twice
    service = Service()
    shown = await service.ready(sglang.url)
    await service.tokenizer(shown["tokenizer_job"], "completed")


def bomb() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("tokenizer.json", "w") as entry:
        entry.write(bytes(1_000_001))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (lambda: chunks(ARCHIVE, sha256="0" * 64), "does not match its sha256"),
        (lambda: chunks(b"no zip at all"), "not a ZIP archive"),
        (lambda: chunks(bomb()), "unpacks to more than 1000000 bytes"),
        (lambda: chunks(zip_of({"../tokenizer.json": b"{}"})), "a path with '..'"),
    ],
)
async def test_a_worker_that_lies_is_asked_once(
    sglang: Worker, place: Path, stream: Callable[[], Any], reason: str
) -> None:
    messages = stream()
    sglang.stream = lambda _context: messages
    service = Service(limits=BundleLimits(unpacked_bytes=1_000_000))
    shown = await service.ready(sglang.url)
    failed = await service.tokenizer(shown["tokenizer_job"], "failed")
    assert reason in failed["message"]
    assert sglang.calls.count("GetTokenizer") == 1
    assert (list(place.iterdir()), service.unpacked) == ([], [])


async def test_a_bundle_without_a_usable_tokenizer_names_no_private_path(sglang: Worker, place: Path) -> None:
    def unusable(directory: Path) -> None:
        raise TokenizerFileInvalid(f"{directory}/tokenizer.json is broken; {directory} has no other")

    service = Service()
    service.load_directory = unusable
    shown = await service.ready(sglang.url)
    message = (await service.tokenizer(shown["tokenizer_job"], "failed"))["message"]
    assert "cannot be loaded: tokenizer.json is broken; the bundle has no other" in message
    assert str(place) not in message


async def test_a_fetch_that_hangs_ends_at_its_bound_or_when_it_is_cancelled(sglang: Worker, place: Path) -> None:
    gone = threading.Semaphore(0)

    def hanging(context: Any) -> Iterator[Any]:
        over = threading.Event()
        context.add_callback(over.set)
        yield chunks(ARCHIVE, 100)[0]
        over.wait(30)
        gone.release()

    sglang.stream = hanging
    service = Service(fetch_seconds=1.5)
    shown = await service.ready(sglang.url)
    assert "within 1.5 seconds" in (await service.tokenizer(shown["tokenizer_job"], "failed"))["message"]
    assert await asyncio.to_thread(gone.acquire, timeout=10)

    patient = Service()
    shown = await patient.ready(sglang.url)
    while sglang.calls.count("GetTokenizer") < 2:
        await asyncio.sleep(0.005)
    assert (await patient.call("DELETE", f"/v1/tokenizers/{shown['tokenizer_job']}")).status == 200
    assert await asyncio.to_thread(gone.acquire, timeout=10)
    async with asyncio.timeout(10):
        while list(place.iterdir()):
            await asyncio.sleep(0.005)


async def test_removing_a_worker_that_is_being_registered() -> None:
    service = Service()
    with serving(Worker(BY_NAME["mlx"])) as worker:
        url = worker.url
    worker_id = (await service.add(url)).json["worker_id"]
    await asyncio.sleep(0)
    assert (await service.call("DELETE", f"/workers/{worker_id}")).status == 202
    assert (await service.call("GET", "/workers")).json["total"] == 0
    await service.queue.close()


@pytest.mark.parametrize(
    "body",
    [
        {"url": "GRPC://127.0.0.1:1"},
        {"url": "http://127.0.0.1:1"},
        {"url": 1},
        {},
        [],
        b"{bad",
        b"",
        b'{"url":"grpc://a:1","url":"grpc://a:2"}',
        {"url": "grpc://a:1", "labels": {"tokenizer_path": 1}},
        {"url": "grpc://a:1", "labels": None},
        {"url": "grpc://a:1", "models": [{}]},
        {"url": "grpc://a:1", "models": {"id": "m"}},
    ],
)
async def test_bodies_that_are_refused(body: Any) -> None:
    answer = await Service().call("POST", "/workers", body)
    assert (answer.status, answer.json["code"]) == (400, "BAD_REQUEST")
    assert (answer.headers["x-smg-error-code"], sorted(answer.json)) == ("BAD_REQUEST", ["code", "error"])


async def test_ids_that_are_unknown_or_no_ids() -> None:
    service = Service()
    for method in ("GET", "DELETE"):
        unknown = await service.call(method, "/workers/01890000-0000-7000-8000-000000000000")
        assert (unknown.status, unknown.json) == (
            404,
            {"error": "Worker 01890000-0000-7000-8000-000000000000 not found", "code": "WORKER_NOT_FOUND"},
        )
        for wrong in ("x", "0189000000007000800000000000000", "{01890000-0000-7000-8000-000000000000}", "x%2F"):
            answer = await service.call(method, f"/workers/{wrong}")
            assert (answer.status, answer.json["code"]) == (400, "BAD_REQUEST")


async def test_a_full_queue_and_missing_libraries_are_503(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(capacity=0)
    service.queue._concurrency = 0
    full = await service.add("grpc://127.0.0.1:1")
    assert (full.status, full.json["code"], len(service.workers.list())) == (503, "JOB_QUEUE_FULL", 0)
    monkeypatch.setattr(workers_module, "installed", lambda: False)
    missing = await service.add("grpc://127.0.0.1:1")
    assert (missing.status, missing.json["code"]) == (503, "WORKERS_UNAVAILABLE")
    assert "sluicegate[grpc]" in missing.json["error"]


async def test_the_parsers_of_a_models_card_and_labels(sglang: Worker) -> None:
    service = Service()
    labels = {"tool_parser": "hermes", "reasoning_parser": "qwen3"}
    worker = service.workers.add(Registration(sglang.url, labels))
    assert service.workers.parsers_for("served") is None
    await service.until(worker.id, "ready")
    assert service.workers.parsers_for("served") == Parsers("hermes", "qwen3")
    assert service.workers.parsers_for("Served") is None
    with serving(Worker(BY_NAME["vllm"], {"served_model_name": "served"})) as second:
        cards = [{"id": "a", "tool_parser": "qwen"}, {"id": "b", "reasoning_parser": None}, {"id": "served"}]
        await service.ready(second.url, models=cards, labels={"tool_parser": "hermes"})
    assert service.workers.parsers_for("a") == Parsers("qwen")
    assert service.workers.parsers_for("b") == Parsers("hermes")
    assert service.workers.parsers_for("served") == Parsers("hermes", "qwen3")
    service.workers.remove(worker.id)
    assert service.workers.parsers_for("served") == Parsers("hermes")
    await service.queue.close()


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"labels": {"tool_parser": "herms"}}, "Unknown tool parser: herms; did you mean hermes?"),
        ({"models": [{"id": "m", "reasoning_parser": "qwen"}]}, "Unknown reasoning parser: qwen; did you mean qwen3?"),
    ],
)
async def test_an_unknown_parser_refuses_the_registration(more: dict[str, Any], reason: str) -> None:
    service = Service()
    answer = await service.add("grpc://127.0.0.1:1", **more)
    assert (answer.status, answer.json) == (400, {"error": reason, "code": "BAD_REQUEST"})
    assert service.workers.list() == []


async def test_workers_of_the_settings_are_registered_once(sglang: Worker) -> None:
    service = Service()
    service.workers.add_at_start([sglang.url, sglang.url + "/", "grpc://127.0.0.1:1"])
    assert [worker.registration.url for worker in service.workers.list()] == [sglang.url, "grpc://127.0.0.1:1"]
    await service.queue.close()


def test_what_the_settings_say() -> None:
    def load(source: str, template: str | None, _cancelled: Callable[[], bool]) -> Any:
        return source, template

    found = worker_settings(
        Settings(model_path="m", worker_urls=("grpc://a:1",), worker_startup_timeout_secs=7.0), load, FakeTokenizer
    )
    assert (found.default_source, found.startup_seconds, found.autoload) == ("m", 7.0, True)
    assert found.load_source is load


def test_settings_that_stop_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def settings(**values: Any) -> WorkerSettings:
        return worker_settings(Settings(**values), lambda *_: FakeTokenizer(), lambda _: FakeTokenizer())

    with pytest.raises(InvalidSetting, match=r"'worker_urls': http://a:1 - .*grpcs?://host:port"):
        settings(worker_urls=("grpc://a:1", "http://a:1"))
    with pytest.raises(InvalidSetting, match="'ca_cert_paths'"):
        settings(ca_cert_paths=("nowhere.pem",))
    monkeypatch.setattr(workers_module, "installed", lambda: False)
    with pytest.raises(InvalidSetting, match=r"'worker_urls'.*sluicegate\[grpc\]"):
        settings(worker_urls=("grpc://a:1",))
    settings()
