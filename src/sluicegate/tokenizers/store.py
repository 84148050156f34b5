"""The loaded tokenizers, by name and by id. Knows nothing of how they were loaded."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable

import msgspec

from sluicegate.tokenizers.errors import TokenizerExists, TokenizerNotLoaded
from sluicegate.tokenizers.protocol import Tokenizer

FIRST = frozenset({"", "unknown"})
"""Values of `model` that select the first tokenizer by name."""


class StoredTokenizer(msgspec.Struct, frozen=True):
    """A loaded tokenizer with the name, id (a UUID in text form) and source it is known by."""

    name: str
    id: str
    source: str
    tokenizer: Tokenizer


class TokenizerStore:
    """Thread-safe map of names and ids to tokenizers.

    Reads take no lock: every change replaces the whole (small) table, so that a request keeps seeing one state.
    """

    def __init__(self, new_id: Callable[[], str] = lambda: str(uuid.uuid4())) -> None:
        self._new_id = new_id
        self._change = threading.Lock()
        self._by_name: dict[str, StoredTokenizer] = {}
        self._by_id: dict[str, StoredTokenizer] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def add(self, name: str, tokenizer: Tokenizer, source: str, id: str | None = None) -> StoredTokenizer:  # noqa: A002
        """Add a tokenizer under a name that is not in use; `id` is made when not given.

        Raises TokenizerExists when the name is taken.
        """
        with self._change:
            if (present := self._by_name.get(name)) is not None:
                raise TokenizerExists(name, present.id)
            stored = StoredTokenizer(name, id or self._new_id(), source, tokenizer)
            by_name = {**self._by_name, name: stored}
            # Byte order of the UTF-8 names, which is the order of their code points.
            self._by_name = dict(sorted(by_name.items()))
            self._by_id = {**self._by_id, stored.id: stored}
            return stored

    def get(self, name_or_id: str) -> StoredTokenizer | None:
        """Return the tokenizer with this id, else with this name, else None (the order of the admin routes)."""
        return self._by_id.get(name_or_id) or self._by_name.get(name_or_id)

    def resolve(self, model: str) -> StoredTokenizer:
        """Return the tokenizer for a request's `model`: name, then id, then the first by name for "" and "unknown".

        Nothing is trimmed, folded or guessed. Raises TokenizerNotLoaded, whose message lists the names.
        """
        by_name = self._by_name
        found = by_name.get(model) or self._by_id.get(model)
        if found is None and model in FIRST:
            found = next(iter(by_name.values()), None)
        if found is None:
            raise TokenizerNotLoaded(model, list(by_name))
        return found

    def remove(self, name_or_id: str) -> StoredTokenizer | None:
        """Remove and return the tokenizer with this id or name (looked up as `get` does); None if there is none."""
        with self._change:
            stored = self.get(name_or_id)
            if stored is None:
                return None
            self._by_name = {name: kept for name, kept in self._by_name.items() if kept is not stored}
            self._by_id = {id_: kept for id_, kept in self._by_id.items() if kept is not stored}
            return stored

    def list(self) -> list[StoredTokenizer]:
        """Return all tokenizers in byte order of their names."""
        return [*self._by_name.values()]
