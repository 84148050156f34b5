"""Key sets of a token issuer (RFC 7517): which of their keys may verify tokens, and when a set is fetched anew."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384")
LIFETIME = 3600.0
"""Seconds after which a set is fetched anew."""
REFRESH_PAUSE = 60.0
"""Least seconds between two attempts while there is a set."""
RETRY_PAUSE = 1.0
"""Least seconds between two attempts while there is none."""
LEAST_RSA_BITS = 2048

_CURVES = {"P-256": "ES256", "P-384": "ES384"}


class InvalidKeySet(ValueError):
    """The document is no key set."""


class KeySetUnavailable(Exception):
    """No key set can be had just now. The message says why, for the log."""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A key that may verify tokens, and the one algorithm it is for."""

    algorithm: str
    key: jwt.PyJWK


class KeySet:
    """The keys of one document by their id. Keys that may not verify tokens are known by the reason."""

    def __init__(self, keys: dict[str, list[VerificationKey]], unusable: dict[str, str]) -> None:
        self._keys = keys
        self._unusable = unusable

    def __contains__(self, key_id: str) -> bool:
        return key_id in self._keys or key_id in self._unusable

    def candidates(self, key_id: str, algorithm: str) -> list[VerificationKey]:
        """Return the keys with this id that are for this algorithm."""
        return [key for key in self._keys.get(key_id, ()) if key.algorithm == algorithm]

    def reason(self, key_id: str, algorithm: str) -> str:
        """Say why there is no candidate."""
        if key_id in self._keys:
            return f"the key is not for {algorithm}"
        return self._unusable.get(key_id, "the key id is not in the key set")


class _Document(msgspec.Struct):
    keys: list[dict[str, Any]]


def read_key_set(document: bytes) -> KeySet:
    """Read a key set. Keys that cannot verify tokens are left out; a document that is no set raises `InvalidKeySet`."""
    try:
        content = msgspec.json.decode(document, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidKeySet("the document is not a JSON object with a list 'keys' of objects") from None
    keys: dict[str, list[VerificationKey]] = {}
    unusable: dict[str, str] = {}
    for entry in content.keys:
        key_id = entry.get("kid")
        if not isinstance(key_id, str):
            continue
        try:
            keys.setdefault(key_id, []).append(_verification_key(entry))
        except InvalidKeySet as error:
            unusable[key_id] = str(error)
    return KeySet({key_id: found for key_id, found in keys.items() if found}, unusable)


def _verification_key(entry: dict[str, Any]) -> VerificationKey:
    if entry.get("use", "sig") != "sig":
        raise InvalidKeySet("the key's use is not sig")
    operations = entry.get("key_ops")
    if operations is not None and not (isinstance(operations, list) and "verify" in operations):
        raise InvalidKeySet("the key's key_ops do not hold verify")
    kind, curve = entry.get("kty"), entry.get("crv")
    members: tuple[str, ...]
    allowed: tuple[str, ...]
    if kind == "RSA":
        natural, members = "RS256", ("kty", "n", "e")
        allowed = ("RS256", "RS384", "RS512")
    elif kind == "EC" and isinstance(curve, str) and curve in _CURVES:
        natural, members = _CURVES[curve], ("kty", "crv", "x", "y")
        allowed = (natural,)
    else:
        raise InvalidKeySet("the key is neither RSA nor of the curve P-256 or P-384")
    algorithm = entry.get("alg", natural)
    if algorithm not in allowed:
        raise InvalidKeySet("the key's alg does not suit the key or is not accepted")
    try:
        # Public members only: with a private one among them the library would make a private key.
        key = jwt.PyJWK({name: entry[name] for name in members}, algorithm)
    except (jwt.PyJWTError, KeyError, ValueError, TypeError, AttributeError):
        raise InvalidKeySet("the key's numbers cannot be read") from None
    if isinstance(key.key, RSAPublicKey) and key.key.key_size < LEAST_RSA_BITS:
        raise InvalidKeySet(f"the key has fewer than {LEAST_RSA_BITS} bits")
    return VerificationKey(algorithm, key)


class KeySetCache:
    """The current key set of the issuer.

    `fetch` gets a new set and raises `KeySetUnavailable` when it cannot; `clock` gives seconds that only grow.
    One fetch is in the air at a time, everybody who needs it waits for it. A set whose renewal fails stays in use.
    """

    def __init__(self, fetch: Callable[[], Awaitable[KeySet]], clock: Callable[[], float]) -> None:
        self._fetch = fetch
        self._clock = clock
        self._keys: KeySet | None = None
        self._fetched_at = 0.0
        self._attempted_at: float | None = None
        self._problem = "no key set has been fetched yet"
        self._attempt: asyncio.Task[None] | None = None

    async def keys_for(self, key_id: str) -> KeySet:
        """Return the set to look `key_id` up in, fetched anew if it has to be.

        Raises `KeySetUnavailable` if there is none.
        """
        if self._keys is None:
            await self._try(RETRY_PAUSE)
        elif key_id not in self._keys or self._clock() - self._fetched_at >= LIFETIME:
            await self._try(REFRESH_PAUSE)
        if self._keys is None:
            raise KeySetUnavailable(self._problem)
        return self._keys

    async def _try(self, pause: float) -> None:
        if self._attempt is None:
            if self._attempted_at is not None and self._clock() - self._attempted_at < pause:
                return
            self._attempted_at = self._clock()
            self._attempt = asyncio.create_task(self._renew())
        # A client that goes away must not take the fetch of the others with it.
        await asyncio.shield(self._attempt)

    async def _renew(self) -> None:
        try:
            self._keys = await self._fetch()
            self._fetched_at = self._clock()
        except KeySetUnavailable as error:
            self._problem = str(error)
        except Exception as error:  # whatever else goes wrong closes the guard, too
            self._problem = f"the key set cannot be fetched: {type(error).__name__}"
        finally:
            self._attempt = None
