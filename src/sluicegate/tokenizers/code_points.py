"""Sets of code points, searched for in UTF-8: many times faster than in the text itself."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Set


class CodePoints:
    """A set of code points, written in hexadecimal: `7FD 897-89F`."""

    def __init__(self, spans: str) -> None:
        ranges = [[int(end, 16) for end in span.split("-")] for span in spans.split()]
        encoded = {chr(code).encode() for ends in ranges for code in range(ends[0], ends[-1] + 1)}
        self._spans = " ".join(spans.split())
        self._first_bytes = tuple({sequence[:1] for sequence in encoded})
        self._pattern = re.compile(_pattern(encoded))

    def __repr__(self) -> str:
        return f"CodePoints({self._spans!r})"

    def occur_in(self, text: str) -> bool:
        """Whether the text holds one of them."""
        if text.isascii():
            return False
        data = text.encode("utf-8", "surrogatepass")
        for first in self._first_bytes:
            if first in data:
                return self._pattern.search(data) is not None
        return False


def _pattern(sequences: Set[bytes]) -> bytes:
    """A regular expression for any of these sequences of bytes, none of which begins with another."""
    rests: defaultdict[bytes, set[bytes]] = defaultdict(set)
    for sequence in sequences:
        rests[sequence[:1]].add(sequence[1:])
    firsts: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for first, rest in rests.items():
        firsts[b"" if rest == {b""} else _pattern(rest)].append(first)
    return b"(?:" + b"|".join(_class(group) + rest for rest, group in firsts.items()) + b")"


def _class(group: Iterable[bytes]) -> bytes:
    return b"[" + b"".join(re.escape(one) for one in sorted(group)) + b"]"
