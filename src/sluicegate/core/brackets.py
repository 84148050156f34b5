"""Where a broken block ends when nothing but its brackets can tell.

From the place where the text broke only brackets and quotes are read, whatever their order: an open string stays open
to its quote, and a backslash skips the next character.
"""

from __future__ import annotations

from collections.abc import Iterable

from sluicegate.core.blocks import Opener, Session
from sluicegate.core.patterns import Markers, Steps


class Brackets:
    """The brackets and quotes of a notation. A broken block ends earlier before an opener of `openers` that counts,
    and before any of `stops` behind the break.
    """

    __slots__ = ("_closing", "_literals", "_openers", "_opening", "_quotes", "_special", "_stops")

    def __init__(
        self,
        openers: Iterable[Opener] = (),
        *,
        opening: str = "{[",
        closing: str = "}]",
        quotes: tuple[str, ...] = ('"',),
        stops: tuple[str, ...] = (),
    ) -> None:
        self._openers = {opener.literal: opener for opener in openers}
        self._opening = opening
        self._closing = closing
        self._quotes = frozenset(quotes)
        self._special = frozenset((*opening, *closing, *quotes, ",", "\\"))
        self._stops = frozenset(stops)
        self._literals = Markers((*self._openers, *stops, *opening, *closing, *quotes, ",", "\\"))

    def skip(self, session: Session, start: int, opened: int, quote: str = "", *, element: bool = False) -> Steps:
        """Consume the rest of a broken block; the window stands at the break.

        `start` is the raw offset where the block begins, `opened` the number of its brackets that are open at the
        break, `quote` the quote that is open there. The block ends behind the bracket that closes the last open one,
        or, as the `element` of a list, before the next comma or closing bracket of the list.
        """
        window = session.window
        broken = window.offset
        if self._openers:
            window.rewind(start)
        while True:
            literal, at = self._literals.find(window.text, window.pos, window.final)
            window.pos = at
            if literal is None:
                if window.final:
                    return
                yield
                continue
            opener = self._openers.get(literal)
            if opener is not None:
                if window.offset > start and (yield from opener.decide(window)) is not None:
                    return
                # No opener: its first character may be a bracket.
                literal = literal[0]
            if window.offset < broken:
                window.pos += 1
            elif literal in self._stops:
                return
            elif literal == "\\":
                while window.pos + 1 == len(window.text) and not window.final:
                    yield
                # The next character is skipped; if it is no bracket or quote, that means nothing.
                window.pos += 2 if window.text[window.pos + 1 : window.pos + 2] in self._special else 1
            elif quote:
                closes = literal.startswith(quote)
                window.pos += len(quote) if closes else len(literal)
                quote = "" if closes else quote
            elif literal in self._quotes:
                quote = literal
                window.pos += len(literal)
            elif element and not opened and literal in ",]":
                return
            else:
                window.pos += len(literal)
                if literal in self._opening:
                    opened += 1
                elif literal in self._closing:
                    opened = max(opened - 1, 0)
                    if not opened and not element:
                        return
