"""The diagrams in the pages of the formats are those of their tables."""

from __future__ import annotations

import runpy

from sluicegate.dialects.tools import TOOL_FORMATS
from tests.docs.test_documents import ROOT


def test_every_page_shows_the_diagram_of_its_table() -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "format_diagrams.py"))["pages"]()
    stale = [page.name for page, text in pages.items() if page.read_text("utf-8") != text]
    assert not stale, "run `make docs`"


def test_every_format_has_a_page() -> None:
    assert not [
        form.names[0] for form in TOOL_FORMATS if not (ROOT / "docs" / "formats" / f"{form.names[0]}.md").exists()
    ]
