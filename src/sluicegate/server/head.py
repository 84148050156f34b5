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
_LENGTH = re.compile(rb"\r\n[Cc]ontent-[Ll]ength: ([0-9]{1,9})\r\n")


class Head:
    """What a request says before its body.

    `path` is the target without its query string, `raw_path` the same in bytes. `headers` are all headers with names
    in lower case, `fields` the first of each name, without the length of the body, which is known when it is here.
    """

    __slots__ = (
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


class KnownHeads:
    """Heads by their bytes, the digits of `content-length` left out."""

    def __init__(self) -> None:
        self._heads: dict[bytes, Head] = {}

    def find(self, data: bytes) -> tuple[Head, bytes] | None:
        """The known head and the body of a request, if `data` is exactly one request with a known head."""
        key, start = _key(data)
        head = self._heads.get(key)
        return None if head is None else (head, data[start:])

    def add(self, data: bytes, head: Head) -> None:
        """Keep the head of `data`, which the parser has read as exactly one request."""
        key, start = _key(data)
        # The parser may take a bare line feed for the end of a line, `_key` does not.
        if key and data.count(b"\n", 0, start) == data.count(b"\r\n", 0, start):
            if len(self._heads) >= MOST_KNOWN:
                self._heads.clear()
            self._heads[key] = head


def _key(data: bytes) -> tuple[bytes, int]:
    """What identifies the head, and where the body starts; nothing if `data` is not exactly a head and its body."""
    start = data.find(_END, 0, LONGEST_KNOWN) + len(_END)
    length = _LENGTH.search(data, 0, start)
    if length is None:
        return (b"\0" + data, start) if len(data) == start else (b"", 0)
    if len(data) - start != int(length[1]):
        return b"", 0
    first, end = length.span(1)
    # No head that was read has a zero byte: the keys that are kept have just this one, at the start or within, and what
    # was not read yet, zero bytes and all, never equals one of the other kind.
    return b"%b\0%b" % (data[:first], data[end:start]), start
