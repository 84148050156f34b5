"""Consuming white space of any length; nothing of it stays in the unread window."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Final

from sluicegate.core.patterns import SPACE_CLASS, WHITE_SPACE
from sluicegate.core.window import Window

_SPACE: Final = re.compile(f"[{SPACE_CLASS}]*").match


def pass_space(window: Window) -> bool:
    """Consume the white space that is there; whether its end is there, too."""
    text, pos = window.text, window.pos
    if pos < len(text) and text[pos] not in WHITE_SPACE:
        return True
    found = _SPACE(text, pos)
    assert found is not None
    window.pos = found.end()
    return window.pos < len(text) or window.final


def skip_space(window: Window) -> Generator[None, None, str]:
    """Consume white space; returns the last character of it, "" if there was none.

    Behind it the window stands at another character, or at the end of the text.
    """
    last = ""
    while True:
        start = window.pos
        ended = pass_space(window)
        if window.pos > start:
            last = window.text[window.pos - 1]
        if ended:
            return last
        yield
