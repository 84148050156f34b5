"""The playground as files: where it is served, and what its pages may do."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from email.message import Message

import pytest

from sluicegate.server.playground import STATIC
from sluicegate.settings import Settings
from tests.support.service import Service, running


def get(service: Service, path: str, method: str = "GET", **headers: str) -> tuple[int, Message, str]:
    request = urllib.request.Request(service.url + path, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def test_the_page_and_its_files(demo_service: Service) -> None:
    status, headers, page = get(demo_service, "/playground")
    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert "<title>Playground · sluicegate</title>" in page
    for path in re.findall(r'(?:href|src)="([^"#]+)"', page):
        assert get(demo_service, f"/playground/{path}")[0] == 200, path


def test_the_page_may_only_reach_its_own_service(demo_service: Service) -> None:
    for path in ("/playground/", "/playground/modules/main.js", "/playground/nothing.js"):
        headers = get(demo_service, path)[1]
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_every_answer_has_a_request_id(demo_service: Service) -> None:
    for path in ("/playground/", "/playground/modules/main.js", "/playground/nothing.js"):
        assert get(demo_service, path)[1]["x-request-id"].startswith("req-")
        assert get(demo_service, path, **{"x-request-id": "mine"})[1]["x-request-id"] == "mine"


def test_no_file_speaks_of_another_host() -> None:
    for file in STATIC.rglob("*"):
        if file.is_file():
            urls = set(re.findall(r"https?://[^\s\"'`)]+", file.read_text("utf-8")))
            assert urls <= {"http://www.w3.org/2000/svg"}, file


def test_files_are_asked_for_again_only_when_they_changed(demo_service: Service) -> None:
    tag = get(demo_service, "/playground/modules/main.js")[1]["etag"]
    assert get(demo_service, "/playground/modules/main.js", **{"if-none-match": tag})[0] == 304


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/playground/nothing", 404),
        ("GET", "/playground/../settings.py", 404),
        ("GET", "/playground/%2e%2e/__init__.py", 404),
        ("GET", "/playgrounds", 404),
        ("POST", "/playground/", 405),
        ("HEAD", "/playground/", 200),
    ],
)
def test_nothing_else_is_served(demo_service: Service, method: str, path: str, status: int) -> None:
    assert get(demo_service, path, method)[0] == status


@pytest.mark.parametrize(
    ("host", "playground", "shown"),
    [
        ("127.0.0.1", None, True),
        ("::1", None, True),
        ("localhost", None, True),
        ("0.0.0.0", None, False),
        ("192.0.2.7", None, False),
        ("0.0.0.0", "on", True),
        ("127.0.0.1", "off", False),
    ],
)
def test_it_is_shown_on_loopback_unless_one_says_otherwise(host: str, playground: str | None, shown: bool) -> None:
    assert Settings(host=host, playground=playground).shows_playground is shown


def test_off_means_off() -> None:
    with running("--playground", "off") as service:
        assert get(service, "/playground/")[0] == 404


def test_the_start_tells_where_it_is(demo_service: Service) -> None:
    assert f"http://127.0.0.1:{demo_service.port}/playground/" in demo_service.log.read_text("utf-8")
