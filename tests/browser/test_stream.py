"""The stream tab: chunks, the playhead, what was told and what is held back."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.support.playground import BROKEN, TWO_CALLS, example, highlighted, write

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


def section(page: Page, title: str) -> str:
    found = page.locator(".stream-state section").filter(has=page.get_by_role("heading", name=title))
    return found.inner_text()


@pytest.fixture
def short(page: Page) -> Page:
    write(page, 'Hi <tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>')
    open_stream(page, 1)
    expect(page.locator("output[for=playhead]")).to_contain_text("66 of 66")
    return page


def test_what_is_held_back_and_why(short: Page) -> None:
    go(short, 7)
    assert "Hi" in section(short, "Told so far")
    assert "“<too” may become “<tool_call>”" in section(short, "Held back")
    assert highlighted(short, "held")[-1].endswith("<too")
    assert highlighted(short, "unfed")[0].startswith("l_call>")
    go(short, 20)
    assert "“<tool_call>” was seen, and what it begins is not complete" in section(short, "Held back")
    go(short, 55)
    assert "The call to add is being written" in section(short, "Held back")
    assert '{"a":1' in section(short, "Told so far")
    assert "open" in section(short, "Told so far")
    go(short, 66)
    assert "Nothing: all that was fed has been told." in section(short, "Held back")
    assert "done" in section(short, "Told so far")


def test_every_chunk_shows_its_events(short: Page) -> None:
    go(short, 1)
    assert "H" in section(short, "Chunk 1")
    assert "content" in section(short, "Chunk 1")
    short.get_by_role("button", name="To the start").click()
    assert section(short, "Before the first chunk")
    short.get_by_role("button", name="One chunk on").click()
    expect(short.locator("output[for=playhead]")).to_contain_text("1 of 66")
    short.get_by_role("button", name="To the end").click()
    assert "call_end" in section(short, "The last chunk, and the end")
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
        told.append(section(page, "Told so far"))
    assert told[0] == told[1] == told[2]


def test_a_broken_call_is_held_until_the_end(page: Page) -> None:
    example(page, BROKEN)
    raw = page.get_by_role("textbox", name="Raw output")
    write(page, raw.input_value() + "\nThat should do.")
    open_stream(page, 1)
    go(page, 190)
    assert "A call could not be read" in section(page, "Held back")
    page.get_by_role("button", name="To the end").click()
    assert "broken" in section(page, "Told so far")
    assert "</tool_call>" in section(page, "Told so far")


def test_cuttings_are_compared(short: Page) -> None:
    short.get_by_role("button", name="Compare cuttings").click()
    expect(short.locator(".checked")).to_have_text("The same outcome in 15 cuttings, down to single characters.")
