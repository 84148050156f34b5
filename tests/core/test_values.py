"""Text of tagged values as JSON, by the rules of each family."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.core.text_value import TextValue
from sluicegate.core.values import Conversion, TooDeep, Value, fits, kind_of, read_json
from sluicegate.dialects.glm import GLM45_MOE
from sluicegate.dialects.hy_v4 import HY_V4
from sluicegate.dialects.minimax_m2 import MINIMAX_M2
from sluicegate.dialects.qwen_xml import QWEN_XML
from tests.support.messages import values

QWEN, GLM, MINIMAX, HY = (table.conversion for table in (QWEN_XML, GLM45_MOE, MINIMAX_M2, HY_V4))


@pytest.mark.parametrize(
    ("conversion", "types", "text", "want"),
    [
        (QWEN, "boolean", " TRUE\n", "true"),
        (QWEN, "boolean", "yes", '"yes"'),
        (QWEN, "integer", "+007", "7"),
        (QWEN, "integer", "-5.000", "-5"),
        (QWEN, "integer", "5.5", "5.5"),
        (QWEN, "integer", "-0", "-0"),
        (QWEN, "number", "007", '"007"'),
        (QWEN, "", "None", "null"),
        (QWEN, "", "NaN", '"NaN"'),
        (QWEN, "", "", '""'),
        (QWEN, "", "{'a': 1}", "\"{'a': 1}\""),
        (QWEN, "object", "{'a': (1, None)}", '{"a":[1,null]}'),
        (QWEN, "array", "('x')", "\"('x')\""),
        (QWEN, "array", "(1,)", "[1]"),
        (QWEN, "array", "[a]", '"[a]"'),
        (QWEN, "array", "[1] x", '"[1] x"'),
        (QWEN, "object", "True", "true"),
        (GLM, "integer", "007", "7"),
        (GLM, "boolean", "007", '"007"'),
        (GLM, "", "+5", "5"),
        (GLM, "", " .5e3", "0.5e3"),
        (GLM, "", "5.", "5.0"),
        (GLM, "", "00.5", '"00.5"'),
        (GLM, "number", "-00.5", "-0.5"),
        (GLM, "", "1e400", '"1e400"'),
        (GLM, "", ".", '"."'),
        (GLM, "", "1_000", '"1_000"'),
        (GLM, "", "１２", '"１２"'),
        (GLM, "", " a ", '" a "'),
        (GLM, "", '"a" ', '"a"'),
        (MINIMAX, "integer", " 007 ", "7"),
        (MINIMAX, "number", " 1.50 ", "1.50"),
        (MINIMAX, "number", "1e400", '"1e400"'),
        (MINIMAX, "boolean", "True", "true"),
        (MINIMAX, "boolean", "TRUE", '"TRUE"'),
        (MINIMAX, "object", " [1, 2]", "[1,2]"),
        (MINIMAX, "boolean", " None", '" None"'),
        (MINIMAX, "boolean", "None", "null"),
        (MINIMAX, "integer", " 5.5", '" 5.5"'),
        (MINIMAX, "integer", "5.50", "5.50"),
        (MINIMAX, "", " None", "null"),
        (MINIMAX, "", " +5", "5"),
        (MINIMAX, "", "02134", '"02134"'),
        (HY, "boolean", "TRUE", "true"),
        (HY, "boolean", "1", '"1"'),
        (HY, "integer", "5.0", '"5.0"'),
        (HY, "integer", "5", "5"),
        (HY, "number", "5", "5"),
        (HY, "number", "5.0", "5.0"),
        (HY, "object", "[1]", '"[1]"'),
        (HY, "", "True", '"True"'),
        (HY, "", " [1]", "[1]"),
    ],
)
def test_conversion(conversion: Conversion, types: str, text: str, want: str) -> None:
    json_text, _ = conversion.convert(Value(text, frozenset(types.split())))
    assert json_text == want


def test_what_fits() -> None:
    number, integer = frozenset({"number"}), frozenset({"integer"})
    assert fits("5", number)
    assert fits("5.0", integer)
    assert not fits("5.5", integer)
    assert not fits("1e3", integer)
    assert fits("null", frozenset())
    assert [kind_of(json_text) for json_text in ("{}", "[]", '"', "true", "false", "null", "-5", "5.5")] == [
        *("object", "array", "string", "boolean", "boolean", "null", "integer", "number")
    ]
    # Text without a type fits, but for formats that promise JSON.
    assert Conversion(()).convert(Value("x")) == ('"x"', True)
    assert Conversion((), text_misfits=True).convert(Value("x")) == ('"x"', False)
    assert Conversion(()).convert(Value("x", integer)) == ('"x"', False)


@given(values(), st.sampled_from([None, 2]))
def test_every_json_value_is_read(value: object, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    read = read_json(text, 1, [])
    assert read is not None
    assert json.loads(read) == value
    for damaged in (text + "x", text + " ", text[:-1] + "\x00"):
        assert read_json(damaged, 1, []) is None or damaged.isdigit()


def test_json_that_repeats_keys_and_is_too_deep() -> None:
    duplicates: list[str] = []
    assert read_json('{"a":1,"a":{"b":1,"b":2}}', 1, duplicates) == '{"a":1,"a":{"b":1,"b":2}}'
    assert duplicates == ['"a"', '"b"']
    assert read_json("[" * 126 + "]" * 126, 1, []) is not None
    for text in ("[" * 127 + "]" * 127, "[" * 100_000):
        with pytest.raises(TooDeep):
            read_json(text, 1, [])
        with pytest.raises(TooDeep):
            QWEN.convert(Value("['a'," + text, frozenset({"array"})))
    assert read_json("9" * 10_000, 1, []) == "9" * 10_000
    assert read_json('"\ud800"', 1, []) == '"\ud800"'
    assert read_json("", 1, []) is None


@pytest.mark.parametrize(
    ("pieces", "nullable", "want"),
    [
        (["nu", "ll"], True, "null"),
        (["nu", "ll"], False, '"null"'),
        (["null", "s"], True, '"nulls"'),
        ([], True, '""'),
        (["n", '"\n'], True, '"n\\"\\n"'),
    ],
)
def test_text_that_may_be_null_waits(pieces: list[str], nullable: bool, want: str) -> None:
    written: list[str] = []
    value = TextValue(written.append, frame=False, nullable=nullable)
    for piece in pieces:
        value.write(piece)
    value.finish()
    assert "".join(written) == want
