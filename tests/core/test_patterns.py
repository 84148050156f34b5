"""Patterns and markers over text that is still growing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sluicegate
from sluicegate.core.errors import InvalidDialect
from sluicegate.core.patterns import CUT, RUN_LIMIT, SPACE, WHITE_SPACE, Markers, Pattern, Run, either
from sluicegate.core.window import Window

PATTERNS = {
    "literal": (Pattern("ab"), "ab"),
    "condition": (Pattern(SPACE, either("{", "<function=")), r"\s{0,256}(?:\{|<function=)"),
    "name": (Pattern("<", Run("a-c", 1, 3, "name"), SPACE, either(("/", ">"), ">")), r"<[a-c]{1,3}\s{0,256}(?:/>|>)"),
    "two runs": (Pattern(Run("ab", 2, 4), Run("b", 1, 2), "a"), r"[ab]{2,4}b{1,2}a"),
}


@pytest.mark.parametrize("name", PATTERNS)
@given(text=st.text(alphabet="abc<>/{ function=", max_size=9))
def test_a_pattern_may_match_exactly_the_beginnings_of_what_it_matches(name: str, text: str) -> None:
    pattern, expression = PATTERNS[name]
    whole = re.match(expression, text)
    assert (pattern.match(text, 0) is None) == (whole is None)
    if pattern.may_match(text, 0) is not None:
        # Something that can follow makes it match: try all short ways on.
        ways = (
            "",
            "{",
            "b>",
            "a",
            "ba",
            "bba",
            "abba",
            "aba",
            ">",
            "aa>",
            "/>",
            "<function=",
            *("<function="[n:] for n in range(10)),
        )
        assert any(re.match(expression, text + way) for way in (*ways, "bb", "abb", "bbba", "ab", "b", "a>", "<a>"))
    if whole is not None:
        for end in range(whole.end()):
            assert pattern.may_match(text[:end], 0) is not None, text[:end]


def test_runs_are_capped() -> None:
    pattern = Pattern(SPACE, "{")
    assert pattern.match(" " * RUN_LIMIT + "{", 0)
    assert pattern.may_match(" " * RUN_LIMIT, 0)
    assert pattern.may_match(" " * (RUN_LIMIT + 1), 0) is None


def test_expect_waits_as_long_as_the_text_may_match() -> None:
    window, pattern = Window(), Pattern(SPACE, "{")
    steps = pattern.expect(window)
    next(steps)
    window.feed(" ")
    next(steps)
    window.feed("{")
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value.end() == 2
    for text, final, result in ((" x", False, None), (" ", True, CUT)):
        window = Window()
        window.feed(text)
        window.final = final
        with pytest.raises(StopIteration) as end:
            next(pattern.expect(window))
        assert end.value.value is result


def test_captures_are_named() -> None:
    found = PATTERNS["name"][0].match("<ab >", 0)
    assert found is not None
    assert found["name"] == "ab"


SETS = (("<a>",), ("<a>", "<a>\n", "</a>"), ("[x]", "<a>", "<ab>"), ("aa", "ab", "aab"))


@given(st.sampled_from(SETS), st.text(alphabet="<>/ab[x]\n ", max_size=24), st.integers(0, 24))
def test_markers_find_the_first_literal_and_hold_what_may_become_one(
    literals: tuple[str, ...], text: str, cut: int
) -> None:
    markers = Markers(literals)
    head = text[:cut]
    literal, at = markers.find(head, 0, False)
    places = sorted((text.find(each), -len(each), each) for each in literals if each in text)
    if literal is not None:
        # What was found in the beginning of a text is what is found in all of it.
        assert (at, literal) == (places[0][0], places[0][2])
    else:
        assert all(place >= at for place, _, _ in places)
        assert len(head) - at <= markers.longest
        held = head[at:]
        assert not held or any(each.startswith(held) for each in literals) or held in literals
    assert markers.find(text, 0, True) == ((places[0][2], places[0][0]) if places else (None, len(text)))


@pytest.mark.parametrize("literals", [("<a>",), ("<a>", "[x]"), ("<a>", "[x]", "{y}"), ("<a>", "[x]", "{y}", '"')])
@pytest.mark.parametrize("length", [0, 511, 512, 513, 1024, 5000])
def test_markers_are_found_behind_long_text(literals: tuple[str, ...], length: int) -> None:
    markers = Markers(literals)
    for between in ("x" * length, ("x" * 50 + "< [") * (length // 50)):
        for literal in literals:
            assert markers.find(between + literal + "<a>", 0, True) == (literal, len(between))
        assert markers.find(between, 0, True) == (None, len(between))
        assert markers.find(between + "<a", 0, False) == (None, len(between))


@pytest.mark.parametrize("literals", [(), ("",), ("a", "")])
def test_markers_are_not_empty(literals: tuple[str, ...]) -> None:
    with pytest.raises(InvalidDialect):
        Markers(literals)


def test_white_space_is_that_of_unicode_not_that_of_python() -> None:
    assert all(character.isspace() for character in WHITE_SPACE)
    assert not {"\x1c", "\x1d", "\x1e", "\x1f", "\u200b"} & set(WHITE_SPACE)
    assert len(WHITE_SPACE) == 25


def test_no_expression_repeats_a_group_possessively() -> None:
    """Python before 3.11.5, which Debian 12 has, matches such expressions wrongly; an atomic group is the same."""
    source = Path(str(sluicegate.__file__)).parent
    found = [
        f"{path.relative_to(source)}:{number}"
        for path in source.rglob("*.py")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if re.search(r"""["'].*[^(]\)(?:[*+?]|\{[\d,]+\})\+""", line)
    ]
    assert found == []
