"""Texts that look like a format's outputs, whole and damaged, made from its recorded outputs and its markers."""

from __future__ import annotations

import functools
import re

from hypothesis import strategies as st

from tests.support.parsing import cases

_WORDS = re.compile(r"\]<\]minimax\[>\[|</?[^<>\s]{1,48}>|\[/?[A-Z_]{2,20}\]|<\|\"\|>|\w{1,12}|\s|.", re.DOTALL)
_MARKERS = re.compile(r"\]<\]minimax\[>\[|<[^<>\s]{1,48}>|\[/?[A-Z_]{2,20}\]")
_LONGEST = 600


@functools.cache
def recorded_texts(parser: str, pattern: str) -> tuple[str, ...]:
    """The recorded outputs of a parser that are short enough to be cut up."""
    texts = {case["text"] for case in cases(pattern) if case["parser"] == parser}
    return tuple(sorted(text for text in texts if 0 < len(text) <= _LONGEST))


@functools.cache
def vocabulary(parser: str, pattern: str, markers: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a parser's recorded outputs, markers as a whole and cut."""
    words: set[str] = set(markers)
    for text in recorded_texts(parser, pattern):
        words.update(_WORDS.findall(text))
    cut = {word[:size] for word in words if _MARKERS.fullmatch(word) for size in (1, len(word) // 2, len(word) - 1)}
    return tuple(
        sorted(
            words | cut | {"{", "}", "[", "]", '"', "\\", ",", ":", "\n", " ", "a", "1", "\ud800", "\u2028", "é", "😀"}
        )
    )


def outputs(parser: str, pattern: str, markers: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Recorded outputs of a parser, spliced and damaged, and random sequences of its words."""
    texts = recorded_texts(parser, pattern)
    words = st.lists(st.sampled_from(vocabulary(parser, pattern, markers)), max_size=24).map("".join)
    if not texts:
        return words
    text = st.sampled_from(texts)

    def piece(whole: str) -> st.SearchStrategy[str]:
        ends = st.tuples(st.integers(0, len(whole)), st.integers(0, len(whole))).map(sorted)
        return ends.map(lambda both: whole[both[0] : both[1]])

    def damaged(whole: str) -> st.SearchStrategy[str]:
        at = st.integers(0, len(whole))
        return st.tuples(at, st.integers(0, 12), st.sampled_from(vocabulary(parser, pattern, markers))).map(
            lambda change: whole[: change[0]] + change[2] + whole[change[0] + change[1] :]
        )

    return st.one_of(
        words,
        text.flatmap(damaged),
        text.flatmap(damaged).flatmap(damaged),
        st.lists(st.one_of(text.flatmap(piece), words), min_size=1, max_size=4).map("".join),
        st.tuples(text, words, text).map("".join),
    )
