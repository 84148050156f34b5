"""The parts of the service, put together."""

from __future__ import annotations

import asyncio

from sluicegate.admission.observer import TenantLabels
from sluicegate.settings import Settings
from sluicegate.tokenizers.store import TokenizerStore

from .admission import build_admission
from .admission_metrics import AdmissionMetrics
from .application import Application
from .body import Limits
from .cors import CrossOrigin
from .guard import build_guard
from .identifiers import new_identifier
from .logs import get_logger
from .metrics import Metrics
from .routes.health import health_routes
from .routes.parsing import parsing_routes
from .routes.tokens import token_routes
from .routing import RouteTable
from .startup import check_startup_tokenizer, load_at_start
from .state import ServiceState


class Service:
    """Everything that one process serves with. Raises `InvalidSetting` when the settings do not go together."""

    def __init__(self, settings: Settings) -> None:
        self.metrics = Metrics(settings.prometheus_duration_buckets)
        self.state = ServiceState(settings, TokenizerStore(new_identifier), self.metrics)
        check_startup_tokenizer(settings)
        self._guard, guard_warnings = build_guard(settings)
        admission_metrics = AdmissionMetrics(TenantLabels(settings.priority_scheduler_tenant_metric_top_n))
        admission, admission_warnings = build_admission(settings, admission_metrics)
        admission_metrics.pool = admission.pool
        self.metrics.registry.register(admission_metrics)
        if self._guard is not None:
            self.metrics.registry.register(self._guard)
        self._warnings = (*guard_warnings, *admission_warnings)
        health = health_routes(self.state)
        routes = [*health, *parsing_routes(self.state), *token_routes(self.state)]
        self.health_routes = RouteTable(tuple(health))
        self.application = Application(
            RouteTable(tuple(routes)),
            Limits(settings.max_payload_size, settings.request_timeout_secs, settings.stream_body_stall_timeout_secs),
            metrics=self.metrics,
            request_id_headers=settings.request_id_headers,
            guard=self._guard,
            admission=admission,
            cross_origin=CrossOrigin(settings.cors_allowed_origins) if settings.cors_allowed_origins else None,
        )
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin what goes on in the background."""
        for warning in self._warnings:
            get_logger().warning(warning)
        if self._guard is not None:
            self._guard.start()
        task = asyncio.create_task(load_at_start(self.state))
        self._tasks.add(task)

    async def stop(self) -> None:
        """End what goes on in the background."""
        if self._guard is not None:
            await self._guard.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
