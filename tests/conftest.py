"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from sluicegate import plugins
from sluicegate.dialects import registry
from tests.support.service import Service, running

# How long an example takes depends on what else the machine does.
settings.register_profile("project", deadline=None)
settings.load_profile("project")


@pytest.fixture(scope="session")
def demo_service() -> Iterator[Service]:
    """A service with the bundled tokenizers, one for each test process."""
    with running("--demo") as service:
        yield service


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Formats that the test registers are forgotten behind it."""
    for table in (registry.TOOLS, registry.REASONING):
        monkeypatch.setattr(table, "_by_name", dict(table._by_name))
        monkeypatch.setattr(table, "_markers", {marker: list(forms) for marker, forms in table._markers.items()})
        monkeypatch.setattr(table, "_signs", {})
    plugins.load_installed_formats.cache_clear()
    yield
    plugins.load_installed_formats.cache_clear()
