"""How the service loads tokenizers: those of the start, and those that are added while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sluicegate.core.errors import InvalidSetting
from sluicegate.settings import Settings
from sluicegate.tokenizers.cache import CachedTokenizer, CacheLimits
from sluicegate.tokenizers.protocol import Tokenizer

from .cache_metrics import CacheMetrics
from .jobs import JobQueueFull
from .state import ServiceState
from .tokenizer_jobs import TokenizerJobs, load_in_thread, with_attempts

TOKENIZER_FILES = ("tokenizer.json", "tiktoken.model", "*.tiktoken", "vocab.json", "tekken.json", "tokenizer.model")


class Startup:
    """Loads what the settings name, in the background. Raises `InvalidSetting` for what can never be loaded."""

    def __init__(self, state: ServiceState) -> None:
        settings = state.settings
        self._state = state
        self._failures: list[str] = []
        self._all_ended = asyncio.Event()
        self._template = Path(settings.chat_template) if settings.chat_template else None
        self._roots = allowed_roots(settings)
        self._caches, self._cache_metrics = cache_limits(settings), CacheMetrics()
        if self._caches is not None:
            state.metrics.registry.register(self._cache_metrics)
        self._wanted: dict[str, Callable[[], Tokenizer]] = {}
        if settings.demo and not settings.disable_tokenizer_autoload:
            from sluicegate.tokenizers.demo import demo_tokenizers  # noqa: PLC0415 - only where it is asked for

            self._wanted |= demo_tokenizers()
        source = settings.startup_tokenizer
        if source is not None:
            _check(settings, source)
            self._wanted[source] = partial(self._load_startup, source)
        if self._wanted:
            state.startup, state.startup_reason = "loading", f"loading {', '.join(self._wanted)}"

    def load_source(self, source: str, chat_template: str | None, cancelled: Callable[[], bool]) -> Tokenizer:
        """Load a tokenizer that a request or a worker names: local ones under the allowed roots alone.

        Blocks, until `cancelled` says that nobody waits any more. Raises `TokenizerLoadError`.
        """
        from sluicegate.tokenizers.sources import load_tokenizer  # noqa: PLC0415 - heavy

        template = Path(chat_template) if chat_template is not None else None
        return load_tokenizer(source, chat_template=template, roots=self._roots, cancelled=cancelled)

    def load_directory(self, directory: Path) -> Tokenizer:
        """Load a tokenizer from a directory that the service itself has made. Blocks."""
        from sluicegate.tokenizers.sources import load_path  # noqa: PLC0415 - heavy

        return load_path(directory, shown="the bundle")

    def _load_startup(self, source: str) -> Tokenizer:
        from sluicegate.tokenizers.sources import load_tokenizer  # noqa: PLC0415 - heavy

        tokenizer = load_tokenizer(source, chat_template=self._template)
        return tokenizer if self._caches is None else CachedTokenizer(tokenizer, self._caches, self._cache_metrics)

    def start(self, jobs: TokenizerJobs) -> None:
        """Begin to load what the start asks for; the service is ready once all of it is there."""
        for name, load in [*self._wanted.items()]:
            try:
                jobs.submit(name, name, partial(_attempts, load), partial(self._ended, name))
            except JobQueueFull as error:
                self._ended(name, str(error))

    def _ended(self, name: str, reason: str | None) -> None:
        del self._wanted[name]
        if reason is not None:
            self._failures.append(f"start-up tokenizer '{name}' failed to load: {reason}")
        if self._failures:
            self._state.startup, self._state.startup_reason = "failed", "; ".join(self._failures)
        elif not self._wanted:
            self._state.startup = "loaded"
        if not self._wanted:
            self._all_ended.set()

    async def wait(self) -> None:
        """Until every load that the start asks for has ended, well or not."""
        if self._wanted:
            await self._all_ended.wait()


async def _attempts(load: Callable[[], Tokenizer]) -> Tokenizer:
    return await with_attempts(lambda: load_in_thread(lambda _cancelled: load()))


def cache_limits(settings: Settings) -> CacheLimits | None:
    """The caches of the start-up tokenizer, None where none is enabled."""
    if not (settings.tokenizer_cache_enable_l0 or settings.tokenizer_cache_enable_l1):
        return None
    return CacheLimits(
        l0_enabled=settings.tokenizer_cache_enable_l0,
        l0_max_entries=settings.tokenizer_cache_l0_max_entries,
        l0_max_memory=settings.tokenizer_cache_l0_max_memory,
        l1_enabled=settings.tokenizer_cache_enable_l1,
        l1_max_memory=settings.tokenizer_cache_l1_max_memory,
    )


def allowed_roots(settings: Settings) -> tuple[Path, ...]:
    """Where local sources may lie that requests and workers name."""
    if settings.tokenizer_roots:
        return tuple(Path(root) for root in settings.tokenizer_roots)
    startup = (settings.model_path, settings.tokenizer_path, settings.chat_template)
    return (Path.cwd(), *(Path(path) for path in startup if path is not None and Path(path).exists()))


def _check(settings: Settings, source: str) -> None:
    """Refuse a source that no attempt to load it can ever succeed with."""
    from sluicegate.tokenizers.sources import is_local  # noqa: PLC0415 - only where there is one

    field, path = "tokenizer_path" if settings.tokenizer_path else "model_path", Path(source)
    if not source.strip():
        raise InvalidSetting(field, source, "must not be empty")
    if is_local(source) and not path.exists():
        raise InvalidSetting(field, source, "there is no such file or directory, and it can be no hub id")
    if path.is_dir() and not any(any(path.glob(pattern)) for pattern in TOKENIZER_FILES):
        raise InvalidSetting(field, source, f"the directory has none of {', '.join(TOKENIZER_FILES)}")
