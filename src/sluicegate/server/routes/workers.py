"""`/workers`: register gRPC workers, see how they are, and forget them."""

from __future__ import annotations

import re

from sluicegate.core.errors import UnknownDialect
from sluicegate.server.body import BodyReader, InvalidBody, InvalidJson
from sluicegate.server.jobs import JobQueueFull
from sluicegate.server.request import Request
from sluicegate.server.response import Response, error_response, json_response
from sluicegate.server.routing import Endpoint, Handler, Route
from sluicegate.server.workers import Registration, Worker, WorkerExists, WorkerRegistry, WorkersUnavailable

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


class WorkerRoutes:
    """The handlers of `/workers`."""

    def __init__(self, workers: WorkerRegistry) -> None:
        self._workers = workers
        self._add_body = BodyReader(Registration)

    def routes(self) -> tuple[Route, ...]:
        """The routes, all of them of the control plane."""
        return (
            Route("/workers", "control", "workers", {"POST": _takes_body(self.add), "GET": _no_body(self.list)}),
            Route("/workers/{}", "control", "workers", {"GET": _no_body(self.show), "DELETE": _no_body(self.remove)}),
        )

    def add(self, _request: Request, body: bytes) -> Response:
        """Register a worker."""
        try:
            worker = self._workers.add(self._add_body.read(body))
        except (InvalidJson, InvalidBody, UnknownDialect, ValueError) as error:
            return _error(400, "BAD_REQUEST", str(error))
        except WorkerExists as error:
            return _error(409, "WORKER_ALREADY_EXISTS", str(error))
        except JobQueueFull as error:
            return _error(503, "JOB_QUEUE_FULL", str(error))
        except WorkersUnavailable as error:
            return _error(503, "WORKERS_UNAVAILABLE", str(error))
        location = f"/workers/{worker.id}"
        accepted = {
            "status": "accepted",
            "worker_id": worker.id,
            "url": worker.registration.url,
            "location": location,
            "message": "Worker addition queued for background processing",
        }
        return json_response(accepted, 202, headers=((b"location", location.encode()),))

    def list(self, _request: Request, _body: bytes) -> Response:
        """All workers. Each counts as regular: a place to fetch a tokenizer from takes no part in serving."""
        workers = self._workers.list()
        stats = {"prefill_count": 0, "decode_count": 0, "regular_count": len(workers)}
        return json_response({"workers": [worker.shown() for worker in workers], "total": len(workers), "stats": stats})

    def show(self, request: Request, _body: bytes) -> Response:
        """One worker."""
        found = self._find(request)
        return json_response(found.shown()) if isinstance(found, Worker) else found

    def remove(self, request: Request, _body: bytes) -> Response:
        """Forget a worker."""
        found = self._find(request)
        if not isinstance(found, Worker):
            return found
        self._workers.remove(found.id)
        accepted = {
            "status": "accepted",
            "worker_id": found.id,
            "message": "Worker removal queued for background processing",
        }
        return json_response(accepted, 202)

    def _find(self, request: Request) -> Worker | Response:
        (worker_id,) = request.arguments
        if not _UUID.fullmatch(worker_id):
            return _error(400, "BAD_REQUEST", f"'{worker_id}' is not the id of a worker: ids are UUIDs")
        worker = self._workers.get(worker_id.lower())
        return worker or _error(404, "WORKER_NOT_FOUND", f"Worker {worker_id} not found")


def _error(status: int, code: str, message: str) -> Response:
    return error_response("workers", status, code, message)


def _no_body(handle: Handler) -> Endpoint:
    return Endpoint(handle, reads_body=False)


def _takes_body(handle: Handler) -> Endpoint:
    return Endpoint(handle, reads_body=True)
