"""The description of the service holds: generated requests get documented answers, and none is a fault.

`schemathesis run http://HOST:PORT/openapi.json -n 2000` does the same against a service that runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.service import running

FIXTURES = Path(__file__).parent.parent / "fixtures" / "http"
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def description() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        with running("--model-path", "tiny", cwd=FIXTURES) as service:
            yield schemathesis.openapi.from_url(f"{service.url}/openapi.json")


def test_generated_requests_get_documented_answers(description: Any) -> None:
    for found in description.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
        def answers_as_described(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        answers_as_described()
