"""The decision table, cell by cell."""

import itertools

import pytest

from sluicegate.auth.policy import (
    INVALID_KEY,
    INVALID_TOKEN,
    MISSING_KEY,
    MISSING_TOKEN,
    ROLE_TOO_LOW,
    UNAVAILABLE,
    Configuration,
    Group,
    Presented,
    decide,
    open_planes,
)

BODIES = {
    "A": MISSING_KEY,
    "B": INVALID_KEY,
    "C": MISSING_TOKEN,
    "D": INVALID_TOKEN,
    "E": ROLE_TOO_LOW,
    "F": UNAVAILABLE,
}

# Columns: no header, shared key, tenant key, admin key, user key, admin token, user token, unknown.
# Cells: serving/parse/read, a letter for a refusal, "+" for admitted. A row that ends in "!" has no key set.
TABLE = """
none                    +/+/+ +/+/+ +/+/+ +/+/+ +/+/+ +/+/+ +/+/+ +/+/+
api                     A/A/A +/+/+ B/B/B B/B/B B/B/B B/B/B B/B/B B/B/B
tenant                  A/A/A B/B/B +/B/B B/B/B B/B/B B/B/B B/B/B B/B/B
api+tenant              A/A/A +/+/+ +/B/B B/B/B B/B/B B/B/B B/B/B B/B/B
cp                      +/C/C +/D/D +/D/D +/+/+ +/E/+ +/D/D +/D/D +/D/D
cp+api                  A/C/C +/D/D B/D/D B/+/+ B/E/+ B/D/D B/D/D B/D/D
cp+tenant               A/C/C B/D/D +/D/D B/+/+ B/E/+ B/D/D B/D/D B/D/D
cp+api+tenant           A/C/C +/D/D +/D/D B/+/+ B/E/+ B/D/D B/D/D B/D/D
jwt                     +/C/C +/D/D +/D/D +/D/D +/D/D +/+/+ +/E/+ +/D/D
jwt+api                 A/C/C +/D/D B/D/D B/D/D B/D/D B/+/+ B/E/+ B/D/D
jwt+tenant              A/C/C B/D/D +/D/D B/D/D B/D/D B/+/+ B/E/+ B/D/D
jwt+cp                  +/C/C +/D/D +/D/D +/+/+ +/E/+ +/+/+ +/E/+ +/D/D
jwt+cp+api+tenant       A/C/C +/D/D +/D/D B/+/+ B/E/+ B/+/+ B/E/+ B/D/D
jwt!                    +/C/C +/D/D +/D/D +/D/D +/D/D +/F/F +/F/F +/D/D
jwt+api!                A/C/C +/D/D B/D/D B/D/D B/D/D B/F/F B/F/F B/D/D
jwt+cp!                 +/C/C +/D/D +/D/D +/+/+ +/E/+ +/F/F +/F/F +/D/D
"""
COLUMNS = (
    Presented.NOTHING,
    Presented.SHARED_KEY,
    Presented.TENANT_KEY,
    Presented.ADMIN_KEY,
    Presented.USER_KEY,
    Presented.ADMIN_TOKEN,
    Presented.USER_TOKEN,
    Presented.UNKNOWN,
)
ROUTES = {
    "serving": [(Group.SERVING, "POST")],
    "parse": [(Group.CONTROL_PLANE, method) for method in ("POST", "DELETE", "PUT", "PATCH")],
    "read": [(Group.CONTROL_PLANE, "GET"), (Group.CONTROL_PLANE, "HEAD")],
}


def cells():
    for line in TABLE.split("\n"):
        if not line.strip():
            continue
        row, *columns = line.split()
        unavailable, parts = row.endswith("!"), row.rstrip("!").split("+")
        configuration = Configuration(
            shared_key="api" in parts,
            tenant_keys="tenant" in parts,
            control_plane_keys="cp" in parts,
            tokens="jwt" in parts,
        )
        for presented, cell in zip(COLUMNS, columns, strict=True):
            is_token = presented in (Presented.ADMIN_TOKEN, Presented.USER_TOKEN)
            actual = Presented.UNVERIFIABLE_TOKEN if unavailable and is_token else presented
            for route, letter in zip(ROUTES, cell.split("/"), strict=True):
                yield pytest.param(configuration, route, actual, letter, id=f"{row}-{presented.name}-{route}")


@pytest.mark.parametrize(("configuration", "route", "presented", "letter"), list(cells()))
def test_cell(configuration, route, presented, letter):
    for group, method in ROUTES[route]:
        assert decide(configuration, group, method, presented) is BODIES.get(letter)


def test_public_routes_are_open_in_every_configuration():
    for flags in itertools.product((False, True), repeat=4):
        for presented in Presented:
            assert decide(Configuration(*flags), Group.PUBLIC, "GET", presented) is None


def test_nothing_but_a_matching_credential_is_ever_admitted_where_something_guards():
    for flags in itertools.product((False, True), repeat=4):
        configuration = Configuration(*flags)
        for group, guarded in (
            (Group.SERVING, configuration.serving_guarded),
            (Group.CONTROL_PLANE, configuration.control_plane_guarded),
        ):
            for presented in (Presented.NOTHING, Presented.UNKNOWN, Presented.UNVERIFIABLE_TOKEN):
                assert (decide(configuration, group, "GET", presented) is None) is not guarded


@pytest.mark.parametrize(
    ("refusal", "status", "code", "challenge"),
    [
        (MISSING_KEY, 401, "invalid_api_key", 'Bearer realm="data-plane"'),
        (INVALID_KEY, 401, "invalid_api_key", 'Bearer realm="data-plane", error="invalid_token"'),
        (MISSING_TOKEN, 401, "missing_token", 'Bearer realm="control-plane"'),
        (INVALID_TOKEN, 401, "invalid_token", 'Bearer realm="control-plane", error="invalid_token"'),
        (ROLE_TOO_LOW, 403, "insufficient_role", 'Bearer realm="control-plane", error="insufficient_scope"'),
        (UNAVAILABLE, 503, "token_verification_unavailable", None),
    ],
)
def test_refusals(refusal, status, code, challenge):
    assert (refusal.status, refusal.code, refusal.challenge) == (status, code, challenge)
    assert refusal.retry_after == (5 if refusal is UNAVAILABLE else None)
    assert refusal.serving_shape is (refusal in (MISSING_KEY, INVALID_KEY))


def test_warnings_about_open_planes():
    assert open_planes(Configuration(), loopback=True) == []
    (everything,) = open_planes(Configuration(), loopback=False)
    assert "every route" in everything
    (serving,) = open_planes(Configuration(tokens=True), loopback=True)
    assert "serving routes are open" in serving
    assert open_planes(Configuration(shared_key=True), loopback=False) == []
    assert open_planes(Configuration(tenant_keys=True, control_plane_keys=True), loopback=False) == []
