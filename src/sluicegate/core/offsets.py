"""Offsets in a text that was put together from stretches of the raw text, and back."""

from __future__ import annotations

from bisect import bisect_right


class OffsetMap:
    """The stretches in order. Offsets are code points; `length` is that of the text put together."""

    __slots__ = ("_raw_starts", "_starts", "length")

    def __init__(self) -> None:
        self.length = 0
        self._starts: list[int] = []
        self._raw_starts: list[int] = []

    @property
    def is_identity(self) -> bool:
        """Whether the text is, so far, the raw text itself."""
        return self._raw_starts == [0] or not self._raw_starts

    def add(self, raw_start: int, raw_end: int) -> None:
        """The text goes on with this stretch of the raw text."""
        if not self._starts or self._raw_starts[-1] + self.length - self._starts[-1] != raw_start:
            self._starts.append(self.length)
            self._raw_starts.append(raw_start)
        self.length += raw_end - raw_start

    def raw(self, offset: int) -> int:
        """Where in the raw text the character at `offset` stands."""
        index = bisect_right(self._starts, offset) - 1
        return self._raw_starts[index] + offset - self._starts[index]

    def raw_range(self, start: int, end: int) -> tuple[int, int]:
        """From the first to behind the last character of a range; an empty range has one place."""
        if start == end:
            at = self.raw(start - 1) + 1 if start else self.raw(0)
            return at, at
        return self.raw(start), self.raw(end - 1) + 1

    def raw_pieces(self, start: int, end: int) -> list[tuple[int, int]]:
        """The stretches of the raw text that make up a range."""
        starts, raw_starts = self._starts, self._raw_starts
        index = bisect_right(starts, start) - 1
        pieces: list[tuple[int, int]] = []
        while start < end:
            stretch_end = min(end, starts[index + 1]) if index + 1 < len(starts) else end
            raw_start = raw_starts[index] + start - starts[index]
            pieces.append((raw_start, raw_start + stretch_end - start))
            start = stretch_end
            index += 1
        return pieces
