"""The registered gRPC workers: who they are, how far their registration is, and what they say about their model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
import stamina

from sluicegate.core.errors import InvalidSetting, SluicegateError
from sluicegate.server.jobs import Job, JobQueue, JobQueueFull, in_thread
from sluicegate.server.logs import get_logger
from sluicegate.server.memory import release_freed_memory
from sluicegate.server.tokenizer_jobs import (
    LoadSource,
    TokenizerJobs,
    TokenizerLoading,
    load_in_thread,
    name_problem,
    with_attempts,
)
from sluicegate.tokenizers.errors import TokenizerExists, TokenizerLoadError
from sluicegate.tokenizers.protocol import Tokenizer
from sluicegate.tokenizers.worker.address import WorkerAddress
from sluicegate.tokenizers.worker.bundle import DEFAULT_LIMITS, BundleLimits
from sluicegate.tokenizers.worker.credentials import WorkerCredentials
from sluicegate.tokenizers.worker.errors import WorkerError, WorkerRefused
from sluicegate.tokenizers.worker.fetch import fetch_tokenizer
from sluicegate.tokenizers.worker.runtimes import ModelInfo, Runtime

if TYPE_CHECKING:
    from sluicegate.settings import Settings
    from sluicegate.tokenizers.worker.client import WorkerClient

T = TypeVar("T")

ANSWER_SECONDS = 10.0
LOCAL_OR_HUB_SECONDS = 60.0
FETCH_SECONDS = 120.0


class WorkerExists(SluicegateError):
    """A worker at this address is registered. `id` is its id."""

    def __init__(self, url: str, id: str) -> None:  # noqa: A002 - the id of the public interface
        self.id = id
        super().__init__(f"Worker {url} already exists with id {id}")


class WorkersUnavailable(SluicegateError):
    """The libraries that talk to workers are not installed."""

    def __init__(self) -> None:
        super().__init__("gRPC workers need the extra 'grpc': pip install 'sluicegate[grpc]'")


class ModelCard(msgspec.Struct, frozen=True):
    """A model that whoever registers a worker says it serves."""

    id: str
    tool_parser: str | None = None
    reasoning_parser: str | None = None


class Registration(msgspec.Struct, frozen=True):
    """What is said about a worker when it is registered: the body of `POST /workers`."""

    url: str
    labels: dict[str, str] = {}
    models: tuple[ModelCard, ...] = ()


class Parsers(msgspec.Struct, frozen=True):
    """The parsers that a worker names for its model; None leaves the choice to others."""

    tool: str | None = None
    reasoning: str | None = None


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What all workers have in common. `load_source` reads a local source under the allowed roots or asks the hub,
    `load_directory` reads a directory that needs no permission; both block and raise `TokenizerLoadError`.
    """

    load_source: LoadSource
    load_directory: Callable[[Path], Tokenizer]
    default_source: str | None = None
    autoload: bool = True
    startup_seconds: float = 1800.0
    longest_pause_seconds: float = 30.0
    fetch_seconds: float = FETCH_SECONDS
    credentials: WorkerCredentials | None = None
    limits: BundleLimits = DEFAULT_LIMITS


class Worker:
    """One registered worker."""

    job: Job

    def __init__(self, id: str, address: WorkerAddress, registration: Registration, created: float) -> None:  # noqa: A002
        self.id = id
        self.address = address
        self.registration = registration
        self.created = created
        """Seconds since 1970."""
        self.status: Literal["pending", "ready", "failed"] = "pending"
        self.message: str | None = None
        self.runtime: Runtime | None = None
        self.info = ModelInfo()
        self.tokenizer_job: str | None = None

    @property
    def model_name(self) -> str | None:
        """The name under which this worker's tokenizer is registered, if it has one that can be used."""
        first = [card.id for card in self.registration.models[:1]]
        names = [*first, self.info.served_model_name, self.info.model_path]
        return next((name for name in names if name and name_problem(name) is None), None)

    @property
    def parsers(self) -> dict[str, Parsers]:
        """The parsers that this worker names, by model: those of the model card, then those of the labels."""
        labels = self.registration.labels
        tool, reasoning = labels.get("tool_parser"), labels.get("reasoning_parser")
        cards = self.registration.models or tuple(ModelCard(name) for name in [self.model_name] if name)
        named = {card.id: Parsers(card.tool_parser or tool, card.reasoning_parser or reasoning) for card in cards}
        return {model: parsers for model, parsers in named.items() if parsers != Parsers()}

    def shown(self) -> dict[str, Any]:
        """What the routes show of it; members that have no value are left out."""
        shown: dict[str, Any] = {"id": self.id, "url": self.registration.url, "status": self.status}
        if self.status == "pending":
            shown["job_status"] = {
                "job_type": "AddWorker",
                "worker_url": self.registration.url,
                "status": self.job.state,
                "message": self.message,
                "timestamp": int(self.created),
            }
        optional = {
            "message": self.message if self.status == "failed" else None,
            "runtime": self.runtime.name if self.runtime else None,
            "model_id": self.model_name,
            "tokenizer_job": self.tokenizer_job,
        }
        return shown | {name: value for name, value in optional.items() if value is not None}


class WorkerRegistry:
    """Registers workers in the background and fetches their tokenizers. Belongs to one event loop.

    `check_parsers(tool, reasoning)` raises `UnknownDialect` for a name that no parser has. `wall_clock` gives seconds
    since 1970.
    """

    def __init__(
        self,
        queue: JobQueue,
        tokenizers: TokenizerJobs,
        settings: WorkerSettings,
        *,
        check_parsers: Callable[[str | None, str | None], None],
        wall_clock: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self._queue = queue
        self._tokenizers = tokenizers
        self._settings = settings
        self._check_parsers = check_parsers
        self._wall_clock = wall_clock
        self._new_id = new_id
        self._workers: dict[str, Worker] = {}
        self._parsers: dict[str, Parsers] = {}
        self.parsers_changed: Callable[[dict[str, Parsers]], None] = lambda _parsers: None
        """Told all parsers by model, when they may have changed."""
        self._log = get_logger()

    def add(self, registration: Registration) -> Worker:
        """Register a worker; it is asked in the background.

        Raises `ValueError` for the URL, `UnknownDialect` for a parser's name, `WorkerExists`, `WorkersUnavailable`,
        `JobQueueFull`.
        """
        address = WorkerAddress.parse(registration.url)
        labels = registration.labels
        self._check_parsers(labels.get("tool_parser"), labels.get("reasoning_parser"))
        for card in registration.models:
            self._check_parsers(card.tool_parser, card.reasoning_parser)
        for present in self._workers.values():
            if present.address == address:
                raise WorkerExists(registration.url, present.id)
        if not installed():
            raise WorkersUnavailable
        worker = Worker(self._new_id(), address, registration, self._wall_clock())
        worker.job = self._queue.submit(lambda: self._register(worker))
        self._workers[worker.id] = worker
        self._collect_parsers()
        return worker

    def add_at_start(self, urls: Sequence[str]) -> None:
        """Register the workers of `--worker-urls`, each once; one that cannot be queued is left out with a warning.

        Raises `ValueError` for a URL.
        """
        for url in urls:
            try:
                self.add(Registration(url))
            except WorkerExists:
                continue
            except JobQueueFull as error:
                self._log.warning("worker_not_registered", worker=url, reason=str(error))

    def get(self, worker_id: str) -> Worker | None:
        """The worker with this id."""
        return self._workers.get(worker_id)

    def list(self) -> list[Worker]:
        """All workers, the oldest first."""
        return [*self._workers.values()]

    def remove(self, worker_id: str) -> Worker | None:
        """Forget a worker, ending its registration if that still goes on; its tokenizer stays."""
        worker = self._workers.pop(worker_id, None)
        if worker is not None:
            worker.job.cancel()
            self._collect_parsers()
        return worker

    def parsers_for(self, model: str) -> Parsers | None:
        """The parsers that a registered worker names for exactly this model; of several workers the oldest counts."""
        return self._parsers.get(model)

    def _collect_parsers(self) -> None:
        self._parsers = {
            model: parsers for worker in reversed(self._workers.values()) for model, parsers in worker.parsers.items()
        }
        self.parsers_changed(self._parsers)

    # ------------------------------------------------------------ the background

    async def _register(self, worker: Worker) -> None:
        try:
            worker.runtime, worker.info = await self._reach(worker)
        except WorkerError as error:
            self._fail(worker, str(error))
        except Exception as error:
            self._log.exception("worker_registration_error", worker=worker.registration.url)
            self._fail(worker, f"Registration failed: {type(error).__name__}")
        else:
            worker.status, worker.message = "ready", None
            worker.tokenizer_job = self._start_tokenizer_job(worker, worker.runtime)
            self._collect_parsers()
            self._log.info("worker_ready", worker=worker.registration.url, runtime=worker.runtime.name)

    def _fail(self, worker: Worker, message: str) -> None:
        worker.status, worker.message = "failed", message
        self._log.warning("worker_failed", worker=worker.registration.url, reason=message)

    async def _reach(self, worker: Worker) -> tuple[Runtime, ModelInfo]:
        """Ask the worker who it is, again and again with growing pauses for as long as workers may take to start."""
        named = bool(worker.registration.models)
        async for attempt in stamina.retry_context(
            on=lambda error: isinstance(error, WorkerError) and error.retryable,
            attempts=None,
            timeout=max(self._settings.startup_seconds, 0.001),  # 0 would mean no bound
            wait_initial=1.0,
            wait_max=self._settings.longest_pause_seconds,
        ):
            with attempt:
                try:
                    return await self._ask(worker, lambda client: _identify(client, named=named))
                except WorkerError as error:
                    worker.message = str(error)
                    raise
        raise AssertionError("unreachable: the last attempt raises")

    async def _ask(self, worker: Worker, question: Callable[[WorkerClient], T]) -> T:
        """Put a blocking question to the worker in a thread; being cancelled ends the calls in flight."""
        module = await in_thread(lambda: import_module("sluicegate.tokenizers.worker.client"), "worker-import")
        client: WorkerClient = module.WorkerClient(worker.address, self._settings.credentials)

        def ask() -> T:
            with client:
                return question(client)

        return await in_thread(ask, "worker-call", stop=client.cancel)

    def _start_tokenizer_job(self, worker: Worker, runtime: Runtime) -> str | None:
        """Start loading the worker's tokenizer unless its model has one; the id of the job or tokenizer, if any."""
        name = worker.model_name
        if name is None or not self._settings.autoload:
            return None
        info, labels = worker.info, worker.registration.labels
        sources = [labels.get("tokenizer_path"), info.tokenizer_path, info.model_path, self._settings.default_source]
        source = next((source for source in sources if source), None)
        try:
            return self._tokenizers.submit(
                name, source or worker.registration.url, lambda: self._load_tokenizer(worker, runtime, source)
            )
        except (TokenizerExists, TokenizerLoading) as error:
            return error.id
        except JobQueueFull as error:
            self._log.warning("worker_tokenizer_not_loaded", worker=worker.registration.url, reason=str(error))
            return None

    async def _load_tokenizer(self, worker: Worker, runtime: Runtime, source: str | None) -> Tokenizer:
        local = "the worker names no source"
        if source is not None:
            try:
                async with asyncio.timeout(LOCAL_OR_HUB_SECONDS):
                    return await load_in_thread(partial(self._settings.load_source, source, None))
            except TokenizerLoadError as error:
                local = str(error)
            except TimeoutError:
                local = f"no answer within {LOCAL_OR_HUB_SECONDS:g} seconds"
        try:
            return await self._fetch(worker, runtime)
        except TokenizerLoadError as error:
            raise TokenizerLoadError(
                f"Failed to load tokenizer locally ({local}) and from worker {worker.registration.url} ({error})"
            ) from error

    async def _fetch(self, worker: Worker, runtime: Runtime) -> Tokenizer:
        """Up to three attempts, all of them together within the time of one fetch."""
        seconds, limits, load = self._settings.fetch_seconds, self._settings.limits, self._settings.load_directory

        def fetch(client: WorkerClient) -> Tokenizer:
            tokenizer = fetch_tokenizer(client, runtime, load, timeout=seconds, limits=limits)
            release_freed_memory()
            return tokenizer

        try:
            async with asyncio.timeout(seconds):
                return await with_attempts(lambda: self._ask(worker, fetch))
        except TimeoutError:
            raise WorkerError(f"its tokenizer did not arrive within {seconds:g} seconds") from None


def worker_settings(
    settings: Settings,
    load_source: LoadSource,
    load_directory: Callable[[Path], Tokenizer],
) -> WorkerSettings:
    """What the settings say about workers.

    Raises `InvalidSetting` for worker URLs and certificates that can never be used.
    """
    for url in settings.worker_urls:
        try:
            WorkerAddress.parse(url)
        except ValueError as error:
            raise InvalidSetting("worker_urls", url, str(error)) from None
    if settings.worker_urls and not installed():
        raise InvalidSetting("worker_urls", " ".join(settings.worker_urls), str(WorkersUnavailable()))
    return WorkerSettings(
        load_source=load_source,
        load_directory=load_directory,
        default_source=settings.tokenizer_path or settings.model_path,
        autoload=not settings.disable_tokenizer_autoload,
        startup_seconds=settings.worker_startup_timeout_secs,
        longest_pause_seconds=settings.worker_startup_check_interval,
        credentials=WorkerCredentials.from_files(
            settings.ca_cert_paths, settings.client_cert_path, settings.client_key_path
        ),
    )


def installed() -> bool:
    """Whether the libraries of the extra `grpc` are there."""
    return all(find_spec(name) is not None for name in ("grpc", "smg_grpc_proto"))


def _identify(client: WorkerClient, *, named: bool) -> tuple[Runtime, ModelInfo]:
    """Which engine a worker is and which model it serves; one that cannot say is fine where the model is `named`."""
    runtime = client.detect_runtime(ANSWER_SECONDS)
    try:
        return runtime, client.model_info(runtime, ANSWER_SECONDS)
    except WorkerRefused:
        if named:
            return runtime, ModelInfo()
        raise
