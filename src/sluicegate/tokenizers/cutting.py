"""Where a long text can be cut so that its parts, encoded one after another, give the ids of the whole.

Byte pair encoding works on the words that a pattern splits a text into. With the patterns below a word ends

- where a blank stands between two letters (before the blank),
- where a mark like `。` stands between two Chinese or Japanese letters (before the mark),
- behind a line break that a letter follows,

and where it begins and ends does not depend on what is behind. So a text can be cut there, unless a token that is
looked for before the text is split into words reaches over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sluicegate.tokenizers import kimi
from sluicegate.tokenizers.fast_path import DEEPSEEK_SPLITS
from sluicegate.tokenizers.openai_encodings import CL100K_PATTERN, O200K_PATTERN

_CUTTABLE = {
    (CL100K_PATTERN,),
    (CL100K_PATTERN.replace(r"\p{N}{1,3}", r"\p{N}"),),  # Qwen
    (O200K_PATTERN,),
    (kimi.PATTERN,),
    DEEPSEEK_SPLITS,
}
"""Splits, one after another, for which the above holds. GPT-2's are not among them: several line breaks are cut."""

PART = 16 * 1024
"""Code points of a part, and a little more: the fast engine takes about 0.1 ms for so many."""

_SEARCHED = 4 * 1024
"""Code points that are searched for a place; if there is none, the part becomes longer."""

_LETTER, _EASTERN_LETTER, _EASTERN_MARK = r"[^\W\d_]", "[一-龥ぁ-ゖァ-ヺ]", "[、。，；：！？]"

_PLACE = re.compile(f"{_LETTER} {_LETTER}|{_EASTERN_LETTER}{_EASTERN_MARK}{_EASTERN_LETTER}|\n{_LETTER}")
"""The cut is behind the first character."""

_REACHES_OVER = re.compile(rf"{_PLACE.pattern}|{_LETTER} \Z|{_EASTERN_LETTER}{_EASTERN_MARK}\Z")
"""Found in a token that can reach over a place: one that holds a place, or ends with what is behind the cut."""


def can_be_cut(splits: tuple[str, ...], tokens: Iterable[str]) -> bool:
    """Whether texts can be cut at these places with this chain of patterns and these added tokens."""
    return splits in _CUTTABLE and not any(map(_REACHES_OVER.search, tokens))


def parts_of(text: str, length: int = PART) -> Iterator[str]:
    """Cut a text into parts of `length` code points and a little more; joined they are the text."""
    start, end = 0, length
    while end < len(text):
        place = _PLACE.search(text, end, end + _SEARCHED)
        if place is None:
            end += length
            continue
        cut = place.start() + 1
        yield text[start:cut]
        start, end = cut, cut + length
    yield text[start:]
