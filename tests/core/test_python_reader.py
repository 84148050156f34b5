"""Python literals to JSON: against Python's own reader, in every cutting, and what is refused."""

from __future__ import annotations

import ast
import json
import re
import sys
import unicodedata
import warnings
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sluicegate.core.context import Context
from sluicegate.core.python_reader import PythonReader, number_to_json
from sluicegate.core.python_strings import LiteralBroken, LiteralCut
from sluicegate.core.words import MARKS, WORD
from tests.support.parsing import exact, pieces

STRICT = {"newlines": False, "bare_words": False, "free_signs": False}
FREE = {"newlines": True, "bare_words": True, "free_signs": True}


def read_pieces(chunks: list[str], rules: dict[str, bool], depth: int = 0) -> str | LiteralBroken:
    """The JSON of a literal that is the whole text, or the error with its place."""
    context = Context(None, details=True)
    window = context.window
    window.keep(0)
    reader = PythonReader(context, **rules)
    written: list[str] = []
    steps = reader.value(written.append, depth)
    try:
        next(steps)
        for chunk in chunks:
            window.feed(chunk)
            next(steps)
        window.final = True
        next(steps)
    except StopIteration:
        return "".join(written)
    except LiteralBroken as problem:
        return problem
    raise AssertionError("the reader asked for text after the end")


def read(text: str, rules: dict[str, bool] = FREE, depth: int = 0) -> str | LiteralBroken:
    """The same for the whole text and for every cutting."""
    whole = read_pieces([text], rules, depth)
    for size in (1, 2, 3):
        cut = read_pieces(pieces(text, size), rules, depth)
        if isinstance(whole, LiteralBroken):
            assert isinstance(cut, type(whole))
            assert (cut.code, cut.token, cut.depth, cut.quotes, cut.message) == (
                whole.code,
                whole.token,
                whole.depth,
                whole.quotes,
                whole.message,
            )
        else:
            assert cut == whole
    return whole


@pytest.mark.parametrize(
    ("text", "json_text"),
    [
        ("[1, -2, +3, 0, 00, 1_000]", "[1,-2,3,0,0,1000]"),
        ("[0x1F, 0o17, 0b11, 0X_ff]", "[31,15,3,255]"),
        ("[.5, 5., 5.e3, 00.5, 1e5, 1_0.2_5, 1E+2_0, -0.0]", "[0.5,5.0,5.0e3,0.5,1e5,10.25,1E+20,-0.0]"),
        ("[None, null, True, true, False, false]", "[null,null,true,true,false,false]"),
        ("('x')", '"x"'),
        ("(1,)", "[1]"),
        ("[(), (1), ((1, 2),), ((((3))))]", "[[],1,[[1,2]],3]"),
        ("{'a': 1, 2: 3, 2.5: (), None: 0, True: 1, -1: 2, }", '{"a":1,"2":3,"2.5":[],"null":0,"true":1,"-1":2}'),
        ("{'a': 1, 'a': 2}", '{"a":1,"a":2}'),
        ("['a' \"b\" r'\\c' '''d\ne''']", '["ab\\\\cd\\ne"]'),
        ("[b'\\xc3\\xa9' B'x', b'\\xff', rb'\\x41', b'\\u0041\\N']", '["éx","\ufffd","\\\\x41","\\\\u0041\\\\N"]'),
        ("['\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"']", '["\\u0007\\b\\f\\n\\r\\t\\u000b\\\\\'\\""]'),
        ("['\\101\\7\\x41\\u4e2d\\U0001F600\\N{BULLET}\\d']", '["A\\u0007A中😀•\\\\d"]'),
        ("['\\ud83d\\ude00', '\\U0000d83d\\U0000de00']", '["😀","😀"]'),
        ("['a\\\nb\\\r\nc\\\rd']", '["abcd"]'),
        ("[b'\\777\\1\\\n']", '["\ufffd\\u0001"]'),
        ("[''''a''b''c''', '', \"\", '''''', u'x', R'\\'']", '["\'a\'\'b\'\'c","","","","x","\\\\\'"]'),
        ("[ # a comment ]\n 1 \\\n , # another\r\n\u00a0\u2028 2 ]", "[1,2]"),
        ('["it\'s", \'say "hi"\']', '["it\'s","say \\"hi\\""]'),
    ],
)
@pytest.mark.parametrize("rules", [STRICT, FREE], ids=["strict", "free"])
def test_literals(rules: dict[str, bool], text: str, json_text: str) -> None:
    assert read(text, rules) == json_text


@pytest.mark.parametrize(
    ("text", "strict", "free"),
    [
        ("[++2]", "[2]", None),
        ("[- 1]", None, "[-1]"),
        ("[-(2)]", None, "[-2]"),
        ("[+( (2.5) )]", None, "[2.5]"),
        ("[foo, été, нет_1]", None, '["foo","été","нет_1"]'),
        ("{a: b}", None, '{"a":"b"}'),
        ('["a\nb"]', None, '["a\\nb"]'),
        ("['a\r\nb']", None, '["a\\r\\nb"]'),
    ],
)
def test_what_only_one_of_the_two_notations_has(text: str, strict: str | None, free: str | None) -> None:
    for rules, wanted in ((STRICT, strict), (FREE, free)):
        got = read(text, rules)
        assert got == wanted if wanted is not None else isinstance(got, LiteralBroken)


@pytest.mark.parametrize(
    "text",
    [
        *("[1+2]", "[1 2]", "[,]", "[1,,2]", "[...]", "[1j]", "[012]", "[1__0]", "[1_]", "[0x]", "[1e400]", "[--1]"),
        *("[+-1]", "[-'a']", "[-(1,)]", "[-(2 3)]", "{1, 2}", "{'a'}", "{'a': }", "{[1]: 2}", "{'a': 1, , }", "[1}"),
        *("(1]", ")", "[:]", "[f'x']", "[ur'x']", "['a' f'b']", "['a' b'c']", "[b'a' 'c']", "['a' x]", "[b'é']"),
        *(
            "['\\ud83d']",
            "['\\ude00']",
            "['\\ud83dx']",
            "['\\x4g']",
            "['\\u12']",
            "['\\U00110000']",
            "['\\N{no such}']",
        ),
        *(
            "['\\N']",
            "[b'\\x']",
            "[rb'\\é']",
            "[a.b]",
            "[f(1)]",
            "[*a]",
            "[\\a]",
            "[1'a']",
            "[$]",
            "['\\N{DIGIT ONE}\\Nx']",
        ),
        "[0x" + "f" * 4_000 + "]",
    ],
)
def test_what_is_no_literal_breaks(text: str) -> None:
    problem = read(text)
    assert isinstance(problem, LiteralBroken)
    assert not isinstance(problem, LiteralCut)
    assert problem.message


@pytest.mark.parametrize(
    "text",
    [
        *("", "[", "[1", "[1,", "[-", "[- ", "[-(1", "[0x", "[1e", "[1e-", "[1_", "[.", "[tru", "['a", "['a'", "['\\"),
        *(
            "['\\x",
            "['\\u00",
            "['\\N{BUL",
            "['\\ud83d",
            "['\\ud83d\\ud",
            "['''a''",
            "{",
            "{'a'",
            "{'a':",
            "[1 # x",
            "[1 \\",
        ),
        *("['a' r", "['a' b", "[b", "[(", "[(1", "[-(1 ", "[b'a", "['a\\\r", "[r'\\", "['\\1"),
    ],
)
def test_what_the_end_of_the_text_cuts_off(text: str) -> None:
    problem = read(text)
    assert isinstance(problem, LiteralCut)
    assert problem.code == "incomplete_call"


def test_the_place_of_a_break() -> None:
    problem = read("[1, {'a': ['x\\xzz']}]")
    assert isinstance(problem, LiteralBroken)
    assert (problem.token, problem.depth, problem.quotes) == (11, 3, "'")


@pytest.mark.parametrize("brackets", ["[]", "()"])
def test_depth_is_limited(brackets: str) -> None:
    opening, closing = brackets
    inside = "1," if brackets == "()" else ""
    assert isinstance(read(opening * 127 + inside + closing * 127), str)
    problem = read(opening * 128 + inside + closing * 128)
    assert isinstance(problem, LiteralBroken)
    assert (problem.code, problem.token) == ("depth_exceeded", 127)
    assert isinstance(read(opening * 126 + inside + closing * 126, depth=1), str)
    deeper = read(opening * 127 + inside + closing * 127, depth=1)
    assert isinstance(deeper, LiteralBroken)
    assert deeper.code == "depth_exceeded"


def test_brackets_around_a_signed_number_count_for_the_depth() -> None:
    problem = read("[-" + "(" * 127 + "1")
    assert isinstance(problem, LiteralBroken)
    assert problem.code == "depth_exceeded"


def test_integers_beyond_the_limit_of_python_keep_every_digit() -> None:
    digits = "9" * (sys.get_int_max_str_digits() + 1_000)
    assert read(f"[{digits}]") == f"[{digits}]"


def places(text: str, rules: dict[str, bool] = FREE) -> tuple[PythonReader, str]:
    context = Context(None, details=True)
    reader = PythonReader(context, **rules)
    context.window.feed(text)
    context.window.final = True
    written: list[str] = []
    assert list(reader.value(written.append)) == []
    return reader, "".join(written)


def test_the_places_of_members_and_the_keys_that_are_repeated() -> None:
    text = "{'a': 1, 2 : {'x': 3, 'x': 4}, 'a': 'p' 'q' }"
    reader, _ = places(text)
    assert [(text[a:b], text[c:d]) for a, b, c, d in reader.members] == [
        ("'a'", "1"),
        ("2", "{'x': 3, 'x': 4}"),
        ("'a'", "'p' 'q'"),
    ]
    assert reader.duplicates == ['"x"', '"a"']


LITERALS = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**40), 10**40),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4),
    ),
    max_leaves=10,
)


@given(LITERALS)
def test_what_python_prints_is_read_back(value: Any) -> None:
    got = read(repr([value]), STRICT)
    assert isinstance(got, str)
    assert exact(got) == exact(json.dumps([value]))


TOKENS = [
    *(
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        ",",
        ":",
        " ",
        "\n",
        "'",
        '"',
        "'''",
        '"""',
        "\\",
        "\\n",
        "\\x41",
        "\\u4e2d",
        "\\7",
    ),
    *("a", "r'", "b'", "u'", "rb'", "1", "0", "0x", "0b", "1.5", "_", ".", "e", "-", "+", "None", "True", "False", "é"),
    *("'k':", "'v'", "1,", "[1]", "(1,)", "{'a':1}", "#", "\\\n", "\\N{BULLET}", "\\N{"),
]


@settings(max_examples=2_000)
@given(st.lists(st.sampled_from(TOKENS), max_size=12).map("".join))
def test_it_agrees_with_python_on_any_text(text: str) -> None:
    # `literal_eval` takes one plus sign before a number; these formats take any number of them, as tested above.
    assume("++" not in text)
    text = f"[{text}]"
    got = read(text, STRICT)
    if isinstance(got, str):
        text = text[: places(text, STRICT)[0].end]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError):
        assert isinstance(got, LiteralBroken)
        return
    if isinstance(got, str):
        assert exact(got) == exact(json.dumps(plain(value)))
    else:
        # Python folds signs and complex numbers, has sets, and takes any key.
        assert any(sign in text for sign in "+-({.") or not in_json(value)


def in_json(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(in_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and in_json(item) for key, item in value.items())
    return value is None or isinstance(value, (bool, int, float, str, bytes))


def plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(("number", "wanted"), [("1_0", "10"), ("", None), (".", None), ("_1", None), ("0b2", None)])
def test_numbers(number: str, wanted: str | None) -> None:
    assert number_to_json(number) == wanted


def test_the_marks_of_words_are_unicode_marks() -> None:
    mark = re.compile(f"[{MARKS}]")
    for code in range(0x300, 0x1F000):
        if mark.match(chr(code)):
            assert unicodedata.category(chr(code)).startswith("M")
    assert re.fullmatch(WORD, "नमस्ते_1")
    assert re.fullmatch(WORD, "1a") is None
