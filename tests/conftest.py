"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.service import Service, running


@pytest.fixture(scope="session")
def demo_service() -> Iterator[Service]:
    """A service with the bundled tokenizers, one for each test process."""
    with running("--demo") as service:
        yield service
