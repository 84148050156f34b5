"""The parts of the service, put together."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from prometheus_client import CollectorRegistry

from sluicegate.core.errors import InvalidSetting
from sluicegate.settings import Settings
from sluicegate.tokenizers.store import TokenizerStore

from .admission import observed_admission
from .application import Application, Trace
from .body import Limits
from .control import Control, ControlPlane
from .cors import CrossOrigin
from .format_files import register_format_files
from .guard import build_guard
from .identifiers import new_identifier
from .loading import LocalLoader
from .logs import get_logger
from .metrics import Metrics
from .openapi import openapi_route
from .parser_choice import ParserChoice, parsers_of_checkpoint
from .planes import Admission
from .playground import PREFIX as PLAYGROUND
from .playground import Playground
from .routes.parsing import parsing_routes
from .routes.streaming import SESSION_PATH, StreamingRoutes
from .routes.tokens import TokenRoutes
from .routes.unified import UnifiedRoutes
from .routing import RouteTable
from .state import ServiceState


class SharedParts(Protocol):
    """Makes the parts that all processes of a service have in common."""

    def store(self) -> TokenizerStore:
        """The loaded tokenizers."""
        ...

    def control(self, state: ServiceState) -> Control:
        """What knows the tokenizers and workers."""
        ...

    def admission(self, settings: Settings, registry: CollectorRegistry) -> tuple[Admission, tuple[str, ...]]:
        """What limits the requests in progress, with its metrics in `registry`; and warnings, one line each."""
        ...


class OneProcess:
    """The parts of a service that is one process."""

    def store(self) -> TokenizerStore:
        """See `SharedParts`."""
        return TokenizerStore(new_identifier)

    def control(self, state: ServiceState) -> Control:
        """See `SharedParts`."""
        return ControlPlane(state, LocalLoader(state.settings, state.metrics.registry))

    def admission(self, settings: Settings, registry: CollectorRegistry) -> tuple[Admission, tuple[str, ...]]:
        """See `SharedParts`."""
        return observed_admission(settings, registry)


class Service:
    """Everything that one process serves with. Raises `InvalidSetting` when the settings do not go together."""

    def __init__(self, settings: Settings, parts: SharedParts | None = None) -> None:
        parts = parts or OneProcess()
        self.metrics = Metrics(settings.prometheus_duration_buckets)
        self.state = ServiceState(settings, parts.store(), self.metrics)
        self.control = parts.control(self.state)
        register_format_files(settings.format_file)
        choose = ParserChoice(settings)
        choose.of_workers = self.control.parsers_of_workers
        choose.of_checkpoint = partial(parsers_of_checkpoint, self.state.store)
        self._guard, guard_warnings = build_guard(settings)
        self.admission, admission_warnings = parts.admission(settings, self.metrics.registry)
        if self._guard is not None:
            self.metrics.registry.register(self._guard)
        self._warnings = (*guard_warnings, *admission_warnings)
        unified = UnifiedRoutes(self.state, choose)
        streaming = StreamingRoutes(self.state, unified)
        routes = [
            *self.control.health,
            *parsing_routes(self.state),
            *unified.routes(),
            *streaming.routes(),
            *TokenRoutes(self.state).routes(),
            *self.control.routes,
        ]
        self.health_routes = RouteTable(self.control.health)
        self.application = Application(
            RouteTable((*routes, openapi_route(tuple(routes)))),
            Limits(settings.max_payload_size, settings.request_timeout_secs, settings.stream_body_stall_timeout_secs),
            metrics=self.metrics,
            request_id_headers=settings.request_id_headers,
            guard=self._guard,
            admission=self.admission,
            cross_origin=CrossOrigin(settings.cors_allowed_origins) if settings.cors_allowed_origins else None,
            trace=_tracing() if settings.tracing_enabled else None,
            mounted={PLAYGROUND: Playground()} if settings.shows_playground else None,
            sessions={SESSION_PATH: streaming.session},
        )

    def warn(self) -> None:
        """Log what an operator should know about the settings."""
        for warning in self._warnings:
            get_logger().warning(warning)

    async def start(self) -> None:
        """Begin what goes on in the background."""
        if self._guard is not None:
            self._guard.start()
        self.control.start()

    async def stop(self) -> None:
        """End what goes on in the background."""
        if self._guard is not None:
            await self._guard.stop()
        await self.control.stop()


def _tracing() -> Trace:
    try:
        from .tracing import Tracing  # noqa: PLC0415 - needs the extra `otel`
    except ModuleNotFoundError:
        reason = "needs OpenTelemetry: pip install 'sluicegate[otel]'"
        raise InvalidSetting("tracing_enabled", "true", reason) from None
    return Tracing()
