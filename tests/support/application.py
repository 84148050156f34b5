"""The application of a service without its listeners, asked in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from sluicegate.server.service import Service
from sluicegate.settings import resolve


@asynccontextmanager
async def asked_in_process(**settings: Any) -> AsyncIterator[tuple[httpx.AsyncClient, Service]]:
    """A client of a service with these settings, each as its flag would have it; nothing runs in the background."""
    service = Service(resolve({"host": "127.0.0.1", **settings}, {}))
    transport = httpx.ASGITransport(service.application, client=("10.0.0.1", 1234))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client, service
        await service.stop()
