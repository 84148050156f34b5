"""`sluicegate doctor`: would the service start with these settings, and what would be open to whom."""

from __future__ import annotations

import logging
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from sluicegate.cli.display import console
from sluicegate.cli.failure import CommandFailed
from sluicegate.core.errors import InvalidSetting

_MARKS = {
    "ok": ("ok", "green"),
    "note": ("note", "cyan"),
    "warning": ("warning", "yellow"),
    "error": ("ERROR", "bold red"),
}


def doctor(*flags: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]) -> int:
    """Check settings, keys, ports and tokenizers, and say what is open to whom.

    Takes the flags of `sluicegate serve`, and reads the same environment and settings file. Exit status: 0 the service
    would start and become ready, 1 it would not.
    """
    from sluicegate.cli.serve import read_settings

    try:
        from sluicegate.server.checks import Finding, check_service, who_may
        from sluicegate.server.logs import configure_logs
    except ModuleNotFoundError as error:
        raise CommandFailed(f"doctor needs the package {error.name!r}: pip install 'sluicegate[server]'") from None

    # What the service would log while it loads tokenizers is part of the report here.
    configure_logs("error", as_json=False, directory=None)
    logging.disable(logging.CRITICAL)
    out = console()
    errors = 0

    def show(finding: Finding) -> None:
        nonlocal errors
        errors += finding.verdict == "error"
        mark, style = _MARKS[finding.verdict]
        out.print(Text(f"{mark:8}", style), Text(f"{finding.subject:11}"), Text(finding.text))

    try:
        settings, ignored = read_settings(flags)
    except InvalidSetting as error:
        show(Finding("error", "settings", str(error)))
        return 1
    show(Finding("ok", "settings", "can be read"))
    for flag in ignored:
        show(Finding("warning", "settings", f"{flag} has no effect"))
    for finding in check_service(settings):
        show(finding)
    try:
        for finding in who_may(settings):
            show(finding)
    except InvalidSetting:
        pass  # said above
    return 1 if errors else 0
