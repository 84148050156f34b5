"""Where the text of an element ends: at its closing tag, if another tag follows; everything else in it is data.

If the call's closing tag comes first, two things are possible: the text quotes it, or its own closing tag was
forgotten. Nothing is decided until a closing tag that counts comes, or a call visibly starts or the text ends. What a
search found holds for the texts that follow: `Session.known` says up to where, `Session.passed_keys` where closing tags
that count were passed.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from re import Match
from typing import Final

from sluicegate.core.block_fault import CutOff, Malformed
from sluicegate.core.blocks import Session
from sluicegate.core.json_reader import Write
from sluicegate.core.patterns import RUN_LIMIT, SPACE, SPACE_CLASS, WHITE_SPACE, Markers, Pattern, Run, either

_SPACE: Final = re.compile(f"[{SPACE_CLASS}]*+")
_NAME: Final = "^<>"


class ElementText:
    """Reads texts of one format; made once, used for all."""

    __slots__ = ("_call_end", "_closing", "_markers", "_token", "_visible_start")

    def __init__(self, token: str, call: str) -> None:
        self._token = token
        self._markers = Markers((token,))
        self._call_end = f"/{call}"
        self._closing = Pattern(token, "</", Run(_NAME, 0, RUN_LIMIT, "name"), ">")
        inside = Run(_NAME, 0)
        self._visible_start = Pattern(
            f"{token}<{call}",
            either(
                "/>",
                (">", SPACE, token, "<"),
                (Run(f"{SPACE_CLASS}/", 1, 1), inside, either("/>", (">", SPACE, token, "<"))),
            ),
        )

    def read(self, session: Session, write: Write, name: str, *, nested: bool) -> Generator[None, None, int]:
        """Read to the end of the text of the element `name`; returns where it ends, as raw offset.

        The window then stands at the tag behind the element. The text is handed to `write`. Raises `CutOff` and
        `Malformed`.
        """
        window = session.window
        close_start = close_end = damage = -1
        while True:
            literal, at = self._markers.find(window.text, window.pos, window.final)
            if close_end < 0 and at > window.pos:
                write(window.text[window.pos : at])
            window.pos = at
            if close_end >= 0 and window.offset - close_end > session.context.held_text_limit:
                self._report_limit(session, close_start, close_end)
                literal = None
            elif literal is None and not window.final:
                yield
                continue
            elif literal is None and close_end < 0:
                raise CutOff
            if literal is None:
                session.known = window.offset
                break
            start = window.offset
            size = len(literal)
            closing = yield from self._closing.expect(window)
            if isinstance(closing, Match):
                tag = closing["name"]
                size = closing.end() - window.pos
                if tag == self._call_end[1:]:
                    if close_end < 0:
                        close_start, close_end = start, start + size
                        if close_end <= session.known and session.passed_keys.get(name, -1) < close_end:
                            break
                else:
                    tag = tag.strip(WHITE_SPACE)
                    window.pos += size
                    size = 0
                    if (yield from self._token_follows(session)):
                        if tag == name:
                            if close_end >= 0:
                                write(window.slice(close_start, start))
                            return start
                        if close_end >= 0:
                            session.passed_keys[tag] = start
            elif close_end >= 0 and isinstance((yield from self._visible_start.expect(window)), Match):
                session.known = start
                break
            window.pos += size
            if close_end < 0:
                write(window.slice(start, window.offset))
                damage = start if damage < 0 else damage
        if nested or damage >= 0:
            raise Malformed("a value is not closed, and more is damaged than one closing tag", close_end, ends=True)
        session.context.report(
            "unclosed_parameter", "warning", close_start, close_end, "a value has no closing tag: it ends with its call"
        )
        window.rewind(close_start)
        return close_start

    def _token_follows(self, session: Session) -> Generator[None, None, bool]:
        """Consume white space; whether the token follows."""
        window = session.window
        yield from session.consume(_SPACE)
        while not window.text.startswith(self._token, window.pos):
            if window.final or not self._token.startswith(window.text[window.pos :]):
                return False
            yield
        return True

    @staticmethod
    def _report_limit(session: Session, start: int, end: int) -> None:
        limit = session.context.held_text_limit
        session.context.report(
            "held_text_limit",
            "warning",
            start,
            end,
            f"more than {limit} code points waited behind a call closer in an open value: the value ends there",
        )
