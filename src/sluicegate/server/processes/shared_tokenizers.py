"""The tokenizers and workers of all serving processes, kept by the supervisor.

The supervisor loads no tokenizer itself: it has every process load it, and knows it by its description. Its own store
is what the routes show. Every change of the store is passed on to all processes, which confirm it; `settled` waits
until all of them have, and no answer of the control plane leaves before that.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeAlias, cast

from sluicegate.server.identifiers import new_identifier
from sluicegate.server.workers import Parsers as WorkerParsers
from sluicegate.tokenizers.errors import TokenizerLoadCancelled, TokenizerLoadError
from sluicegate.tokenizers.protocol import Engine, Tokenizer
from sluicegate.tokenizers.store import StoredTokenizer, TokenizerStore

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
    ToProcess,
)

Send: TypeAlias = Callable[[ToProcess], None]
LOOK_SECONDS = 0.1
"""Between two looks whether a load is still wanted."""


class NotLoadedEverywhere(TokenizerLoadError):
    """A process could not load the tokenizer."""


class NotLoadedForNow(NotLoadedEverywhere):
    """A process could not load the tokenizer, but may later."""

    retryable: ClassVar[bool] = True


class DescribedTokenizer:
    """A tokenizer that the processes have loaded: what the supervisor knows of it."""

    def __init__(self, number: int, order: Order, description: Description) -> None:
        self.number = number
        self.order = order
        self.description = description

    @property
    def vocab_size(self) -> int:
        """See `Tokenizer`."""
        return self.description.vocab_size

    @property
    def engine(self) -> Engine:
        """See `Tokenizer`."""
        return self.description.engine


class Keeper:
    """A serving process, as far as its tokenizers go. `send` reaches it."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.accepts = False
        """Whether it serves requests, so that changes are made only once it has confirmed them."""
        self.applied = 0
        self.loading: dict[int, asyncio.Future[Description]] = {}


class Fleet:
    """All serving processes, told of every change. Belongs to one event loop."""

    def __init__(self) -> None:
        self._keepers: set[Keeper] = set()
        self._change = 0
        self._number = 0
        self._published: dict[str, Publish] = {}
        self._parsers: Parsers = {}
        self._waiting: list[asyncio.Future[None]] = []

    # ------------------------------------------------------------ processes

    def join(self, keeper: Keeper) -> tuple[list[Publish], Parsers]:
        """A process has started: what it has to load before it serves."""
        self._keepers.add(keeper)
        keeper.applied = self._change
        return [*self._published.values()], self._parsers

    def leave(self, keeper: Keeper) -> None:
        """A process has ended. Nobody waits for it any more."""
        self._keepers.discard(keeper)
        for outcome in keeper.loading.values():
            if not outcome.done():
                outcome.cancel()
        self._look()

    def receive(self, keeper: Keeper, message: Loaded | NotLoaded | Applied) -> None:
        """A process has done something, or has failed to."""
        if isinstance(message, Applied):
            keeper.applied = max(keeper.applied, message.change)
            self._look()
            return
        outcome = keeper.loading.get(message.number)
        if outcome is None or outcome.done():
            return
        if isinstance(message, Loaded):
            outcome.set_result(message.description)
        else:
            kind = NotLoadedForNow if message.retryable else NotLoadedEverywhere
            outcome.set_exception(kind(message.reason))

    # ------------------------------------------------------------ changes

    def publish(self, stored: StoredTokenizer) -> None:
        """Show a tokenizer in all processes."""
        described = cast("DescribedTokenizer", stored.tokenizer)
        self._change += 1
        message = Publish(
            self._change,
            described.number,
            described.order,
            described.description,
            stored.name,
            stored.id,
            stored.source,
        )
        self._published[stored.id] = message
        self._tell(message)

    def remove(self, stored: StoredTokenizer) -> None:
        """Take a tokenizer away in all processes."""
        del self._published[stored.id]
        self._change += 1
        self._tell(Remove(self._change, stored.id))

    def set_parsers(self, parsers: Mapping[str, WorkerParsers]) -> None:
        """Have all processes use these parsers of workers."""
        wanted = {model: (named.tool, named.reasoning) for model, named in parsers.items()}
        if wanted != self._parsers:
            self._parsers = wanted
            self._change += 1
            self._tell(SetParsers(self._change, wanted))

    def _tell(self, message: ToProcess) -> None:
        for keeper in self._keepers:
            keeper.send(message)

    @property
    def is_settled(self) -> bool:
        """Whether every process that serves has made every change."""
        return all(keeper.applied >= self._change for keeper in self._keepers if keeper.accepts)

    async def settled(self) -> None:
        """Wait until every change that was asked for so far is made in every process that serves."""
        while not self.is_settled:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting

    def _look(self) -> None:
        if self.is_settled:
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    # ------------------------------------------------------------ loading

    async def load(self, order: Order) -> DescribedTokenizer:
        """Have every process load a tokenizer, unseen by requests. Where one fails, all forget it.

        Raises `NotLoadedEverywhere`.
        """
        self._number += 1
        number, loop = self._number, asyncio.get_running_loop()
        forget = partial(self._forget, loop, number)
        keepers = [*self._keepers]
        outcomes = [loop.create_future() for _ in keepers]
        for keeper, outcome in zip(keepers, outcomes, strict=True):
            keeper.loading[number] = outcome
            keeper.send(Load(number, order))
        try:
            described = await _described(outcomes)
        except BaseException:
            forget()
            raise
        finally:
            for keeper, outcome in zip(keepers, outcomes, strict=True):
                del keeper.loading[number]
                if not outcome.cancel() and not outcome.cancelled():
                    outcome.exception()  # one failure is enough, the others are no surprise
        tokenizer = DescribedTokenizer(number, order, described)
        # One that is never published, because its job was cancelled meanwhile, must not stay in the processes.
        weakref.finalize(tokenizer, forget).atexit = False
        return tokenizer

    def _forget(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        """Have all processes drop what they loaded. May be called by any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: the service has ended
            loop.call_soon_threadsafe(self._tell, Discard(number))


async def _described(outcomes: Iterable[asyncio.Future[Description]]) -> Description:
    """What all processes that are still there have loaded; the first failure counts."""
    found: Description | None = None
    waiting = set(outcomes)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for outcome in done:
            if outcome.cancelled():  # this process has ended; the one in its place will load it
                continue
            description = outcome.result()
            if found is not None and found.vocab_size != description.vocab_size:
                raise NotLoadedForNow("The source has changed while the processes were loading it")
            found = description
    if found is None:
        raise NotLoadedForNow("No process was there to load it")
    return found


class SharedStore(TokenizerStore):
    """The store of the supervisor, whose changes reach all processes."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(new_identifier)
        self._fleet = fleet

    def add(self, name: str, tokenizer: Tokenizer, source: str, id: str | None = None) -> StoredTokenizer:  # noqa: A002
        """See `TokenizerStore`."""
        stored = super().add(name, tokenizer, source, id)
        self._fleet.publish(stored)
        return stored

    def remove(self, name_or_id: str) -> StoredTokenizer | None:
        """See `TokenizerStore`."""
        stored = super().remove(name_or_id)
        if stored is not None:
            self._fleet.remove(stored)
        return stored


class SharedLoader:
    """Has all processes load tokenizers; each call blocks a thread, as those of `Loader` do."""

    def __init__(self, fleet: Fleet, loop: asyncio.AbstractEventLoop) -> None:
        self._fleet = fleet
        self._loop = loop

    def load_source(self, source: str, chat_template: str | None, cancelled: Callable[[], bool]) -> Tokenizer:
        """See `Loader`."""
        return self._load(FromSource(source, chat_template), cancelled)

    def load_directory(self, directory: Path) -> Tokenizer:
        """See `Loader`. The directory is copied: a process that starts later reads it again."""
        kept = tempfile.mkdtemp(prefix="sluicegate-bundle-")
        try:
            shutil.copytree(directory, kept, dirs_exist_ok=True)
            tokenizer = self._load(FromDirectory(kept), lambda: False)
        except BaseException:
            shutil.rmtree(kept, ignore_errors=True)
            raise
        weakref.finalize(tokenizer, shutil.rmtree, kept, ignore_errors=True)
        return tokenizer

    def load_startup(self, source: str, cancelled: Callable[[], bool]) -> Tokenizer:
        """See `Loader`."""
        return self._load(FromSettings(source), cancelled)

    def load_demo(self, name: str, cancelled: Callable[[], bool]) -> Tokenizer:
        """See `Loader`."""
        return self._load(FromDemo(name), cancelled)

    def _load(self, order: Order, cancelled: Callable[[], bool]) -> Tokenizer:
        loading = asyncio.run_coroutine_threadsafe(self._fleet.load(order), self._loop)
        while True:
            try:
                return cast("Tokenizer", loading.result(LOOK_SECONDS))
            except TimeoutError:
                if cancelled():
                    loading.cancel()
                    raise TokenizerLoadCancelled("Loading was cancelled") from None
