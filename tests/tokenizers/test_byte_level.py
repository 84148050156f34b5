"""The table of bytes per id: ids one after another, holes, ids behind them, and ids that are not there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.tokenizers.byte_level import ByteTable
from sluicegate.tokenizers.errors import UnknownTokenId

IDS = st.integers(-2, 14)
TABLES = st.dictionaries(st.integers(0, 12), st.binary(min_size=1, max_size=3), max_size=12)


@given(table=TABLES, special=st.sets(IDS), rows=st.integers(0, 14), ids=st.lists(IDS, max_size=5), skip=st.booleans())
def test_bytes_of_ids(table: dict[int, bytes], special: set[int], rows: int, ids: list[int], skip: bool) -> None:
    found = ByteTable(dict(table), special, rows)
    assert found.highest == max(table, default=-1)
    known = dict.fromkeys(range(rows), b"") | table
    if skip:
        known |= dict.fromkeys(special, b"")
    for position, token_id in enumerate(ids):
        if token_id not in known:
            with pytest.raises(UnknownTokenId) as caught:
                found.join(ids, skip_special_tokens=skip)
            assert (caught.value.token_id, caught.value.position) == (token_id, position)
            return
    assert found.join(ids, skip_special_tokens=skip) == b"".join(known[token_id] for token_id in ids)
    for token_id in ids:
        if token_id in table:
            assert found.bytes_of(token_id) == table[token_id]
