"""The parse tab: what an output is, why a call failed, and how text and result are linked."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.support.playground import (
    BROKEN,
    CUT_OFF,
    TWO_CALLS,
    example,
    expect_highlighted,
    highlighted,
    place_of,
    write,
)

pytestmark = pytest.mark.browser

NESTED = """Sure.
<tool_call>
{"name": "put", "arguments": {"id": 9007199254740993, "rows": [{"a": "x\\ny"}, []], "on": true}}
</tool_call>"""
TAGGED = "<tool_call>\n<function=put>\n<parameter=on>\nmaybe\n</parameter>\n</function>\n</tool_call>"
PARAMETERS = '{"type":"object","properties":{"on":{"type":"string"}}}'
SCHEMA = f'[{{"type":"function","function":{{"name":"put","parameters":{PARAMETERS}}}}}]'


def test_three_examples_are_one_click_away(page: Page) -> None:
    cards = page.locator(".example-cards").get_by_role("button")
    expect(cards).to_have_count(3)
    cards.first.click()
    expect(page.locator("#verdict")).to_contain_text("2 calls read, reasoning and an answer.")
    for name, said in ((BROKEN, "1 call broken"), (CUT_OFF, "1 call read, 1 call cut off")):
        example(page, name)
        expect(page.locator("#verdict")).to_contain_text(said)


def test_an_output_is_coloured_in_place(page: Page) -> None:
    example(page, TWO_CALLS)
    expect(page.locator("#outcome")).to_contain_text("get_weather")
    expect_highlighted(page, "name", "get_weather", "get_weather")
    assert highlighted(page, "markup")[:2] == ["<think>", "</think>"]
    expect_highlighted(page, "reasoning", "The user plans a trip from Oslo to Zürich 🏔️")
    expect_highlighted(page, "key", '"city"', '"days"', '"city"', '"days"')
    expect_highlighted(page, "value", '"Oslo"', "3", '"Zürich"', "5")
    expect_highlighted(page, "call", "<tool_call>", "<tool_call>")


def test_a_newcomer_sees_why_a_call_failed(page: Page) -> None:
    example(page, BROKEN)
    card = page.locator(".fault-card")
    expect(card).to_contain_text("The call to write_file could not be read")
    expect(card.locator("mark")).to_have_text("Y")
    expect(card).to_contain_text("the model forgot the backslash")
    expect_highlighted(page, "stop", "Y")
    expect_highlighted(page, "problem", "<tool_call>")
    card.get_by_text("What was read of its arguments").click()
    expect(card.locator(".partial")).to_contain_text('{"path":"hello.py","content":"name = input("')
    card.get_by_role("button", name="Show it in the output").click()
    expect_highlighted(page, "chosen", "Y")
    expect(page.locator("#outcome")).to_contain_text("Nothing is dropped")
    # Mending it as the page says makes it readable.
    raw = page.get_by_role("textbox", name="Raw output")
    write(page, raw.input_value().replace('input("Your name: ")', 'input(\\"Your name: \\")'))
    expect(page.locator("#verdict")).to_contain_text("1 call read and an answer.")
    expect(card).to_have_count(0)


def test_a_call_that_was_cut_off_says_so(page: Page) -> None:
    example(page, CUT_OFF)
    expect(page.locator(".fault-card")).to_contain_text("The call to write_file was cut off")
    expect(page.locator(".fault-card")).to_contain_text("must never be run")
    expect(page.locator("#verdict")).to_contain_text("finish: incomplete")


def test_pointing_at_the_text_shows_what_it_is(page: Page) -> None:
    example(page, TWO_CALLS)
    expect(page.locator("#outcome .is-call")).to_have_count(2)
    place = place_of(page, '"Zürich"')
    page.mouse.move(place["x"], place["y"])
    expect(page.locator("#inspector")).to_contain_text("call 2 get_weather › value · characters")
    expect_highlighted(page, "linked", '"Zürich"')
    expect(page.locator("#outcome .is-linked")).to_have_text("Zürich")
    page.mouse.click(place["x"], place["y"])
    expect_highlighted(page, "chosen", '"Zürich"')
    expect(page.locator("#outcome .is-chosen")).to_have_text("Zürich")
    page.keyboard.press("Home")
    expect(page.locator("#inspector")).to_contain_text("call 2 get_weather")
    page.keyboard.press("Control+Home")
    page.mouse.move(5, 5)
    expect(page.locator("#inspector")).to_contain_text("marker · characters 0 to 7")


def test_pointing_at_a_result_shows_where_it_comes_from(page: Page) -> None:
    example(page, TWO_CALLS)
    page.locator("#outcome .is-call").first.get_by_text("Oslo", exact=True).hover()
    expect_highlighted(page, "linked", '"Oslo"')
    page.locator("#outcome .is-call").nth(1).get_by_role("button", name="days").click()
    expect_highlighted(page, "chosen", '"days"')
    page.get_by_role("button", name="Show the reasoning in the output").focus()
    expect_highlighted(page, "linked", "The user plans")


def test_calls_are_trees_that_keep_every_digit(page: Page) -> None:
    write(page, NESTED)
    call = page.locator("#outcome .is-call")
    expect(call.locator(".json-number")).to_have_text("9007199254740993")
    expect(call.locator(".json-long")).to_have_text("x\ny")
    expect(call.locator(".json-empty")).to_have_text("[ ]")
    expect(call.locator(".json-word")).to_have_text("true")
    call.locator("summary").first.click()
    expect(call.locator(".json-long")).to_be_hidden()


def test_parsers_are_detected_and_say_why(page: Page) -> None:
    write(page, NESTED)
    reasons = page.locator(".reasons")
    expect(reasons).to_contain_text("Tool calls: qwen")
    expect(reasons).to_contain_text("holds its marker <tool_call>; 1 call read")
    page.get_by_label("Model").fill("deepseek-ai/DeepSeek-V3.1")
    expect(reasons).to_contain_text("Tool calls: deepseek31 by the model's name")
    expect(page.locator("#verdict")).to_contain_text("No tool call")
    expect(page.locator(".diagnostic").filter(has_text="other_format_markers")).to_be_visible()
    page.get_by_label("Tool calls", exact=True).select_option("qwen")
    expect(reasons).to_contain_text("Tool calls: qwen you picked it")
    expect(page.locator("#verdict")).to_contain_text("1 call read")


def test_another_parser_that_fits_is_one_click_away(page: Page) -> None:
    example(page, CUT_OFF)
    page.locator(".reasons .chip").first.click()
    expect(page.locator(".reasons")).to_contain_text("you picked it")


def test_where_the_output_begins_can_be_said(page: Page) -> None:
    write(page, "So two.</think>Two.")
    page.get_by_label("Reasoning", exact=True).select_option("qwen3")
    page.get_by_label("The output begins").select_option("true")
    expect(page.locator("#outcome .is-reasoning")).to_contain_text("So two.")
    expect(page.locator("#outcome .is-content")).to_contain_text("Two.")


def test_diagnostics_stand_under_their_stretch(page: Page) -> None:
    write(page, TAGGED)
    page.get_by_text("Tools (none given)").click()
    tools = page.get_by_label("Tool definitions, as JSON in the OpenAI shape")
    tools.fill(SCHEMA.replace('"string"', '"integer"'))
    row = page.locator(".spans > li").filter(has=page.locator(".diagnostic"))
    expect(row.locator(".kind")).to_have_text("call")
    expect(row.locator(".diagnostic")).to_contain_text("schema_mismatch")
    row.locator(".diagnostic").click()
    expect_highlighted(page, "chosen", *highlighted(page, "warning"))
    tools.fill(SCHEMA.replace('"put"', '"get"'))
    expect(page.locator(".diagnostic")).to_contain_text("undeclared_tool")


def test_tools_are_checked_as_they_are_typed(page: Page) -> None:
    write(page, NESTED)
    page.get_by_text("Tools (none given)").click()
    tools, problems = (
        page.get_by_label("Tool definitions, as JSON in the OpenAI shape"),
        page.locator("#tools-problems"),
    )
    for source, said in (
        ("[{", "This is not JSON"),
        ('[{"type": "function"}]', 'needs "type": "function" and a "function"'),
        (SCHEMA.replace('"string"', '"text"'), 'unknown type "text"'),
        (SCHEMA.replace('"properties"', '"required":["b"],"properties"'), "requires b, which it does not describe"),
        (SCHEMA, "1 tool, well formed."),
    ):
        tools.fill(source)
        expect(problems).to_contain_text(said)
    page.get_by_role("button", name="Format").click()
    assert "\n  {" in tools.input_value()
    page.get_by_role("button", name="Make them from the calls").click()
    assert re.search(r'"rows": \{\s+"type": "array"', tools.input_value())


def test_arguments_are_checked_against_the_schema(page: Page) -> None:
    write(page, NESTED)
    page.get_by_text("Tools (none given)").click()
    tools = page.get_by_label("Tool definitions, as JSON in the OpenAI shape")
    tools.fill(SCHEMA.replace('"properties"', '"required":["on","to"],"properties"'))
    expect(page.locator(".misfits li")).to_have_text(
        ["Schema: to is required, and missing.", "Schema: on should be string, and is boolean."]
    )
    tools.fill(SCHEMA.replace('"string"', '"boolean"'))
    expect(page.locator(".misfits")).to_have_count(0)


def test_every_stretch_is_listed(page: Page) -> None:
    example(page, TWO_CALLS)
    expect(page.locator(".spans > li").first).to_contain_text("0–7")
    kinds = page.locator(".spans .kind").all_text_contents()
    assert kinds[:3] == ["marker", "white space of the template", "reasoning"]
    assert kinds.count("call") == 2
    page.locator(".spans > li").nth(2).get_by_role("button").click()
    expect_highlighted(page, "chosen", "The user plans")


def test_typing_keeps_the_colours_and_the_text(page: Page) -> None:
    example(page, TWO_CALLS)
    raw = page.get_by_role("textbox", name="Raw output")
    text = raw.input_value()
    raw.focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type("Hm 😀\n")
    assert raw.input_value() == "Hm 😀\n" + text
    expect_highlighted(page, "name", "get_weather", "get_weather")
    expect(page.locator("#raw-count")).to_contain_text("characters")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".example-cards")).to_be_visible()
    expect_highlighted(page, "name")


def test_without_the_highlight_api_elements_carry_the_colours(new_page: NewPage) -> None:
    page = new_page(script="delete CSS.highlights; delete window.Highlight;")
    example(page, TWO_CALLS)
    expect(page.locator("#raw-text .raw-name")).to_have_text(["get_weather", "get_weather"])
    expect(page.locator("#raw-text .raw-value").first).to_have_text('"Oslo"')
    place = place_of(page, '"Oslo"')
    page.mouse.move(place["x"], place["y"])
    expect(page.locator("#raw-text .raw-linked")).to_have_text('"Oslo"')
    page.locator("#outcome .is-call").nth(1).get_by_role("button", name="city").click()
    expect(page.locator("#raw-text .raw-chosen")).to_have_text('"city"')


def test_a_file_can_be_opened_and_keeps_its_carriage_returns(page: Page) -> None:
    text = "<think>\r\nSo.\r\n</think>\r\nYes."
    page.locator("#raw-file").set_input_files([{"name": "out.txt", "mimeType": "text/plain", "buffer": text.encode()}])
    expect(page.locator("#raw-note")).to_contain_text("carriage returns")
    expect(page.locator("#outcome .is-reasoning")).to_contain_text("So.")
    assert page.locator("#raw-text").text_content() == text
    page.locator("#raw-scroller").focus()
    page.evaluate("navigator.clipboard.writeText('Other text')")
    page.keyboard.press("Control+v")
    expect(page.get_by_role("textbox", name="Raw output")).to_have_value("Other text")
