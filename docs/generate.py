"""Writes the pages of docs/ that are made from the code: `make docs`."""

from __future__ import annotations

import pathlib
import runpy

HERE = pathlib.Path(__file__).parent

for script in ("format_diagrams.py", "reasoning_pages.py", "settings_page.py"):
    runpy.run_path(str(HERE / script), run_name="__main__")
