"""A model hub that answers, refuses, fails, stalls or is away: against a stand-in on this machine."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sluicegate.tokenizers import HubRefused, HubUnavailable, TokenizerLoadCancelled, load_tokenizer
from sluicegate.tokenizers.hub import Hub
from tests.tokenizers import miniatures

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "tokenizer.json": miniatures.byte_level_json(),
    "tokenizer_config.json": b'{"chat_template": "from the hub"}',
    "config.json": b"{}",
    "model.safetensors": b"never fetched",
    "README.md": b"never fetched",
}


class StandIn:
    """`status` is what everything answers; None: as a hub does. `stalled` hangs until the end."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.failing_file: str | None = None
        self.stalled = False
        self.asked: list[str] = []
        self.authorization: list[str | None] = []
        self._released = threading.Event()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                stand_in.answer(self)

            def do_HEAD(self) -> None:
                stand_in.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.partition("?")[0]
        self.asked.append(path)
        self.authorization.append(request.headers.get("Authorization"))
        if self.stalled:
            self._released.wait(30)
        name = path.rpartition("/")[2]
        if path == "/api/models/owner/name/revision/main":
            siblings = [{"rfilename": file} for file in FILES]
            body, status = json.dumps({"id": "owner/name", "sha": COMMIT, "siblings": siblings}).encode(), 200
        elif path == "/api/models/owner/bare/revision/main":
            siblings = [{"rfilename": "README.md"}]
            body, status = json.dumps({"id": "owner/bare", "sha": COMMIT, "siblings": siblings}).encode(), 200
        elif path.startswith("/owner/name/resolve/") and name in FILES:
            body, status = FILES[name], 404 if name == self.failing_file else 200
        else:
            body, status = b'{"error":"not found"}', 404
        status = self.status or status
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.send_header("ETag", f'"{name}"')
        request.send_header("X-Repo-Commit", COMMIT)
        request.end_headers()
        if request.command == "GET":
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                request.wfile.write(body)

    def close(self) -> None:
        self._released.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    running = StandIn()
    yield running
    running.close()


@pytest.fixture
def hub(stand_in: StandIn, tmp_path: Path) -> Hub:
    return Hub(endpoint=stand_in.endpoint, cache=tmp_path / "cache", token="secret", timeout=2.0)


def test_only_tokenizer_files_are_fetched_with_the_token(stand_in: StandIn, hub: Hub) -> None:
    tokenizer = load_tokenizer("owner/name", hub=hub)
    assert tokenizer.encode("<think>") == [len(miniatures.ranks()) + 2]
    assert tokenizer.chat_template is not None
    assert tokenizer.chat_template.render([]) == "from the hub"
    assert stand_in.asked[0] == "/api/models/owner/name/revision/main"
    fetched = {path.rpartition("/")[2] for path in stand_in.asked[1:]}
    assert fetched == {"tokenizer.json", "tokenizer_config.json", "config.json"}
    assert set(stand_in.authorization) == {"Bearer secret"}


@pytest.mark.parametrize("status", [401, 403, 404])
def test_refusal_is_final(stand_in: StandIn, hub: Hub, status: int) -> None:
    stand_in.status = status
    with pytest.raises(HubRefused, match="Failed to fetch model 'owner/name' from HuggingFace") as caught:
        load_tokenizer("owner/name", hub=hub)
    assert not caught.value.retryable
    assert str(status) in f"{caught.value}"
    assert "secret" not in f"{caught.value}"


@pytest.mark.parametrize("status", [500, 503, 429])
def test_failure_may_be_retried(stand_in: StandIn, hub: Hub, status: int) -> None:
    stand_in.status = status
    with pytest.raises(HubUnavailable) as caught:
        load_tokenizer("owner/name", hub=hub)
    assert caught.value.retryable


def test_unknown_repository_is_refused(hub: Hub) -> None:
    with pytest.raises(HubRefused, match="404"):
        load_tokenizer("owner/other", hub=hub)


def test_repository_without_tokenizer_is_refused(hub: Hub) -> None:
    with pytest.raises(HubRefused, match="no tokenizer files"):
        load_tokenizer("owner/bare", hub=hub)


def test_silent_hub_is_given_up(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.stalled = True
    with pytest.raises(HubUnavailable):
        load_tokenizer("owner/name", hub=Hub(endpoint=stand_in.endpoint, cache=tmp_path, timeout=0.2))


def test_cached_copy_serves_when_the_hub_is_away(stand_in: StandIn, hub: Hub) -> None:
    expected = load_tokenizer("owner/name", hub=hub).encode("hello")
    stand_in.status = 500
    assert load_tokenizer("owner/name", hub=hub).encode("hello") == expected
    asked = len(stand_in.asked)
    offline = Hub(endpoint=hub.endpoint, cache=hub.cache, offline=True)
    assert load_tokenizer("owner/name", hub=offline).encode("hello") == expected
    assert len(stand_in.asked) == asked


def test_switched_off_hub_without_a_copy_is_final(hub: Hub) -> None:
    with pytest.raises(HubRefused, match="HF_HUB_OFFLINE"):
        load_tokenizer("owner/name", hub=Hub(endpoint=hub.endpoint, cache=hub.cache, offline=True))


def test_file_that_matters_less_may_fail(stand_in: StandIn, hub: Hub) -> None:
    stand_in.failing_file = "config.json"
    assert load_tokenizer("owner/name", hub=hub).encode("a") == [97]


def test_file_that_matters_may_not_fail(stand_in: StandIn, hub: Hub) -> None:
    stand_in.failing_file = "tokenizer.json"
    with pytest.raises(HubRefused):
        load_tokenizer("owner/name", hub=hub)


def test_cancelled_load_stops_before_the_next_file(stand_in: StandIn, hub: Hub) -> None:
    with pytest.raises(TokenizerLoadCancelled):
        load_tokenizer("owner/name", hub=hub, cancelled=lambda: True)
    assert len(stand_in.asked) == 1
