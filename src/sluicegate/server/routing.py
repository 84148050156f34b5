"""Which handler answers which path. Paths are exact: no trailing slash, no percent-encoded fixed segments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from .request import Request
from .response import ErrorShape, Response

# Who may call a route: `serving` and `control` are guarded, each with keys of its own.
RouteGroup: TypeAlias = Literal["public", "serving", "control"]
Handler: TypeAlias = Callable[[Request, bytes], Response | Awaitable[Response]]


SMALL_BODY = 48 * 1024
"""Bytes of a body up to which work on it is done at once; more is done in a thread, so that others need not wait."""


class Endpoint(NamedTuple):
    """What answers one method of a path. `reads_body` says that a JSON body is wanted."""

    handle: Handler
    reads_body: bool


class Route:
    """A path and what can be done there.

    `{}` stands for one variable segment. `shape` is the shape of the path's errors. `allow` lists the methods.
    """

    __slots__ = ("allow", "endpoints", "group", "path", "shape")

    def __init__(self, path: str, group: RouteGroup, shape: ErrorShape, endpoints: Mapping[str, Endpoint]) -> None:
        self.path = path
        self.group: RouteGroup = group
        self.shape: ErrorShape = shape
        self.endpoints = dict(endpoints)
        if "GET" in self.endpoints:
            self.endpoints["HEAD"] = self.endpoints["GET"]
        self.allow = ",".join(self.endpoints)


def get(path: str, group: RouteGroup, handle: Handler, shape: ErrorShape = "api") -> Route:
    """A path that is read only."""
    return Route(path, group, shape, {"GET": Endpoint(handle, reads_body=False)})


def post(path: str, group: RouteGroup, handle: Handler, shape: ErrorShape = "api") -> Route:
    """A path that takes a JSON body."""
    return Route(path, group, shape, {"POST": Endpoint(handle, reads_body=True)})


class RouteTable:
    """All routes, found by path."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self.routes = routes
        self.fixed = {route.path: route for route in routes if "{}" not in route.path}
        self._variable = [(route.path.split("/"), route) for route in routes if "{}" in route.path]

    def find(self, path: str) -> tuple[Route, tuple[str, ...]] | None:
        """The route of `path` and its variable segments, percent-decoded."""
        route = self.fixed.get(path)
        if route is not None:
            return route, ()
        parts = path.split("/")
        for pattern, candidate in self._variable:
            if len(pattern) == len(parts) and all(
                want == part if want != "{}" else part != "" for want, part in zip(pattern, parts, strict=True)
            ):
                values = (part for want, part in zip(pattern, parts, strict=True) if want == "{}")
                return candidate, tuple(unquote(value) for value in values)
        return None
