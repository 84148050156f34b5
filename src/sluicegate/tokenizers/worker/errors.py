"""What can go wrong between this service and a gRPC worker."""

from __future__ import annotations

from typing import ClassVar

from sluicegate.tokenizers.errors import TokenizerLoadError


class WorkerError(TokenizerLoadError):
    """A worker could not be asked, or gave something that is refused.

    `retryable` is true for the network and for a worker that is starting or overloaded, false for an answer that is
    wrong in itself.
    """


class WorkerUnreachable(WorkerError):
    """The worker did not answer, or its connection broke."""

    retryable: ClassVar[bool] = True


class WorkerRefused(WorkerError):
    """The worker answered with a status that will not change by itself."""


class BundleError(WorkerError):
    """The tokenizer bundle of a worker is not accepted; the message names the reason."""
