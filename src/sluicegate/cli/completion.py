"""What help and shell completion know of `sluicegate serve`, which reads its own flags."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter


def serve(*flags: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]) -> int:
    """Start the HTTP service (`sluicegate serve --help` lists its flags)."""
    from sluicegate.cli.serve import main

    return main(flags)
