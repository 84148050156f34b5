"""Verification of tokens: header, signature, claims, role."""

import asyncio
import json

import pytest

from sluicegate.auth.jwks import KeySetCache, KeySetUnavailable, read_key_set
from sluicegate.auth.jwt import InvalidToken, NotAToken, TokenRules, TokenVerifier, role_mapping
from sluicegate.auth.keys import Role
from sluicegate.core.errors import InvalidSetting
from tests.support.tokens import issuer_key, public_jwk, sign

NOW = 1_800_000_000
ISSUER, AUDIENCE = "https://issuer.example", "gate"
KEYS = {
    "keys": [
        {"kid": "k", **public_jwk(issuer_key("rsa"))},
        {"kid": "k512", "alg": "RS512", **public_jwk(issuer_key("rsa"))},
        {"kid": "e256", **public_jwk(issuer_key("p256"))},
        {"kid": "e384", "alg": "ES384", **public_jwk(issuer_key("p384"))},
        {"kid": "both", "alg": "RS384", **public_jwk(issuer_key("rsa"))},
        {"kid": "both", "alg": "ES256", **public_jwk(issuer_key("p256"))},
    ]
}


def claims(**changes):
    everything = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "exp": NOW + 600, "roles": ["admin"], **changes}
    return {name: value for name, value in everything.items() if value is not ...}


def verify(token, mapping=None, keys=KEYS):
    async def fetch():
        if keys is None:
            raise KeySetUnavailable("down")
        return read_key_set(json.dumps(keys).encode())

    async def main():
        cache = KeySetCache(fetch, lambda: 0.0)
        return await TokenVerifier(TokenRules(ISSUER, AUDIENCE, mapping or {}), cache, lambda: NOW).verify(token)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [
        ("rsa", "RS256", "k"),
        ("rsa", "RS512", "k512"),
        ("p256", "ES256", "e256"),
        ("p384", "ES384", "e384"),
        ("rsa", "RS384", "both"),
        ("p256", "ES256", "both"),
    ],
)
def test_good_tokens(key, algorithm, kid):
    identity = verify(sign(claims(), key, algorithm, kid))
    assert (identity.subject, identity.role) == ("alice", Role.ADMIN)


@pytest.mark.parametrize(
    "how",
    [
        {"key": "rsa_other"},
        {"algorithm": "RS384"},
        {"algorithm": "PS256"},
        {"key": "p256", "algorithm": "ES256"},
        {"kid": None},
        {"kid": "zz"},
        {"crit": ["x"], "x": "1"},
    ],
)
def test_bad_header_or_key(how):
    with pytest.raises(InvalidToken):
        verify(sign(claims(), **how))


def test_any_crit_is_refused_even_what_the_library_understands():
    from base64 import urlsafe_b64encode

    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    def token(**header):
        parts = [{"alg": "RS256", "kid": "k", **header}, claims()]
        signed = b".".join(urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
        signature = issuer_key("rsa").sign(signed, PKCS1v15(), SHA256())
        return b".".join([signed, urlsafe_b64encode(signature).rstrip(b"=")]).decode()

    assert verify(token()).subject == "alice"
    for crit in (["b64"], [], None):
        with pytest.raises(InvalidToken):
            verify(token(crit=crit, b64=True))


def test_bad_signature():
    whole = sign(claims())
    signed, _, signature = whole.rpartition(".")
    for bad in ("", "AAAA", signature[:-8] + "AAAAAAAA"):
        with pytest.raises(InvalidToken):
            verify(f"{signed}.{bad}")


def test_headers_that_name_keys_are_ignored():
    header = {"typ": "x", "jku": "http://127.0.0.1:9/", "x5u": "http://127.0.0.1:9/"}
    assert verify(sign(claims(), jwk=public_jwk(issuer_key("rsa_other")), **header)).subject == "alice"
    with pytest.raises(InvalidToken):
        verify(sign(claims(), "rsa_other", jwk=public_jwk(issuer_key("rsa_other")), **header))


@pytest.mark.parametrize("token", ["", "a", "a.b", "a.b.c", "a.b.c.d", "W10.e30.x", "é.b.c", "bnVsbA.e30.", ".."])
def test_what_is_no_token(token):
    with pytest.raises(NotAToken):
        verify(token)


def test_the_form_is_looked_at_before_a_key_set_is_asked_for():
    for bad in ("a.b.c", sign(claims(), algorithm="PS256"), sign(claims(), kid=None)):
        with pytest.raises((NotAToken, InvalidToken)):
            verify(bad, keys=None)
    with pytest.raises(KeySetUnavailable):
        verify(sign(claims()), keys=None)


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": NOW - 29},
        {"exp": NOW + 0.5},
        {"nbf": NOW + 30},
        {"nbf": NOW - 1.5},
        {"aud": ["x", AUDIENCE]},
        {"iat": NOW + 10_000, "jti": "1"},
    ],
)
def test_claims_that_pass(changes):
    assert verify(sign(claims(**changes))).role is Role.ADMIN


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": ...},
        {"exp": None},
        {"exp": NOW - 30},
        {"exp": str(NOW + 600)},
        {"exp": True},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"exp": 10**400},
        {"exp": [NOW]},
        {"nbf": NOW + 31},
        {"nbf": None},
        {"nbf": "0"},
        {"iss": ...},
        {"iss": ISSUER + "/"},
        {"aud": ...},
        {"aud": AUDIENCE.upper()},
        {"aud": []},
        {"aud": {"gate": 1}},
        {"aud": [[AUDIENCE]]},
    ],
)
def test_claims_that_do_not(changes):
    with pytest.raises(InvalidToken):
        verify(_sign_anything(claims(**changes)))


def _sign_anything(payload):
    """Sign claims that the library would not encode."""
    import jwt

    return jwt.PyJWS().encode(json.dumps(payload).encode(), issuer_key("rsa"), "RS256", {"kid": "k"})


@pytest.mark.parametrize("payload", [[], "text", 7, None])
def test_claims_that_are_no_object(payload):
    with pytest.raises(InvalidToken):
        verify(_sign_anything(payload))


@pytest.mark.parametrize(
    ("changes", "subject"),
    [
        ({"sub": ..., "email": "a@b"}, "a@b"),
        ({"sub": "", "preferred_username": "al"}, "al"),
        ({"sub": 7}, "unknown"),
    ],
)
def test_subject(changes, subject):
    # The signature and claims of such a token are what counts; its name is for the audit log.
    assert verify(_sign_anything(claims(**changes))).subject == subject


@pytest.mark.parametrize(
    ("changes", "mapping", "role"),
    [
        ({"roles": "ADMIN"}, {}, Role.ADMIN),
        ({"roles": ["user", "Admin"]}, {}, Role.ADMIN),
        ({"roles": ["user", 7, None]}, {}, Role.USER),
        ({"roles": []}, {}, Role.USER),
        ({"roles": None, "role": "admin"}, {}, Role.USER),
        ({"roles": ["user"], "role": "admin"}, {}, Role.USER),
        ({"roles": ..., "role": "user", "group": ["admin"]}, {}, Role.ADMIN),
        ({"roles": ..., "groups": ["x", "admin"]}, {}, Role.ADMIN),
        ({"roles": ...}, {}, Role.USER),
        ({"roles": ["admin"]}, {"Boss": Role.ADMIN}, Role.USER),
        ({"roles": ["Boss"]}, {"Boss": Role.ADMIN}, Role.ADMIN),
        ({"roles": ["boss"]}, {"Boss": Role.ADMIN}, Role.USER),
        ({"roles": ["Staff", "Boss"]}, {"Boss": Role.ADMIN, "Staff": Role.USER}, Role.ADMIN),
    ],
)
def test_role(changes, mapping, role):
    assert verify(sign(claims(**changes)), mapping).role is role


def test_role_mapping():
    assert role_mapping("f", ["Gate.Admin=ADMIN", " Gate.User = user "]) == {
        "Gate.Admin": Role.ADMIN,
        "Gate.User": Role.USER,
    }
    for entry in ("Gate.Admin", "Gate.Admin=root", "a=b=admin", "=admin", ""):
        with pytest.raises(InvalidSetting):
            role_mapping("f", [entry])
    with pytest.raises(InvalidSetting):
        role_mapping("f", ["a=admin", "a=user"])
