"""Calls the handlers of routes directly, without the HTTP around them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sluicegate.server.body import InvalidBody, InvalidJson, body_refusal
from sluicegate.server.request import Request
from sluicegate.server.response import Response
from sluicegate.server.routing import Route, RouteTable
from sluicegate.tokenizers.protocol import Engine


@dataclass(frozen=True)
class Answer:
    status: int
    json: Any
    headers: dict[str, str]


class RouteClient:
    def __init__(self, routes: Iterable[Route]) -> None:
        self._table = RouteTable(tuple(routes))

    async def __call__(self, method: str, path: str, body: Any = None) -> Answer:
        found = self._table.find(path)
        assert found is not None, f"no route for {path}"
        route, arguments = found
        request = Request(method, path, {}, peer="127.0.0.1", request_id=b"req-test", started=0.0)
        request.route, request.arguments = route, arguments
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        try:
            response = route.endpoints[method].handle(request, raw)
            if inspect.isawaitable(response):
                response = await response
        except (InvalidBody, InvalidJson) as error:
            response = body_refusal(route.shape, error)
        assert isinstance(response, Response)
        headers = {name.decode(): value.decode() for name, value in response.headers}
        return Answer(response.status, json.loads(response.body), headers)


class FakeTokenizer:
    """Enough of a tokenizer to be stored and shown."""

    def __init__(self, vocab_size: int = 258) -> None:
        self.vocab_size = vocab_size
        self.engine = Engine("splintr", "table", "tokenizers", "admitted: 100 % of “probes” equal")
