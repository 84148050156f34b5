"""The page of the settings says what the settings are."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_page_is_up_to_date() -> None:
    page = runpy.run_path(str(DOCS / "settings_page.py"))["page"]
    assert (DOCS / "reference" / "settings.md").read_text("utf-8") == page(), "run `make docs`"
