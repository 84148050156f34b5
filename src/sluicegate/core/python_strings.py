"""String literals of Python, read as they come and written as JSON strings.

All quotes and prefixes (`r`, `b`, `u`), adjacent literals joined, all escapes; bytes become text by UTF-8. The base
of `python_reader`, which reads the other literals. Source: the lexical analysis chapter of the Python reference.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Generator
from typing import Final

from sluicegate.core.context import Context
from sluicegate.core.json_reader import Write, quote_inside
from sluicegate.core.patterns import SPACE_CLASS, Steps
from sluicegate.core.words import WORD_CHARACTERS

_SPACE: Final = re.compile(f"[{SPACE_CLASS}]*+")
_LINE_CONTINUATION: Final = re.compile(r"\\(?:\n|\r\n?)").match
_TO_LINE_END: Final = re.compile(r"[^\r\n]*+")
_WORD: Final = re.compile(f"[{WORD_CHARACTERS}]*+")
_LOW_SURROGATE: Final = re.compile(r"\\(?:u|U0000)([dD][c-fC-F][0-9a-fA-F]{2})").match
_LOW_SURROGATE_BEGINNING: Final = re.compile(
    r"(?:\\(?:(?:u|U0{0,4}|U0000)|(?:u|U0000)[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?\Z"
).match
_OCTAL: Final = re.compile(r"\\([0-7]{1,3})").match
_HEXADECIMAL: Final = {
    "x": (re.compile(r"\\x([0-9a-fA-F]{2})").match, re.compile(r"\\x[0-9a-fA-F]?\Z").match),
    "u": (re.compile(r"\\u([0-9a-fA-F]{4})").match, re.compile(r"\\u[0-9a-fA-F]{0,3}\Z").match),
    "U": (re.compile(r"\\U([0-9a-fA-F]{8})").match, re.compile(r"\\U[0-9a-fA-F]{0,7}\Z").match),
}
_NAMED: Final = re.compile(r"\\N\{([^{}'\"\\\r\n]{1,128})\}").match
_NAMED_BEGINNING: Final = re.compile(r"\\N(?:\{[^{}'\"\\\r\n]{0,128})?\Z").match
_SIMPLE_ESCAPES: Final = {
    "\n": "",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
PREFIXES: Final = frozenset({"", "r", "u", "b", "br", "rb"})
"""Prefixes of string literals, in lower case; f-strings are no literals."""


def _plain(quotes: str, *, newlines: bool, ascii_only: bool) -> re.Pattern[str]:
    """What stands for itself in a string with these quotes."""
    line_breaks = "" if newlines or len(quotes) == 3 else r"\r\n"
    beyond_ascii = r"\x80-\U0010ffff" if ascii_only else ""
    return re.compile(rf"[^{quotes[0]}\\{line_breaks}{beyond_ascii}]++")


_PLAIN: Final = {
    (quotes, newlines, ascii_only): _plain(quotes, newlines=newlines, ascii_only=ascii_only).match
    for quotes in ("'", '"', "'''", '"""')
    for newlines in (False, True)
    for ascii_only in (False, True)
}


# What is spelled alike in Python and JSON, but for escaped single quotes.
_ALIKE: Final = {
    "'": re.compile(r"""(?>(?:[^'"\\\x00-\x1f]|\\[nrtbf\\"'])+)""").match,
    '"': re.compile(r"""(?>(?:[^"\\\x00-\x1f]|\\[nrtbf\\"'])+)""").match,
}
_ANY_ESCAPE: Final = re.compile(r"\\(.)")


def _unescaped_quote(escape: re.Match[str]) -> str:
    return "'" if escape[1] == "'" else escape[0]


class LiteralBroken(Exception):
    """The text is no Python literal that can be read.

    `token` is the raw offset of the start of the last token read, the one in trouble if the trouble is inside a token.
    The window stands at the break; `depth` brackets of the value are open there, `quotes` are those of an open string.
    """

    def __init__(self, code: str, token: int, depth: int, quotes: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.token = token
        self.depth = depth
        self.quotes = quotes
        self.message = message


class LiteralCut(LiteralBroken):
    """The text ended inside a value that was readable so far."""


class StringReader:
    """Reads white space, words and strings from a context's window.

    `newlines` allows raw line breaks in strings with single quotes. `end` is the raw offset behind the last token
    that was read. The methods raise `LiteralBroken` or `LiteralCut`.
    """

    __slots__ = ("_context", "_newlines", "_quotes", "_window", "depth", "end", "token")

    def __init__(self, context: Context, *, newlines: bool) -> None:
        self._context = context
        self._window = context.window
        self._newlines = newlines
        self._quotes = ""
        self.depth = 0
        self.token = self.end = context.window.offset

    def broken(self, message: str, code: str = "malformed_call") -> LiteralBroken:
        """The error for the place where the window stands."""
        return LiteralBroken(code, self.token, self.depth, self._quotes, message)

    def cut(self) -> LiteralCut:
        """The error for the end of the text."""
        return LiteralCut("incomplete_call", self.token, self.depth, self._quotes, "the text ends inside a value")

    def space(self) -> Generator[None, None, str]:
        """Consume white space, comments and line continuations; return the next character, or "" at the end."""
        window = self._window
        while True:
            text = window.text
            found = _SPACE.match(text, window.pos)
            pos = window.pos = found.end() if found is not None else window.pos
            if pos == len(text):
                if window.final:
                    return ""
                yield
                continue
            character = text[pos]
            if character == "#":
                yield from self._run(_TO_LINE_END)
            elif character != "\\":
                return character
            else:
                found = _LINE_CONTINUATION(text, pos)
                if found is not None:
                    window.pos = found.end()
                elif pos + 1 < len(text):
                    return character
                else:
                    yield from self._wait()

    def _run(self, pattern: re.Pattern[str]) -> Generator[None, None, str]:
        """Consume a run of characters, however long."""
        window = self._window
        pieces: list[str] = []
        while True:
            found = pattern.match(window.text, window.pos)
            pieces.append("" if found is None else found[0])
            window.pos += len(pieces[-1])
            if window.pos < len(window.text) or window.final:
                return "".join(pieces)
            yield

    def word(self) -> Generator[None, None, str]:
        """Consume letters, digits and marks of any script and low lines."""
        self.token = self._window.offset
        word = yield from self._run(_WORD)
        self.end = self._window.offset
        return word

    def string(self, prefix: str, write: Write) -> Steps:
        """Read the string whose quote is next, and those that follow it; write them as one JSON string.

        `prefix` is the word before the quote, one of `PREFIXES`; `token` stands at its start.
        """
        window = self._window
        data = bytearray() if "b" in prefix else None
        write('"')
        while True:
            yield from self._literal("r" in prefix, write, data)
            self.end = window.offset
            following = yield from self.space()
            if following in {"'", '"'}:
                self.token = window.offset
                prefix = ""
            elif following and following in "rRuUbB":
                end = self.end
                prefix = (yield from self.word()).lower()
                self.end = end
                if window.text[window.pos : window.pos + 1] not in {"'", '"'} or prefix not in PREFIXES:
                    raise self.cut() if self._at_end() else self.broken("a word behind a string")
            else:
                break
            if ("b" in prefix) != (data is not None):
                raise self.broken("bytes beside text")
        if data is not None:
            write(quote_inside(data.decode("utf-8", "replace")))
        write('"')

    def _at_end(self) -> bool:
        return self._window.final and self._window.pos == len(self._window.text)

    def _literal(self, raw: bool, write: Write, data: bytearray | None) -> Steps:
        """Read one literal whose quote is next; its text goes to `write`, or as bytes to `data`."""
        window = self._window
        quote = window.text[window.pos]
        while True:
            three = window.text[window.pos : window.pos + 3]
            if len(three) == 3 or window.final or three != quote * len(three):
                break
            yield
        quotes = three if three == quote * 3 else quote
        window.pos += len(quotes)
        self._quotes = quotes
        plain = _PLAIN[quotes, self._newlines, data is not None]
        alike = _ALIKE[quote] if data is None and not raw else None
        while True:
            text = window.text
            if alike is not None and (found := alike(text, window.pos)) is not None:
                run = found[0]
                write(_ANY_ESCAPE.sub(_unescaped_quote, run) if "\\'" in run else run)
                window.pos = found.end()
            found = plain(text, window.pos)
            if found is not None:
                self._put(found[0], write, data)
                window.pos = found.end()
            pos = window.pos
            if pos == len(text):
                if window.final:
                    raise self.cut()
                yield
            elif text[pos] == "\\":
                yield from self._escape(raw, write, data)
            elif text[pos] != quote:
                raise self.broken("a character that the string does not allow")
            elif text.startswith(quotes, pos):
                window.pos += len(quotes)
                self._quotes = ""
                return
            elif len(text) - pos < 3 and not window.final and text[pos:] == quote * (len(text) - pos):
                yield
            else:
                self._put(quote, write, data)
                window.pos += 1

    def _put(self, text: str, write: Write, data: bytearray | None) -> None:
        if data is None:
            write(quote_inside(text))
        else:
            data += text.encode("latin-1")

    def _wait(self) -> Steps:
        """An escape is not complete: more text, or the end."""
        if self._window.final:
            raise self.cut()
        yield

    def _escape(self, raw: bool, write: Write, data: bytearray | None) -> Steps:
        """Read the escape whose backslash is next, or wait for more of it."""
        window = self._window
        text, pos = window.text, window.pos
        if pos + 1 == len(text):
            yield from self._wait()
            return
        character = text[pos + 1]
        if raw:
            # What is no ASCII breaks bytes when it is read next.
            self._put("\\" + character if character.isascii() or data is None else "\\", write, data)
            window.pos += 2 if character.isascii() or data is None else 1
        elif character in _SIMPLE_ESCAPES:
            self._put(_SIMPLE_ESCAPES[character], write, data)
            window.pos += 2
        elif character == "\r":
            if pos + 2 == len(text) and not window.final:
                yield
            else:
                window.pos += 3 if text.startswith("\n", pos + 2) else 2
        elif (found := _OCTAL(text, pos)) is not None:
            if found.end() == len(text) and len(found[1]) < 3 and not window.final:
                yield
            else:
                code = int(found[1], 8)
                self._put(chr(code if data is None else code & 0xFF), write, data)
                window.pos = found.end()
        elif character == "x" or (character in "uU" and data is None):
            yield from self._hexadecimal(character, write, data)
        elif character == "N" and data is None:
            yield from self._named(write)
        else:
            self._put("\\", write, data)
            window.pos += 1

    def _hexadecimal(self, kind: str, write: Write, data: bytearray | None) -> Steps:
        window = self._window
        text = window.text
        match, may_match = _HEXADECIMAL[kind]
        found = match(text, window.pos)
        if found is None:
            if may_match(text, window.pos) is None:
                raise self.broken(f"a bad \\{kind} escape")
            yield from self._wait()
            return
        code, end = int(found[1], 16), found.end()
        if 0xD800 <= code <= 0xDFFF:
            low = _LOW_SURROGATE(text, end) if code < 0xDC00 else None
            if low is None:
                if code >= 0xDC00 or _LOW_SURROGATE_BEGINNING(text, end) is None:
                    raise self.broken("a lone surrogate escape")
                yield from self._wait()
                return
            code = 0x10000 + ((code - 0xD800) << 10) + (int(low[1], 16) - 0xDC00)
            end = low.end()
        elif code > 0x10FFFF:
            raise self.broken("an escape beyond U+10FFFF")
        self._put(chr(code), write, data)
        window.pos = end

    def _named(self, write: Write) -> Steps:
        window = self._window
        found = _NAMED(window.text, window.pos)
        if found is None:
            if _NAMED_BEGINNING(window.text, window.pos) is None:
                raise self.broken("a bad \\N escape")
            yield from self._wait()
            return
        try:
            character = unicodedata.lookup(found[1])
        except (KeyError, UnicodeError):
            character = ""
        if len(character) != 1:
            raise self.broken("a \\N escape that names no character")
        self._put(character, write, None)
        window.pos = found.end()
