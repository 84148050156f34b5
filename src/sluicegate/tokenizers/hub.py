"""Tokenizer files from a model hub, through `huggingface_hub`, its cache and its environment variables.

HF_ENDPOINT, HF_HOME, HF_TOKEN and HF_HUB_OFFLINE mean what they mean everywhere; when the network is away, a snapshot
that is already in the cache serves. Weights are never fetched.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from sluicegate.tokenizers.errors import HubRefused, HubUnavailable, TokenizerLoadCancelled, TokenizerLoadError

WANTED_ENDINGS = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json", "merges.txt", ".model",
    ".tiktoken", ".jinja", "chat_template.json", "tekken.json",
)  # fmt: skip
"""Files whose name ends so are fetched."""

WANTED_BESIDES = ("config.json", "generation_config.json")
"""Fetched too, but it does not matter when that fails."""

REVISION = "main"

REFUSING_STATUSES = frozenset({400, 401, 403, 404, 410, 451})


class Hub(msgspec.Struct, frozen=True):
    """Which hub to ask, and how. None leaves the choice to the environment (HF_ENDPOINT, HF_HOME, HF_TOKEN).

    `timeout` is seconds for one request to answer.
    """

    endpoint: str | None = None
    cache: Path | None = None
    token: str | None = None
    offline: bool | None = None
    timeout: float = 10.0


def fetch(repository: str, hub: Hub, cancelled: Callable[[], bool] = lambda: False) -> Path:
    """Return the folder that holds the tokenizer files of a hub repository, downloaded or from the cache.

    Raises HubRefused when the hub does not serve it, HubUnavailable when trying again may help, TokenizerLoadCancelled.
    """
    library = _library()
    offline = library.constants.is_offline_mode() if hub.offline is None else hub.offline
    if offline:
        folder = _cached(repository, hub)
        if folder is None:
            raise HubRefused(_message(repository, "the hub is switched off (HF_HUB_OFFLINE) and the cache has no copy"))
        return folder
    api = library.HfApi(endpoint=hub.endpoint, token=hub.token)
    try:
        info = api.model_info(repository, revision=REVISION, timeout=hub.timeout)
        names = [sibling.rfilename for sibling in info.siblings or ()]
        folder = None
        for name in _wanted(names):
            if cancelled():
                raise TokenizerLoadCancelled("Loading was cancelled")
            path = _download(repository, name, hub)
            folder = folder or _root_of(path, name)
    except TokenizerLoadError:
        raise
    except Exception as error:
        failure = _explain(repository, error)
        if failure.retryable and (folder := _cached(repository, hub)) is not None:
            return folder
        raise failure from None
    if folder is None:
        raise HubRefused(_message(repository, "the repository has no tokenizer files"))
    for name in WANTED_BESIDES:
        if name in names and not cancelled():
            try:
                _download(repository, name, hub)
            except Exception:  # noqa: S112 - best effort, whatever fails
                continue
    return folder


def _library() -> Any:
    """The library, which is heavy to import and whose types are only partly known."""
    import_module("huggingface_hub.constants")  # not among the attributes that the library loads when asked for
    return import_module("huggingface_hub")


def _wanted(names: list[str]) -> list[str]:
    """Tokenizer files at the top of the repository, or else in a folder `original`."""
    wanted = [name for name in names if name.endswith(WANTED_ENDINGS)]
    return sorted(wanted, key=lambda name: (name.count("/"), name))


def _download(repository: str, name: str, hub: Hub) -> Path:
    library = _library()
    library.utils.disable_progress_bars()
    path = library.hf_hub_download(
        repository, name, revision=REVISION, endpoint=hub.endpoint, token=hub.token, cache_dir=hub.cache,
        etag_timeout=hub.timeout,
    )  # fmt: skip
    return Path(str(path))


def _root_of(path: Path, name: str) -> Path:
    """The snapshot folder that a downloaded file lies in."""
    for _ in posixpath.normpath(name).split("/"):
        path = path.parent
    return path


def _cached(repository: str, hub: Hub) -> Path | None:
    try:
        folder = Path(str(_library().snapshot_download(repository, cache_dir=hub.cache, local_files_only=True)))
        found = any(path.name.endswith(WANTED_ENDINGS) for path in folder.iterdir())
    except Exception:
        return None
    return folder if found else None


def _explain(repository: str, error: Exception) -> TokenizerLoadError:
    from huggingface_hub.errors import HFValidationError  # noqa: PLC0415 - heavy

    # The library wraps an answer in an error about its cache.
    answers = [getattr(found, "response", None) for found in (error, error.__cause__, error.__context__)]
    status = next((answer.status_code for answer in answers if answer is not None), None)
    if isinstance(error, HFValidationError):
        return HubRefused(_message(repository, "not a valid repository name"))
    if status in REFUSING_STATUSES:
        return HubRefused(_message(repository, f"the hub answered {status}"))
    if status is not None:
        return HubUnavailable(_message(repository, f"the hub answered {status}"))
    cause = f"{error}".strip().partition("\n")[0] or type(error).__name__
    return HubUnavailable(_message(repository, f"{type(error).__name__}: {cause}"))


def _message(repository: str, cause: str) -> str:
    failure = f"Failed to fetch model '{repository}' from HuggingFace: {cause}. Is this a valid HuggingFace ID?"
    return f"Failed to download tokenizer from HuggingFace: {failure}"
