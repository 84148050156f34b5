"""Spans of requests: what they hold, and what they must not."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sluicegate.server.tracing import Tracing
from tests.support.in_process import InProcess


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


def test_a_request_is_a_span_under_that_of_its_caller(exporter: InMemorySpanExporter) -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    service = InProcess(tiny=True)
    service.service.application.trace = Tracing(provider)
    try:
        caller = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        service("POST", "/v1/tokenize", {"model": "", "prompt": "top secret"}, {**caller, "x-request-id": "r-1"})
        service("POST", "/v1/tokenize", {"model": ""})
        service("GET", "/nope")
    finally:
        service.close()
    first, second, third = exporter.get_finished_spans()
    assert first.name == "POST /v1/tokenize"
    assert first.context is not None
    assert f"{first.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert first.parent is not None
    assert f"{first.parent.span_id:016x}" == "b7ad6b7169203331"
    attributes = dict(first.attributes or {})
    assert attributes["http.response.status_code"] == 200
    assert attributes["sluicegate.request_id"] == "r-1"
    assert "top secret" not in first.to_json()
    assert dict(second.attributes or {})["error.type"] == "invalid_body"
    assert (third.name, dict(third.attributes or {})["http.response.status_code"]) == ("GET", 404)
