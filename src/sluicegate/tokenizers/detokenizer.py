"""Text from token ids as they arrive: nothing that a later id could still change is given out."""

from __future__ import annotations

import codecs
from collections.abc import Iterable

from sluicegate.tokenizers.errors import UnknownTokenId
from sluicegate.tokenizers.protocol import Tokenizer

_utf8 = codecs.getincrementaldecoder("utf-8")


class StreamingDetokenizer:
    """Turns ids into text piece by piece; what `add` and `finish` return, joined, is what `decode` returns for all ids.

    A character whose bytes have not all arrived is held back; `finish` gives out what is left of it.
    """

    def __init__(self, tokenizer: Tokenizer, *, skip_special_tokens: bool = True) -> None:
        self._tokenizer = tokenizer
        self._skip = skip_special_tokens
        self._count = 0
        self._decoder = _utf8("replace")
        self._before: list[int] = []
        self._last: list[int] = []  # the last one that stands for something
        self._held: list[int] = []

    def add(self, ids: Iterable[int]) -> str:
        """Return the text that is certain after these further ids.

        Raises UnknownTokenId; its position counts from the first id ever added.
        """
        return "".join([self._add(token_id) for token_id in ids])

    def finish(self) -> str:
        """Return the text still held back: U+FFFD for a character that never became complete."""
        return self._decoder.decode(b"", True) + self._release()

    def _add(self, token_id: int) -> str:
        tokenizer, position = self._tokenizer, self._count
        self._count += 1
        try:
            data = tokenizer.token_bytes(token_id)
        except UnknownTokenId:
            raise UnknownTokenId(token_id, position) from None
        if self._skip and tokenizer.is_special(token_id):
            return ""
        if tokenizer.decodes_by_bytes:
            return self._decoder.decode(data)
        self._held.append(token_id)
        # A run of byte tokens is read as a whole (one wrong byte spoils all of it), so it waits for its end. An id
        # that stands for nothing shows nothing, and does not have to be its end.
        if not data:
            return ""
        self._last = [token_id]
        return "" if tokenizer.is_byte(token_id) else self._release()

    def _release(self) -> str:
        if not self._held:
            return ""
        # How a token is written can depend on the one before it (a blank, the first of the text), never on others.
        shown = self._tokenizer.decode(self._before, skip_special_tokens=False)
        text = self._tokenizer.decode(self._before + self._held, skip_special_tokens=False)
        self._before, self._held = self._last, []
        return text[len(shown) :]
