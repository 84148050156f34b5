"""hy_v4: tags with a suffix."""

from __future__ import annotations

import pytest

from sluicegate.dialects.hy_v4 import HY_V4
from tests.support.parsing import brief, read

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}}]


def call(suffix: str, name: str = "g", value: str | None = None) -> str:
    pair = (
        "" if value is None else f"<arg_key{suffix}>a</arg_key{suffix}><arg_value{suffix}>{value}</arg_value{suffix}>"
    )
    return f"<tool_call{suffix}>{name}{pair}</tool_call{suffix}>"


S, S_END, PLAIN, PLAIN_END = "<tool_calls:x>", "</tool_calls:x>", "<tool_calls>", "</tool_calls>"
G, OPEN = call(":x"), call(":x", "f", "v").removesuffix("</arg_value:x></tool_call:x>")
GG = ("g", "{}")


@pytest.mark.parametrize(
    ("text", "content", "calls", "faults"),
    [
        # Sections and suffixes.
        (call("") + PLAIN + call("") + PLAIN_END + call(""), call("") + call(""), [GG], 0),
        (S + call(":y") + call("") + G + S_END + call(":y"), call(":y") + call(""), [GG, GG], 0),
        (S + "<tool_calls:y>" + G + call(":y"), G, [GG], 0),
        (S + "</tool_calls:y>" + call(":y") + G, "</tool_calls:y>" + call(":y"), [GG], 0),
        ("</tool_calls:q>" + G + "</arg_key:q> </tool_call> <arg_key>", " </tool_call> <arg_key>", [GG], 0),
        (
            G + "<tool_calls:>" + "<tool_calls:a b>" + "<tool_calls :x>",
            "<tool_calls:><tool_calls:a b><tool_calls :x>",
            [GG],
            0,
        ),
        (G + "<tool_calls:" + "x" * 257 + ">", "<tool_calls:" + "x" * 257 + ">", [GG], 0),
        # Names and keys.
        (
            "<tool_call:x> \n f g <arg_key:x> a b </arg_key:x>\n<arg_value:x>1</arg_value:x>\n</tool_call:x>",
            "",
            [("f g", '{"a b":1}')],
            0,
        ),
        (G + "<tool_call:x> </tool_call:x>!", "!", [GG], 1),
        (G + "<tool_call:x>a>b</tool_call:x>!", "!", [GG], 1),
        (G + "<tool_call:x>f<arg_key:x> </arg_key:x><arg_value:x>1</arg_value:x></tool_call:x>!", "!", [GG], 1),
        (G + "<tool_call:x>f<arg_key:x>a</arg_key:y><arg_value:x>1</arg_value:x></tool_call:x>!", "!", [GG], 1),
        (G + "<tool_call:x>f<b></tool_call:x>!", "!", [GG], 1),
        (G + "<tool_call:x>f</tool_call:y></tool_call:x>!", "!", [GG], 1),
        (G + "<tool_call:x>f<tool_call:x>g</tool_call:x>!", "!", [GG, GG], 1),
        (G + "<tool_call:x>f<arg_k", "", [GG], 1),
        # Where a value ends: closing tags of other suffixes are data.
        (
            OPEN + "</arg_value:y></tool_call:x></arg_value:x></tool_call:x>",
            "",
            [("f", '{"a":"v</arg_value:y></tool_call:x>"}')],
            0,
        ),
        (
            OPEN + "</arg_value:x> </tool_call:y></arg_value:x></tool_call:x>",
            "",
            [("f", '{"a":"v</arg_value:x> </tool_call:y>"}')],
            0,
        ),
        (S + OPEN + "</arg_value:x>" + S_END + "y" + G, "y", [GG], 1),
        (OPEN + "</arg_value:x>" + G, "", [GG], 1),
        # Never closed.
        (OPEN + "</tool_call:x>" + G, "", [("f", '{"a":"v"}'), GG], 0),
        (
            OPEN + "</tool_call:x>" + call("") + "</arg_value:x></tool_call:x>",
            "",
            [("f", '{"a":"v</tool_call:x>' + call("") + '"}')],
            0,
        ),
        (OPEN + "</tool_call:x>" + PLAIN + call(""), "", [("f", '{"a":"v"}'), GG], 0),
        (
            S + OPEN + "</tool_call:x>" + call(":y") + "</arg_value:x></tool_call:x>",
            "",
            [("f", '{"a":"v</tool_call:x>' + call(":y") + '"}')],
            0,
        ),
        (S + OPEN + "</tool_call:x>" + S_END + call(":y"), "", [("f", '{"a":"v"}'), GG], 0),
        (G + OPEN + "<arg_key:x>v</tool_call:x>!", "!", [GG], 1),
        (OPEN + "<arg_key:y>v</tool_call:x>!", "!", [("f", '{"a":"v<arg_key:y>v"}')], 0),
        # End-of-turn tokens.
        (G + " Done.<eos> <eos:x>\n", " Done.", [GG], 0),
    ],
)
def test_calls_text_and_faults(text: str, content: str, calls: list[tuple[str, str]], faults: int) -> None:
    got_content, got_calls, got_faults = brief(read(HY_V4, text, TOOLS))
    assert (got_content, got_calls, len(got_faults)) == (content, calls, faults)
