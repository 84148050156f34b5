"""Requests of the control plane that a serving process has authorised and the supervisor answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from itertools import count
from time import monotonic
from typing import TypeAlias

from sluicegate.server.body import InvalidBody, InvalidJson, body_refusal
from sluicegate.server.control import Control
from sluicegate.server.logs import get_logger
from sluicegate.server.parser_choice import Checkpoint
from sluicegate.server.request import Request
from sluicegate.server.response import Response, error_response
from sluicegate.server.routing import Endpoint, Route, RouteTable

from .messages import Answer, Forward, ToSupervisor
from .own_tokenizers import OwnTokenizers

Send: TypeAlias = Callable[[ToSupervisor], None]
READINESS = "/readiness"


class ForwardedControl:
    """The control plane as a serving process has it: the routes of `local`, answered by the supervisor."""

    def __init__(self, local: Control, tokenizers: OwnTokenizers, send: Send) -> None:
        self._tokenizers = tokenizers
        self._send = send
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[Response]] = {}
        self.health = tuple(self._forwarded(route) if route.path == READINESS else route for route in local.health)
        self.routes = tuple(map(self._forwarded, local.routes))

    def parsers_of_workers(self, model: str) -> Checkpoint:
        """The parsers that a registered worker names for exactly this model."""
        return self._tokenizers.parsers.get(model, (None, None))

    def start(self) -> None:
        """Nothing goes on here: the supervisor has the jobs."""

    async def stop(self) -> None:
        """Nothing goes on here."""

    def receive(self, answer: Answer) -> None:
        """The supervisor has answered a request."""
        waiting = self._answers.get(answer.number)
        if waiting is not None and not waiting.done():
            waiting.set_result(
                Response(
                    answer.body,
                    answer.status,
                    content_type=answer.content_type,
                    headers=answer.headers,
                    code=answer.code,
                )
            )

    def _forwarded(self, route: Route) -> Route:
        endpoints = {
            method: Endpoint(self._forward, endpoint.reads_body) for method, endpoint in route.endpoints.items()
        }
        return Route(route.path, route.group, route.shape, endpoints)

    async def _forward(self, request: Request, body: bytes) -> Response:
        number = next(self._numbers)
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._send(Forward(number, request.method, request.path, body, request.request_id))
        try:
            return await answer
        finally:
            del self._answers[number]


class ForwardedAnswers:
    """Answers at the supervisor what the processes forward, each only when `settled` has returned."""

    def __init__(self, routes: Iterable[Route], settled: Callable[[], Awaitable[None]]) -> None:
        self._table = RouteTable(tuple(routes))
        self._settled = settled

    async def answer(self, forward: Forward) -> Answer:
        """The answer to a forwarded request."""
        found = self._table.find(forward.path)
        assert found is not None, "a process forwards what it has a route for"
        request = Request(forward.method, forward.path, {}, peer="", request_id=forward.request_id, started=monotonic())
        request.route, request.arguments = found
        response = await self._respond(request, forward.body)
        await self._settled()
        return Answer(
            forward.number, response.status, response.body, response.content_type, response.headers, response.code
        )

    async def _respond(self, request: Request, body: bytes) -> Response:
        route = request.route
        try:
            response = route.endpoints[request.method].handle(request, body)
            return response if isinstance(response, Response) else await response
        except (InvalidJson, InvalidBody) as error:
            return body_refusal(route.shape, error)
        except Exception:
            get_logger().exception("request_failed", path=request.path, request_id=request.request_id.decode())
            return error_response(
                route.shape, 500, "internal_error", "The service failed on this request", type="server_error"
            )
