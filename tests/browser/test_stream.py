"""The stream tab: chunks, the playhead, what was told and what is held back."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.playground import BROKEN, TWO_CALLS, example, expect_highlighted, write

pytestmark = pytest.mark.browser


def open_stream(page: Page, size: int) -> Page:
    page.get_by_role("tab", name="Stream").click()
    page.get_by_label("Chunk size").fill(str(size))
    expect(page.locator("output[for=chunk-size]")).to_have_text(f"{size} character{'' if size == 1 else 's'}")
    expect(page.locator(".graph path")).to_have_count(1)
    return page


def go(page: Page, fed: int) -> None:
    """Move the playhead to a position, for chunks of one character."""
    page.get_by_label("Playhead").fill(str(fed))
    expect(page.locator("output[for=playhead]")).to_contain_text(f"{fed} of ")


def section(page: Page, title: str) -> Locator:
    return page.locator(".stream-state section").filter(has=page.get_by_role("heading", name=title))


@pytest.fixture
def short(page: Page) -> Page:
    write(page, 'Hi <tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>')
    open_stream(page, 1)
    expect(page.locator("output[for=playhead]")).to_contain_text("66 of 66")
    return page


def test_what_is_held_back_and_why(short: Page) -> None:
    go(short, 7)
    expect(section(short, "Told so far")).to_contain_text("Hi")
    expect(section(short, "Held back")).to_contain_text("“<too” may become “<tool_call>”")
    expect_highlighted(short, "held", "<too")
    expect_highlighted(short, "unfed", "l_call>")
    go(short, 20)
    expect(section(short, "Held back")).to_contain_text("“<tool_call>” was seen, and what it begins is not complete")
    go(short, 55)
    expect(section(short, "Held back")).to_contain_text("The call to add is being written")
    expect(section(short, "Told so far")).to_contain_text('{"a":1')
    expect(section(short, "Told so far")).to_contain_text("open")
    go(short, 66)
    expect(section(short, "Held back")).to_contain_text("Nothing: all that was fed has been told.")
    expect(section(short, "Told so far")).to_contain_text("done")


def test_every_chunk_shows_its_events(short: Page) -> None:
    go(short, 1)
    expect(section(short, "Chunk 1")).to_contain_text("H")
    expect(section(short, "Chunk 1")).to_contain_text("content")
    short.get_by_role("button", name="To the start").click()
    expect(section(short, "Before the first chunk")).to_be_visible()
    short.get_by_role("button", name="One chunk on").click()
    expect(short.locator("output[for=playhead]")).to_contain_text("1 of 66")
    short.get_by_role("button", name="To the end").click()
    expect(section(short, "The last chunk, and the end")).to_contain_text("call_end")
    short.get_by_role("button", name="One chunk back").click()
    expect(short.locator("output[for=playhead]")).to_contain_text("65 of 66")


def test_the_keyboard_moves_the_playhead(short: Page) -> None:
    short.get_by_label("Playhead").focus()
    short.keyboard.press("Home")
    short.keyboard.press("ArrowRight")
    short.keyboard.press("ArrowRight")
    expect(short.get_by_label("Playhead")).to_have_attribute("aria-valuetext", "2 of 66 characters")


def test_it_plays_by_itself(short: Page) -> None:
    short.get_by_role("button", name="To the start").click()
    short.get_by_role("button", name="Play").click()
    expect(short.get_by_role("button", name="Pause")).to_be_visible()
    expect(short.locator("output[for=playhead]")).to_contain_text("66 of 66")
    expect(short.get_by_role("button", name="Play")).to_be_visible()


def test_chunks_of_other_sizes_tell_the_same_in_the_end(page: Page) -> None:
    example(page, TWO_CALLS)
    told = []
    for size in (1, 5, 64):
        open_stream(page, size)
        page.get_by_role("button", name="To the end").click()
        expect(page.locator(".badge.is-done")).to_have_count(2)
        told.append(section(page, "Told so far").inner_text())
    assert told[0] == told[1] == told[2]


def test_a_broken_call_is_held_until_the_end(page: Page) -> None:
    example(page, BROKEN)
    raw = page.get_by_role("textbox", name="Raw output")
    write(page, raw.input_value() + "\nThat should do.")
    open_stream(page, 1)
    go(page, 190)
    expect(section(page, "Held back")).to_contain_text("A call could not be read")
    page.get_by_role("button", name="To the end").click()
    expect(section(page, "Told so far")).to_contain_text("broken")
    expect(section(page, "Told so far")).to_contain_text("</tool_call>")


def test_cuttings_are_compared(short: Page) -> None:
    short.get_by_role("button", name="Compare cuttings").click()
    expect(short.locator(".checked")).to_have_text("The same outcome in 15 cuttings, down to single characters.")
