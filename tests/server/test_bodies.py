"""JSON bodies: what is read, what is refused, and whether the refusal names the place."""

from __future__ import annotations

import contextlib
import json
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from sluicegate.server import body as bodies
from sluicegate.server.body import SEARCHED_AT_ONCE, BodyReader, InvalidBody, InvalidJson
from sluicegate.server.routes.tokens import DetokenizeBody, TokenizeBody
from sluicegate.server.routes.tools import read_tools

TOKENIZE = BodyReader(TokenizeBody)
DETOKENIZE = BodyReader(DetokenizeBody)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "unexpected end of input at byte 0"),
        (b'{"model"', "unexpected end of input at byte 8"),
        (b'\xef\xbb\xbf{"model":"","prompt":""}', "at byte 0"),
        (b'{"model":"","prompt":"a"} x', "trailing characters at byte 26"),
        (b'{"model":"","prompt":"a",}', "at byte 25"),
        (b'{"model":"","prompt":"a","z":[1,]}', "at byte"),
        (b'{"model":"","prompt":"a","z":NaN}', "at byte 29"),
        (b'{"model":"","prompt":"a","z":-Infinity}', "at byte"),
        (b'{"model":"","prompt":"a\nb"}', "at byte 23"),
        (b'{"model":"","prompt":"a","z":"\t"}', "at byte 30"),
        (b'{"model":"","prompt":"\\ud800"}', "lone surrogate"),
        (b'{"model":"","prompt":"\\udc00 "}', "lone surrogate"),
        (b'{"model":"","prompt":"a","z":"\\ud800x"}', "lone surrogate"),
        (b'{"model":"","prompt":"\xff"}', "not valid UTF-8 (byte 22)"),
        (b'{"model":"","prompt":"a","z":"\xff"}', "not valid UTF-8 (byte 30)"),
        (b'{"model":"","prompt":"a","\xed\xa0\x80":1}', "not valid UTF-8 (byte 26)"),
        (b'{"model":1,"prompt":', "unexpected end"),  # no JSON comes before the wrong shape
        (b"[" * 100_000, "nested too deeply"),
        (b'{"z":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(body: bytes, reason: str) -> None:
    with pytest.raises(InvalidJson) as refusal:
        TOKENIZE.read(body)
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    ("body", "message", "param"),
    [
        (b"[]", "request body must be a JSON object", None),
        (b'"x"', "request body must be a JSON object", None),
        (b"null", "request body must be a JSON object", None),
        (b"{}", "field 'model' is required", "model"),
        (b'{"model":null,"prompt":""}', "field 'model' has the wrong shape: model must be a string, not null", "model"),
        (b'{"model":"","prompt":["a",1]}', "prompt[1] must be a string, not a whole number", "prompt"),
        (b'{"model":"","prompt":true}', "prompt must be a string or an array, not a boolean", "prompt"),
        (b'{"model":"","prompt":"","prompt":""}', "field 'prompt' appears twice", "prompt"),
        (b'{"model":"","prompt":"","pr\\u006fmpt":""}', "field 'prompt' appears twice", "prompt"),
        (b'{"model":"","prompt":1,"prompt":""}', "field 'prompt' appears twice", "prompt"),
        (b'{"model":"","prompt":"","pieces":null}', "pieces must be a boolean, not null", "pieces"),
    ],
)
def test_a_wrong_shape_names_the_member(body: bytes, message: str, param: str | None) -> None:
    with pytest.raises(InvalidBody) as refusal:
        TOKENIZE.read(body)
    assert message in str(refusal.value)
    assert refusal.value.param == param


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ("[1.0]", "tokens[0] must be a whole number, not a number"),
        ("[1,1e2]", "tokens[1] must be a whole number"),
        ("[-1]", "tokens[0] must be a whole number at least 0"),
        ("[4294967296]", "tokens[0] must be a whole number at most 4294967295"),
        ("[99999999999999999999999]", "tokens[0] must be a whole number at most 4294967295"),
        ("[true]", "tokens[0] must be a whole number, not a boolean"),
        ('["1"]', "tokens[0] must be a whole number, not a string"),
        ("[1,[1]]", "tokens[1] must be a whole number, not an array"),
    ],
)
def test_ids_are_whole_numbers_in_range(tokens: str, message: str) -> None:
    with pytest.raises(InvalidBody) as refusal:
        DETOKENIZE.read(f'{{"model":"","tokens":{tokens}}}'.encode())
    assert message in str(refusal.value)


def test_members_of_tools_must_not_come_twice_and_others_may() -> None:
    start = b'[{"type":"function","function":'
    assert read_tools(Raw(start + b'{"name":"a","x":1,"x":2,"parameters":{"name":1,"name":2}}}]'))
    with pytest.raises(InvalidBody, match=r"field 'tools\[0\]\.function\.name' appears twice") as refusal:
        read_tools(Raw(start + b'{"name":"a","name":"a"}}]'))
    assert refusal.value.param == "tools"


def test_a_position_inside_tools_is_named() -> None:
    with pytest.raises(InvalidBody, match=r"tools\[1\]: field 'function' is required") as refusal:
        read_tools(Raw(b'[{"type":"f","function":{"name":"a"}},{"type":"f"}]'))
    assert refusal.value.param == "tools"


def test_parameters_may_hold_any_json() -> None:
    parameters = b'{"maximum":1e999,"minimum":' + b"9" * 5000 + b',"enum":[null,"\\ud83d\\ude00"]}'
    tools = read_tools(Raw(b'[{"type":"f","function":{"name":"a","parameters":' + parameters + b"}}]"))
    assert tools is not None
    read = tools[0]["function"]["parameters"]
    assert (read["maximum"], read["enum"]) == (float("inf"), [None, "😀"])


def test_tools_are_read_once() -> None:
    raw = b'[{"type":"f","function":{"name":"once"}}]'
    assert read_tools(Raw(raw)) is read_tools(Raw(bytes(bytearray(raw))))


def test_duplicates_are_found_in_long_bodies() -> None:
    text = json.dumps("x" * 5000).encode()
    assert TOKENIZE.read(b'{"model":"","z":{"prompt":1},"prompt":' + text + b"}").model == ""
    with pytest.raises(InvalidBody, match="field 'prompt' appears twice"):
        TOKENIZE.read(b'{"model":"","prompt":"","prompt":' + text + b"}")


@pytest.mark.parametrize("name", [b"prompt", b"pr\\u006Fmpt"])
@pytest.mark.parametrize("shift", range(-20, 3))
def test_duplicates_are_found_wherever_the_search_of_a_long_body_steps_on(shift: int, name: bytes) -> None:
    head = b'{"model":"","prompt":"","z":"'
    filling = b"x" * (SEARCHED_AT_ONCE - len(head) - len(b'",') + shift)
    member = b'","%b":"' % name + b"y" * 9 + b'"}'
    with pytest.raises(InvalidBody, match="field 'prompt' appears twice"):
        TOKENIZE.read(head + filling + member)
    assert TOKENIZE.read(head.replace(b"prompt", b"pr") + filling + member).prompt == "y" * 9


@pytest.mark.parametrize("repeats", [1, SEARCHED_AT_ONCE])
def test_escapes_that_no_name_can_hold_do_not_make_a_body_read_twice(repeats: int) -> None:
    with mock.patch.object(bodies.json, "loads", side_effect=AssertionError):
        escaped = b"\\u00e9\\u003c\\u0026\\u001b\\u0040" * repeats
        assert TOKENIZE.read(b'{"model":"","prompt":["' + escaped + b'"]}').prompt == ["é<&\x1b@" * repeats]


def test_unknown_members_are_ignored_at_any_depth_and_size() -> None:
    unknown = b'"z":1,"z":2,"y":' + b"[" * 200 + b"]" * 200 + b',"x":1e999,"w":' + b"9" * 5000
    assert TOKENIZE.read(b'{"model":"","prompt":"a",' + unknown + b"}").prompt == "a"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(prompt=st.text(), unknown=st.dictionaries(st.text(max_size=6), values, max_size=4), escaped=st.booleans())
def test_every_text_arrives_as_it_is(prompt: str, unknown: dict[str, Any], escaped: bool) -> None:
    known = {field: value for field, value in unknown.items() if field not in TokenizeBody.__struct_fields__}
    body = json.dumps({**known, "model": "m", "prompt": prompt}, ensure_ascii=escaped).encode()
    assert TOKENIZE.read(body).prompt == prompt


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with contextlib.suppress(InvalidJson, InvalidBody):
        assert TOKENIZE.read(body).model is not None
