"""Tokenizers that are being loaded, have failed to load, or are loaded: what the routes of `/v1/tokenizers` show."""

from __future__ import annotations

import asyncio
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias, TypeVar

import msgspec
import stamina

from sluicegate.core.errors import SluicegateError
from sluicegate.server.jobs import Job, JobQueue, in_thread
from sluicegate.server.logs import get_logger
from sluicegate.server.memory import release_freed_memory
from sluicegate.tokenizers.errors import TokenizerExists, TokenizerLoadError
from sluicegate.tokenizers.protocol import Tokenizer
from sluicegate.tokenizers.store import FIRST, StoredTokenizer, TokenizerStore

T = TypeVar("T")
State: TypeAlias = Literal["pending", "processing", "completed", "failed"]
Load: TypeAlias = Callable[[], Awaitable[Tokenizer]]
LoadSource: TypeAlias = Callable[[str, str | None, Callable[[], bool]], Tokenizer]
"""Loads a tokenizer from a source and an optional chat template file, and blocks; the third argument is asked now and
then whether nobody wants the tokenizer any more. Raises `TokenizerLoadError`."""
Ended: TypeAlias = Callable[[str | None], None]
"""Is told how a load ended: None when the tokenizer is there, else why it is not."""

ATTEMPTS = 3
PAUSE_SECONDS = 2.0
TOTAL_SECONDS = 300.0
REMEMBER_SECONDS = 300.0
MAXIMUM_REMEMBERED = 10_000
MAXIMUM_NAME = 512
MAXIMUM_SOURCE = 4096


class TokenizerLoading(SluicegateError):
    """A tokenizer of this name is being loaded. `id` is the id of that job."""

    def __init__(self, name: str, id: str) -> None:  # noqa: A002 - the id of the public interface
        self.name = name
        self.id = id
        super().__init__(f"Tokenizer '{name}' is already being loaded")


class TokenizerStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the status route answers."""

    id: str
    status: State
    message: str
    vocab_size: int | None = None


class _Loading:
    """A load that waits or runs."""

    __slots__ = ("ended", "id", "job", "name", "source")

    job: Job

    def __init__(self, id: str, name: str, source: str, ended: Ended | None) -> None:  # noqa: A002
        self.id = id
        self.name = name
        self.source = source
        self.ended = ended


class _Failure(msgspec.Struct, frozen=True):
    message: str
    forget_at: float


def name_problem(name: str) -> str | None:
    """Why a tokenizer cannot be registered under `name`, or None."""
    if not name:
        return "field 'name' must not be empty"
    if len(name) > MAXIMUM_NAME:
        return f"field 'name' is longer than {MAXIMUM_NAME} characters"
    if name != name.strip() or any(unicodedata.category(character) == "Cc" for character in name):
        return "field 'name' must not have leading or trailing white space or control characters"
    if name in FIRST:
        return f"field 'name' must not be '{name}': as a model it selects the first tokenizer by name"
    return None


def source_problem(source: str) -> str | None:
    """Why nothing can ever be loaded from `source`, or None; whether it exists is found out while loading."""
    if not source.strip():
        return "field 'source' must not be empty: give a directory, a tokenizer file or a hub id"
    if len(source) > MAXIMUM_SOURCE:
        return f"field 'source' is longer than {MAXIMUM_SOURCE} characters"
    if any(unicodedata.category(character) == "Cc" for character in source):
        return "field 'source' must not have control characters"
    return None


async def load_in_thread(load: Callable[[Callable[[], bool]], Tokenizer]) -> Tokenizer:
    """Run a blocking `load` in a thread; what it gets says, once it is so, that this call was cancelled."""
    cancelled = threading.Event()

    def load_and_tidy() -> Tokenizer:
        tokenizer = load(cancelled.is_set)
        release_freed_memory()
        return tokenizer

    return await in_thread(load_and_tidy, "tokenizer-load", stop=cancelled.set)


async def with_attempts(call: Callable[[], Awaitable[T]]) -> T:
    """Await `call`, up to three times two seconds apart as long as its error says that trying again can help."""
    async for attempt in stamina.retry_context(
        on=lambda error: isinstance(error, TokenizerLoadError) and error.retryable,
        attempts=ATTEMPTS,
        timeout=None,
        wait_initial=PAUSE_SECONDS,
        wait_max=PAUSE_SECONDS,
        wait_jitter=0,
        wait_exp_base=1,
    ):
        with attempt:
            return await call()
    raise AssertionError("unreachable: the last attempt raises")


class TokenizerJobs:
    """Loads tokenizers in the background into `store`. Belongs to one event loop.

    `clock` is a monotonic clock in seconds; `new_id` makes the id that a tokenizer has from its job on.
    """

    def __init__(
        self,
        store: TokenizerStore,
        queue: JobQueue,
        *,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        total_seconds: float = TOTAL_SECONDS,
    ) -> None:
        self.store = store
        self._queue = queue
        self._clock = clock
        self._new_id = new_id
        self._total_seconds = total_seconds
        self._loading: dict[str, _Loading] = {}  # by id
        self._loading_names: dict[str, _Loading] = {}
        self._failures: OrderedDict[str, _Failure] = OrderedDict()  # by id, oldest first
        self._log = get_logger()

    def submit(self, name: str, source: str, load: Load, ended: Ended | None = None) -> str:
        """Start loading a tokenizer with `load` and return its id; `ended` is called once, from the event loop.

        Raises `TokenizerExists` when the name is loaded, `TokenizerLoading` while it is being loaded, `JobQueueFull`.
        """
        if (present := self.find_by_name(name)) is not None:
            raise TokenizerExists(name, present.id)
        if (loading := self._loading_names.get(name)) is not None:
            raise TokenizerLoading(name, loading.id)
        entry = _Loading(self._new_id(), name, source, ended)
        entry.job = self._queue.submit(lambda: self._run(entry, load))
        self._loading[entry.id] = self._loading_names[name] = entry
        return entry.id

    def find_by_name(self, name: str) -> StoredTokenizer | None:
        """The loaded tokenizer of exactly this name."""
        return self.store.resolve(name) if name in self.store else None

    def id_of(self, name: str) -> str | None:
        """The id under which this name is loaded or being loaded."""
        if (present := self.find_by_name(name)) is not None:
            return present.id
        return loading.id if (loading := self._loading_names.get(name)) is not None else None

    def status(self, name_or_id: str) -> TokenizerStatus | None:
        """The state of a tokenizer: by id in every state, by name once it is loaded."""
        self._forget()
        if (loading := self._loading.get(name_or_id)) is not None:
            state: State = "pending" if loading.job.state == "pending" else "processing"
            return TokenizerStatus(loading.id, state, f"Tokenizer job is {state}")
        if (failure := self._failures.get(name_or_id)) is not None:
            return TokenizerStatus(name_or_id, "failed", failure.message)
        if (stored := self.store.get(name_or_id)) is not None:
            message = f"Tokenizer '{stored.name}' is loaded and ready"
            return TokenizerStatus(stored.id, "completed", message, stored.tokenizer.vocab_size)
        return None

    def remove(self, name_or_id: str) -> str | None:
        """Remove a tokenizer, or cancel its load; what happened in words, or None when there is none."""
        loading = self._loading.get(name_or_id)
        if loading is None and (stored := self.store.remove(name_or_id)) is not None:
            return f"Tokenizer '{stored.name}' removed successfully"
        loading = loading or self._loading_names.get(name_or_id)
        if loading is None:
            return None
        loading.job.cancel()
        self._fail(loading, "Loading was cancelled")
        return f"Loading of tokenizer '{loading.name}' cancelled"

    async def _run(self, entry: _Loading, load: Load) -> None:
        try:
            async with asyncio.timeout(self._total_seconds):
                tokenizer = await load()
        except TokenizerLoadError as error:
            self._fail(entry, str(error))
        except TimeoutError:
            self._fail(entry, f"Loading took longer than {self._total_seconds:g} seconds")
        except Exception as error:
            self._log.exception("tokenizer_load_error", tokenizer=entry.name)
            self._fail(entry, f"Loading failed: {type(error).__name__}")
        else:
            self._complete(entry, tokenizer)

    def _complete(self, entry: _Loading, tokenizer: Tokenizer) -> None:
        try:
            self.store.add(entry.name, tokenizer, entry.source, entry.id)
        except TokenizerExists as error:  # added by somebody else than these jobs
            self._fail(entry, str(error))
            return
        self._leave(entry)
        if entry.ended is not None:
            entry.ended(None)
        engine = tokenizer.engine
        self._log.info(
            "tokenizer_loaded", tokenizer=entry.name, encode=engine.encode, decode=engine.decode, why=engine.reason
        )

    def _leave(self, entry: _Loading) -> None:
        self._loading.pop(entry.id, None)
        self._loading_names.pop(entry.name, None)

    def _fail(self, entry: _Loading, message: str) -> None:
        self._leave(entry)
        self._failures[entry.id] = _Failure(message, self._clock() + REMEMBER_SECONDS)
        self._forget()
        self._log.warning("tokenizer_load_failed", tokenizer=entry.name, reason=message)
        if entry.ended is not None:
            entry.ended(message)

    def _forget(self) -> None:
        """Forget failures that are old, and the oldest of very many."""
        now = self._clock()
        while self._failures:
            oldest = next(iter(self._failures.values()))
            if oldest.forget_at > now and len(self._failures) <= MAXIMUM_REMEMBERED:
                return
            self._failures.popitem(last=False)
