"""A request as the handlers see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sluicegate.auth.verdict import Verdict

    from .planes import Permit
    from .routing import Route


class Request:
    """The head of a request; its body comes apart from it.

    `path` is the target as it was sent, without its query string. `headers` holds the first header of each name, in
    lower case. `arguments` are the variable segments of the path, percent-decoded. `peer` is the address
    of the other side. `started` is a reading of the monotonic clock, in seconds. `tenant` is who the request counts
    for, once the guard has said so; `permit` is its place among the requests in progress, once it has one;
    `verdict` is what the guard said, if the audit log wants it.
    """

    __slots__ = (
        "arguments",
        "headers",
        "method",
        "path",
        "peer",
        "permit",
        "request_id",
        "route",
        "started",
        "tenant",
        "verdict",
    )

    route: Route

    def __init__(
        self, method: str, path: str, headers: dict[bytes, bytes], *, peer: str, request_id: bytes, started: float
    ) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.peer = peer
        self.request_id = request_id
        self.started = started
        self.arguments: tuple[str, ...] = ()
        self.tenant: str | None = None
        self.permit: Permit | None = None
        self.verdict: Verdict | None = None
