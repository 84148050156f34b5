"""The sockets of the service, and the two small applications beside the main one: probes and metrics."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from uvicorn.config import Config
from uvicorn.server import ServerState

from sluicegate.core.errors import InvalidSetting
from sluicegate.settings import Settings

from .application import Application, Mounted, Receive, Scope, Send
from .connections import Connections, Timeouts
from .metrics import CONTENT_TYPE
from .protocol import Connection
from .response import Response
from .routing import RouteTable

BACKLOG = 4096
Exposition: TypeAlias = Callable[[], bytes | Awaitable[bytes]]
"""All metrics in the text format."""


def bind(field: str, host: str, port: int) -> socket.socket:
    """A socket that listens. Raises `InvalidSetting` for `field` when the address or port cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        if family == socket.AF_INET6 and host == "::" and socket.has_dualstack_ipv6():
            return socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=True)
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidSetting(field, port, f"cannot listen on {host}: {reason.lower()}") from None


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """What the main listener encrypts with, None where it does not. Raises `InvalidSetting`."""
    if settings.tls_cert_path is None or settings.tls_key_path is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.tls_cert_path, settings.tls_key_path)
    except (OSError, ssl.SSLError) as error:
        raise InvalidSetting(
            "tls_cert_path", settings.tls_cert_path, f"certificate or key not usable: {error}"
        ) from None
    return context


class Listener:
    """A socket, the application behind it, and its connections."""

    def __init__(self, sock: socket.socket, application: Mounted, connections: Connections) -> None:
        self.connections = connections
        self.socket = sock
        self._application = application
        self._server: asyncio.Server | None = None

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        """Accept connections from now on."""
        self._server = await asyncio.get_running_loop().create_server(
            self.connection_factory(), sock=self.socket, ssl=tls, backlog=BACKLOG
        )

    def connection_factory(self) -> Callable[[], Connection]:
        """What makes the protocol of each connection."""
        config = Config(
            self._application,
            loop="none",
            ws="websockets-sansio",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
        )
        config.load()
        state = ServerState()
        service = self._application if isinstance(self._application, Application) else None
        return lambda: Connection(config, state, self.connections, service)

    def stop_accepting(self) -> None:
        """Refuse further connections."""
        if self._server is not None:
            self._server.close()

    def close(self) -> None:
        """Refuse further connections and close those that are open."""
        self.stop_accepting()
        for connection in list(self.connections.open):
            connection.end()


def side_listeners(settings: Settings, exposition: Exposition, health: RouteTable) -> list[Listener]:
    """The listeners beside the main one: metrics, and probes if they have a port. Raises `InvalidSetting`."""
    metrics = bind("prometheus_port", settings.metrics_host, settings.prometheus_port)
    found = [Listener(metrics, metrics_application(exposition), Connections(timeouts(settings)))]
    if settings.health_check_port is not None:
        probes = bind("health_check_port", settings.host, settings.health_check_port)
        found.append(Listener(probes, probes_application(health), Connections(timeouts(settings))))
    return found


def probes_application(routes: RouteTable) -> Mounted:
    """The health routes alone: no credential, no request id, and a bare 404 for everything else."""

    async def application(scope: Scope, _receive: Receive, send: Send) -> None:
        route = routes.fixed.get(scope["path"]) if scope["type"] == "http" else None
        endpoint = None if route is None else route.endpoints.get(scope["method"])
        if endpoint is None:
            await _send_plain(send, scope, Response(b"", 404, content_type=b""))
            return
        # The health routes look at nothing of the request.
        answer = endpoint.handle(None, b"")  # type: ignore[arg-type]
        await _send_plain(send, scope, answer if isinstance(answer, Response) else await answer)

    return application


def metrics_application(exposition: Exposition) -> Mounted:
    """`GET /metrics`, and a bare 404 for everything else."""

    async def application(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/metrics" and scope["method"] in ("GET", "HEAD"):
            text = exposition()
            body = text if isinstance(text, bytes) else await text
            await _send_plain(send, scope, Response(body, content_type=CONTENT_TYPE))
        else:
            await _send_plain(send, scope, Response(b"", 404, content_type=b""))

    return application


async def _send_plain(send: Send, scope: Scope, response: Any) -> None:
    if scope["type"] != "http":
        await send({"type": "websocket.close"})
        return
    headers = [(b"content-length", b"%d" % len(response.body))]
    if response.content_type:
        headers.insert(0, (b"content-type", response.content_type))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})


def timeouts(settings: Settings) -> Timeouts:
    """The time limits of connections."""
    return Timeouts(settings.header_read_timeout_secs, settings.idle_connection_timeout_secs)
