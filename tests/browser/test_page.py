"""The page around the tabs: sharing, copies, keys, looks, keyboard, accessibility, long outputs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from axe_core_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import NewPage
from tests.support.playground import BROKEN, CUT_OFF, TWO_CALLS, example, expect_highlighted, write
from tests.support.service import Service

pytestmark = pytest.mark.browser
PHONE = ViewportSize(width=360, height=740)
THOUGHT = "A long thought. " * 200
CALL = '<tool_call>\n{"name": "write", "arguments": {"text": "' + "a line\\n" * 60 + '"}}\n</tool_call>'
TABS = ("Parse", "Tokens", "Stream")


def copied(page: Page, button: str) -> str:
    page.locator("#copies").get_by_role("button", name=button).click()
    expect(page.locator("#toast")).to_contain_text("copied")
    found: str = page.evaluate("navigator.clipboard.readText()")
    return found


def settled(page: Page, tab: str) -> None:
    """Open a tab and wait until it shows something."""
    page.get_by_role("tab", name=tab).click()
    ready = {"Parse": ".outline", "Tokens": ".pill", "Stream": ".graph path"}[tab]
    expect(page.locator(ready).first).to_be_visible()


def test_the_curl_command_gives_the_same_answer(page: Page) -> None:
    example(page, CUT_OFF)
    command = copied(page, "curl")
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True, timeout=30)
    answer = json.loads(done.stdout)
    assert answer["finish"] == "incomplete"
    assert answer["tool_calls"][0]["function"]["name"] == "run"
    assert {span["kind"] for span in answer["spans"]} >= {"reasoning", "call", "fault"}


def test_the_python_program_runs(page: Page) -> None:
    example(page, TWO_CALLS)
    done = subprocess.run(
        [sys.executable, "-c", copied(page, "Python")], capture_output=True, text=True, check=True, timeout=60
    )
    assert 'get_weather {"city":"Zürich","days":5}' in done.stdout
    assert "🏔" in done.stdout


def test_the_test_case_holds(page: Page, tmp_path: Path) -> None:
    example(page, BROKEN)
    source = copied(page, "test")
    (tmp_path / "test_output.py").write_text(source, "utf-8")
    names: dict[str, object] = {}
    exec(compile(source, "test_output.py", "exec"), names)
    test = names["test_output"]
    assert callable(test)
    test()
    names["RAW"] = ""
    with pytest.raises(AssertionError):
        test()


def test_a_link_opens_the_same_page_and_nothing_of_it_is_sent(page: Page, new_page: NewPage) -> None:
    example(page, CUT_OFF)
    page.get_by_label("Tool calls", exact=True).select_option("glm47_moe")
    page.get_by_role("tab", name="Stream").click()
    page.get_by_label("Chunk size").fill("7")
    fragment = copied(page, "link").partition("#")[2]
    assert re.fullmatch(r"1\.[\w-]+", fragment)
    asked: list[str] = []
    other = new_page()
    other.on("request", lambda request: asked.append(request.url))
    other.goto(other.url + "#" + fragment)
    expect(other.get_by_role("tab", name="Stream")).to_have_attribute("aria-selected", "true")
    expect(other.get_by_label("Chunk size")).to_have_value("7")
    other.get_by_role("tab", name="Parse").click()
    expect(other.get_by_label("Tool calls", exact=True)).to_have_value("glm47_moe")
    raw = other.get_by_role("textbox", name="Raw output")
    assert raw.input_value() == page.get_by_role("textbox", name="Raw output").input_value()
    assert not any(fragment in url for url in asked)


def test_a_damaged_link_is_told(new_page: NewPage) -> None:
    page = new_page(fragment="#1.xxxx")
    expect(page.locator("#toast")).to_contain_text("The link is damaged")


def test_a_key_is_asked_for_and_stays_in_memory(new_page: NewPage, bare_service: Service) -> None:
    page = new_page(service=bare_service, expected="401")
    write(page, "<think>So.</think>Yes.")
    expect(page.locator("#verdict")).to_contain_text("This service wants a key.")
    page.get_by_role("button", name="Give a key").click()
    page.get_by_label("Key or token").fill("key-of-the-test")
    page.get_by_role("button", name="Use it").click()
    expect(page.locator("#outcome .is-reasoning")).to_contain_text("So.")
    assert "key-of-the-test" not in copied(page, "curl")
    assert "$SLUICEGATE_KEY" in copied(page, "curl")
    assert "key-of-the-test" not in copied(page, "link")
    assert "key-of-the-test" not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    page.reload()
    expect(page.locator("#verdict")).to_contain_text("This service wants a key.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_button(new_page: NewPage, scheme: str) -> None:
    page = new_page(color_scheme=scheme)
    paper = "getComputedStyle(document.body).backgroundColor"
    system = page.evaluate(paper)
    button = page.locator("#theme-button")
    expect(button).to_have_text("Auto")
    button.click()
    light = page.evaluate(paper)
    button.click()
    dark = page.evaluate(paper)
    assert light != dark
    assert system == (light if scheme == "light" else dark)
    page.reload()
    assert page.evaluate(paper) == dark


def test_the_keyboard_reaches_everything(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the results")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#results")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("tab", name="Parse")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Tokens")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator(".example").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#outcome .is-call")).to_have_count(2)
    seen = set()
    page.locator("#tab-parse").focus()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.id"))
    assert {"curl", "model", "city", "days", "show"} <= seen, "results can be chosen without a mouse"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [None, PHONE], ids=["desk", "phone"])
def test_axe_finds_nothing(new_page: NewPage, scheme: str, size: ViewportSize | None) -> None:
    page = new_page(color_scheme=scheme, **({"viewport": size} if size else {}))
    found = {"empty": Axe().run(page)["violations"]}
    for name in (CUT_OFF, BROKEN):
        example(page, name)
        for tab in TABS:
            settled(page, tab)
            if tab == "Tokens":
                page.get_by_label("Tokenizer", exact=True).select_option("qwen3")
                page.get_by_label("Side by side with").select_option("deepseek-v4")
                expect(page.get_by_role("listbox", name="Tokens of the second tokenizer")).to_be_visible()
            found[f"{name}, {tab}"] = Axe().run(page)["violations"]
    page.get_by_role("tab", name="Parse").click()
    write(page, f"<think>{THOUGHT}</think>{CALL}")
    found["long texts"] = Axe().run(page)["violations"]
    page.get_by_role("button", name="Key").click()
    found["dialog"] = Axe().run(page)["violations"]
    told = {
        place: [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in violations]
        for place, violations in found.items()
        if violations
    }
    assert told == {}


def test_it_fits_a_small_screen(new_page: NewPage) -> None:
    page = new_page(viewport=PHONE)
    for name in (TWO_CALLS, BROKEN, CUT_OFF):
        example(page, name)
        for tab in TABS:
            settled(page, tab)
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], f"{name}, {tab}"


def megabyte() -> str:
    """An output of 1 MB: a long thought, a long answer, and calls."""
    call = (
        '<tool_call>\n{"name": "write", "arguments": {"path": "a.py", "text": "'
        + "x = 1; " * 300
        + '"}}\n</tool_call>\n'
    )
    thought = "The user wants a report, and I think about every part of it — at length. " * 6000
    answer = "This is a line of the answer, with a few words in it.\n" * 9000
    text = f"<think>\n{thought}\n</think>\n\n{answer}{call * 30}"
    return text[:1_000_000] + "x" * max(0, 1_000_000 - len(text))


OPEN_FILE = """async (text) => {
    const input = document.querySelector('#raw-file');
    const files = new DataTransfer();
    files.items.add(new File([text], 'out.txt'));
    input.files = files.files;
    const started = performance.now();
    input.dispatchEvent(new Event('change'));
    while (document.body.dataset.reading !== 'done' || !CSS.highlights.get('raw-reasoning')?.size)
        await new Promise((next) => setTimeout(next, 5));
    await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
    return performance.now() - started;
}"""


def test_a_megabyte_is_read_and_coloured_within_a_second(page: Page) -> None:
    text = megabyte()
    page.get_by_label("Model").evaluate(
        "(input) => { input.value = 'Qwen/Qwen3-8B'; input.dispatchEvent(new Event('input')); }"
    )
    times = []
    for _ in range(5):
        times.append(page.evaluate(OPEN_FILE, text))
        expect_highlighted(page, "reasoning", "The user wants a report")
        if times[-1] < 1000:
            break
        page.get_by_role("button", name="Clear").click()
        expect(page.locator(".example-cards")).to_be_visible()
    assert min(times) < 1000, times
    expect(page.locator("#raw-note")).to_contain_text("A long output is shown, not edited")
    # And it stays responsive: every part answers to the user.
    page.mouse.move(200, 300)
    expect(page.locator("#inspector")).to_contain_text("reasoning")
    page.locator("#outcome .is-call").first.get_by_role("button", name="path").click()
    expect_highlighted(page, "chosen", '"path"')
    box = page.locator("#raw-scroller").bounding_box()
    assert box is not None
    top = page.evaluate(
        "[...CSS.highlights.get('raw-chosen')].map((range) => { const live = document.createRange();"
        "live.setStart(range.startContainer, range.startOffset); live.setEnd(range.endContainer, range.endOffset);"
        "return live.getBoundingClientRect().top; })[0]"
    )
    assert box["y"] <= top <= box["y"] + box["height"], "what was chosen is in view"
    for tab in ("Tokens", "Stream"):
        settled(page, tab)
