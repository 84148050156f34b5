"""How tokenizers are loaded in this process. Everything here blocks, and raises `TokenizerLoadError`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from prometheus_client import CollectorRegistry

from sluicegate.settings import Settings
from sluicegate.tokenizers.cache import CachedTokenizer, CacheLimits
from sluicegate.tokenizers.protocol import Tokenizer

from .cache_metrics import CacheMetrics


class Loader(Protocol):
    """Loads tokenizers. `cancelled` is asked now and then whether nobody waits any more."""

    def load_source(self, source: str, chat_template: str | None, cancelled: Callable[[], bool]) -> Tokenizer:
        """Load a tokenizer that a request or a worker names: local ones under the allowed roots alone."""
        ...

    def load_directory(self, directory: Path) -> Tokenizer:
        """Load a tokenizer from a directory that the service itself has made, and soon removes."""
        ...

    def load_startup(self, source: str, cancelled: Callable[[], bool]) -> Tokenizer:
        """Load the tokenizer that the settings name."""
        ...

    def load_demo(self, name: str, cancelled: Callable[[], bool]) -> Tokenizer:
        """Load one of the bundled tokenizers."""
        ...


class LocalLoader:
    """Loads tokenizers into this process; the caches of the start-up tokenizer are counted in `registry`."""

    def __init__(self, settings: Settings, registry: CollectorRegistry) -> None:
        self._template = Path(settings.chat_template) if settings.chat_template else None
        self._roots = allowed_roots(settings)
        self._caches, self._cache_metrics = cache_limits(settings), CacheMetrics()
        if self._caches is not None:
            registry.register(self._cache_metrics)

    def load_source(self, source: str, chat_template: str | None, cancelled: Callable[[], bool]) -> Tokenizer:
        """See `Loader`."""
        from sluicegate.tokenizers.sources import load_tokenizer  # noqa: PLC0415 - heavy

        template = Path(chat_template) if chat_template is not None else None
        return load_tokenizer(source, chat_template=template, roots=self._roots, cancelled=cancelled)

    def load_directory(self, directory: Path) -> Tokenizer:
        """See `Loader`."""
        from sluicegate.tokenizers.sources import load_path  # noqa: PLC0415 - heavy

        return load_path(directory, shown="the bundle")

    def load_startup(self, source: str, cancelled: Callable[[], bool]) -> Tokenizer:
        """See `Loader`."""
        from sluicegate.tokenizers.sources import load_tokenizer  # noqa: PLC0415 - heavy

        tokenizer = load_tokenizer(source, chat_template=self._template, cancelled=cancelled)
        return tokenizer if self._caches is None else CachedTokenizer(tokenizer, self._caches, self._cache_metrics)

    def load_demo(self, name: str, cancelled: Callable[[], bool]) -> Tokenizer:
        """See `Loader`."""
        from sluicegate.tokenizers.demo import demo_tokenizers  # noqa: PLC0415 - only where it is asked for

        del cancelled  # nothing is downloaded
        return demo_tokenizers()[name]()


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
