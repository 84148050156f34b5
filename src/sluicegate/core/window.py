"""The part of the raw text that is still to be read, and the way back into what was read.

Unread text is short: whatever a reader has decided on is consumed. While a block is open, consumed text
is kept in pieces, because a block that turns out a fault is read again from the place where it broke.
"""

from __future__ import annotations

from bisect import bisect_right


class Window:
    """`text[pos:]` is unread; `base` is the offset in the raw text of `text[0]`, in code points.

    `final` is true once no more text will come. Positions in `text` are valid until the next `feed`;
    offsets in the raw text are valid for ever.
    """

    __slots__ = ("_kept", "_kept_from", "_starts", "base", "final", "pos", "text")

    def __init__(self) -> None:
        self.text = ""
        self.pos = 0
        self.base = 0
        self.final = False
        self._kept: list[str] = []
        self._starts: list[int] = []
        self._kept_from = -1

    @property
    def offset(self) -> int:
        """Offset in the raw text of the next unread code point."""
        return self.base + self.pos

    def feed(self, chunk: str) -> None:
        """Add text. What was consumed is forgotten, unless `keep` asked for it."""
        pos = self.pos
        if pos:
            text = self.text
            if self._kept_from >= 0:
                self._kept.append(text[:pos])
                self._starts.append(self.base)
            self.base += pos
            self.pos = 0
            self.text = text[pos:] + chunk if pos < len(text) else chunk
        else:
            self.text += chunk

    def keep(self, offset: int) -> None:
        """From now on keep consumed text, from `offset` on; it must not lie before the current text."""
        if self._kept_from < 0:
            self._kept_from = offset

    def release(self) -> None:
        """Forget the consumed text that was kept."""
        if self._kept_from >= 0:
            self._kept_from = -1
            if self._kept:
                self._kept = []
                self._starts = []

    def slice(self, start: int, end: int) -> str:
        """The raw text from offset `start` to `end`: unread text, text of the last chunk, or kept text."""
        base = self.base
        if start >= base:
            return self.text[start - base : end - base]
        pieces: list[str] = []
        for index in range(bisect_right(self._starts, start) - 1, len(self._starts)):
            at = self._starts[index]
            if at >= end:
                break
            pieces.append(self._kept[index][max(start - at, 0) : end - at])
        if end > base:
            pieces.append(self.text[: end - base])
        return "".join(pieces)

    def rewind(self, offset: int) -> None:
        """Go back to `offset`, which must be kept or lie in the current text."""
        if offset < self.base:
            self.text = self.slice(offset, self.base + len(self.text))
            self.base = offset
            index = bisect_right(self._starts, offset) - 1
            head, at = self._kept[index], self._starts[index]
            del self._kept[index:], self._starts[index:]
            if offset > at:
                self._kept.append(head[: offset - at])
                self._starts.append(at)
        self.pos = offset - self.base
