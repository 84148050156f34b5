"""The strict JSON reader: what it takes, what it refuses and where, and that its two ways are one."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from json.encoder import encode_basestring
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.core.context import Context
from sluicegate.core.json_reader import (
    DEPTH_LIMIT,
    JsonBroken,
    JsonCut,
    JsonReader,
    complete_value,
    quote,
    quote_inside,
    whole_container,
)
from tests.support.parsing import pieces


def read(text: str, chunks: Iterable[str] | None = None, *, details: bool = False) -> tuple[str, int, list[str]]:
    """What the reader writes for a value at the start of a text, where it ends, and the repeated keys."""
    context = Context(details=details)
    window = context.window
    reader = JsonReader(context)
    written: list[str] = []
    steps = reader.value(written.append)
    for chunk in [text] if chunks is None else chunks:
        window.feed(chunk)
        try:
            next(steps)
        except StopIteration:
            return "".join(written), window.offset, reader.duplicates
    window.final = True
    with pytest.raises(StopIteration):
        next(steps)
    return "".join(written), window.offset, reader.duplicates


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(alphabet=st.characters(codec="utf-8")),
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=500, deadline=None)
@given(
    st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values, max_size=4),
    st.booleans(),
    st.sampled_from([None, 1, 3]),
    st.integers(1, 9),
)
def test_a_value_is_written_compact_whole_and_in_pieces(
    value: Any, ascii_only: bool, indent: int | None, size: int
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    written, end, duplicates = read(text)
    assert (written, end, duplicates) == read(text, pieces(text, size)) == read(text, details=True)
    assert end == len(text)
    assert not duplicates
    assert json.loads(written) == value
    assert all(int(code, 16) < 0x20 for code in re.findall(r"\\(?:u(....)|.)", written) if code)


BITS = [
    '{"a":', "{", "}", "[", "]", ",", ":", '"', '"b"', '"\\u00e9"', '"\\ud83d\\ude00"', '"\\ud83d"', "\\",
    "\\/", "\n", " ", "1", "-0", "1.50", "1e400", "1E5", "01", "true", "nul", "null", "NaN", "\x01", "é",
    "\ud800", "12345678901234567890", "-", "+1", ".5",
]  # fmt: skip


@settings(max_examples=3000, deadline=None)
@given(st.lists(st.sampled_from(BITS), max_size=14).map("".join), st.sampled_from("[{"), st.integers(1, 5))
def test_the_decoder_in_c_and_the_reader_agree(rest: str, bracket: str, size: int) -> None:
    """Where the fast way answers, the reader answers the same; whole or in pieces, the reader fails at one place."""
    text = bracket + rest
    fast = complete_value(text, 0, 0)
    whole, in_pieces = attempt(text), attempt(text, pieces(text, size))
    assert whole == in_pieces
    if isinstance(whole[0], str):
        written, end = whole[:2]
        assert fast is None or fast == (written, end)
        assert json.loads(text[:end].replace("\ud800", "x")) is not None
    else:
        assert fast is None


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.sampled_from(BITS), max_size=14).map("".join), st.sampled_from("[{"), st.integers(0, 2))
def test_a_container_with_a_guessed_end_is_what_the_reader_reads(rest: str, bracket: str, around: int) -> None:
    """Wherever the end is guessed: what is decoded as a whole is read alike, and ends there."""
    text = bracket + rest
    whole = attempt(text)
    for end in (at + 1 for at, character in enumerate(text) if character in "}]"):
        written = whole_container(text, 0, end, around)
        assert written is None or whole[:3] == (written, end, [])


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('{"a": [1, 2.50, -3E+5, -0.0, 1e-400], "b": {}}', '{"a":[1,2.50,-3E+5,-0.0,1e-400],"b":{}}'),
        ('[12345678901234567890123, "é\\u001f\\n\\"\\\\"]', '[12345678901234567890123,"é\\u001f\\n\\"\\\\"]'),
        ('{"a":{"b":1},"c":{"b":1}}', '{"a":{"b":1},"c":{"b":1}}'),
        ("[-0]", None),
        ("[1e400]", None),
        ('["\\u00e9"]', None),
        ('["\\/"]', None),
        ('["\\u001F"]', None),
        ('{"a": 1, "a": 1}', None),
        ('{"a":{"b":1,"c":2,"b":1}}', None),
        ('["\ud800"]', None),
        ("[NaN]", None),
        ("[1] ]", None),
        ("[" * 5000 + "]" * 5000, None),
    ],
)
def test_what_is_decoded_as_a_whole(text: str, written: str | None) -> None:
    assert whole_container(text, 0, len(text), 0) == written


def attempt(text: str, chunks: list[str] | None = None) -> tuple[Any, ...]:
    """What the reader makes of a text: what it writes and where it ends, or how it fails."""
    try:
        return read(text, chunks, details=True)
    except JsonBroken as problem:
        return type(problem), str(problem), problem.token, problem.open, problem.in_string


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ('{"a": NaN}', 6),
        ('{"a": Infinity}', 6),
        ('{"a": -Infinity}', 6),
        ('{"a": 1e400}', 6),
        ('{"a": 01}', 6),
        ('{"a": +1}', 6),
        ('{"a": .5}', 6),
        ('{"a": 5.}', 6),
        ('["\\ud800"]', 1),
        ('["\\udc00"]', 1),
        ('["\\ud800\\u0041"]', 1),
        ('["a\nb"]', 1),
        ('["\\x41"]', 1),
        ("['a']", 1),
        ("[1,]", 2),
        ('{"a":1,}', 6),
        ('{"a" 1}', 1),
        ("[1 2]", 1),
        ("[truE]", 1),
        ("{1:2}", 0),
        ("[1}", 1),
        ("[:]", 0),
        ("[,1]", 0),
    ],
)
def test_refused(text: str, token: int) -> None:
    with pytest.raises(JsonBroken) as problem:
        read(text + " ")
    assert not isinstance(problem.value, JsonCut)
    assert problem.value.token == token


@pytest.mark.parametrize(
    "text", ['{"a', '{"a":', '{"a":1', "[1", "[tru", '["\\u00', '["\\ud83d\\u', "[", '[{"b":[', '["x', "[1e", "[-"]
)
def test_cut_off(text: str) -> None:
    with pytest.raises(JsonCut):
        read(text)
    with pytest.raises(JsonCut):
        read(text, pieces(text, 1))


def test_depth_is_limited_exactly() -> None:
    deepest = "[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT
    assert read(deepest)[0] == deepest
    with pytest.raises(JsonBroken) as problem:
        read("[" + deepest + "]")
    assert (problem.value.code, problem.value.token) == ("depth_exceeded", DEPTH_LIMIT)


@given(
    kinds=st.lists(st.booleans(), min_size=DEPTH_LIMIT - 3, max_size=DEPTH_LIMIT + 3),
    beside=st.sampled_from(["", "[],", "{}," * 300, '"[[{{",' * 300, "1,"]),
    around=st.integers(0, 2),
)
def test_depth_of_what_is_there_as_a_whole(kinds: list[bool], beside: str, around: int) -> None:
    text = "0"
    for index, is_object in enumerate(kinds):
        text = f'{{"[":{text}}}' if is_object else f"[{beside if index == 5 else ''}{text}]"
    fits = len(kinds) <= DEPTH_LIMIT - around
    assert complete_value(text, 0, around) == ((text, len(text)) if fits else None)


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ('{"a":1,"b":2}', False),
        ('{"a":1, "a" :2}', True),
        ('{"a":{"b":1,"b":2},"c":[{"d":3}]}', True),
        ('{"a":{"b":1},"c":[{"b":3},[{"b":4}]]}', False),
        (r'{"a":"{\"b\":1,\"b\":2}"}', False),
        (r'{"a":"{\"b\":1}","a":2}', True),
        (r'{"a\\":1,"b":2}', False),
        (r'{"a\\":1,"b":2,"b":3}', True),
        (r'{"a":"\\","b\"":2}', False),
        (r'{"a":"\\\":","b":2,"b":3}', True),
    ],
)
def test_an_object_that_repeats_a_key_is_read_piece_by_piece(text: str, repeats: bool) -> None:
    compact = text.replace(" ", "")
    assert read(text, details=True)[:1] == (compact,)
    assert bool(read(text, details=True)[2]) == repeats
    assert complete_value(text, 0, 0) == (None if repeats else (compact, len(text)))


def test_depth_near_what_python_can_decode() -> None:
    for depth in range(DEPTH_LIMIT + 1, sys.getrecursionlimit() + 20):
        assert complete_value("[" * depth + "]" * depth, 0, 0) is None


def test_numbers_keep_their_spelling_and_digits() -> None:
    text = "[1.50,1E5,-0," + "9" * 5000 + ",0.1e-7]"
    assert read(text)[0] == text
    assert read(text, pieces(text, 7))[0] == text


def test_repeated_keys_are_written_again_and_told() -> None:
    assert read('{"a": 1, "\\u0061": 2, "b": {"c": 1, "c": 2}}') == (
        '{"a":1,"a":2,"b":{"c":1,"c":2}}',
        44,
        ['"a"', '"c"'],
    )


@given(st.text(st.characters(), max_size=20))
def test_both_ways_to_write_a_string_are_one(text: str) -> None:
    assert quote(text) == encode_basestring(text) == f'"{quote_inside(text)}"'


def test_white_space_of_any_length_is_passed() -> None:
    for size in (1, 7, 8, 9, 40):
        context = Context()
        context.window.feed(" \n" * size + "x")
        reader = JsonReader(context)
        assert reader.following() == "x"
        assert context.window.offset == 2 * size
        context.window.pos += 1
        assert reader.following() == ""


def test_strings_have_one_spelling() -> None:
    assert read('["\\u00e9\\/\\u000a\\u001f\\u0022\\ud83d\\ude00\\t"]')[0] == '["é/\\n\\u001f\\"😀\\t"]'
    assert quote('a"\\\n\x01é') == '"a\\"\\\\\\n\\u0001é"'


def test_the_reader_tells_the_places_of_members() -> None:
    context = Context(details=True)
    context.window.feed('{"a": 1, "b": {"c": 2}} ')
    reader = JsonReader(context)
    with pytest.raises(StopIteration):
        next(reader.value(lambda _: None))
    assert reader.members == [(1, 4, 6, 7), (9, 12, 14, 22)]


def test_text_that_has_no_bytes_is_read_piece_by_piece() -> None:
    assert complete_value('{"a": "\ud800"}', 0, 0) is None
    assert read('{"a": "\ud800"}')[0] == '{"a":"\ud800"}'
