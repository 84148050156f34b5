"""Tokenizers and workers: what loads them, and the routes that show and change them."""

from __future__ import annotations

import time
from typing import Protocol

from .identifiers import new_identifier
from .jobs import JobQueue
from .loading import Loader
from .parser_choice import Checkpoint, check_parsers
from .routes.health import health_routes
from .routes.tokenizers import TokenizerRoutes
from .routes.workers import WorkerRoutes
from .routing import Route
from .startup import Startup
from .state import ServiceState
from .tokenizer_jobs import TokenizerJobs
from .workers import WorkerRegistry, worker_settings


class Control(Protocol):
    """Whatever knows the tokenizers and workers of the service, in this process or in another."""

    health: tuple[Route, ...]
    routes: tuple[Route, ...]

    def parsers_of_workers(self, model: str) -> Checkpoint:
        """The parsers that a registered worker names for exactly this model."""
        ...

    def start(self) -> None:
        """Begin what goes on in the background."""
        ...

    async def stop(self) -> None:
        """End what goes on in the background."""
        ...


class ControlPlane:
    """The jobs of tokenizers and workers, in this process. Raises `InvalidSetting`."""

    def __init__(self, state: ServiceState, loader: Loader) -> None:
        settings = state.settings
        self._worker_urls = settings.worker_urls
        self._startup = Startup(state, loader)
        self._queue = JobQueue(settings.job_queue_capacity, settings.job_queue_concurrency)
        self._jobs = TokenizerJobs(state.store, self._queue, clock=time.monotonic, new_id=new_identifier)
        self.workers = WorkerRegistry(
            self._queue,
            self._jobs,
            worker_settings(settings, loader.load_source, loader.load_directory),
            check_parsers=check_parsers,
            wall_clock=time.time,
            new_id=new_identifier,
        )
        self.health = tuple(health_routes(state))
        self.routes = (
            *TokenizerRoutes(self._jobs, loader.load_source).routes(),
            *WorkerRoutes(self.workers).routes(),
        )

    def parsers_of_workers(self, model: str) -> Checkpoint:
        """See `Control`."""
        found = self.workers.parsers_for(model)
        return (None, None) if found is None else (found.tool, found.reasoning)

    def start(self) -> None:
        """See `Control`."""
        self._startup.start(self._jobs)
        self.workers.add_at_start(self._worker_urls)

    async def stop(self) -> None:
        """See `Control`."""
        await self._queue.close()
