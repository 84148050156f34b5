"""What other users of the host see of the command line: everything but the secrets."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.settings import FIELDS

_SECRET_FLAGS = {flag for field in FIELDS if field.secret for flag in (field.flag, *field.aliases)}
_HIDDEN = "***"


def hide_secrets(arguments: Sequence[str]) -> None:
    """Show the process without the secrets of its command line, where the platform allows it."""
    shown = without_secrets(arguments)
    if shown == list(arguments):
        return
    try:
        from setproctitle import setproctitle
    except ModuleNotFoundError:
        return
    setproctitle(" ".join(["sluicegate", "serve", *shown]))


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """The arguments of `sluicegate serve` with every value of a secret setting replaced."""
    shown: list[str] = []
    hides = False
    for argument in arguments:
        if argument.startswith("--"):
            flag, equals, _ = argument.partition("=")
            hides = flag in _SECRET_FLAGS
            shown.append(flag + equals + _HIDDEN if hides and equals else argument)
        else:
            shown.append(_HIDDEN if hides else argument)
    return shown
