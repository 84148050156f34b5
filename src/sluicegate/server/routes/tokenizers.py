"""`/v1/tokenizers`: add, list, show, follow and remove tokenizers while the service runs."""

from __future__ import annotations

from functools import partial
from urllib.parse import quote

import msgspec

from sluicegate.server.body import BodyReader
from sluicegate.server.jobs import JobQueueFull
from sluicegate.server.request import Request
from sluicegate.server.response import Response, json_response, plain_error
from sluicegate.server.routing import Endpoint, Handler, Route
from sluicegate.server.tokenizer_jobs import (
    LoadSource,
    TokenizerJobs,
    TokenizerLoading,
    load_in_thread,
    name_problem,
    source_problem,
    with_attempts,
)
from sluicegate.tokenizers.errors import TokenizerExists
from sluicegate.tokenizers.protocol import Engine
from sluicegate.tokenizers.store import StoredTokenizer


class AddTokenizer(msgspec.Struct):
    """Body of `POST /v1/tokenizers`."""

    name: str
    source: str
    chat_template_path: str | None = None


class TokenizerRoutes:
    """The handlers of `/v1/tokenizers`."""

    def __init__(self, jobs: TokenizerJobs, load: LoadSource) -> None:
        self._jobs = jobs
        self._load = load
        self._add_body = BodyReader(AddTokenizer)

    def routes(self) -> tuple[Route, ...]:
        """The routes, all of them of the control plane."""
        return (
            Route("/v1/tokenizers", "control", "api", {"POST": _takes_body(self.add), "GET": _no_body(self.list)}),
            Route("/v1/tokenizers/{}", "control", "api", {"GET": _no_body(self.show), "DELETE": _no_body(self.remove)}),
            Route("/v1/tokenizers/{}/status", "control", "api", {"GET": _no_body(self.status)}),
        )

    def add(self, _request: Request, body: bytes) -> Response:
        """Start loading a tokenizer."""
        wanted = self._add_body.read(body)
        problem = name_problem(wanted.name) or source_problem(wanted.source)
        if problem:
            return _outcome(400, "", "failed", problem)
        load = partial(self._load, wanted.source, wanted.chat_template_path)
        try:
            tokenizer_id = self._jobs.submit(
                wanted.name, wanted.source, lambda: with_attempts(lambda: load_in_thread(load))
            )
        except TokenizerExists as error:
            return _outcome(409, error.id, "failed", str(error))
        except TokenizerLoading as error:
            return _outcome(409, error.id, "pending", str(error))
        except JobQueueFull as error:
            return _outcome(503, "", "failed", str(error))
        message = f"Tokenizer '{wanted.name}' registration job submitted. Loading from: {wanted.source}"
        return _outcome(202, tokenizer_id, "pending", message)

    def list(self, _request: Request, _body: bytes) -> Response:
        """The loaded tokenizers in byte order of their names."""
        return json_response({"tokenizers": [_shown(stored) for stored in self._jobs.store.list()]})

    def show(self, request: Request, _body: bytes) -> Response:
        """One loaded tokenizer; a header says which engine serves it and why."""
        (key,) = request.arguments
        stored = self._jobs.store.get(key)
        if stored is None:
            return plain_error(404, "tokenizer_not_found", f"Tokenizer '{key}' not found")
        engine = engine_header(stored.tokenizer.engine)
        return json_response(_shown(stored), headers=((b"x-sluicegate-engine", engine),))

    def status(self, request: Request, _body: bytes) -> Response:
        """How far the loading of a tokenizer is."""
        (key,) = request.arguments
        status = self._jobs.status(key)
        if status is None:
            return plain_error(404, "not_found", f"Tokenizer '{key}' not found and no pending job")
        return json_response(status)

    def remove(self, request: Request, _body: bytes) -> Response:
        """Remove a loaded tokenizer, or stop loading it."""
        (key,) = request.arguments
        message = self._jobs.remove(key)
        if message is None:
            return json_response({"success": False, "message": f"Tokenizer '{key}' not found"}, 404)
        return json_response({"success": True, "message": message})


def _shown(stored: StoredTokenizer) -> dict[str, str | int]:
    return {
        "id": stored.id,
        "name": stored.name,
        "source": stored.source,
        "vocab_size": stored.tokenizer.vocab_size,
    }


def _outcome(status: int, tokenizer_id: str, state: str, message: str) -> Response:
    return json_response({"id": tokenizer_id, "status": state, "message": message}, status)


def engine_header(engine: Engine) -> bytes:
    """Value of `x-sluicegate-engine`: which library encodes and decodes, which one is the reference, and why."""
    reason = quote(engine.reason, safe=" !#$&'()*+,-./:;<=>?@[]^_`{|}~")
    return f'encode={engine.encode}; decode={engine.decode}; reference={engine.reference}; reason="{reason}"'.encode()


def _no_body(handle: Handler) -> Endpoint:
    return Endpoint(handle, reads_body=False)


def _takes_body(handle: Handler) -> Endpoint:
    return Endpoint(handle, reads_body=True)
