"""The head of a request, and the heads that were read before.

Clients send the same head with every request, but for the length of the body. A head that the parser of HTTP has read
once need not be read again: what it says depends on its bytes alone.
"""

from __future__ import annotations

import re

LONGEST_KNOWN = 2 * 1024
"""Bytes of a head beyond which it is not kept."""
MOST_KNOWN = 256
"""Heads that are kept; heads that never come twice, such as those with an id of their own, must not fill the memory."""
_END = b"\r\n\r\n"
_MOST_DIGITS = 9
_LENGTH = re.compile(rb"\r\n[Cc]ontent-[Ll]ength: ([0-9]{1,%d})\r\n" % _MOST_DIGITS)


class Head:
    """What a request says before its body.

    `path` is the target without its query string, `raw_path` the same in bytes. `headers` are all headers with names
    in lower case, `fields` the first of each name, without the length of the body, which is known when it is here.
    """

    __slots__ = (
        "_before",
        "_behind",
        "expects_continue",
        "fields",
        "headers",
        "keep_alive",
        "method",
        "path",
        "query",
        "raw_path",
    )

    def __init__(
        self,
        method: str,
        raw_path: bytes,
        query: bytes,
        headers: list[tuple[bytes, bytes]],
        *,
        keep_alive: bool,
        expects_continue: bool,
    ) -> None:
        self.method = method
        self.raw_path = raw_path
        self.path = raw_path.decode("latin-1")
        self.query = query
        self.headers = headers
        self.fields = dict(reversed(headers))
        self.fields.pop(b"content-length", None)
        self.keep_alive = keep_alive
        self.expects_continue = expects_continue
        self._before = self._behind = b""

    def keep_bytes(self, before: bytes, behind: bytes) -> None:
        """Keep what stood before and behind the digits of the length, or the whole head, which has none."""
        self._before, self._behind = before, behind

    def body_in(self, data: bytes) -> bytes | None:
        """The body of a request, if `data` is exactly one request with the head whose bytes were kept."""
        before, behind = self._before, self._behind
        if not behind:
            return b"" if before and data == before else None
        if not data.startswith(before):
            return None
        first = len(before)
        end = data.find(behind, first, first + _MOST_DIGITS + len(behind))
        digits = data[first:end]
        start = end + len(behind)
        return data[start:] if end > 0 and digits.isdigit() and len(data) - start == int(digits) else None


class KnownHeads:
    """Heads by their bytes, the digits of `content-length` left out."""

    def __init__(self) -> None:
        self._heads: dict[bytes, Head] = {}

    def find(self, data: bytes, latest: Head | None = None) -> tuple[Head, bytes] | None:
        """The known head and the body of a request, if `data` is exactly one request with a known head.

        `latest` is looked at first: mostly a connection has one head only.
        """
        if latest is not None and (body := latest.body_in(data)) is not None:
            return latest, body
        before, behind, start = _parts(data)
        head = self._heads.get(before + _LEFT_OUT + behind)
        return None if head is None else (head, data[start:])

    def add(self, data: bytes, head: Head) -> None:
        """Keep the head of `data`, which the parser has read as exactly one request."""
        before, behind, start = _parts(data)
        # The parser may take a bare line feed for the end of a line, `_parts` does not.
        if before and data.count(b"\n", 0, start) == data.count(b"\r\n", 0, start):
            if len(self._heads) >= MOST_KNOWN:
                self._heads.clear()
            self._heads[before + _LEFT_OUT + behind] = head
            head.keep_bytes(before, behind)


_LEFT_OUT = b"\0"
"""Stands for the digits. No head that was read has a zero byte: the keys that are kept have just this one, and what was
not read yet, zero bytes and all, never equals one of them with its own digits left out."""


def _parts(data: bytes) -> tuple[bytes, bytes, int]:
    """What stands before and behind the digits of the length, and where the body starts.

    All empty if `data` is not exactly a head and its body; a head without a length stands before.
    """
    start = data.find(_END, 0, LONGEST_KNOWN) + len(_END)
    length = _LENGTH.search(data, 0, start)
    if length is None:
        return (data, b"", start) if len(data) == start else (b"", b"", 0)
    if len(data) - start != int(length[1]):
        return b"", b"", 0
    first, end = length.span(1)
    return data[:first], data[end:start], start
