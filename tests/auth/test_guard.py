"""The guard as a whole, its audit records and its warnings."""

import asyncio

import pytest

from sluicegate.auth.audit import PEER_LIMIT, VALUE_LIMIT, WARNING_PAUSE, FailureWarnings, audit_record, printable
from sluicegate.auth.guard import build_guards
from sluicegate.auth.jwks import KeySetUnavailable
from sluicegate.auth.jwt import Identity, InvalidToken, NotAToken
from sluicegate.auth.keys import Role, Source, control_plane_keys, serving_keys
from sluicegate.auth.policy import INVALID_KEY, INVALID_TOKEN, MISSING_TOKEN, ROLE_TOO_LOW, UNAVAILABLE, Configuration

SERVING = serving_keys([Source("k", ["shared-key"])], [Source("t", ["red:red-key"])])
CONTROL = control_plane_keys([Source("c", ["k1:Ops:admin:a.b.c", "k2:Reader:user:reader-key"])])


class Verifier:
    """Stands in for the verification of tokens, which has tests of its own."""

    async def verify(self, token):
        answer = {
            "admin": Identity("alice", Role.ADMIN),
            "user": Identity("bob", Role.USER),
            "bad": InvalidToken("expired"),
            "none": NotAToken("no"),
            "down": KeySetUnavailable("down"),
        }[token]
        if isinstance(answer, Exception):
            raise answer
        return answer


def check(guard, method, authorization):
    verdict = guard.check(method, authorization)
    return asyncio.run(guard.verify(method, authorization)) if verdict is None else verdict


def test_open_planes_have_no_guard():
    guards = build_guards(Configuration(), SERVING, CONTROL, None)
    assert guards.serving is None
    assert guards.control_plane is None
    assert build_guards(Configuration(tokens=True), SERVING, CONTROL, Verifier()).serving is None


def test_the_tenant_of_a_serving_request():
    guard = build_guards(Configuration(shared_key=True, tenant_keys=True), SERVING, CONTROL, None).serving
    assert guard.check("POST", b"Bearer shared-key").tenant == "shared"
    assert guard.check("POST", b"Bearer red-key").tenant == "red"
    assert guard.check("POST", b"Bearer red-ke").refusal is INVALID_KEY


def test_a_control_plane_without_its_own_credentials_takes_the_shared_key():
    guard = build_guards(Configuration(shared_key=True, tenant_keys=True), SERVING, CONTROL, None).control_plane
    assert guard.check("POST", b"Bearer shared-key").refusal is None
    assert guard.check("GET", b"Bearer red-key").refusal is INVALID_KEY
    assert not guard.audited


@pytest.mark.parametrize(
    ("authorization", "method", "refusal", "who"),
    [
        (None, "POST", MISSING_TOKEN, ("unauthenticated", "none", None)),
        (b"Bearer a.b.c", "DELETE", None, ("k1", "api_key", Role.ADMIN)),
        (b"Bearer reader-key", "GET", None, ("k2", "api_key", Role.USER)),
        (b"Bearer reader-key", "POST", ROLE_TOO_LOW, ("k2", "api_key", Role.USER)),
        (b"Bearer admin", "POST", None, ("alice", "jwt", Role.ADMIN)),
        (b"Bearer user", "POST", ROLE_TOO_LOW, ("bob", "jwt", Role.USER)),
        (b"Bearer user", "HEAD", None, ("bob", "jwt", Role.USER)),
        (b"Bearer bad", "POST", INVALID_TOKEN, ("unauthenticated", "none", None)),
        (b"Bearer none", "POST", INVALID_TOKEN, ("unauthenticated", "none", None)),
        (b"Bearer down", "POST", UNAVAILABLE, ("unauthenticated", "none", None)),
    ],
)
def test_control_plane(authorization, method, refusal, who):
    configuration = Configuration(control_plane_keys=True, tokens=True)
    guard = build_guards(configuration, SERVING, CONTROL, Verifier()).control_plane
    verdict = check(guard, method, authorization)
    assert verdict.refusal is refusal
    assert (verdict.principal, verdict.method, verdict.role) == who
    assert bool(verdict.details) is (refusal is not None)
    assert guard.audited
    assert not guard.immediate


def test_without_tokens_the_guard_answers_at_once():
    guard = build_guards(Configuration(control_plane_keys=True), SERVING, CONTROL, None).control_plane
    assert guard.immediate
    assert guard.check("GET", b"Bearer x.y.z").refusal is INVALID_TOKEN
    assert asyncio.run(guard.verify("GET", None)).refusal is MISSING_TOKEN


def test_audit_record():
    guard = build_guards(Configuration(control_plane_keys=True), SERVING, CONTROL, None).control_plane
    verdict = guard.check("DELETE", b"Bearer reader-key")
    assert audit_record(verdict, method="DELETE", path="/v1/tokenizers/x", status=403, request_id="req-1") == {
        "principal": "k2",
        "auth_method": "api_key",
        "role": "user",
        "method": "DELETE",
        "path": "/v1/tokenizers/x",
        "outcome": "denied",
        "status": 403,
        "request_id": "req-1",
        "details": "role too low",
    }
    admitted = audit_record(guard.check("GET", b"Bearer a.b.c"), method="GET", path="/", status=404, request_id="r")
    assert (admitted["outcome"], admitted["status"], admitted["role"]) == ("success", 404, "admin")
    unknown = audit_record(guard.check("GET", None), method="GET", path="/", status=401, request_id="r")
    assert (unknown["principal"], unknown["role"]) == ("unauthenticated", "none")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain é", "plain é"),
        ("a\nb\\n\x1b\u2028\x85\U000e0001", "a\\u000ab\\\\n\\u001b\\u2028\\u0085\\U000e0001"),
        ("x" * 2000, "x" * VALUE_LIMIT),
        ("\n" * 2000, ("\\u000a" * 2000)[:VALUE_LIMIT]),
    ],
)
def test_printable(text, written):
    assert printable(text) == written


def test_one_warning_per_peer_and_minute():
    warnings = FailureWarnings()
    assert warnings.is_due("a", 0.0)
    assert not warnings.is_due("a", WARNING_PAUSE - 1)
    assert warnings.is_due("b", 1.0)
    assert warnings.is_due("a", WARNING_PAUSE)
    assert not warnings.is_due("a", WARNING_PAUSE + 1)


def test_the_memory_of_peers_is_bounded():
    warnings = FailureWarnings()
    for number in range(PEER_LIMIT + 1):
        assert warnings.is_due(str(number), 0.0)
    assert warnings.is_due("0", 1.0)
    assert not warnings.is_due("2", 1.0)
