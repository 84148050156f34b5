"""A text value that is written as a JSON string while it grows."""

from __future__ import annotations

from sluicegate.core.json_reader import Write, quote


class TextValue:
    """Writes a text value as it grows; while it may still be `null`, and null is allowed, it waits."""

    __slots__ = ("_begun", "_frame", "_held", "_nullable", "_write")

    def __init__(self, write: Write, *, frame: bool, nullable: bool) -> None:
        self._write = write
        self._frame = frame
        self._nullable = nullable
        self._held = ""
        self._begun = False

    def write(self, text: str) -> None:
        """Add to the value, but for the template's line break at its start."""
        if self._begun:
            # This comes once per chunk of a stream: the quotes are cut off here, not in a function.
            self._write(quote(text)[1:-1])
            return
        if self._frame:
            self._frame = False
            text = text.removeprefix("\n")
        self._held += text
        if not self._nullable or not "null".startswith(self._held):
            self._begin()

    def finish(self) -> None:
        """The value is complete."""
        if not self._begun and self._nullable and self._held == "null":
            self._write("null")
            return
        if not self._begun:
            self._begin()
        self._write('"')

    def _begin(self) -> None:
        self._begun = True
        self._write(quote(self._held)[:-1])
        self._held = ""
