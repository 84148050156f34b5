"""The service as an ASGI application: the checks that every request goes through, in their order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from inspect import isawaitable
from time import monotonic
from typing import Any, TypeAlias, cast

from .body import Disconnected, InvalidBody, InvalidJson, Limits, body_refusal, content_refusal, read_body, too_large
from .cors import CrossOrigin, is_same_origin, origin_refused
from .head import Head
from .logs import get_logger
from .metrics import OTHER, Metrics
from .planes import Admission, Guard
from .request import Request
from .response import Refused, Response, StreamedResponse, error_response
from .routing import SMALL_BODY, Route, RouteTable

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
HeaderList: TypeAlias = list[tuple[bytes, bytes]]
Trace: TypeAlias = Callable[[Request, Callable[[], Awaitable[Response]]], Awaitable[Response]]
SESSION_ROUTE = Route("/parse/session", "control", "parse", {})
Mounted: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class Application:
    """ASGI application. `guard` and `admission` are None where nothing is guarded or limited.

    `mounted` answers the paths under its prefixes with ASGI applications of their own, such as that of the
    playground; they are public. `sessions` are WebSockets by path, guarded as the control plane is.
    `trace` is asked to make the answer of each request.
    """

    def __init__(
        self,
        routes: RouteTable,
        limits: Limits,
        *,
        metrics: Metrics,
        request_id_headers: tuple[str, ...] = ("x-request-id",),
        guard: Guard | None = None,
        admission: Admission | None = None,
        cross_origin: CrossOrigin | None = None,
        mounted: dict[str, Mounted] | None = None,
        sessions: dict[str, Mounted] | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.routes = routes
        self.limits = limits
        self.metrics = metrics
        self.guard = guard
        self.admission = admission
        self.cross_origin = cross_origin
        self.mounted = mounted or {}
        self.sessions = sessions or {}
        self.trace = trace
        self._most_at_once = min(SMALL_BODY, limits.size)
        self._request_id_headers = [name.lower().encode() for name in request_id_headers]
        # Ids must differ, not be secret: a generator that was seeded by the system, without a call to it each time.
        self._bits = random.Random(random.SystemRandom().getrandbits(256)).getrandbits  # noqa: S311
        self._log = get_logger()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. A task that runs this is cancelled when the other side goes away."""
        if scope["type"] != "http":
            await self._answer_other(scope, receive, send)
            return
        path = scope["raw_path"].decode("latin-1")
        headers = dict(reversed(scope["headers"]))
        request = self.new_request(scope["method"], path, headers, scope["client"][0] if scope["client"] else "")
        mounted = self._mounted_at(path)
        if mounted is not None:
            await mounted(scope, receive, partial(_send_with_id, request, send))
            return
        try:
            if self.trace is None:
                response = await self._respond(request, receive)
            else:
                response = await self.trace(request, partial(self._respond, request, receive))
            await self._send(request, response, send)
        except (Disconnected, TimeoutError):
            pass
        finally:
            if request.permit is not None:
                request.permit.release()

    def answer_now(self, head: Head, peer: str, body: bytes) -> Mounted | tuple[Response, bytes] | None:
        """The answer to a request whose body is here, and its header lines; None if `__call__` has to be asked.

        Goes through the same checks as `__call__`. Where the answer has to be waited for, it is an application that
        has read the request and only has to send it.
        """
        if self.trace is not None:
            return None
        route = self.routes.fixed.get(head.path)
        endpoint = None if route is None else route.endpoints.get(head.method)
        if route is None or endpoint is None or len(body) > self._most_at_once:
            return None
        guard = None if route.group == "public" else self.guard
        if guard is not None and not guard.immediate:
            return None
        request = self.new_request(head.method, head.path, head.fields, peer)
        request.route = route
        answer: Response | Awaitable[Response] | None = None
        try:
            if guard is not None:
                answer = cast("Response | None", guard(request))
            if answer is None and self.admission is not None and route.group == "serving":
                request.permit = self.admission.admit_now(request)
                if request.permit is None:
                    return None
            if answer is None and endpoint.reads_body:
                answer = content_refusal(request)
            if answer is None:
                answer = endpoint.handle(request, body)
        except Exception as error:
            answer = self._answer_to(request, error)
        if not isinstance(answer, Response):
            return partial(self._answer_later, request, answer)
        if request.permit is not None:
            request.permit.release()
        self.count(request, answer)
        if answer.headers or answer.close or not answer.content_type or self.cross_origin is not None:
            lines = [name + b": " + value + b"\r\n" for name, value in self.head(request, answer)]
            return answer, b"".join(line for line in lines if not line.startswith(b"connection:"))
        return answer, b"content-type: %b\r\ncontent-length: %d\r\nx-request-id: %b\r\n" % (
            answer.content_type,
            len(answer.body),
            request.request_id,
        )

    async def _answer_later(
        self, request: Request, answer: Awaitable[Response], _scope: Scope, _receive: Receive, send: Send
    ) -> None:
        try:
            try:
                response = await answer
            except Exception as error:
                response = self._answer_to(request, error)
            await self._send(request, response, send)
        finally:
            if request.permit is not None:
                request.permit.release()

    async def _send(self, request: Request, response: Response, send: Send) -> None:
        if request.permit is not None and not isinstance(response, StreamedResponse):
            request.permit.release()  # the work is done; who does not read the answer must not keep the place
        self.count(request, response)
        await send({"type": "http.response.start", "status": response.status, "headers": self.head(request, response)})
        if isinstance(response, StreamedResponse):
            async for piece in response.pieces:
                # Who does not read for as long as an upload may stall is gone.
                async with asyncio.timeout(self.limits.stall or None):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": response.body})

    def _mounted_at(self, path: str) -> Mounted | None:
        for prefix, application in self.mounted.items():
            if path == prefix or path.startswith(prefix + "/"):
                return application
        return None

    async def _answer_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What is no HTTP request: the WebSockets of the service; all others are refused."""
        if scope["type"] != "websocket":
            return
        session = self.sessions.get(scope["path"])
        if session is None:
            await send({"type": "websocket.close", "code": 1000})
            return
        headers = dict(reversed(scope["headers"]))
        request = self.new_request("POST", scope["path"], headers, scope["client"][0] if scope["client"] else "")
        request.route = SESSION_ROUTE
        refusal = self._foreign_page(headers)
        if refusal is None and self.guard is not None:
            decision = self.guard(request)
            refusal = await decision if isawaitable(decision) else decision
            self.guard.answered(request, refusal or Response(b"", 101))
        if refusal is None:
            await session(scope, receive, send)
        else:
            await self._refuse_session(request, refusal, scope, send)

    def _foreign_page(self, headers: dict[bytes, bytes]) -> Response | None:
        """The refusal of a page of another origin: browsers ask no leave for it to open a WebSocket."""
        origin = headers.get(b"origin")
        if origin is None or is_same_origin(origin, headers.get(b"host")):
            return None
        if self.cross_origin is not None and self.cross_origin.allows(origin):
            return None
        return origin_refused(origin)

    async def _refuse_session(self, request: Request, refusal: Response, scope: Scope, send: Send) -> None:
        """Answer the handshake of a WebSocket with a refusal as to any request."""
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = self.head(request, refusal)
        await send({"type": "websocket.http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": refusal.body})

    # ------------------------------------------------------------ the checks

    def new_request(self, method: str, path: str, headers: dict[bytes, bytes], peer: str) -> Request:
        """The request of this head, with its id."""
        identity = None
        for name in self._request_id_headers:
            identity = headers.get(name)
            if identity is not None:
                identity = identity.strip(b" \t")  # white space around a field value is no part of it (RFC 9110, 5.5)
                if not (0 < len(identity) <= 128 and min(identity) > 0x20 and max(identity) < 0x7F):
                    identity = None
                break
        request_id = identity or b"req-%024x" % self._bits(96)
        return Request(method, path, headers, peer=peer, request_id=request_id, started=monotonic())

    def check_head(self, request: Request) -> Response | None:
        """The refusal of what its head rules out, before anybody is asked who is calling. Sets `request.route`."""
        length = request.headers.get(b"content-length")
        if length is not None and int(length) > self.limits.size:
            return too_large(self.limits.size)
        route = self.routes.fixed.get(request.path)
        if route is None:
            found = self.routes.find(request.path)
            if found is None:
                if self.cross_origin is not None and request.method == "OPTIONS":
                    return self.cross_origin.preflight(request.headers.get(b"origin"), None)
                return error_response("api", 404, "unknown_url", f"Invalid URL ({request.method} {request.path})")
            route, request.arguments = found
        request.route = route
        if request.method in route.endpoints:
            return None
        if self.cross_origin is not None and request.method == "OPTIONS":
            return self.cross_origin.preflight(request.headers.get(b"origin"), route.allow)
        return error_response(
            "api",
            405,
            "method_not_allowed",
            f"method {request.method} is not allowed for {request.path} (allowed: {route.allow})",
            headers=((b"allow", route.allow.encode()),),
        )

    async def _respond(self, request: Request, receive: Receive) -> Response:
        """The answer. The place among the requests in progress is given back by the caller, after the answer."""
        try:
            refusal = self.check_head(request)
            if refusal is not None:
                return refusal
            route = request.route
            if self.guard is not None and route.group != "public":
                decision = self.guard(request)
                refusal = await decision if isawaitable(decision) else decision
                if refusal is not None:
                    return refusal
            if self.admission is not None and route.group == "serving":
                request.permit = await self.admission.admit(request)
            endpoint = route.endpoints[request.method]
            body = b""
            if endpoint.reads_body:
                refusal = content_refusal(request)
                if refusal is not None:
                    return refusal
                body = await self._body(request, receive)
            answer = endpoint.handle(request, body)
            return answer if isinstance(answer, Response) else await answer
        except Disconnected:
            raise
        except Exception as error:
            return self._answer_to(request, error)

    async def _body(self, request: Request, receive: Receive) -> bytes:
        permit = request.permit
        if permit is None:
            return await read_body(receive, self.limits, request.route.shape)
        task = asyncio.current_task()
        permit.cancel = task.cancel if task is not None else None
        try:
            return await read_body(receive, self.limits, request.route.shape)
        except asyncio.CancelledError:
            if permit.refusal is None or task is None:
                raise
            task.uncancel()
            raise Refused(permit.refusal) from None
        finally:
            permit.cancel = None

    def _answer_to(self, request: Request, error: Exception) -> Response:
        """The answer where `error` was raised. Called while it is handled."""
        if isinstance(error, Refused):
            return error.response
        if isinstance(error, InvalidJson | InvalidBody):
            return body_refusal(request.route.shape, error)
        self._log.exception("request_failed", path=request.path, request_id=request.request_id.decode())
        return error_response(
            request.route.shape, 500, "internal_error", "The service failed on this request", type="server_error"
        )

    # ------------------------------------------------------------ the answer

    def head(self, request: Request, response: Response) -> HeaderList:
        """All headers of an answer but `date` and `connection`."""
        headers = [(b"x-request-id", request.request_id), *response.headers]
        if not isinstance(response, StreamedResponse):
            headers.insert(0, (b"content-length", b"%d" % len(response.body)))
        if response.content_type:
            headers.insert(0, (b"content-type", response.content_type))
        if self.cross_origin is not None:
            headers.extend(self.cross_origin.headers(request.headers.get(b"origin")))
        if response.close:
            headers.append((b"connection", b"close"))
        return headers

    def count(self, request: Request, response: Response) -> None:
        """Count an answer that goes out, and tell the guard about it."""
        if self.guard is not None:
            self.guard.answered(request, response)
        route = getattr(request, "route", None)
        path = OTHER if route is None else route.path
        self.metrics.count(request.method, path, response.status, response.code or "", monotonic() - request.started)


async def _send_with_id(request: Request, send: Send, message: Message) -> None:
    """Pass on what a mounted application sends, with the id that every answer has."""
    if message["type"] == "http.response.start":
        message = {**message, "headers": [*message["headers"], (b"x-request-id", request.request_id)]}
    await send(message)
