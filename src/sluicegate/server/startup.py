"""How the service loads tokenizers: those of the start, and those that are added while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sluicegate.core.errors import InvalidSetting
from sluicegate.settings import Settings
from sluicegate.tokenizers.errors import TokenizerExists, TokenizerLoadError
from sluicegate.tokenizers.protocol import Tokenizer

from .jobs import in_thread
from .logs import get_logger
from .state import ServiceState
from .tokenizer_jobs import with_attempts


class Startup:
    """Loads what the settings name, in the background. Raises `InvalidSetting` for what can never be loaded."""

    def __init__(self, state: ServiceState) -> None:
        settings = state.settings
        self._state = state
        self._log = get_logger()
        self._template = Path(settings.chat_template) if settings.chat_template else None
        self._roots = allowed_roots(settings)
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

    def load_source(self, source: str, chat_template: str | None = None) -> Tokenizer:
        """Load a tokenizer that a request or a worker names: local ones under the allowed roots alone.

        Blocks. Raises `TokenizerLoadError`.
        """
        from sluicegate.tokenizers.sources import load_tokenizer  # noqa: PLC0415 - heavy

        template = Path(chat_template) if chat_template is not None else None
        return load_tokenizer(source, chat_template=template, roots=self._roots)

    def load_directory(self, directory: Path) -> Tokenizer:
        """Load a tokenizer from a directory that the service itself has made. Blocks."""
        from sluicegate.tokenizers.sources import load_tokenizer  # noqa: PLC0415 - heavy

        return load_tokenizer(str(directory))

    def _load_startup(self, source: str) -> Tokenizer:
        from sluicegate.tokenizers.sources import load_tokenizer  # noqa: PLC0415 - heavy

        return load_tokenizer(source, chat_template=self._template)

    async def load(self) -> None:
        """Load what the start asks for; the service is ready once all of it is there."""
        failures = await asyncio.gather(*(self._load(name, load) for name, load in self._wanted.items()))
        failed = [reason for reason in failures if reason]
        if failed:
            self._state.startup, self._state.startup_reason = "failed", "; ".join(failed)
        else:
            self._state.startup = "loaded"

    async def _load(self, name: str, load: Callable[[], Tokenizer]) -> str | None:
        """Load one tokenizer; why it failed, if it did."""
        try:
            tokenizer = await with_attempts(lambda: in_thread(load, "tokenizer-load"))
            self._state.store.add(name, tokenizer, name)
        except (TokenizerLoadError, TokenizerExists) as error:
            self._log.error("startup_tokenizer_failed", tokenizer=name, reason=str(error))
            return f"start-up tokenizer '{name}' failed to load: {error}"
        except Exception as error:
            self._log.exception("startup_tokenizer_failed", tokenizer=name)
            return f"start-up tokenizer '{name}' failed to load: {type(error).__name__}"
        engine = tokenizer.engine
        self._log.info("tokenizer_loaded", tokenizer=name, encode=engine.encode, decode=engine.decode)
        return None


def allowed_roots(settings: Settings) -> tuple[Path, ...]:
    """Where local sources may lie that requests and workers name."""
    if settings.tokenizer_roots:
        return tuple(Path(root) for root in settings.tokenizer_roots)
    startup = (settings.model_path, settings.tokenizer_path, settings.chat_template)
    return (Path.cwd(), *(Path(path) for path in startup if path is not None and Path(path).exists()))


def _check(settings: Settings, source: str) -> None:
    field = "tokenizer_path" if settings.tokenizer_path else "model_path"
    path = Path(source)
    if (path.is_absolute() or source.startswith(".")) and not path.exists():
        raise InvalidSetting(field, source, "there is no such file or directory")
    if not source.strip():
        raise InvalidSetting(field, source, "must not be empty")
