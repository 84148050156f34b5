"""A call that lies in the text as a whole is read at once, and as it would be read piece by piece."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.core.blocks import Session
from sluicegate.core.context import Context
from sluicegate.core.events import CallEnd
from sluicegate.core.outline import Layout
from sluicegate.dialects.tools import TOOL_FORMATS
from tests.support.parsing import check_events, run_tool

FORMATS = {name: tool_format for tool_format in TOOL_FORMATS for name in tool_format.names}
TYPES: dict[str, Any] = {
    "text": {"type": "string"},
    "word": {"type": ["string", "null"]},
    "count": {"type": "integer"},
    "flag": {"type": "boolean"},
    "list": {"type": "array"},
    "any": {},
}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": TYPES}}}]
KEYS = (*TYPES, "other")
DEEP = "[" * 130 + "]" * 130
TOKEN = "]<]minimax[>["


def same(parser: str, text: str, tools: Any = TOOLS) -> list[tuple[str, str]]:
    """The calls of a text, which are the same as a whole and in single characters."""
    whole = run_tool(FORMATS[parser], [text], tools)
    assert check_events(whole, text) == check_events(run_tool(FORMATS[parser], [*text], tools), text)
    return [(event.name, event.arguments) for event in whole if isinstance(event, CallEnd)]


def braces(inside: str) -> str:
    return f"Sure.<|tool_call>call:f{{{inside}}}<tool_call|>"


def elements(inside: str) -> str:
    return f'Sure.{TOKEN}<invoke name="f">{inside}{TOKEN}</invoke>'


def element(key: str, value: str) -> str:
    return f"{TOKEN}<{key}>{value}{TOKEN}</{key}>"


@pytest.mark.parametrize(
    ("inside", "arguments"),
    [
        ("", "{}"),
        ('text:<|"|>a "b"<|"|>,count:3,flag:true,other:x', '{"text":"a \\"b\\"","count":3,"flag":true,"other":"x"}'),
        ("count:3,", '{"count":3}'),
        ("text:5,word:null,any:null", '{"text":"5","word":null,"any":null}'),
        ("count: 3 , list:[1]", '{"count":3,"list":[1]}'),
        ('count:<|"|>x<|"|>', '{"count":"x"}'),
        ("count:x", '{"count":"x"}'),
        ("count:1,count:2", '{"count":1,"count":2}'),
        ('text:<|"|>a<tool_call|>b<|"|>', '{"text":"a<tool_call|>b"}'),
        ('text:<|"|>a<|"|>b<|"|>', '{"text":"a<|\\"|>b"}'),
        ('<|"|>text<|"|>:1', '{"text":"1"}'),
    ],
)
def test_braces(inside: str, arguments: str) -> None:
    assert same("gemma4", braces(inside)) == [("f", arguments)]


@pytest.mark.parametrize(
    "text",
    [
        "<|tool_call>call:{}<tool_call|>",
        "<|tool_call>call:f{count}<tool_call|>",
        "<|tool_call>call:f{count:}<tool_call|>",
        "<|tool_call>call:f{count:1} <tool_call|>",
        "<|tool_call>call:f{count:1}",
        "<|tool_call>call:f{,count:1}<tool_call|>",
        "<|tool_call>call:f{count:1 flag:true}<tool_call|>",
    ],
)
def test_braces_that_are_not_typical(text: str) -> None:
    same("gemma4", text)


@pytest.mark.parametrize(
    ("inside", "arguments"),
    [
        ("", "{}"),
        (element("text", "a < b\n") + "\n" + element("count", "3"), '{"text":"a < b\\n","count":3}'),
        (element("word", "null") + element("text", "null"), '{"word":null,"text":"null"}'),
        (element("list", "[1, 2]") + "\n", '{"list":[1,2]}'),
        (element("any", " "), '{"any":" "}'),
        (element("list", " "), '{"list":[]}'),
        (element("count", "x"), '{"count":"x"}'),
        (element("count", "1") + element("count", "2"), '{"count":1,"count":2}'),
        (element("any", '{"a":1,"a":2}'), '{"any":{"a":1,"a":2}}'),
        (element("list", element("item", "1")), '{"list":[1]}'),
        (element("text", f"{TOKEN}</b>"), f'{{"text":"{TOKEN}</b>"}}'),
    ],
)
def test_elements(inside: str, arguments: str) -> None:
    assert same("minimax_m3", elements(inside)) == [("f", arguments)]


@pytest.mark.parametrize(
    "text",
    [
        f'{TOKEN}<invoke name=" ">{TOKEN}</invoke>',
        f"{TOKEN}<invoke name=f>{TOKEN}</invoke>",
        elements(element("any", DEEP)),
        elements(element("invoke", "1")),
        elements(f"{TOKEN}<text>a"),
        elements(f"{TOKEN}<text>a{TOKEN}</text>b"),
        f'{TOKEN}<invoke name="f">{element("text", "a")}',
    ],
)
def test_elements_that_are_not_typical(text: str) -> None:
    same("minimax_m3", text)


PARTS = st.sampled_from(
    [
        "",
        " ",
        "\n",
        ",",
        ":",
        "1",
        "true",
        "null",
        "a",
        '<|"|>',
        "<tool_call|>",
        "}",
        "[",
        '"',
        "invoke",
        TOKEN,
        "<item>",
    ]
)
VALUES = st.one_of(
    st.sampled_from(['<|"|>Oslo<|"|>', "3", "true", "null", "Oslo", "[1]", '{"a":1}']),
    st.lists(PARTS, max_size=4).map("".join),
)
MEMBERS = st.lists(st.tuples(st.sampled_from(KEYS), VALUES), max_size=4)


@settings(max_examples=150, deadline=None)
@given(members=MEMBERS, tools=st.sampled_from([None, TOOLS]))
def test_any_members(members: list[tuple[str, str]], tools: Any) -> None:
    same("gemma4", braces(",".join(f"{key}:{value}" for key, value in members)), tools)
    same("minimax_m3", elements("".join(element(key, value) for key, value in members)), tools)


@pytest.mark.parametrize("end", ["<|end_message|>", " <|end_message|>", "", " x", "<|end_mess", "<|content_text|>x"])
@pytest.mark.parametrize("behind", ["", " "])
def test_what_stands_behind_a_call_without_a_tail(end: str, behind: str) -> None:
    text = '<|message_model|>f<|content_invoke_tool_json|>{"name":"f","args":{"a":1}' + behind + "}" + end
    assert same("inkling", text) == [("f", '{"a":1}')]


@pytest.mark.parametrize(
    "text",
    [
        '<|START_ACTION|>[\n {"tool_name": "f", "parameters": {}},\n {"name": "g", "parameters": {}} ]<|END_ACTION|>',
        '<|START_ACTION|>[{"tool_name": "f", "parameters": {}}\u00a0, {"name": "g", "parameters": {}}]<|END_ACTION|>',
        '<|START_ACTION|>[{"tool_name": "f", "parameters": {}}, 5, {"name": "g", "parameters": {}}] <|END_ACTION|>',
        '<|START_ACTION|>{"tool_name": "f", "parameters": {}}x<|END_ACTION|>',
        '<|START_ACTION|>[{"tool_name": "f", "parameters": {}}<|END_ACTION|>',
        '[TOOL_CALLS][{"name": "f", "arguments": {}}\u00a0, {"name": "g", "arguments": {}},,\u00a0]</s>',
        '[TOOL_CALLS][{"name": "f", "arguments": {}}[TOOL_CALLS][{"name": "g", "arguments": {}}]',
        '[{"name": "f", "arguments": {}}, 5, {"name": "g", "arguments": {}}]',
        '<|python_tag|>{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}};\u00a0{"a": 1}',
    ],
)
def test_lists(text: str) -> None:
    for parser in ("cohere", "mistral", "json", "llama"):
        same(parser, text)


@pytest.mark.parametrize(
    ("attributes", "key", "value"),
    [
        (' key="a" type="string"', "a", '"1"'),
        (' key="a" type="number" index="1" ', "a", "1"),
        (' key="a"', "a", '"1"'),
        (' index="1" key="a"', "a", '"1"'),
        (' type="number" key="a"', "a", "1"),
        (' key="a" key="b"', "a", '"1"'),
        (' key="a" type="number" type="string"', "a", "1"),
        (' key="&quot;" type="number"', '\\"', "1"),
        (' key="a" x key="b"', "a", '"1"'),
        ('\u00a0key="a b=c"', "a b=c", '"1"'),
    ],
)
@pytest.mark.parametrize("end", ["<|close|>argument<|sep|>", "<|close|> argument <|sep|> "])
def test_attributes_in_any_order(attributes: str, key: str, value: str, end: str) -> None:
    text = (
        f'<|open|>call tool="f" index="1"<|sep|><|open|>argument{attributes}<|sep|>1{end}'
        f"<|open|>argument{attributes}<|sep|>2{end}<|close|>call<|sep|>"
    )
    ((name, arguments),) = same("kimi_k3", text)
    assert name == "f"
    assert arguments.startswith(f'{{"{key}":{value},')


def test_the_first_of_two_name_members_counts() -> None:
    text = '<|START_ACTION|>[{"tool_name": "f", "name": "g", "parameters": {}}]<|END_ACTION|>'
    assert same("cohere", text) == [("f", "{}")]
    text = '{"name": "f", "function": "g", "arguments": {}}'
    assert same("json", text) == [("f", "{}")]


@pytest.mark.parametrize("wanted", ["object", "array", ["object", "null"], ["string", "null"], "unknown", None])
def test_arguments_that_are_not_to_be_an_object_are_reported_either_way(wanted: Any) -> None:
    parameters = {"type": wanted, "properties": TYPES, "items": {"type": "integer"}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    assert same("gemma4", braces("count:3"), tools) == [("f", '{"count":3}')]
    assert same("minimax_m3", elements(element("count", "3")), tools)


@pytest.mark.parametrize("word", ["argument", "argumentx", 'argument"', 'argumenttype="string"'])
def test_a_longer_word_is_no_argument_either_way(word: str) -> None:
    call = f'<|open|>call tool="f"<|sep|><|open|>{word} key="text"<|sep|>x<|close|>argument<|sep|><|close|>call<|sep|>'
    calls = same("kimi_k3", f"<|open|>tools<|sep|>{call}<|close|>tools<|sep|>")
    assert calls == ([("f", '{"text":"x"}')] if word == "argument" else [])


FRAMES = {
    "kimik2": "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "deepseek": "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```<｜tool▁call▁end｜>",
    "deepseek31": "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
    "qwen": '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
    "inkling": '<|content_invoke_tool_json|>{"name": "f", "args": {}}<|end_message|>',
    "cohere": '<|START_ACTION|>[{"tool_name": "f", "parameters": {}}]<|END_ACTION|>',
    "mistral": '[TOOL_CALLS] [{"name": "f", "arguments": {}}]',
    "llama": '<|python_tag|>{"name": "f", "parameters": {}}',
    "json": '{"name": "f", "arguments": {}}',
}
BITS = [
    '{"a":', '"b":', "{", "}", "[", "]", ",", '"', '"x"', "1", "-0", "1.50", "NaN", " ", "\n", "\\", "\\u00e9", "é",
    '{"c": {"d": {}}}', "}}", '"}}"', "}]", "END",
]  # fmt: skip
ARGUMENTS = st.lists(st.sampled_from(BITS), max_size=8).map("".join)


@pytest.mark.parametrize("parser", FRAMES)
@settings(max_examples=60, deadline=None)
@given(insides=st.lists(ARGUMENTS, min_size=1, max_size=3))
def test_any_arguments(parser: str, insides: list[str]) -> None:
    before, behind = FRAMES[parser].split("{}")
    same(parser, "".join(f"{before}{{{inside.replace('END', behind)}}}{behind}" for inside in insides))


@pytest.mark.parametrize("parser", FRAMES)
@pytest.mark.parametrize(
    "arguments",
    [
        '{"a":{"b":{"c":1}},"d":[{"e":{}}]}',
        '{"a":"}END"}',
        '{"a":"}\\nEND","b":{}}',
        '{"a":"}}]}"}',
        '{"a":1.50,"b":1E5,"c":-0}',
        '{"a":"é\\n"}',
        "{}",
    ],
)
def test_the_end_of_arguments_is_not_what_they_quote(parser: str, arguments: str) -> None:
    before, behind = FRAMES[parser].split("{}")
    arguments = arguments.replace("END", json.dumps(behind, ensure_ascii=False)[1:-1])
    call = before + arguments + behind
    assert same(parser, call) == [("f", arguments)]
    assert ("f", arguments) in same(parser, f"{call} {call}")


@pytest.mark.parametrize("parser", FRAMES)
@pytest.mark.parametrize("arguments", ['{"a":{}', '{"a":NaN}', '{"a":1,"a":2}', "[1]", "5", '"x"', ""])
def test_arguments_that_are_not_typical(parser: str, arguments: str) -> None:
    before, behind = FRAMES[parser].split("{}")
    call = before + arguments + behind
    same(parser, f"{call}{call}")


class Ending:
    """Counts what is searched through for an ending."""

    def __init__(self, expression: str) -> None:
        self.match = re.compile(expression).match
        self._search = re.compile(expression).search
        self.searched = 0

    def search(self, text: str, start: int) -> re.Match[str] | None:
        found = self._search(text, start)
        self.searched += (len(text) if found is None else found.end()) - start
        return found


@pytest.mark.parametrize("rest", ["", "}END"])
def test_nothing_is_searched_through_for_many_calls(rest: str) -> None:
    text = '{"a":1} ' * 100 + '{"a":"' + rest
    session = Session(Context(), Layout())
    session.window.feed(text)
    ending: Any = Ending("}END")
    for start in range(0, 800, 8):
        assert session.find_object(start, ending) is None
    assert ending.searched == len(text)
