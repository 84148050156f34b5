"""A request as the handlers see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .routing import Route


class Request:
    """The head of a request; its body comes apart from it.

    `path` is the target as it was sent, without its query string. `headers` are as they came, names in lower case.
    `arguments` are the variable segments of the path, percent-decoded. `peer` is the address of the other
    side. `tenant` is who the request counts for, once the guard has said so.
    """

    __slots__ = ("arguments", "headers", "method", "path", "peer", "request_id", "route", "started", "tenant")

    route: Route
    arguments: tuple[str, ...]

    def __init__(
        self, method: str, path: str, headers: list[tuple[bytes, bytes]], peer: str, request_id: bytes, started: float
    ) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.peer = peer
        self.request_id = request_id
        self.started = started
        self.arguments = ()
        self.tenant: str | None = None

    def header(self, name: bytes) -> bytes | None:
        """The first header of this name, without the blanks around it."""
        for key, value in self.headers:
            if key == name:
                return value.strip(b" \t")
        return None
