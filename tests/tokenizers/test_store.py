"""The store of loaded tokenizers: look-ups, order, and changes from many threads."""

from __future__ import annotations

import threading

import pytest

from sluicegate.tokenizers import TokenizerExists, TokenizerNotLoaded, TokenizerStore
from tests.tokenizers import miniatures

TOKENIZER = miniatures.wordpiece()


@pytest.fixture
def store() -> TokenizerStore:
    store = TokenizerStore()
    for name in ("b", "a/c", "é", "A", "z"):
        store.add(name, TOKENIZER, f"source of {name}")
    return store


def test_names_are_listed_in_byte_order(store: TokenizerStore) -> None:
    names = [stored.name for stored in store.list()]
    assert names == sorted(names, key=str.encode) == ["A", "a/c", "b", "z", "é"]


@pytest.mark.parametrize("model", ["", "unknown"])
def test_no_name_selects_the_first(store: TokenizerStore, model: str) -> None:
    assert store.resolve(model).name == "A"


def test_name_wins_over_id_for_requests_and_id_for_the_admin_routes(store: TokenizerStore) -> None:
    other = store.add("other", TOKENIZER, "s", id="b")
    assert store.resolve("b").name == "b"
    assert store.get("b") is other
    named = store.get("z")
    assert named is not None
    assert store.resolve(named.id) is named


@pytest.mark.parametrize("model", ["B", " b", "b ", "a", "a/", "b\n"])
def test_nothing_is_guessed(store: TokenizerStore, model: str) -> None:
    with pytest.raises(TokenizerNotLoaded) as caught:
        store.resolve(model)
    assert f"{caught.value}" == f"Tokenizer for model '{model}' not found. Available: A, a/c, b, z, é"


@pytest.mark.parametrize("model", ["", "unknown", "x"])
def test_empty_store_says_what_to_do(model: str) -> None:
    with pytest.raises(TokenizerNotLoaded, match=r"^No tokenizers available\. Use POST /v1/tokenizers to add one\.$"):
        TokenizerStore().resolve(model)


def test_taken_name_gives_the_id_that_has_it(store: TokenizerStore) -> None:
    present = store.get("b")
    assert present is not None
    with pytest.raises(TokenizerExists) as caught:
        store.add("b", TOKENIZER, "s")
    assert caught.value.id == present.id


def test_removed_name_is_free_at_once(store: TokenizerStore) -> None:
    removed = store.remove("b")
    assert removed is not None
    assert store.get("b") is None
    assert store.get(removed.id) is None
    assert "b" not in store
    assert store.remove("b") is None
    assert store.add("b", TOKENIZER, "s").id != removed.id
    assert len(store) == 5


def test_one_of_many_simultaneous_adds_wins() -> None:
    store, outcomes, start = TokenizerStore(), [], threading.Barrier(8)

    def add() -> None:
        start.wait()
        try:
            outcomes.append(store.add("name", TOKENIZER, "s").id)
        except TokenizerExists as failure:
            outcomes.append(failure.id)

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 8
    assert len(set(outcomes)) == 1
