"""What a service reaches over the network in tests: an issuer's key set and a stand-in for the model hub."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.tokens_of_issuer import Issuer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Outside:
    """`mode` is how the key endpoint behaves: "ok", "500" or "bad". Repositories under `slow/` never answer."""

    def __init__(self, issuer: Issuer, tokenizer: Path) -> None:
        self.issuer = issuer
        self.mode = "ok"
        self.port = 0
        self._tokenizer = tokenizer
        self._stalled = threading.Event()

    def reset(self) -> None:
        """Behave again, and let go of what hangs."""
        self.mode = "ok"
        self._stalled.set()
        self._stalled = threading.Event()

    def answer(self, path: str) -> tuple[int, bytes]:
        """Status and body of a GET."""
        base = f"http://127.0.0.1:{self.port}"
        if path == "/.well-known/openid-configuration":
            return 200, json.dumps({"issuer": base, "jwks_uri": f"{base}/jwks.json"}).encode()
        if path == "/jwks.json":
            if self.mode == "ok":
                return 200, json.dumps(self.issuer.key_set()).encode()
            return (500, b"") if self.mode == "500" else (200, b"this is no key set")
        if path.startswith("/api/models/tiny/hub"):
            about = {"_id": "0", "id": "tiny/hub", "sha": COMMIT, "siblings": [{"rfilename": "tokenizer.json"}]}
            return 200, json.dumps(about).encode()
        if re.fullmatch(r"/tiny/hub/resolve/[^/]+/tokenizer\.json", path):
            return 200, self._tokenizer.read_bytes()
        if "/slow/" in path:
            self._stalled.wait(30)
        return 404, b"{}"

    @contextlib.contextmanager
    def serving(self) -> Iterator[Outside]:
        """Listen on a free loopback port."""
        outside = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, body = outside.answer(self.path.partition("?")[0])
                total, first = len(body), 0
                part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
                if part and status == 200:
                    first = int(part[1])
                    status, body = 206, body[first : int(part[2] or total) + 1]
                self.send_response(status)
                if status == 206:
                    self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{total}")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Content-Type", "application/json")
                self.send_header("ETag", f'"{COMMIT}"')
                self.send_header("X-Repo-Commit", COMMIT)
                self.end_headers()
                if self.command == "GET":
                    with contextlib.suppress(OSError):
                        self.wfile.write(body)

            def do_HEAD(self) -> None:
                self.do_GET()

            def log_message(self, *_args: object) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            server.daemon_threads = True
            self.port = server.server_address[1]
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
            try:
                yield self
            finally:
                self.reset()
                server.shutdown()
