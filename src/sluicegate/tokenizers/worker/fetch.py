"""From a worker's bundle to a tokenizer, by way of a private directory that is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sluicegate.tokenizers.errors import TokenizerLoadError
from sluicegate.tokenizers.protocol import Tokenizer
from sluicegate.tokenizers.worker.bundle import DEFAULT_LIMITS, BundleLimits, unpack
from sluicegate.tokenizers.worker.errors import BundleError
from sluicegate.tokenizers.worker.runtimes import Runtime

if TYPE_CHECKING:
    from sluicegate.tokenizers.worker.client import WorkerClient


def fetch_tokenizer(
    client: WorkerClient,
    runtime: Runtime,
    load: Callable[[Path], Tokenizer],
    *,
    timeout: float,
    limits: BundleLimits = DEFAULT_LIMITS,
) -> Tokenizer:
    """Receive the worker's bundle within `timeout` seconds and load it with `load`, which gets the unpacked directory.

    The directory can be read by this user alone and is removed whatever happens; the tokenizer must not need it later.

    Raises `WorkerError`.
    """
    with tempfile.TemporaryDirectory(prefix="sluicegate-bundle-") as place:
        with tempfile.TemporaryFile(dir=place) as archive:
            client.fetch_bundle(runtime, archive, timeout, limits)
            archive.seek(0)
            directory = Path(place) / "tokenizer"
            directory.mkdir(mode=0o700)
            unpack(archive, directory, limits)
        try:
            return load(directory)
        except TokenizerLoadError as error:
            reason = str(error).replace(f"{directory}/", "").replace(str(directory), "the bundle")
            raise BundleError(f"The tokenizer bundle cannot be loaded: {reason}") from error
