"""The tokens tab: pills, two tokenizers side by side, numbers, and the link to the raw output."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.support.playground import TWO_CALLS, example, expect_highlighted, give_key, place_of, write
from tests.support.service import Service

pytestmark = pytest.mark.browser


def pieces_of(service: Service, model: str, text: str) -> list[dict[str, Any]]:
    body = json.dumps({"model": model, "prompt": text, "pieces": True}).encode()
    request = urllib.request.Request(service.url + "/v1/tokenize", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: list[dict[str, Any]] = json.load(answer)["pieces"]
        return found


@pytest.fixture
def tokens(page: Page) -> Page:
    example(page, TWO_CALLS)
    page.get_by_role("tab", name="Tokens").click()
    expect(page.locator(".pill").first).to_be_visible()
    return page


def test_one_pill_for_each_token(tokens: Page, demo_service: Service) -> None:
    text = tokens.get_by_role("textbox", name="Raw output").input_value()
    pieces = pieces_of(demo_service, "qwen3", text)
    pills = tokens.get_by_role("listbox", name="Tokens", exact=True).get_by_role("option")
    expect(pills).to_have_count(len(pieces))
    expect(tokens.locator(".column h3").first).to_have_text(f"qwen3: {len(pieces)} tokens")
    shown = pills.all_text_contents()
    assert shown[:4] == ["<think>", "↵", "The", "·user"]
    assert any(pill.startswith("20 F0 9F") for pill in shown), "the bytes of half a character are shown"
    hues = pills.evaluate_all("(pills) => pills.map((pill) => pill.style.getPropertyValue('--hue'))")
    of_ids: dict[int, set[str]] = {}
    for piece, hue in zip(pieces, hues, strict=True):
        of_ids.setdefault(piece["id"], set()).add(hue)
    assert all(len(found) == 1 for found in of_ids.values()), "an id has one colour wherever it occurs"


def test_pointing_at_a_token_tells_all_of_it(tokens: Page, demo_service: Service) -> None:
    text = tokens.get_by_role("textbox", name="Raw output").input_value()
    pieces = pieces_of(demo_service, "qwen3", text)
    pill = tokens.get_by_role("option", name="·user").first
    pill.hover()
    detail = tokens.locator(".token-detail")
    expect(detail).to_contain_text(f"token 3 · id {pieces[3]['id']} · 5 bytes · characters 11–16 · in reasoning")
    expect(detail.locator(".bytes")).to_have_text("20 75 73 65 72")
    expect_highlighted(tokens, "linked", " user")
    pill.click()
    expect_highlighted(tokens, "chosen", " user")


def test_pointing_at_the_text_finds_the_token(tokens: Page) -> None:
    place = place_of(tokens, "plans")
    tokens.mouse.move(place["x"], place["y"])
    expect(tokens.locator(".pill.is-linked")).to_have_text("·plans")
    tokens.mouse.click(place["x"], place["y"])
    expect_highlighted(tokens, "chosen", " plans")


def test_arrow_keys_walk_through_the_tokens(tokens: Page) -> None:
    tokens.get_by_role("listbox", name="Tokens", exact=True).focus()
    for _ in range(3):
        tokens.keyboard.press("ArrowRight")
    expect(tokens.locator(".pill[aria-selected=true]")).to_have_text("·user")
    tokens.keyboard.press("ArrowLeft")
    expect(tokens.locator(".pill[aria-selected=true]")).to_have_text("The")
    tokens.keyboard.press("Enter")
    expect_highlighted(tokens, "chosen", "The")
    tokens.keyboard.press("End")
    expect(tokens.locator(".pill[aria-selected=true]")).to_have_text("</tool_call>")


def test_two_tokenizers_side_by_side_mark_their_cuts(tokens: Page, demo_service: Service) -> None:
    tokens.get_by_label("Side by side with").select_option("deepseek-v4")
    second = tokens.get_by_role("listbox", name="Tokens of the second tokenizer")
    expect(second).to_be_visible()
    text = tokens.get_by_role("textbox", name="Raw output").input_value()
    one, two = (pieces_of(demo_service, model, text) for model in ("qwen3", "deepseek-v4"))
    cuts = [{(piece["start"], piece["end"]) for piece in pieces} for pieces in (one, two)]
    differing = [sum((piece["start"], piece["end"]) not in cuts[1] for piece in one)]
    differing.append(sum((piece["start"], piece["end"]) not in cuts[0] for piece in two))
    assert differing[0] > 0
    expect(tokens.locator(".numbers tr").filter(has_text="cuts that differ").locator("td")).to_have_text(
        [str(number) for number in differing]
    )
    expect(second.locator(".differs")).to_have_count(differing[1])
    place = place_of(tokens, "plans")
    tokens.mouse.move(place["x"], place["y"])
    expect(tokens.locator(".pill.is-linked")).to_have_text(["·plans", "·plans"])


def test_tokens_are_counted_by_part(tokens: Page) -> None:
    numbers = tokens.locator(".numbers")
    expect(numbers).to_contain_text("characters per token")
    labels, values = (numbers.locator(f"tbody {cell}").all_text_contents() for cell in ("th", "td"))
    rows = dict(zip(labels, values, strict=True))
    parts = [int(value) for label, value in rows.items() if label.startswith("in ")]
    assert len(parts) == 4
    assert sum(parts) == int(rows["tokens"])


def test_special_tokens_stand_apart_and_may_be_text(tokens: Page) -> None:
    write_text = "<|im_start|>assistant"
    tokens.get_by_role("textbox", name="Raw output").fill(write_text)
    special = tokens.locator(".pill.is-special")
    expect(special).to_have_text("<|im_start|>")
    special.hover()
    expect(tokens.locator(".token-detail")).to_contain_text("special")
    tokens.get_by_label("special tokens in the text count as such").uncheck()
    expect(special).to_have_count(0)
    assert "".join(tokens.locator(".pill").all_text_contents()) == write_text
    with tokens.expect_request("**/v1/tokenize") as asked:
        tokens.get_by_label("add special tokens around it").check()
    assert asked.value.post_data_json["add_special_tokens"] is True
    assert asked.value.post_data_json["parse_special"] is False


def test_white_space_is_visible(tokens: Page) -> None:
    tokens.get_by_role("textbox", name="Raw output").fill("a\tb \r\n\u200b.")
    expect(tokens.locator(".column h3").first).to_contain_text("qwen3")
    expect(tokens.locator(".pill").first).to_have_text("a")
    joined = "".join(tokens.locator(".pill").all_text_contents())
    assert joined == "a⇥b·↵‹200B›."


def test_a_service_without_tokenizers_says_how_to_get_one(new_page: NewPage, bare_service: Service) -> None:
    page = new_page(service=bare_service, expected="401")
    give_key(page, "key-of-the-test")
    write(page, "Hello")
    page.get_by_role("tab", name="Tokens").click()
    expect(page.locator("#panel-tokens")).to_contain_text("No tokenizer is loaded. Start the service with --demo")
