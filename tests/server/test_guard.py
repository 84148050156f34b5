"""The guard in front of the routes: shapes of refusals, tenants, log, audit log and metrics."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from sluicegate.core.errors import InvalidSetting
from sluicegate.server.guard import build_guard, read_access_rules
from sluicegate.settings import resolve
from tests.support.application import asked_in_process
from tests.support.service import free_port
from tests.support.tokens import issuer_key, public_jwk, sign

NO_KEY_SET = {"jwt_issuer": "http://127.0.0.1:9", "jwt_audience": "gate"}
CONTROL = {"control_plane_api_keys": ["k1:Ops:admin:admin-sekret", "k2:Reader:user:reader-sekret"]}


def ask(method: str, path: str, settings: dict[str, Any], **request: Any) -> Any:
    async def main() -> Any:
        async with asked_in_process(**settings) as (client, _):
            return await client.request(method, path, **request)

    return asyncio.run(main())


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/parse/reasoning", {"error": "Token verification is temporarily unavailable", "success": False}),
        (
            "/workers",
            {"error": "Token verification is temporarily unavailable", "code": "token_verification_unavailable"},
        ),
        (
            "/v1/tokenizers",
            {
                "error": {
                    "message": "Token verification is temporarily unavailable",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "token_verification_unavailable",
                }
            },
        ),
    ],
)
def test_the_shape_of_a_control_plane_refusal_is_that_of_the_path(path: str, body: dict[str, Any]) -> None:
    answer = ask("POST", path, NO_KEY_SET, headers=bearer(sign({"exp": 1})))
    assert (answer.status_code, answer.json()) == (503, body)
    assert answer.headers["retry-after"] == "5"
    assert answer.headers["x-smg-error-code"] == "token_verification_unavailable"
    assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize("path", ["/parse/reasoning", "/workers", "/v1/tokenizers", "/v1/tokenize"])
def test_a_refusal_of_a_serving_key_has_one_shape_everywhere(path: str) -> None:
    answer = ask("POST", path, {"api_key": ["k"]}, headers=bearer("wrong"))
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == answer.headers["x-smg-error-code"] == "invalid_api_key"
    assert answer.headers["www-authenticate"] == 'Bearer realm="data-plane", error="invalid_token"'


def test_what_comes_before_the_guard() -> None:
    assert ask("POST", "/nope", {"api_key": ["k"]}).status_code == 404
    assert ask("GET", "/v1/tokenize", {"api_key": ["k"]}).status_code == 405
    big = {"content-length": str(10**9)}
    assert ask("POST", "/v1/tokenize", {"api_key": ["k"]}, headers=big).status_code == 413
    assert ask("POST", "/v1/tokenize", {"api_key": ["k"]}, content=b"{bad").status_code == 401


@contextmanager
def key_set() -> Iterator[str]:
    """An issuer whose key set is where its discovery document says."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            base = f"http://127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]
            keys = {"keys": [{"kid": "k", **public_jwk(issuer_key("p256"))}]}
            content: Any = {"jwks_uri": f"{base}/keys"} if self.path.startswith("/.well-known/") else keys
            body = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_token_opens_the_control_plane_by_its_role() -> None:
    with key_set() as issuer:
        settings = {"jwt_issuer": issuer, "jwt_audience": "gate"}
        claims = {"iss": issuer, "aud": "gate", "exp": 4_000_000_000, "sub": "alice"}
        admin = bearer(sign({**claims, "roles": ["admin"]}, "p256", "ES256"))
        user = bearer(sign(claims, "p256", "ES256"))
        assert ask("GET", "/v1/tokenizers", settings, headers=user).status_code == 200
        assert ask("DELETE", "/v1/tokenizers/x", settings, headers=user).status_code == 403
        assert ask("DELETE", "/v1/tokenizers/x", settings, headers=admin).status_code == 404


def test_discovery_goes_on_in_the_background_and_is_reported_once() -> None:
    async def main() -> None:
        port = free_port()
        guard, _ = build_guard(resolve({"jwt_issuer": f"http://127.0.0.1:{port}", "jwt_audience": "gate"}, {}))
        assert guard is not None
        with structlog.testing.capture_logs() as records:
            guard.start()
            async with asyncio.timeout(10):
                while not records:
                    await asyncio.sleep(0.01)
            await guard.stop()
        assert [record["event"] for record in records] == ["key_set_not_found"]
        assert records[0]["log_level"] == "error"

    asyncio.run(main())


def test_refused_credentials_are_counted_and_logged_once_per_peer_without_the_key() -> None:
    async def main() -> None:
        settings = {"api_key": ["serving-sekret"], **CONTROL}
        with structlog.testing.capture_logs() as records:
            async with asked_in_process(**settings) as (client, service):
                for _ in range(3):
                    await client.post("/v1/tokenize", headers=bearer("wrong-sekret"))
                await client.post("/v1/tokenize")
                await client.post("/parse/reasoning", headers=bearer("reader-sekret"))
                await client.post("/parse/reasoning\\u001b", headers=bearer("reader-sekret"))
                exposition = service.metrics.exposition().decode()
        assert 'smg_auth_failures_total{group="serving",reason="invalid"} 3.0' in exposition
        assert 'smg_auth_failures_total{group="serving",reason="missing"} 1.0' in exposition
        assert 'smg_auth_failures_total{group="control_plane",reason="role"} 1.0' in exposition
        assert [record["event"] for record in records] == ["credential_refused"]
        assert "sekret" not in repr(records) + exposition

    asyncio.run(main())


def test_audit_log() -> None:
    async def main() -> None:
        with structlog.testing.capture_logs() as records:
            async with asked_in_process(**CONTROL, control_plane_audit_enabled=True) as (client, _):
                await client.delete("/v1/tokenizers/a%5Cb?key=admin-sekret", headers=bearer("reader-sekret"))
                await client.get("/v1/tokenizers", headers=bearer("reader-sekret"))
                await client.get("/v1/tokenizers")
                await client.get("/health")
                await client.post("/v1/tokenize", json={"model": "", "prompt": "x"})
        audited = [record for record in records if record["event"] == "control_plane_audit"]
        found = [(record["principal"], record["outcome"], record["status"], record["path"]) for record in audited]
        assert found == [
            ("k2", "denied", 403, "/v1/tokenizers/a%5Cb"),
            ("k2", "success", 200, "/v1/tokenizers"),
            ("unauthenticated", "denied", 401, "/v1/tokenizers"),
        ]
        assert "sekret" not in repr(records)

    asyncio.run(main())


def test_no_audit_log_without_credentials_of_the_control_plane() -> None:
    async def main() -> None:
        with structlog.testing.capture_logs() as records:
            async with asked_in_process(api_key=["k"], control_plane_audit_enabled=True) as (client, _):
                assert (await client.get("/v1/tokenizers", headers=bearer("k"))).status_code == 200
        assert records == []

    asyncio.run(main())


def test_keys_from_files_add_up(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("# mine\nfile-sekret\n")
    path.chmod(0o644)
    rules = read_access_rules(resolve({"api_key": ["flag-sekret"], "api_key_file": str(path)}, {}))
    assert [rules.serving.owner(key) for key in ("flag-sekret", "file-sekret")] == ["shared", "shared"]
    assert any("other users can read" in line for line in rules.warnings)


@pytest.mark.parametrize(
    ("flags", "field"),
    [
        ({"jwt_issuer": "https://issuer.example"}, "jwt_issuer"),
        ({"jwt_audience": "gate"}, "jwt_audience"),
        ({"jwt_issuer": "", "jwt_audience": "gate"}, "jwt_issuer"),
        ({"jwt_jwks_uri": "https://issuer.example/keys"}, "jwt_jwks_uri"),
        ({"jwt_issuer": "http://issuer.example", "jwt_audience": "gate"}, "jwt_issuer"),
        (
            {"jwt_issuer": "x", "jwt_audience": "gate", "jwt_jwks_uri": "https://10.0.0.1/keys"},
            "jwt_jwks_uri",
        ),
        ({"jwt_role_mapping": ["a"]}, "jwt_role_mapping"),
        ({"control_plane_api_keys": []}, "control_plane_api_keys"),
        ({"api_key_file": "/nonexistent/keys"}, "api_key_file"),
    ],
)
def test_settings_that_stop_the_start(flags: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        build_guard(resolve(flags, {}))
    assert caught.value.field == field


def test_with_a_key_set_url_the_issuer_may_be_any_text() -> None:
    flags = {"jwt_issuer": "any", "jwt_audience": "gate", "jwt_jwks_uri": "https://issuer.example/keys"}
    guard, _ = build_guard(resolve(flags, {}))
    assert guard is not None
    assert not guard.immediate
