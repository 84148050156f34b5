"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.support.service import Service, running

# How long an example takes depends on what else the machine does.
settings.register_profile("project", deadline=None)
settings.load_profile("project")


@pytest.fixture(scope="session")
def demo_service() -> Iterator[Service]:
    """A service with the bundled tokenizers, one for each test process."""
    with running("--demo") as service:
        yield service
