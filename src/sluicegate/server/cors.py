"""Cross-origin requests of pages in a browser."""

from __future__ import annotations

from .response import Headers, Response, error_response

_EXPOSED = b"x-request-id,traceparent,tracestate,retry-after,x-smg-error-code"
_METHODS = b"GET,POST,PATCH,DELETE,OPTIONS"
_REQUEST_HEADERS = b"content-type,authorization,anthropic-version,anthropic-beta,traceparent,tracestate"


def origin_refused(origin: bytes) -> Response:
    """The refusal of a page of another origin."""
    name = origin.decode("latin-1")
    return error_response("api", 403, "cors_origin_not_allowed", f"origin '{name}' is not allowed")


def is_same_origin(origin: bytes, host: bytes | None) -> bool:
    """Whether a page of this origin was served by this host, as the Host header names it."""
    return host is not None and origin.partition(b"://")[2].lower() == host.lower()


class CrossOrigin:
    """Which origins may call the service: exact ones, or all of them when `origins` is `*` alone."""

    def __init__(self, origins: tuple[str, ...]) -> None:
        self._all = origins == ("*",)
        self._origins = frozenset(origin.encode() for origin in origins)
        if self._all:
            self._always: Headers = (
                (b"access-control-expose-headers", b"*"),
                (b"access-control-allow-origin", b"*"),
            )
        else:
            self._always = ((b"vary", b"origin"), (b"access-control-expose-headers", _EXPOSED))

    def headers(self, origin: bytes | None) -> Headers:
        """What every answer to a request from `origin` carries."""
        if origin is not None and origin in self._origins:
            return (*self._always, (b"access-control-allow-origin", origin))
        return self._always

    def allows(self, origin: bytes) -> bool:
        """Whether pages of this origin may call the service."""
        return self._all or origin in self._origins

    def preflight(self, origin: bytes | None, allow: str | None) -> Response:
        """The answer to OPTIONS. `allow` are the methods of the path, None where it is no route."""
        if origin is not None and not self.allows(origin):
            return origin_refused(origin)
        headers: Headers = (
            (b"access-control-allow-methods", b"*" if self._all else _METHODS),
            (b"access-control-allow-headers", b"*" if self._all else _REQUEST_HEADERS),
            (b"access-control-max-age", b"3600"),
        )
        if allow is not None:
            headers = ((b"allow", allow.encode()), *headers)
        return Response(b"", content_type=b"", headers=headers)
