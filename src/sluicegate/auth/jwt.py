"""Verification of JSON Web Tokens (RFC 7519): header, signature, claims, role.

Keys come from the configured key set only, whatever the token's header says. The caller is never told why a token was
refused; the reason is for the log and the audit record.
"""

from __future__ import annotations

import binascii
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import jwt
from jwt.utils import base64url_decode

from sluicegate.auth.jwks import ALGORITHMS, KeySetCache
from sluicegate.auth.keys import Role
from sluicegate.core.errors import InvalidSetting

LEEWAY = 30.0
"""Seconds by which clocks may differ."""

_FALLBACK_ROLE_CLAIMS = ("role", "groups", "group")
_SUBJECT_CLAIMS = ("sub", "email", "preferred_username")


class NotAToken(ValueError):
    """The text does not have the form of a JSON Web Token."""


class InvalidToken(ValueError):
    """The token is refused; the message is the reason, for the log only."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a verified token names."""

    subject: str
    role: Role


@dataclass(frozen=True, slots=True)
class TokenRules:
    """What a token must say. `roles` maps the issuer's roles to ours; empty: `admin` and `user` count, in any case."""

    issuer: str
    audience: str
    roles: Mapping[str, Role]


def role_mapping(field: str, entries: Iterable[str]) -> dict[str, Role]:
    """Read entries `idp=role`. Raises `InvalidSetting`."""
    mapping: dict[str, Role] = {}
    for entry in entries:
        theirs, equals, ours = entry.partition("=")
        role = Role.named(ours)
        if not equals or "=" in ours:
            raise InvalidSetting(field, entry, "an entry must be idp=role, with one '='")
        if role is None:
            raise InvalidSetting(field, entry, "the role after '=' must be admin or user")
        if not theirs.strip():
            raise InvalidSetting(field, entry, "there is no role of the issuer before '='")
        if mapping.setdefault(theirs.strip(), role) is not role:
            raise InvalidSetting(field, entry, "this role of the issuer is already mapped to another one")
    return mapping


class TokenVerifier:
    """Verifies tokens against the current key set. `clock` gives seconds since 1970."""

    def __init__(self, rules: TokenRules, keys: KeySetCache, clock: Callable[[], float]) -> None:
        self._rules = rules
        self._keys = keys
        self._clock = clock
        self._signatures = jwt.PyJWS(algorithms=ALGORITHMS)

    async def verify(self, token: str) -> Identity:
        """Return whom the token names.

        Raises `NotAToken`, `InvalidToken`, or `KeySetUnavailable` when no key set can be had.
        """
        key_id, algorithm = _read_header(token)
        keys = await self._keys.keys_for(key_id)
        candidates = keys.candidates(key_id, algorithm)
        if not candidates:
            raise InvalidToken(f"kid {key_id!r}: {keys.reason(key_id, algorithm)}")
        for candidate in candidates:
            try:
                payload = self._signatures.decode_complete(token, candidate.key, algorithms=[algorithm])["payload"]
            except (jwt.PyJWTError, ValueError):
                continue
            return self._identity(_json_object(payload, "claims"))
        raise InvalidToken("the signature does not verify")

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        now = self._clock()
        expires, not_before = _seconds(claims, "exp"), _seconds(claims, "nbf")
        if expires is None:
            raise InvalidToken("claim exp is missing")
        if expires + LEEWAY <= now:
            raise InvalidToken("the token has expired")
        if not_before is not None and not_before - LEEWAY > now:
            raise InvalidToken("the token is not valid yet")
        if claims.get("iss") != self._rules.issuer:
            raise InvalidToken("claim iss is not the configured issuer")
        if self._rules.audience not in _texts(claims.get("aud")):
            raise InvalidToken("claim aud does not hold the configured audience")
        return Identity(_subject(claims), _role(claims, self._rules.roles))


def _read_header(token: str) -> tuple[str, str]:
    """Return key id and algorithm."""
    parts = token.split(".")
    if len(parts) != 3:
        raise NotAToken("a token has three parts")
    try:
        header = _json_object(base64url_decode(parts[0]), "header")
    except (binascii.Error, ValueError):
        raise NotAToken("the header is not JSON in base64url") from None
    key_id, algorithm = header.get("kid"), header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise InvalidToken("the algorithm is not accepted")
    if "crit" in header:
        raise InvalidToken("the header has crit")
    if not isinstance(key_id, str):
        raise InvalidToken("the header has no kid")
    return key_id, algorithm


def _json_object(text: bytes, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidToken(f"the {what} is not a JSON object")
    return cast("dict[str, Any]", value)


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    """Return a NumericDate, or None if the claim is absent."""
    if name not in claims:
        return None
    value = claims[name]
    try:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InvalidToken(f"claim {name} is not a number")
        return float(value)
    except OverflowError:
        raise InvalidToken(f"claim {name} is out of range") from None


def _subject(claims: Mapping[str, Any]) -> str:
    for name in _SUBJECT_CLAIMS:
        value = claims.get(name)
        if isinstance(value, str) and value:
            return value
    return "unknown"


def _role(claims: Mapping[str, Any], mapping: Mapping[str, Role]) -> Role:
    sources = ("roles",) if "roles" in claims else _FALLBACK_ROLE_CLAIMS
    named = [name for source in sources for name in _texts(claims.get(source))]
    found = [mapping.get(name) if mapping else Role.__members__.get(name.upper()) for name in named]
    return max((role for role in found if role is not None), default=Role.USER)


def _texts(value: object) -> list[str]:
    entries = cast("list[object]", value) if isinstance(value, list) else [value]
    return [entry for entry in entries if isinstance(entry, str)]
