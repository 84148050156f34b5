"""What can go wrong with a tokenizer, told so that a caller knows whether trying again can help."""

from __future__ import annotations

from typing import ClassVar

from sluicegate.core.errors import SluicegateError


class TokenizerLoadError(SluicegateError):
    """A tokenizer could not be loaded from its source.

    `retryable` is true only when the same load may succeed later without anybody changing anything: the network.
    """

    retryable: ClassVar[bool] = False


class TokenizerNotFound(TokenizerLoadError):
    """The path, or the hub repository, does not exist or holds no tokenizer."""


class TokenizerFileInvalid(TokenizerLoadError):
    """A tokenizer file exists but cannot be read as what it claims to be."""


class TokenizerUnsupported(TokenizerLoadError):
    """The source is a tokenizer of a kind that is not supported."""


class TokenizerEngineMissing(TokenizerLoadError):
    """The library that reads this kind of tokenizer is not installed; the message names the extra to install."""


class SourceForbidden(TokenizerLoadError):
    """A local source lies outside the allowed roots, or does not exist: the message is the same for both."""


class TokenizerLoadCancelled(TokenizerLoadError):
    """The caller asked to stop while the tokenizer was being loaded."""


class HubRefused(TokenizerLoadError):
    """The hub answered that it will not serve this repository: unknown, private or not permitted."""


class HubUnavailable(TokenizerLoadError):
    """The hub could not be reached or failed; a later try may succeed."""

    retryable: ClassVar[bool] = True


class UnknownTokenId(SluicegateError, LookupError):
    """An id stands for no token. `position` is its index in the sequence (from 0), `token_id` the id."""

    def __init__(self, token_id: int, position: int = 0) -> None:
        self.token_id = token_id
        self.position = position
        super().__init__(f"id {token_id} at position {position} is not in the vocabulary")


class TokenizationFailed(SluicegateError):
    """The engine could not encode a text. `index` is the text's place in a batch, None for a single text."""

    def __init__(self, reason: str, index: int | None = None) -> None:
        self.reason = reason
        self.index = index
        super().__init__(reason if index is None else f"prompt[{index}]: {reason}")


class DetokenizationFailed(SluicegateError):
    """The engine could not decode ids that are all in its vocabulary."""


class ChatTemplateError(SluicegateError, ValueError):
    """There is no chat template, or it cannot be read, or it refused the messages; the message says which."""


class TokenizerExists(SluicegateError):
    """The store already has a tokenizer of this name. `id` is that tokenizer's id."""

    def __init__(self, name: str, id: str) -> None:  # noqa: A002 - the id of the public interface
        self.name = name
        self.id = id
        super().__init__(f"Tokenizer '{name}' already exists")


class TokenizerNotLoaded(SluicegateError, LookupError):
    """No loaded tokenizer answers to `model`. `available` lists the names in byte order."""

    def __init__(self, model: str, available: list[str]) -> None:
        self.model = model
        self.available = available
        if available:
            message = f"Tokenizer for model '{model}' not found. Available: {', '.join(available)}"
        else:
            message = "No tokenizers available. Use POST /v1/tokenizers to add one."
        super().__init__(message)
