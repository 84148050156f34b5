"""The window over growing text: what is kept, sliced and read again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sluicegate.core.window import Window


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=6), st.integers(0, 6)), min_size=1, max_size=12),
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_kept_text_can_be_sliced_and_read_again(
    steps: list[tuple[str, int]], first: int, start: int, size: int
) -> None:
    window, whole = Window(), ""
    kept = False
    for chunk, consume in steps:
        window.feed(chunk)
        whole += chunk
        if not kept and window.offset >= first:
            window.keep(window.offset)
            kept, first = True, window.offset
        window.pos = min(window.pos + consume, len(window.text))
        assert window.base + len(window.text) == len(whole)
    if not kept:
        return
    start = min(max(start, first), len(whole))
    assert window.slice(start, start + size) == whole[start : start + size]
    back = min(max(start, first), window.offset)
    window.rewind(back)
    assert window.offset == back
    assert window.text[window.pos :] == whole[back:]
    assert window.slice(first, len(whole)) == whole[first:]
    window.feed("more")
    assert window.slice(first, len(whole) + 4) == whole[first:] + "more"
    window.release()
    assert window.text[window.pos :] == (whole + "more")[back:]
