"""Consuming white space of any length; nothing of it stays in the unread window."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Final

from sluicegate.core.patterns import SPACE_CLASS
from sluicegate.core.window import Window

_SPACE: Final = re.compile(f"[{SPACE_CLASS}]*").match


def skip_space(window: Window) -> Generator[None, None, str]:
    """Consume white space; returns the last character of it, "" if there was none.

    Behind it the window stands at another character, or at the end of the text.
    """
    last = ""
    while True:
        found = _SPACE(window.text, window.pos)
        assert found is not None
        if found.end() > window.pos:
            window.pos = found.end()
            last = window.text[window.pos - 1]
        if window.pos < len(window.text) or window.final:
            return last
        yield
