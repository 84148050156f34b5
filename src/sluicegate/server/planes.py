"""What the application asks of the guard and of admission. Either may be absent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from .request import Request
from .response import Response


class Guard(Protocol):
    """Decides who may call a route of the groups `serving` and `control`."""

    immediate: bool
    """Whether the decision never has to be waited for."""

    def __call__(self, request: Request) -> Response | Awaitable[Response | None] | None:
        """The refusal of the request, or None. Sets `request.tenant`."""
        ...

    def answered(self, request: Request, response: Response) -> None:
        """The answer to a request that the guard was asked about has been decided: the audit log wants its status."""
        ...


class Permit(Protocol):
    """A place among the requests in progress."""

    refusal: Response | None
    """Set when the place was taken away while the body was being read."""

    @property
    def cancel(self) -> Callable[[], object] | None:
        """What ends the reading of the body; called after `refusal` was set. None: the place can't be taken away."""
        ...

    @cancel.setter
    def cancel(self, cancel: Callable[[], object] | None) -> None: ...

    def charge(self, request: Request, model: str, characters: int) -> Awaitable[None] | None:
        """Count the characters of the prompts, or the ids, against the tenant's limits.

        What it returns, if anything, has to be awaited before any work. It, or this call, raises `Refused`.
        """
        ...

    def release(self) -> None:
        """Give the place back; once is enough, twice is harmless."""
        ...


class Admission(Protocol):
    """Decides how many requests of the group `serving` are in progress at once."""

    def admit_now(self, request: Request) -> Permit | None:
        """A place if one is free, None if `admit` has to be asked. Raises `Refused`."""
        ...

    async def admit(self, request: Request) -> Permit:
        """Wait for a place. Raises `Refused`."""
        ...
