"""The tokenizers of the start: they are loaded in the background, and the service is ready once all are there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sluicegate.core.errors import InvalidSetting
from sluicegate.settings import Settings
from sluicegate.tokenizers.protocol import Tokenizer

from .jobs import JobQueueFull
from .loading import Loader
from .memory import freeze_present_objects
from .state import ServiceState
from .tokenizer_jobs import TokenizerJobs, load_in_thread, with_attempts

TOKENIZER_FILES = ("tokenizer.json", "tiktoken.model", "*.tiktoken", "vocab.json", "tekken.json", "tokenizer.model")


class Startup:
    """Loads what the settings name, in the background. Raises `InvalidSetting` for what can never be loaded."""

    def __init__(self, state: ServiceState, loader: Loader) -> None:
        settings = state.settings
        self._state = state
        self._failures: list[str] = []
        self._all_ended = asyncio.Event()
        self._wanted: dict[str, Callable[[Callable[[], bool]], Tokenizer]] = {}
        if settings.demo and not settings.disable_tokenizer_autoload:
            from sluicegate.tokenizers.demo import demo_tokenizers  # noqa: PLC0415 - only where it is asked for

            self._wanted |= {name: partial(loader.load_demo, name) for name in demo_tokenizers()}
        source = settings.startup_tokenizer
        if source is not None:
            _check(settings, source)
            self._wanted[source] = partial(loader.load_startup, source)
        if self._wanted:
            state.startup, state.startup_reason = "loading", f"loading {', '.join(self._wanted)}"

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
            freeze_present_objects()
            self._all_ended.set()

    async def wait(self) -> None:
        """Until every load that the start asks for has ended, well or not."""
        if self._wanted:
            await self._all_ended.wait()


async def _attempts(load: Callable[[Callable[[], bool]], Tokenizer]) -> Tokenizer:
    return await with_attempts(lambda: load_in_thread(load))


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
