"""The tokenizers and workers' parsers of one serving process, which change only as the supervisor says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

from sluicegate.server.loading import Loader
from sluicegate.server.logs import get_logger
from sluicegate.server.tokenizer_jobs import load_in_thread
from sluicegate.tokenizers.errors import TokenizerLoadError
from sluicegate.tokenizers.protocol import Tokenizer
from sluicegate.tokenizers.store import TokenizerStore

from .messages import (
    Applied,
    Description,
    Discard,
    FromDemo,
    FromDirectory,
    FromSettings,
    FromSource,
    Load,
    Loaded,
    NotLoaded,
    Order,
    Parsers,
    Publish,
    Remove,
    SetParsers,
    ToSupervisor,
)

Send: TypeAlias = Callable[[ToSupervisor], None]
Change: TypeAlias = Publish | Remove | SetParsers


class OwnTokenizers:
    """Loads at once what is asked for, and makes changes one after the other. Belongs to one event loop."""

    def __init__(self, store: TokenizerStore, loader: Loader, send: Send) -> None:
        self._store = store
        self._loader = loader
        self._send = send
        self._loads: dict[int, asyncio.Task[Tokenizer]] = {}
        self.parsers: Parsers = {}

    def load(self, message: Load) -> None:
        """Begin to load, unseen by requests, and report how it ends."""
        task = self._loads[message.number] = asyncio.create_task(self._load(message.order))
        task.add_done_callback(partial(self._report, message.number))

    def discard(self, message: Discard) -> None:
        """Forget what was loaded, or end its load."""
        task = self._loads.pop(message.number, None)
        if task is not None:
            task.cancel()

    async def apply(self, change: Change) -> None:
        """Make a change, and confirm it. Raises `TokenizerLoadError` if a tokenizer has to be loaded and cannot be."""
        match change:
            case Publish():
                await self.publish(change)
            case Remove():
                self._store.remove(change.id)
            case SetParsers():
                self.parsers = change.parsers
        self._send(Applied(change.change))

    async def publish(self, message: Publish) -> None:
        """Show a tokenizer to requests. Raises `TokenizerLoadError`."""
        task = self._loads.pop(message.number, None)
        tokenizer = await (self._load(message.order) if task is None else task)
        if tokenizer.vocab_size != message.description.vocab_size:
            raise TokenizerLoadError(
                f"the source of tokenizer '{message.name}' has changed since the service loaded it"
            )
        self._store.add(message.name, tokenizer, message.source, message.id)

    async def _load(self, order: Order) -> Tokenizer:
        return await load_in_thread(partial(self._load_blocking, order))

    def _load_blocking(self, order: Order, cancelled: Callable[[], bool]) -> Tokenizer:
        match order:
            case FromSource(source, chat_template):
                return self._loader.load_source(source, chat_template, cancelled)
            case FromDirectory(path):
                return self._loader.load_directory(Path(path))
            case FromSettings(source):
                return self._loader.load_startup(source, cancelled)
            case FromDemo(name):
                return self._loader.load_demo(name, cancelled)

    def _report(self, number: int, task: asyncio.Task[Tokenizer]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            tokenizer = task.result()
            self._send(Loaded(number, Description(tokenizer.vocab_size, tokenizer.engine)))
            return
        self._loads.pop(number, None)
        if isinstance(error, TokenizerLoadError):
            self._send(NotLoaded(number, str(error), error.retryable))
        else:
            get_logger().error("tokenizer_load_error", exc_info=error)
            self._send(NotLoaded(number, f"Loading failed: {type(error).__name__}", retryable=False))
