"""deepseek32, deepseek_v4, deepseek_v41: invokes with attributes, values typed by the model."""

from __future__ import annotations

import pytest

from sluicegate.dialects.dsml import DEEPSEEK32, DEEPSEEK_V4, DEEPSEEK_V41
from tests.support.parsing import brief, check_events, read, run_tool

D = "｜DSML｜"
INVOKE, END = f'<{D}invoke name="f">', f"</{D}invoke>"
TEXT, JSON = f'<{D}parameter name="a" string="true">', f'<{D}parameter name="b" string="false">'
CLOSE = f"</{D}parameter>"
SECTION, SECTION_END = f"<{D}function_calls>", f"</{D}function_calls>"
G = f'<{D}invoke name="g"/>'


@pytest.mark.parametrize(
    ("text", "content", "calls", "faults"),
    [
        # Heads and bodies.
        (f'<{D}invoke \n name=" f " >{END}', "", [("f", "{}")], 0),
        (f'<{D}invoke name="{"n" * 999}"/>', "", [("n" * 999, "{}")], 0),
        (f'{G}<{D}invoke name=""/>', "", [("g", "{}")], 1),
        (f'{G}<{D}invoke name=" "/>', "", [("g", "{}")], 1),
        (f'{G}<{D}invoke name="f" x="1">{END}!', "!", [("g", "{}")], 1),
        (f"{G}<{D}invoke name='f'>{END}!", "!", [("g", "{}")], 1),
        (f'{G}<{D}invoke name="f{D}"/>{END}!', "!", [("g", "{}")], 1),
        (f"{G}<{D}invoke{INVOKE}{END}!", "!", [("g", "{}"), ("f", "{}")], 1),
        (INVOKE + ' {"a" : [1, {"b":"</x>"}]} \n' + END, "", [("f", '{"a":[1,{"b":"</x>"}]}')], 0),
        (f'{INVOKE}{{"a":"{END}"}}{END}', "", [("f", f'{{"a":"{END}"}}')], 0),
        (G + INVOKE + '{"a":1} {}' + END + "!", "!", [("g", "{}")], 1),
        (G + INVOKE + '{"a":1}' + TEXT + "x" + CLOSE + END + "!", "!", [("g", "{}")], 1),
        (G + INVOKE + TEXT + "x" + CLOSE + "{}" + END + "!", "!", [("g", "{}")], 1),
        (G + INVOKE + "[1]" + END + "!", "!", [("g", "{}")], 1),
        (G + INVOKE + '{"a":1', "", [("g", "{}")], 1),
        (G + INVOKE + '{"a":,' + END + "!", "!", [("g", "{}")], 1),
        # Values: text, JSON, and what is neither.
        (f"{INVOKE}{TEXT} <b>&amp;\n {CLOSE}{END}", "", [("f", '{"a":" <b>&amp;\\n "}')], 0),
        (f"{INVOKE}{JSON} 007 {CLOSE}{END}", "", [("f", '{"b":" 007 "}')], 0),
        (f"{INVOKE}{JSON}{CLOSE}{END}", "", [("f", '{"b":""}')], 0),
        (f"{INVOKE}{JSON}True{CLOSE}{JSON}null{CLOSE}{END}", "", [("f", '{"b":"True","b":null}')], 0),
        (f'{INVOKE}{JSON} {{"x": "{CLOSE}{END}"}} {CLOSE}{END}', "", [("f", f'{{"b":{{"x":"{CLOSE}{END}"}}}}')], 0),
        (f'{INVOKE}{JSON}{{"x": "{END}"}}{END}!', "!", [("f", f'{{"b":{{"x":"{END}"}}}}')], 0),
        (f'{INVOKE}{JSON}"x"{END} y{CLOSE}{END}', "", [("f", f'{{"b":"\\"x\\"{END} y"}}')], 0),
        (f"{INVOKE}{JSON}[1]{CLOSE} y{CLOSE}{END}", "", [("f", f'{{"b":"[1]{CLOSE} y"}}')], 0),
        (f"{INVOKE}{JSON}1 {CLOSE[:-1]}{END}!", "!", [("f", f'{{"b":"1 {CLOSE[:-1]}"}}')], 0),
        (f"{G}{INVOKE}{JSON}[1{CLOSE} {END}!", "!", [("g", "{}"), ("f", '{"b":"[1"}')], 0),
        (f"{G}{INVOKE}{JSON}1", "", [("g", "{}")], 1),
        (f'{G}{INVOKE}{JSON}["x', "", [("g", "{}")], 1),
        # Never closed; the template's line break before the closer is no part of the value.
        (f"{INVOKE}{TEXT}x\n\n{END}!", "!", [("f", '{"a":"x\\n"}')], 0),
        (f"{INVOKE}{TEXT}x{END} {G}", "", [("f", '{"a":"x"}'), ("g", "{}")], 0),
        (f"{INVOKE}{TEXT}x{END} <{D}invoke y{CLOSE}{END}", "", [("f", f'{{"a":"x{END} <{D}invoke y"}}')], 0),
        (f'{INVOKE}{TEXT}x{END} {INVOKE}{{"y":1}}{END}', "", [("f", '{"a":"x"}'), ("f", '{"y":1}')], 0),
        # Parameter tags.
        (f'{G}{INVOKE}<{D}parameter name="a">x{CLOSE}{END}!', "!", [("g", "{}")], 1),
        (f'{G}{INVOKE}<{D}parameter string="true" name="a">x{CLOSE}{END}!', "!", [("g", "{}")], 1),
        (f'{G}{INVOKE}<{D}parameter name="a" string="True">x{CLOSE}{END}!', "!", [("g", "{}")], 1),
        (f'{INVOKE}<{D}parameter name=" a " string="true" >x{CLOSE}{END}', "", [("f", '{" a ":"x"}')], 0),
        (f'{G}{INVOKE}<{D}parameter name="a" string="tr', "", [("g", "{}")], 1),
        # Stray markers, with their attributes where they are well written.
        (f'{G}<{D}parameter name="a" string="maybe">x{CLOSE}y', "xy", [("g", "{}")], 0),
        (f'{G}<{D}parameter name="a">x{CLOSE}y', ' name="a">xy', [("g", "{}")], 0),
        (f"{G}{END}{SECTION_END}<{D}parameter", "", [("g", "{}")], 0),
        # White space before the first marker; sections without calls, and never closed.
        (f"Done. \n\n \t{SECTION}\n{G}\n{SECTION_END} x", "Done. x", [("g", "{}")], 0),
        (f"a{SECTION}b{SECTION_END}c{SECTION}{G}", "abc", [("g", "{}")], 0),
        (f"Done.<｜end▁of▁sentence｜>\n{SECTION}{G}", "Done.", [("g", "{}")], 0),
        (f"a \n{SECTION}b", f"a \n{SECTION}b", [], 0),
    ],
)
def test_calls_text_and_faults(text: str, content: str, calls: list[tuple[str, str]], faults: int) -> None:
    for tool_format in (DEEPSEEK32, DEEPSEEK_V4):
        got_content, got_calls, got_faults = brief(read(tool_format, text))
        assert (got_content, got_calls, len(got_faults)) == (content, calls, faults)


def test_v41_has_a_blank_in_its_tags_and_two_line_breaks_before_them() -> None:
    spaced = f'<{D} calls><{D} invoke name="f"/></{D} calls>'
    for before, content in (("Done. \n\n", "Done. "), ("A\n", "A\n"), ("\n\n\n\n", "\n\n"), ("x\r\n\r\n", "x\r\n\r\n")):
        assert brief(read(DEEPSEEK_V41, before + spaced)) == (content, [("f", "{}")], [])
    assert read(DEEPSEEK_V41, G).content == G
    assert read(DEEPSEEK32, spaced).content == spaced


def test_diagnostics_of_values_and_wrappers() -> None:
    codes = [found.code for found in read(DEEPSEEK32, f"{INVOKE}{JSON}x{CLOSE}{END}").diagnostics]
    assert codes == ["missing_wrapper", "schema_mismatch"]
    codes = [
        found.code for found in read(DEEPSEEK32, f"{SECTION}{INVOKE}{JSON}1{CLOSE}{JSON}2{CLOSE}{END}").diagnostics
    ]
    assert codes == ["unclosed_wrapper", "duplicate_key"]
    codes = [
        found.code for found in read(DEEPSEEK32, SECTION + INVOKE + '{"a":1,"a":2}' + END + SECTION_END).diagnostics
    ]
    assert codes == ["duplicate_key"]


def test_the_section_name_of_the_other_format_is_reported() -> None:
    for name, formats in (("tool_calls", (DEEPSEEK32, DEEPSEEK_V4)), ("function_calls", (DEEPSEEK_V4, DEEPSEEK32))):
        text = f"Hi\n\n<{D}{name}>\n{G}\n</{D}{name}>"
        codes = [[found.code for found in read(tool_format, text).diagnostics] for tool_format in formats]
        assert codes == [["other_format_markers"], []]
        assert [brief(read(tool_format, text))[:2] for tool_format in formats] == [("Hi", [("g", "{}")])] * 2


def test_a_json_value_behind_a_searched_call_closer() -> None:
    # The second invoke's name holds what ends no search, so that its values lie in what the first search went through.
    first = f"{INVOKE}{TEXT}x{END}"
    second = f'<{D}invoke name="a<b">{JSON}[1] {END}'
    outcome = read(DEEPSEEK32, first + second + G)
    assert brief(outcome)[1] == [("f", '{"a":"x"}'), ("a<b", '{"b":[1]}'), ("g", "{}")]


def test_places_in_a_json_body() -> None:
    text = INVOKE + ' {"a": [1], "b": "x"} ' + END
    events = run_tool(DEEPSEEK32, [text], details=True)
    (span,) = check_events(events, text).spans
    assert [(part.kind, text[part.start : part.end]) for part in span.parts if part.kind in {"key", "value"}] == [
        *(("key", '"a"'), ("value", "[1]")),
        *(("key", '"b"'), ("value", '"x"')),
    ]
