"""The parts of the service, put together."""

from __future__ import annotations

import asyncio

from sluicegate.settings import Settings
from sluicegate.tokenizers.store import TokenizerStore

from .application import Application
from .body import Limits
from .cors import CrossOrigin
from .identifiers import new_identifier
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
        health = health_routes(self.state)
        routes = [*health, *parsing_routes(self.state), *token_routes(self.state)]
        self.health_routes = RouteTable(tuple(health))
        self.application = Application(
            RouteTable(tuple(routes)),
            Limits(
                settings.max_payload_size, settings.request_timeout_secs, settings.stream_body_stall_timeout_secs
            ),
            metrics=self.metrics,
            request_id_headers=settings.request_id_headers,
            cross_origin=CrossOrigin(settings.cors_allowed_origins) if settings.cors_allowed_origins else None,
        )
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin what goes on in the background."""
        task = asyncio.create_task(load_at_start(self.state))
        self._tasks.add(task)

    async def stop(self) -> None:
        """End what goes on in the background."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
