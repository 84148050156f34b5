"""Sets of code points, searched for in UTF-8 first: many times faster than in the text itself."""

from __future__ import annotations

import re
from collections import defaultdict


class CodePoints:
    """A set of code points, written in hexadecimal: `7FD 897-89F`."""

    def __init__(self, spans: str) -> None:
        ranges = [[int(end, 16) for end in span.split("-")] for span in spans.split()]
        self._pattern = re.compile("[" + "".join("-".join(map(chr, ends)) for ends in ranges) + "]")
        # All but the last byte of each, which is that of 64 neighbours.
        beginnings = {
            chr(max(code, ends[0])).encode()[:-1] for ends in ranges for code in range(ends[0] & ~63, ends[-1] + 1, 64)
        }
        self._first_bytes = tuple({beginning[:1] for beginning in beginnings})
        last_bytes: defaultdict[bytes, bytes] = defaultdict(bytes)
        for beginning in sorted(beginnings):
            last_bytes[beginning[:-1]] += beginning[-1:]
        self._beginnings = re.compile(
            b"|".join(re.escape(head) + b"[" + re.escape(last) + b"]" for head, last in last_bytes.items())
        )

    def __repr__(self) -> str:
        return f"CodePoints({self._pattern.pattern!r})"

    def occur_in(self, text: str) -> bool:
        """Whether the text holds one of them."""
        if text.isascii():
            return False
        data = text.encode("utf-8", "surrogatepass")
        for first in self._first_bytes:
            if first in data:
                return self._beginnings.search(data) is not None and self._pattern.search(text) is not None
        return False
