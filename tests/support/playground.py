"""What tests of the playground do on its page."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

HIGHLIGHTED = """(layer) => [...(CSS.highlights.get('raw-' + layer) ?? [])]
    .map((range) => { const live = document.createRange(); live.setStart(range.startContainer, range.startOffset);
                      live.setEnd(range.endContainer, range.endOffset); return live.toString(); })"""
TWO_CALLS, BROKEN, CUT_OFF = "Thought and two calls", "A call that failed", "Cut off in the middle"


def example(page: Page, name: str) -> None:
    """Open an example and wait until it is read."""
    page.locator("#examples").get_by_role("button", name=name).click()
    expect(page.locator("#verdict .banner")).to_be_visible()


def write(page: Page, text: str) -> None:
    """Put an output into the page and wait until it is read."""
    page.evaluate("document.querySelector('#verdict').firstElementChild.dataset.old = 'yes'")
    page.get_by_role("textbox", name="Raw output").fill(text)
    expect(page.locator("#verdict > [data-old]")).to_have_count(0)
    expect(page.locator("#verdict .banner")).to_be_visible()


def give_key(page: Page, key: str) -> None:
    """Give the page the key of its service."""
    page.locator("#key-button").click()
    page.get_by_label("Key or token").fill(key)
    page.get_by_role("button", name="Use it").click()


def highlighted(page: Page, layer: str) -> list[str]:
    """The stretches of the raw output that have this colour."""
    found: list[str] = page.evaluate(HIGHLIGHTED, layer)
    return found


def expect_highlighted(page: Page, layer: str, *starts: str) -> None:
    """Wait until these stretches, told by how each begins, have this colour, and no others.

    The page colours after the event that asks for it, so a test that looks at once may look too early.
    """
    holds = f"""([layer, starts]) => {{ const found = ({HIGHLIGHTED})(layer);
        return found.length === starts.length && found.every((text, at) => text.startsWith(starts[at])); }}"""
    try:
        page.wait_for_function(holds, arg=[layer, list(starts)])
    except PlaywrightTimeout:
        assert highlighted(page, layer) == list(starts), "not what was waited for"
        raise


def place_of(page: Page, text: str) -> dict[str, Any]:
    """The middle of the first character of a stretch of the raw output, on the screen."""
    found: dict[str, Any] = page.evaluate(
        """(wanted) => {
            const root = document.querySelector('#raw-text');
            const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
                const at = walker.currentNode.data.indexOf(wanted);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(walker.currentNode, at);
                range.setEnd(walker.currentNode, at + 1);
                const box = range.getBoundingClientRect();
                return { x: box.x + box.width / 3, y: box.y + box.height / 2 };
            }
            return null;
        }""",
        text,
    )
    assert found, f"{text!r} is not in the raw output"
    return found
