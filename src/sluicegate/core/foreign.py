"""Notices that a text carries the markers of other formats and none of the chosen one."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.core.patterns import Markers


def first_foreign(text: str, own: Sequence[str], foreign: Markers) -> tuple[str, int] | None:
    """The first foreign marker of a whole text and its offset, None if there is none, or one of the own."""
    for marker in own:
        if marker in text:
            return None
    found, at = foreign.find(text, 0, True)
    return None if found is None else (found, at)


class ForeignMarkers:
    """Watches one text as it comes, for one side. `found` is the first foreign marker and its offset in code points."""

    __slots__ = ("_carried", "_foreign", "_longest", "_own", "_read", "_watching", "found")

    def __init__(self, own: Sequence[str], foreign: Markers) -> None:
        self._own = own
        self._foreign = foreign
        self._longest = max((foreign.longest, *map(len, own)))
        self._carried = ""
        self._read = 0
        self._watching = True
        self.found: tuple[str, int] | None = None

    def feed(self, chunk: str) -> None:
        """The text goes on with this."""
        if not self._watching:
            return
        text = self._carried + chunk
        if any(marker in text for marker in self._own):
            self._watching = False
            self.found = None
            return
        if self.found is None:
            # What is cut off may be the beginning of a longer marker.
            self._look(text, len(text) - self._foreign.longest)
        kept = min(len(text), self._longest - 1)
        self._carried = text[len(text) - kept :]
        self._read += len(text) - kept

    def finish(self) -> None:
        """The text has ended."""
        if self._watching and self.found is None:
            self._look(self._carried, len(self._carried))

    def _look(self, text: str, last: int) -> None:
        """Look for a marker that starts at `last` or before."""
        marker, at = self._foreign.find(text, 0, True)
        if marker is not None and at <= last:
            self.found = marker, self._read + at
            self._watching = bool(self._own)
