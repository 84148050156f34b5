"""OpenTelemetry spans of requests. They hold what a request was about, never what was in it.

Needs the extra `otel`, and a provider that the process sets up, as `opentelemetry-instrument sluicegate serve` does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from opentelemetry import propagate, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from sluicegate._version import __version__

from .request import Request
from .response import Response


class Tracing:
    """Makes one span for each request, under the span that the `traceparent` header names."""

    def __init__(self, provider: trace.TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer("sluicegate", __version__, provider)

    async def __call__(self, request: Request, respond: Callable[[], Awaitable[Response]]) -> Response:
        """The answer of `respond`, with a span around it."""
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers.items()}
        attributes = {
            "http.request.method": request.method,
            "url.path": request.path,
            "client.address": request.peer,
            "sluicegate.request_id": request.request_id.decode("latin-1"),
        }
        with self._tracer.start_as_current_span(
            request.method, propagate.extract(carrier), SpanKind.SERVER, attributes, record_exception=False
        ) as span:
            response = await respond()
            span.set_attribute("http.response.status_code", response.status)
            route = getattr(request, "route", None)
            if route is not None:
                span.update_name(f"{request.method} {route.path}")
                span.set_attribute("http.route", route.path)
            if response.code is not None:
                span.set_attribute("error.type", response.code)
            if response.status >= 500:
                span.set_status(Status(StatusCode.ERROR))
            return response
