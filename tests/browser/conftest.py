"""A browser on the playground of a service that was started for the tests."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.support.service import Service, running

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
PATIENCE = 20_000
"""Milliseconds: tests share a machine with others."""
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's chromium, or the one that CHROMIUM names."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("needs chromium: scripts/install-browser, or CHROMIUM=/path/to/it")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


NewPage = Callable[..., Page]


@pytest.fixture
def new_page(browser: Browser, demo_service: Service) -> Iterator[NewPage]:
    """Makes pages on the playground. Afterwards nothing may have failed, and nobody else may have been asked."""
    faults: list[str] = []

    def make(
        *, service: Service = demo_service, fragment: str = "", script: str = "", expected: str = "", **options: Any
    ) -> Page:
        def console(message: ConsoleMessage) -> None:
            if message.type in {"error", "warning"} and not (expected and expected in message.text):
                faults.append(message.text)

        context: BrowserContext = contexts.enter_context(
            browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **options})
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(PATIENCE)
        if script:
            context.add_init_script(script)
        page = context.new_page()
        page.on("console", console)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: request.url.startswith(service.url) or faults.append(request.url))
        page.goto(f"{service.url}/playground/{fragment}")
        return page

    with contextlib.ExitStack() as contexts:
        yield make
    assert faults == []


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """The playground as a new user finds it."""
    return new_page()


@pytest.fixture(scope="session")
def bare_service() -> Iterator[Service]:
    """A service without tokenizers whose routes want a key."""
    with running("--api-key", "key-of-the-test") as service:
        yield service
