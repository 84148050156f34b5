"""What the routes share: the settings, the loaded tokenizers, and how far the service is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from sluicegate.settings import Settings
    from sluicegate.tokenizers.store import TokenizerStore

    from .metrics import Metrics

T = TypeVar("T")


class ServiceState:
    """Changed by the event loop's thread alone.

    `threads` is where long inputs are worked on. `startup` is how far the tokenizers are that are loaded at start;
    `draining` is set by SIGTERM. `obstacle` says why the service should get no traffic although all is loaded.
    """

    def __init__(self, settings: Settings, store: TokenizerStore, metrics: Metrics) -> None:
        self.settings = settings
        self.store = store
        self.metrics = metrics
        self.threads = ThreadPoolExecutor(max(4, 2 * (os.cpu_count() or 1)), thread_name_prefix="long-input")
        self.draining = False
        self.startup: Literal["loading", "loaded", "failed"] = "loaded"
        self.startup_reason = ""
        self.obstacle: Callable[[], str | None] = lambda: None

    def in_thread(self, work: Callable[[], T]) -> Awaitable[T]:
        """What `work` returns or raises; it is called in one of the threads for long inputs."""
        return asyncio.get_running_loop().run_in_executor(self.threads, work)

    def not_ready(self) -> str | None:
        """Why the service should get no traffic, None if it should."""
        if self.draining:
            return "draining"
        return self.obstacle() if self.startup == "loaded" else self.startup_reason
