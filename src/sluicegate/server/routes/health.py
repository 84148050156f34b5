"""Whether the service lives, and whether it is ready."""

from __future__ import annotations

from sluicegate.server.request import Request
from sluicegate.server.response import Response, json_response, text_response
from sluicegate.server.routing import Route, get
from sluicegate.server.state import ServiceState


def health_routes(state: ServiceState) -> list[Route]:
    """`GET /health`, `/liveness` and `/readiness`."""

    def alive(_request: Request, _body: bytes) -> Response:
        return text_response("OK")

    def ready(_request: Request, _body: bytes) -> Response:
        reason = state.not_ready()
        if reason is not None:
            return json_response({"status": "not ready", "reason": reason}, 503)
        return json_response({"status": "ready", "tokenizers": len(state.store)})

    return [get("/health", "public", alive), get("/liveness", "public", alive), get("/readiness", "public", ready)]
