"""The pages of the reasoning formats say what the tables say."""

from __future__ import annotations

import importlib.util
import pathlib
from types import ModuleType

import pytest

from sluicegate.core.machine import ReasoningFormat
from sluicegate.dialects.reasoning import REASONING_FORMATS

DOCS = pathlib.Path(__file__).parent.parent.parent / "docs"


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """The script that writes the pages."""
    spec = importlib.util.spec_from_file_location("reasoning_pages", DOCS / "reasoning_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("form", REASONING_FORMATS, ids=lambda form: form.names[0])
def test_page_is_up_to_date(pages: ModuleType, form: ReasoningFormat) -> None:
    written = (DOCS / "formats" / f"reasoning-{form.names[0]}.md").read_text("utf-8")
    assert written == pages.page(form), "run `make docs`"
