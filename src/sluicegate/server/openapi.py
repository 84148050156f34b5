"""The description of the service in OpenAPI 3.1: every route with its bodies, statuses and shapes.

The schemas of bodies and answers are made from the structs that read and write them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, TypeAlias

import msgspec

from sluicegate._version import __version__
from sluicegate.answers import ParseAnswer

from .response import ErrorShape, Response, encode_json
from .routes.parsing import FunctionCallAnswer, FunctionCallBody, ReasoningAnswer, ReasoningBody
from .routes.streaming import CheckAnswer, CheckBody, StreamBody
from .routes.tokenizers import AddTokenizer
from .routes.tokens import (
    TEMPLATE_MEMBERS,
    DetokenizeAnswer,
    DetokenizeBatchAnswer,
    DetokenizeBatchBody,
    DetokenizeBody,
    TokenizeAnswer,
    TokenizeBatchAnswer,
    TokenizeBody,
)
from .routes.tools import Tool
from .routes.unified import DetectAnswer, DetectBody, ParseBody, ParserList
from .routing import Route, get
from .tokenizer_jobs import TokenizerStatus
from .workers import Registration

Schema: TypeAlias = dict[str, Any]
Shape: TypeAlias = type | tuple[type, ...] | str | Schema
"""Structs, of which one fits; the name of a schema below; or a schema."""

_TEXT: Schema = {"type": "string"}
_EVENTS: Schema = {
    "type": "object",
    "description": "Server-Sent Events, each with one JSON object as its data",
    "properties": {"event": _TEXT, "data": _TEXT},
    "required": ["data"],
}


def _object(**members: Schema) -> Schema:
    return {"type": "object", "properties": members, "required": [*members]}


SCHEMAS: dict[str, Schema] = {
    "Error": _object(
        error={
            "type": "object",
            "properties": {
                "message": _TEXT,
                "type": _TEXT,
                "param": {"type": ["string", "null"]},
                "code": _TEXT,
            },
            "required": ["message", "type"],
        }
    ),
    "ParseError": _object(error=_TEXT, success={"const": False}),
    "WorkerError": _object(error=_TEXT, code=_TEXT),
    "Readiness": _object(status={"const": "ready"}, tokenizers={"type": "integer"}),
    "Unreadiness": _object(status={"const": "not ready"}, reason=_TEXT),
    "Tokenizer": _object(id=_TEXT, name=_TEXT, source=_TEXT, vocab_size={"type": "integer"}),
    "TokenizerList": _object(tokenizers={"type": "array", "items": {"$ref": "#/components/schemas/Tokenizer"}}),
    "TokenizerOutcome": _object(id=_TEXT, status={"enum": ["pending", "failed"]}, message=_TEXT),
    "Removal": _object(success={"type": "boolean"}, message=_TEXT),
    "WorkerAccepted": _object(status={"const": "accepted"}, worker_id=_TEXT, message=_TEXT),
    "Worker": {
        "type": "object",
        "properties": {
            "id": _TEXT,
            "url": _TEXT,
            "status": {"enum": ["pending", "ready", "failed"]},
            "job_status": {"type": "object"},
            "tokenizer_job": _TEXT,
        },
        "required": ["id", "url", "status"],
    },
    "WorkerList": _object(
        workers={"type": "array", "items": {"$ref": "#/components/schemas/Worker"}},
        total={"type": "integer"},
        stats={"type": "object"},
    ),
}
_ERRORS: dict[ErrorShape, str] = {"api": "Error", "parse": "ParseError", "workers": "WorkerError"}


_NONE: Mapping[int, Shape | None] = {}


class Operation(NamedTuple):
    """What is said of one method of a path, beside what the group of the route says of it.

    `refusals` are further answers that are no success: of the path's error shape where no shape is given.
    """

    summary: str
    answers: dict[int, Shape]
    body: Shape | None = None
    refusals: Mapping[int, Shape | None] = _NONE
    example: Any = None


_OUTCOME_OR_ERROR: Schema = {
    "anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("TokenizerOutcome", "Error")]
}
_PROMPT_OR_MESSAGES: Schema = {
    "oneOf": [
        {"required": ["prompt"], "not": {"anyOf": [{"required": [name]} for name in TEMPLATE_MEMBERS]}},
        {"required": ["messages"]},
    ]
}
_TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'

OPERATIONS: dict[str, Operation] = {
    "GET /health": Operation("Whether the process lives", {200: _TEXT}),
    "GET /liveness": Operation("Whether the process lives", {200: _TEXT}),
    "GET /readiness": Operation(
        "Whether the service should get traffic", {200: "Readiness"}, refusals={503: "Unreadiness"}
    ),
    "GET /openapi.json": Operation("This description", {200: {"type": "object"}}),
    "POST /v1/tokenize": Operation(
        "Text to token ids",
        {200: (TokenizeAnswer, TokenizeBatchAnswer)},
        TokenizeBody,
        {500: None},
        {"model": "qwen3", "prompt": "Hello world"},
    ),
    "POST /v1/detokenize": Operation(
        "Token ids to text",
        {200: (DetokenizeAnswer, DetokenizeBatchAnswer)},
        (DetokenizeBody, DetokenizeBatchBody),
        {500: None},
        {"model": "qwen3", "tokens": [9707, 1879]},
    ),
    "POST /parse/function_call": Operation(
        "Tool calls of an output, read by a named format",
        {200: FunctionCallAnswer},
        FunctionCallBody,
        example={"text": _CALL, "tool_call_parser": "qwen", "tools": [_TOOL]},
    ),
    "POST /parse/reasoning": Operation(
        "Reasoning and answer of an output, read by a named format",
        {200: ReasoningAnswer},
        ReasoningBody,
        example={"text": "<think>So.</think>Yes.", "reasoning_parser": "qwen3"},
    ),
    "POST /parse": Operation(
        "Reasoning, answer and tool calls of an output in one pass",
        {200: ParseAnswer},
        ParseBody,
        example={"text": f"<think>So.</think>{_CALL}", "model": "Qwen/Qwen3-8B", "tools": [_TOOL]},
    ),
    "POST /parse/detect": Operation(
        "Parsers that fit a model or an output",
        {200: DetectAnswer},
        DetectBody,
        example={"model": "deepseek-ai/DeepSeek-V3.1"},
    ),
    "POST /parse/stream": Operation(
        "Events of an output that comes in chunks, and its outcome at the end",
        {200: _EVENTS},
        StreamBody,
        example={"chunks": ["<think>So.</th", "ink>Yes."], "model": "Qwen/Qwen3-8B"},
    ),
    "POST /parse/check": Operation(
        "Whether every cutting of an output gives one outcome",
        {200: CheckAnswer},
        CheckBody,
        example={"text": f"<think>So.</think>{_CALL}", "model": "Qwen/Qwen3-8B"},
    ),
    "GET /parse/parsers": Operation("Every format", {200: ParserList}),
    "GET /v1/tokenizers": Operation("Loaded tokenizers", {200: "TokenizerList"}),
    "POST /v1/tokenizers": Operation(
        "Load a tokenizer in the background",
        {202: "TokenizerOutcome"},
        AddTokenizer,
        # A body that is no JSON and a name that cannot be used have the same status, and each its own shape.
        {400: _OUTCOME_OR_ERROR, 409: "TokenizerOutcome", 503: _OUTCOME_OR_ERROR},
        {"name": "my-model", "source": "owner/name"},
    ),
    "GET /v1/tokenizers/{}": Operation("One loaded tokenizer", {200: "Tokenizer"}, refusals={404: None}),
    "DELETE /v1/tokenizers/{}": Operation("Remove a tokenizer", {200: "Removal"}, refusals={404: "Removal"}),
    "GET /v1/tokenizers/{}/status": Operation(
        "How far the loading of a tokenizer is", {200: TokenizerStatus}, refusals={404: None}
    ),
    "GET /workers": Operation("Registered workers", {200: "WorkerList"}),
    "POST /workers": Operation(
        "Register a worker as a source of a tokenizer",
        {202: "WorkerAccepted"},
        Registration,
        {409: None},
        {"url": "grpc://127.0.0.1:50051"},
    ),
    "GET /workers/{}": Operation("One worker", {200: "Worker"}, refusals={400: None, 404: None}),
    "DELETE /workers/{}": Operation("Forget a worker", {202: "WorkerAccepted"}, refusals={400: None, 404: None}),
}


def openapi_document(routes: tuple[Route, ...]) -> dict[str, Any]:
    """The description of these routes. Raises `KeyError` for one that `OPERATIONS` does not know."""
    shapes = [shape for operation in OPERATIONS.values() for shape in (operation.body, *operation.answers.values())]
    parts = [one for shape in shapes for one in (shape if isinstance(shape, tuple) else (shape,))]
    structs = {Tool, *(one for one in parts if isinstance(one, type))}
    _, components = msgspec.json.schema_components(
        sorted(structs, key=lambda struct: struct.__name__), ref_template="#/components/schemas/{name}"
    )
    components["TokenizeBody"] |= _PROMPT_OR_MESSAGES
    paths: dict[str, Any] = {}
    for route in routes:
        variable = "worker_id" if route.shape == "workers" else "id_or_name"
        path = paths.setdefault(route.path.replace("{}", f"{{{variable}}}"), {})
        if "{}" in route.path:
            path["parameters"] = [{"name": variable, "in": "path", "required": True, "schema": {"type": "string"}}]
        for method in route.endpoints:
            if method != "HEAD":
                path[method.lower()] = _operation(route, method, OPERATIONS[f"{method} {route.path}"])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sluicegate",
            "version": __version__,
            "description": "Reads what language models write, and turns text into token ids and back.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": SCHEMAS | components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, method: str, operation: Operation) -> dict[str, Any]:
    answers: dict[int, Shape | None] = {**_refusals_of(route, method), **operation.refusals}
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": re.sub(r"\W+", "_", f"{method.lower()}{route.path.replace('{}', 'one')}").strip("_"),
        "responses": {
            str(status): _answer(status, shape if shape is not None else _ERRORS[route.shape])
            for status, shape in sorted((operation.answers | answers).items())
        },
    }
    if operation.body is not None:
        media: dict[str, Any] = {"schema": _schema(operation.body)}
        if operation.example is not None:
            media["example"] = operation.example
        described["requestBody"] = {"required": True, "content": {"application/json": media}}
    if route.group != "public":
        described["security"] = [{}, {"bearer": []}]
    return described


def _refusals_of(route: Route, method: str) -> dict[int, Shape | None]:
    """What every route of this kind may answer. Statuses that come before the route is known have the general shape."""
    refusals: dict[int, Shape | None] = {405: "Error", 413: "Error"}
    if route.endpoints[method].reads_body:
        refusals |= {400: None, 408: None, 415: None, 422: None}
    if route.group != "public":
        refusals |= {401: "Error" if route.shape == "api" else {}, 403: None, 500: None, 503: None}
    if route.group == "serving":
        refusals |= {429: "Error", 503: "Error"}
    return refusals


def _answer(status: int, shape: Shape) -> dict[str, Any]:
    schema = _schema(shape)
    media = "text/plain" if schema is _TEXT else "text/event-stream" if schema is _EVENTS else "application/json"
    return {"description": HTTPStatus(status).phrase, "content": {media: {"schema": schema}}}


def _schema(shape: Shape) -> Schema:
    if isinstance(shape, dict):
        return shape
    if isinstance(shape, tuple):
        return {"anyOf": [_schema(one) for one in shape]}
    name = shape if isinstance(shape, str) else shape.__name__
    return {"$ref": f"#/components/schemas/{name}"}


def openapi_route(routes: tuple[Route, ...]) -> Route:
    """`GET /openapi.json`, which describes itself, too."""
    document: list[bytes] = []
    route = get("/openapi.json", "public", lambda _request, _body: Response(document[0]))
    document.append(encode_json(openapi_document((*routes, route))))
    return route
