"""`sluicegate dialects`: the formats that are known, and a check for one of your own."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from sluicegate.cli.display import console, print_json
from sluicegate.cli.parse import Json
from sluicegate.dialects.registry import REASONING, TOOLS
from sluicegate.plugins import load_installed_formats

app = App(name="dialects", help="List the formats, or check one of your own.")


@app.default
def list_formats(*, json: Json = False) -> int:
    """List every format: its names and the markers that open its blocks."""
    load_installed_formats()
    rows = [
        {"kind": table.kind, "names": form.names, "markers": form.markers}
        for table in (TOOLS, REASONING)
        for form in table.formats
    ]
    if json:
        for row in rows:
            print_json(row)
        return 0
    out = console()
    for row in rows:
        out.print(f"{row['kind']:10} {', '.join(row['names']):34} {'  '.join(row['markers'])}", markup=False)
    return 0


@app.command
def check(file: Path, /) -> int:
    """Check a format's TOML file: the table, and what must hold for every format.

    Parameters
    ----------
    file: The TOML file.
    """
    from sluicegate.dialects.checking import check_file

    problems = check_file(file.read_text("utf-8"))
    for problem in problems:
        print(f"{file}: {problem}")
    if not problems:
        print(f"{file}: ok")
    return 1 if problems else 0
