"""Key sets: which keys count, and when a set is fetched."""

import asyncio
import json

import pytest

from sluicegate.auth.jwks import (
    LIFETIME,
    REFRESH_PAUSE,
    RETRY_PAUSE,
    InvalidKeySet,
    KeySetCache,
    KeySetUnavailable,
    read_key_set,
)
from tests.support.tokens import issuer_key, public_jwk


def key_set(*entries):
    return read_key_set(json.dumps({"keys": entries}).encode())


def jwk(name="rsa", **members):
    return {"kid": "k", **public_jwk(issuer_key(name)), **members}


@pytest.mark.parametrize(
    ("entry", "algorithm"),
    [
        (jwk(), "RS256"),
        (jwk(alg="RS384"), "RS384"),
        (jwk(alg="RS512", use="sig", key_ops=["sign", "verify"]), "RS512"),
        (jwk("p256"), "ES256"),
        (jwk("p384", alg="ES384"), "ES384"),
    ],
)
def test_keys_that_verify(entry, algorithm):
    keys = key_set(entry)
    assert [key.algorithm for key in keys.candidates("k", algorithm)] == [algorithm]
    other = "ES256" if algorithm != "ES256" else "RS256"
    assert keys.candidates("k", other) == []


@pytest.mark.parametrize(
    "entry",
    [
        jwk(use="enc"),
        jwk(key_ops=["sign"]),
        jwk(key_ops="verify"),
        jwk(alg="PS256"),
        jwk(alg="HS256"),
        jwk(alg="ES256"),
        jwk(alg=None),
        jwk("p256", alg="ES384"),
        jwk("small"),
        jwk("ed25519"),
        {"kid": "k", "kty": "oct", "k": "c2VjcmV0"},
        {"kid": "k", "kty": "RSA", "n": "AQAB"},
        {"kid": "k", "kty": "RSA", "n": 1, "e": []},
        {"kid": "k", "kty": "EC", "crv": ["P-256"], "x": "", "y": ""},
        {"kid": "k", "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kid": "k"},
    ],
)
def test_keys_that_do_not_verify_are_known_by_their_reason(entry):
    keys = key_set(entry)
    assert "k" in keys
    assert not any(keys.candidates("k", algorithm) for algorithm in ("RS256", "RS384", "RS512", "ES256", "ES384"))
    assert keys.reason("k", "RS256") != keys.reason("other", "RS256")


def test_one_bad_key_does_not_spoil_the_set():
    keys = key_set({"kty": "RSA"}, {"kid": 1}, jwk(use="enc", kid="a"), jwk(kid="b"))
    assert "a" in keys
    assert keys.candidates("b", "RS256")


def test_private_members_are_left_out():
    private = jwk(d="AQAB", p="AQ", q="AQ")
    assert not hasattr(key_set(private).candidates("k", "RS256")[0].key.key, "private_numbers")


@pytest.mark.parametrize(
    "document", [b"", b"no key set", b"[]", b"{}", b'{"keys": {}}', b'{"keys": [1]}', b"\xff", b"[" * 9000]
)
def test_what_is_no_key_set(document):
    with pytest.raises(InvalidKeySet):
        read_key_set(document)


class Issuer:
    """Gives the sets it is told to give, and counts how often it is asked."""

    def __init__(self):
        self.keys = key_set(jwk(kid="a"))
        self.down = False
        self.asked = 0
        self.answers = asyncio.Event()
        self.answers.set()

    async def fetch(self):
        self.asked += 1
        await self.answers.wait()
        if self.down:
            raise KeySetUnavailable("down")
        return self.keys


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def run(scenario):
    async def main():
        issuer, clock = Issuer(), Clock()
        await scenario(issuer, clock, KeySetCache(issuer.fetch, clock))

    asyncio.run(main())


def test_a_set_is_used_for_its_lifetime():
    async def scenario(issuer, clock, cache):
        for _ in range(3):
            assert "a" in await cache.keys_for("a")
            clock.now += LIFETIME / 4
        assert issuer.asked == 1
        clock.now += LIFETIME / 4
        await cache.keys_for("a")
        assert issuer.asked == 2

    run(scenario)


def test_an_unknown_key_id_asks_again_at_most_once_a_minute():
    async def scenario(issuer, clock, cache):
        assert "b" not in await cache.keys_for("b")
        assert issuer.asked == 1  # the first fetch was an attempt, too
        issuer.keys = key_set(jwk(kid="b"))
        clock.now += REFRESH_PAUSE - 0.1
        assert "b" not in await cache.keys_for("b")
        clock.now += 0.1
        assert "b" in await cache.keys_for("b")
        assert issuer.asked == 2

    run(scenario)


def test_cached_keys_go_on_working_when_the_issuer_is_down():
    async def scenario(issuer, clock, cache):
        await cache.keys_for("a")
        issuer.down = True
        for _ in range(5):
            clock.now += LIFETIME
            assert "a" in await cache.keys_for("a")
            assert "a" in await cache.keys_for("a")
        assert issuer.asked == 6  # one failed attempt each, not one per token

    run(scenario)


def test_without_a_set_every_token_tries_at_most_once_a_second():
    async def scenario(issuer, clock, cache):
        issuer.down = True
        for _ in range(3):
            with pytest.raises(KeySetUnavailable, match="down"):
                await cache.keys_for("a")
        assert issuer.asked == 1
        issuer.down = False
        clock.now += RETRY_PAUSE
        assert "a" in await cache.keys_for("a")
        assert issuer.asked == 2

    run(scenario)


def test_a_fault_nobody_thought_of_closes_the_guard():
    async def scenario(issuer, clock, cache):
        issuer.keys = None
        issuer.fetch = None
        broken = KeySetCache(lambda: 1 / 0, clock)
        with pytest.raises(KeySetUnavailable, match="ZeroDivisionError"):
            await broken.keys_for("a")

    run(scenario)


def test_one_fetch_at_a_time_and_it_outlives_the_client_that_caused_it():
    async def scenario(issuer, clock, cache):
        issuer.answers.clear()
        first, second = (asyncio.create_task(cache.keys_for("a")) for _ in range(2))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        issuer.answers.set()
        assert "a" in await second
        assert first.cancelled()
        assert issuer.asked == 1

    run(scenario)
