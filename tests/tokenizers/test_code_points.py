"""Sets of code points: what is found in UTF-8 is what is in the text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.tokenizers.code_points import CodePoints
from sluicegate.tokenizers.fast_path import DEEPSEEK_INNER, DIFFERING, DIFFERING_NORMALIZED

ENDS = st.one_of(st.integers(0x80, 0x900), st.integers(0xFFB0, 0x10050), st.integers(0x80, 0xD700))


@given(data=st.data(), starts=st.lists(ENDS, min_size=1, max_size=5))
def test_those_of_a_set_are_found(data: st.DataObject, starts: list[int]) -> None:
    spans = [(start, start + data.draw(st.integers(0, 200))) for start in starts]
    points = CodePoints(" ".join(f"{start:x}-{end:X}" if start < end else f"{start:X}" for start, end in spans))
    near = [code for span in spans for end in span for code in (end - 65, end - 1, end, end + 1, end + 64)]
    text = data.draw(st.text(st.sampled_from([chr(code) for code in near if code > 0] + ["a", "\ud800"]), max_size=4))
    assert points.occur_in(text) == any(start <= ord(character) <= end for character in text for start, end in spans)


@pytest.mark.parametrize("points", [DIFFERING, DIFFERING_NORMALIZED, DEEPSEEK_INNER])
def test_every_code_point_alone_and_together(points: CodePoints) -> None:
    spans = re.findall(r"(\w+)(?:-(\w+))?", repr(points).split("'")[1])
    wanted = {chr(code) for start, end in spans for code in range(int(start, 16), int(end or start, 16) + 1)}
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    assert {character for character in characters if points.occur_in(character)} == wanted
    assert not points.occur_in("".join(character for character in characters if character not in wanted))
