"""The parts of the service, put together."""

from __future__ import annotations

import time
from functools import partial

from sluicegate.admission.observer import TenantLabels
from sluicegate.core.errors import InvalidSetting
from sluicegate.settings import Settings
from sluicegate.tokenizers.store import TokenizerStore

from .admission import build_admission
from .admission_metrics import AdmissionMetrics
from .application import Application, Trace
from .body import Limits
from .cors import CrossOrigin
from .format_files import register_format_files
from .guard import build_guard
from .identifiers import new_identifier
from .jobs import JobQueue
from .logs import get_logger
from .metrics import Metrics
from .openapi import openapi_route
from .parser_choice import ParserChoice, check_parsers, parsers_of_checkpoint
from .playground import PREFIX as PLAYGROUND
from .playground import Playground
from .routes.health import health_routes
from .routes.parsing import parsing_routes
from .routes.streaming import SESSION_PATH, StreamingRoutes
from .routes.tokenizers import TokenizerRoutes
from .routes.tokens import TokenRoutes
from .routes.unified import UnifiedRoutes
from .routes.workers import WorkerRoutes
from .routing import RouteTable
from .startup import Startup
from .state import ServiceState
from .tokenizer_jobs import TokenizerJobs
from .workers import WorkerRegistry, worker_settings


class Service:
    """Everything that one process serves with. Raises `InvalidSetting` when the settings do not go together."""

    def __init__(self, settings: Settings) -> None:
        self.metrics = Metrics(settings.prometheus_duration_buckets)
        self.state = ServiceState(settings, TokenizerStore(new_identifier), self.metrics)
        self._startup = Startup(self.state)
        register_format_files(settings.format_file)
        choose = ParserChoice(settings)
        self._queue = JobQueue(settings.job_queue_capacity, settings.job_queue_concurrency)
        self._jobs = TokenizerJobs(self.state.store, self._queue, clock=time.monotonic, new_id=new_identifier)
        self._workers = WorkerRegistry(
            self._queue,
            self._jobs,
            worker_settings(settings, self._startup.load_source, self._startup.load_directory),
            check_parsers=check_parsers,
            wall_clock=time.time,
            new_id=new_identifier,
        )
        choose.of_workers = self._parsers_of_workers
        choose.of_checkpoint = partial(parsers_of_checkpoint, self.state.store)
        self._guard, guard_warnings = build_guard(settings)
        admission_metrics = AdmissionMetrics(TenantLabels(settings.priority_scheduler_tenant_metric_top_n))
        admission, admission_warnings = build_admission(settings, admission_metrics)
        admission_metrics.pool = admission.pool
        self.metrics.registry.register(admission_metrics)
        if self._guard is not None:
            self.metrics.registry.register(self._guard)
        self._warnings = (*guard_warnings, *admission_warnings)
        health = health_routes(self.state)
        unified = UnifiedRoutes(self.state, choose)
        streaming = StreamingRoutes(self.state, unified)
        routes = [
            *health,
            *parsing_routes(self.state),
            *unified.routes(),
            *streaming.routes(),
            *TokenRoutes(self.state).routes(),
            *TokenizerRoutes(self._jobs, self._startup.load_source).routes(),
            *WorkerRoutes(self._workers).routes(),
        ]
        self.health_routes = RouteTable(tuple(health))
        self.application = Application(
            RouteTable((*routes, openapi_route(tuple(routes)))),
            Limits(settings.max_payload_size, settings.request_timeout_secs, settings.stream_body_stall_timeout_secs),
            metrics=self.metrics,
            request_id_headers=settings.request_id_headers,
            guard=self._guard,
            admission=admission,
            cross_origin=CrossOrigin(settings.cors_allowed_origins) if settings.cors_allowed_origins else None,
            trace=_tracing() if settings.tracing_enabled else None,
            mounted={PLAYGROUND: Playground()} if settings.shows_playground else None,
            sessions={SESSION_PATH: streaming.session},
        )

    async def start(self) -> None:
        """Begin what goes on in the background."""
        for warning in self._warnings:
            get_logger().warning(warning)
        if self._guard is not None:
            self._guard.start()
        self._startup.start(self._jobs)
        self._workers.add_at_start(self.state.settings.worker_urls)

    async def stop(self) -> None:
        """End what goes on in the background."""
        if self._guard is not None:
            await self._guard.stop()
        await self._queue.close()

    def _parsers_of_workers(self, model: str) -> tuple[str | None, str | None]:
        found = self._workers.parsers_for(model)
        return (None, None) if found is None else (found.tool, found.reasoning)


def _tracing() -> Trace:
    try:
        from .tracing import Tracing  # noqa: PLC0415 - needs the extra `otel`
    except ModuleNotFoundError:
        reason = "needs OpenTelemetry: pip install 'sluicegate[otel]'"
        raise InvalidSetting("tracing_enabled", "true", reason) from None
    return Tracing()
