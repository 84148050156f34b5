"""A long string in a JSON body, decoded in parts: at once, it would keep the interpreter lock for all of its length."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import TypeAlias

import msgspec

Pause: TypeAlias = Callable[[], None]
"""Called within work that takes long: others may go on meanwhile."""

PART = 64 * 1024
"""Bytes that are decoded at once."""

_PLACE = re.compile(rb"[ \xc2-\xf4]")
"""A string can be cut before these bytes: they begin a character, and are in no escape."""

_SEARCHED = 1024
"""Bytes at the end of a part that are searched for a place."""

_MOST_BESIDE = 64 * 1024
"""Bytes of a body beside its long string; and how far a body is searched for it."""

_MOST_TRIED = 8
"""Strings that are looked at: each of them costs as much as a part."""

STAND_IN = "a long string"
"""What stands in a shortened body in place of its long string, and nowhere else."""

_decode = msgspec.json.Decoder(str).decode


def shorten(body: bytes, member: re.Pattern[bytes], pause: Pause) -> tuple[bytes, str] | None:
    """Take the first long string out of a body: the shortened body and the string, None where there is no such string.

    `member` finds what comes before the strings that may be long, with their opening quotes. `pause` is called after
    each part.
    """
    stand_in = STAND_IN.encode()
    for found in islice(member.finditer(body, 0, _MOST_BESIDE), _MOST_TRIED):
        start = found.end()
        try:
            parts, end = _parts(body, start, pause)
        except (ValueError, msgspec.DecodeError):
            return None
        if len(parts) > 1:
            rest = body[:start] + body[end:]
            # An escape could spell the stand-in in another way.
            if len(rest) > _MOST_BESIDE or b"\\" in rest or stand_in in rest:
                return None
            return body[:start] + stand_in + body[end:], "".join(parts)
    return None


def _parts(body: bytes, start: int, pause: Pause) -> tuple[list[str], int]:
    """The parts of the string behind an opening quote, and the place of its closing one. Raises `ValueError`."""
    parts: list[str] = []
    while True:
        part = body[start : start + PART]
        unescaped = part.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        end = unescaped.find(b'"')
        if end >= 0:
            parts.append(_decode(b'"%b"' % part[:end]))
            return parts, start + end
        place = _PLACE.search(part, max(1, len(part) - _SEARCHED))
        if place is None or len(part) < PART:
            raise ValueError("no closing quote, or no place to cut")
        parts.append(_decode(b'"%b"' % part[: place.start()]))
        start += place.start()
        pause()
