"""Formats that are declared in a file, and those that a checkpoint declares."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest

import sluicegate
from sluicegate import CallEnd, Content, InvalidDialect
from sluicegate.core.context import Context
from sluicegate.core.patterns import Steps
from sluicegate.dialects import checking, declared
from sluicegate.dialects.response_template import import_response_template

REASONING = """
[[reasoning]]
names = ["acme"]
start = "[THINK]"
end = "[/THINK]"
call_openers = [{ literal = "[CALL]", then = ["{"] }]
call_ends_reasoning = true
frame = { block_start = true, block_end = true, behind = "\\n" }
"""
OBJECT = """
[[tool]]
names = ["acme"]
shape = "object"
open = "[CALL]"
close = "[/CALL]"
name_keys = ["tool"]
argument_keys = ["input"]
newlines_before_first = "\\n"
"""
OBJECT_EXAMPLE = """
[[example]]
text = '''[THINK]
The user asks for the weather.
[/THINK]
Let me look.
[CALL]{"tool": "get_weather", "input": {"city": "Oslo"}}[/CALL]'''
reasoning = "The user asks for the weather."
content = "Let me look."
calls = [{ name = "get_weather", arguments = { city = "Oslo" } }]
"""
LIST = """
[[tool]]
names = ["acme"]
shape = "list"
open = "<|calls|>"
close = "<|end|>"

[[example]]
text = 'Ok<|calls|>[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]<|end|>'
content = "Ok"
calls = [{ name = "f", arguments = { a = 1 } }, { name = "g" }]
"""
NAMED = """
[[tool]]
names = ["acme"]
shape = "named"
open = "<|call|>"
arguments = "<|args|>"
close = "<|end|>"

[[example]]
text = 'Ok<|call|>f.g<|args|>{"a": 1}<|end|>'
content = "Ok"
calls = [{ name = "f.g", arguments = { a = 1 } }]
"""
TAGS = """
[[tool]]
names = ["acme"]
shape = "tags"
call_open = '[call {name}]'
argument_open = '<arg key="{key}">'
argument_close = "</arg>"
call_close = "[/call]"
section = { open = "<calls>", close = "</calls>" }
end_tokens = ["<|im_end|>"]

[[example]]
text = 'Ok<calls>[call f]<arg key="a">1</arg><arg key="s">1</arg>[/call][call g][/call]</calls><|im_end|>'
content = "Ok"
calls = [{ name = "f", arguments = { a = 1, s = "1" } }, { name = "g" }]
tools = [{ function = { name = "f", parameters = { properties = { s = { type = "string" } } } } }]
"""


@pytest.mark.parametrize("text", [REASONING + OBJECT + OBJECT_EXAMPLE, LIST, NAMED, TAGS, REASONING + LIST])
def test_a_declared_format_reads_its_examples_and_keeps_the_promises(text: str) -> None:
    assert checking.check_file(text) == []


def test_an_example_that_is_read_otherwise_is_a_problem_with_its_reason() -> None:
    wrong = OBJECT_EXAMPLE.replace('asks for the weather."', 'asks."').replace('Let me look."', 'Look."')
    problems = checking.check_file(REASONING + OBJECT + wrong.replace("city = ", "town = "))
    assert len(problems) == 3
    assert problems[0].startswith("example 1: reasoning is 'The user asks for the weather.', not")
    assert problems[1].startswith("example 1: content is 'Let me look.', not 'Look.'")
    assert problems[2].startswith("example 1: calls are")
    broken = checking.check_file(OBJECT + "[[example]]\ntext = '[CALL]{]'\ncalls = [{ name = 'f' }]\n")
    assert "malformed_call" in "".join(broken)


def test_several_formats_of_a_kind_are_checked_each_by_itself() -> None:
    assert checking.check_file(OBJECT + LIST.partition("[[example]]")[0].replace("acme", "other")) == []
    assert checking.check_file(OBJECT + LIST.replace("acme", "other")) == [
        "examples need a file with at most one format of each kind"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "declares no format"),
        ("[[reasoning", "cannot be read"),
        ('[[reasoning]]\nnames = ["a"]\nstart = "S"\n', "missing required field `end`"),
        ('[[reasoning]]\nnames = ["a"]\nstart = "S"\nend = "E"\nends = 1\n', "unknown field `ends`"),
        ('[[reasoning]]\nnames = ["a"]\nstart = "S"\nend = "S"\n', "are the same"),
        ('[[reasoning]]\nnames = ["a"]\nstart = ""\nend = "E"\n', "start must not be empty"),
        ('[[reasoning]]\nnames = ["a"]\nstart = "S\\n"\nend = "E"\n', "must not begin or end with white space"),
        ('[[reasoning]]\nnames = ["A b"]\nstart = "S"\nend = "E"\n', "names must be"),
        ('[[reasoning]]\nnames = []\nstart = "S"\nend = "E"\n', "names must be"),
        (
            '[[reasoning]]\nnames = ["a"]\nstart = "S"\nend = "E"\ncall_ends_reasoning = true\n',
            "call_ends_reasoning needs call_openers",
        ),
        ('[[tool]]\nnames = ["a"]\nshape = "round"\nopen = "<"\n', "Invalid value 'round'"),
        (OBJECT.replace('["tool"]', "[]"), "must each hold a key"),
        (TAGS.replace("{name}", "name"), "call_open must hold {name} once"),
        (TAGS.replace("{key}", "{key}{key}"), "argument_open must hold {key} once"),
    ],
)
def test_a_file_that_declares_nothing_sensible_says_why(text: str, message: str) -> None:
    problems = checking.check_file(text)
    assert len(problems) == 1
    assert message in problems[0]


@pytest.mark.usefixtures("own_registry")
def test_registered_formats_have_everything_that_built_in_ones_have() -> None:
    assert declared.register_formats(REASONING + OBJECT) == ("acme",)
    outcome = sluicegate.parse(
        '[THINK]a[CALL]{"tool": "f", "input": {}}[/CALL]', tool_call_parser="acme", reasoning_parser="acme"
    )
    assert (outcome.reasoning, outcome.content, outcome.calls[0].name) == ("a", "", "f")
    with pytest.raises(InvalidDialect, match="two tool formats are called 'acme'"):
        declared.register_formats(REASONING.replace("acme", "other") + OBJECT)
    assert "other" not in sluicegate.reasoning_parsers()
    found = sluicegate.parse_tool_calls("[CALL]{}", "qwen").diagnostics
    assert [(item.code, item.raw) for item in found] == [("other_format_markers", "[CALL]")]


# What checkpoints declare

THINKING: dict[str, Any] = {"open": "<think>\n", "close": "\n</think>", "content": "text"}
OBJECT_CALLS: dict[str, Any] = {
    "open_pattern": r"\s*<tool_call>",
    "close": "</tool_call>",
    "repeats": True,
    "content": "json",
    "transform": {"type": "function", "function": "{content}"},
}
TAG_CALLS: dict[str, Any] = {
    "open_pattern": r"\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>",
    "close_pattern": r"</function>\s*</tool_call>",
    "content": "xml-inline",
    "content_args": {"tag_pattern": r"<parameter=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</parameter>"},
    "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
}
NAMED_CALLS: dict[str, Any] = {
    "open_pattern": r"<\|call\|>(?P<name>\w+)<\|args\|>",
    "close": ["<|end|>"],
    "content": "json",
    "transform": {"function": {"name": "{name}", "arguments": "{content}"}},
}
LIST_CALLS: dict[str, Any] = {
    "open": "[TOOL]",
    "close": "[/TOOL]",
    "content": "json",
    "transform": {"function": {"name": "{tool}", "arguments": "{input}"}},
    "transform_each": True,
}
ANSWER: dict[str, Any] = {"close_pattern": r"\s*(?:<\|im_end\|>|<\|endoftext\|>)", "content": "text"}


def template(**fields: Any) -> dict[str, Any]:
    return {"version": 1, "start_anchor": "<|im_start|>assistant\n", "fields": fields}


@pytest.mark.parametrize(
    ("calls", "text", "content", "arguments"),
    [
        (OBJECT_CALLS, '\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>', "Ok", '{"a":1}'),
        (
            TAG_CALLS,
            "\n<tool_call>\n<function=f>\n<parameter=a>\nx y\n</parameter>\n</function>\n</tool_call>",
            "Ok",
            '{"a":"x y"}',
        ),
        (NAMED_CALLS, '<|call|>f<|args|>{"a": 1}<|end|>', "Ok", '{"a":1}'),
        (LIST_CALLS, '[TOOL][{"tool": "f", "input": {"a": 1}}][/TOOL]', "Ok", '{"a":1}'),
        (
            OBJECT_CALLS | {"transform": {"function": {"name": "{content.tool}", "arguments": "{content.args}"}}},
            '\n<tool_call>{"tool": "f", "args": {}}</tool_call>',
            "Ok",
            "{}",
        ),
    ],
)
def test_a_response_template_becomes_a_format(calls: dict[str, Any], text: str, content: str, arguments: str) -> None:
    formats = import_response_template(template(reasoning_content=THINKING, tool_calls=calls, content=ANSWER), "mine")
    machine = checking._machine(formats, None, ())
    outcome = sluicegate.collect(checking._read(machine, f"<think>\nWhy.\n</think>\n\nOk{text}<|im_end|>", 3))
    assert (outcome.reasoning, outcome.content) == ("Why.", content)
    assert [(call.name, call.arguments) for call in outcome.calls] == [("f", arguments)]
    machine = checking._machine(formats, None, ())
    assert sluicegate.collect(checking._read(machine, f"<think>Why.{text}", 3)).reasoning.rstrip("\n") == "Why."


@pytest.mark.parametrize("close", ["<eos>", ["<eos>", "<end>"]])
def test_a_response_template_that_keeps_white_space_has_no_frames(close: Any) -> None:
    plain = {"open_pattern": r"<think>\s*", "close": "</think>", "content_args": {"strip": False}}
    formats = import_response_template(template(thinking=plain, content={"close": close}), "mine")
    machine = checking._machine(formats, None, ())
    outcome = sluicegate.collect(checking._read(machine, "<think>\na\n</think>\n\nb", 9))
    assert (outcome.reasoning, outcome.content) == ("\na\n", "\n\nb")


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ({"version": 2, "fields": {}}, "version 2 is unknown"),
        ({"fields": []}, "response_template.fields: an object is expected, not list"),
        ({"fields": {}}, "declares no format"),
        (template(thinking=[]), "field 'thinking': an object is expected"),
        (template(thinking={"open": "<t>"}), "'close' must be one literal"),
        (template(thinking={"open": ["<t>", "<u>"], "close": "</t>"}), "'open' must be one literal"),
        (template(thinking={"open_pattern": "<t>|<u>", "close": "</t>"}), "is more than literals"),
        (template(thinking={"open_pattern": r"<(?P<a>\w)>", "close": "</t>"}), "'open' must be one literal"),
        (template(thinking=THINKING | {"content": "int"}), "content 'int' is not text"),
        (template(tool_calls=OBJECT_CALLS | {"content": "kv-lines"}), "content 'kv-lines'"),
        (template(tool_calls=OBJECT_CALLS | {"content_args": {"unquoted_keys": True}}), "unquoted_keys"),
        (template(tool_calls=OBJECT_CALLS | {"transform": [1]}), "makes no call"),
        (template(tool_calls=OBJECT_CALLS | {"transform": {"function": {"name": 1}}}), "makes no call"),
        (template(tool_calls=OBJECT_CALLS | {"open_pattern": r"<(?P<name>\w+)"}), "the opening must be a literal"),
        (template(tool_calls=NAMED_CALLS | {"transform": None}), "must take the name from the opening"),
        (
            template(tool_calls=OBJECT_CALLS | {"transform": {"name": "{content.a.b}", "arguments": "{content.c}"}}),
            "no members of the content",
        ),
        (template(tool_calls=TAG_CALLS | {"content_args": {}}), "tag_pattern must be a pattern"),
        (template(tool_calls=TAG_CALLS | {"content_args": {"tag_pattern": "<a>"}}), "must be a tag with a key"),
        (template(tool_calls=TAG_CALLS | {"open_pattern": "<a>"}), "must be a tag with the name"),
        (template(tool_calls=TAG_CALLS | {"transform": None}), "must take the name from the opening"),
        (template(tool_calls=TAG_CALLS | {"close_pattern": "</function>"}), "one tag for each tag of the opening"),
    ],
)
def test_what_has_no_counterpart_is_refused_with_its_place(declaration: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidDialect) as refused:
        import_response_template(declaration, "mine")
    assert message in str(refused.value)


def test_the_example_of_the_guide_is_a_format() -> None:
    guide = (pathlib.Path(__file__).parent.parent.parent / "docs/guide/own-formats.md").read_text("utf-8")
    (file, _package) = re.findall(r"^```toml\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    assert checking.check_file(file) == []
    shown = re.findall(r"^```text\n(.*?)\n^```$", guide, re.MULTILINE | re.DOTALL)[0]
    assert declared.read_format_file(file).examples[0].text == shown


# Formats that break their promises


class Broken:
    """A format that does what it is told with the text it is fed, and at the end."""

    names = ("broken",)
    markers: tuple[str, ...] = ()

    def __init__(self, *events: Any) -> None:
        self.events = events

    def read(self, context: Context) -> Steps:
        """Say what was given, and hide that the text was read."""
        while True:
            window = context.window
            if window.pos < len(window.text):
                context.events.extend(event(window.offset, window.base + len(window.text)) for event in self.events)
            window.pos = len(window.text)
            if window.final:
                return
            yield


def part(start: int, end: int) -> Content:
    return Content(start, start + (end - start) // 2, "")


def late(start: int, end: int) -> Content:
    return Content(start + 1, end + 1, "")


def size(start: int, end: int) -> Content:
    return Content(start, end, str(end - start))


def call(start: int, end: int) -> CallEnd:
    return CallEnd(0, "f", "{}", start, end)


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (part, "the spans end at 1 of 2 for the text 'ab'"),
        (late, "the spans leave a gap or overlap at 0 for the text 'ab'"),
        (size, "pieces of 1 give another outcome than the whole for the text 'abcd'"),
    ],
)
def test_a_broken_promise_is_a_problem(monkeypatch: pytest.MonkeyPatch, event: Any, problem: str) -> None:
    text = re.findall("'(.*)'", problem)[0]
    example = declared.ExampleTable(text=text, content="4" if event is size else "")
    formats = declared.DeclaredFormats((), (Broken(event),), (example,))
    monkeypatch.setattr(checking, "read_format_file", lambda _text: formats)
    assert checking.check_file("") == [problem]


def test_arguments_that_do_not_join_are_a_problem() -> None:
    machine = checking._machine(declared.DeclaredFormats((), (Broken(call),), ()), None, ())
    assert checking._read(machine, "a", 1)[0] == CallEnd(0, "f", "{}", 0, 1)
    problem = checking._broken_promise(
        lambda: checking._machine(declared.DeclaredFormats((), (Broken(call),), ()), None, ()), "a"
    )
    assert problem == "the pieces of the arguments do not join to the arguments"
