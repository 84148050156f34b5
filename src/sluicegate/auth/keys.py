"""Keys of the service: who may present them, how they are written in the settings, how they are compared.

A key is held as its SHA-256 digest only. Errors name the setting and the rule, never an entry, because an entry holds a
secret.
"""

from __future__ import annotations

import enum
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Generic, TypeVar

from sluicegate.core.errors import InvalidSetting

SHARED_TENANT = "shared"
"""Tenant name of requests that carry the shared key; no tenant key may use it."""


class Role(enum.IntEnum):
    """What the bearer of a control-plane credential may do; a higher number may do more."""

    USER = 1
    """Read: GET and HEAD."""
    ADMIN = 2
    """Every method."""

    @classmethod
    def named(cls, name: str) -> Role | None:
        """Return the role of this name, in any case, or None."""
        return cls.__members__.get(name.strip().upper())


@dataclass(frozen=True, slots=True)
class ControlPlaneKey:
    """Owner of a control-plane key; the key itself is not here."""

    id: str
    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class Source:
    """Entries of one setting from one place (flag, file or environment variable)."""

    field: str
    """Name of the setting, for errors."""
    entries: Sequence[str]


Owner = TypeVar("Owner")


class KeyRing(Generic[Owner]):
    """Keys and their owners. Looking a key up takes the same time whether and wherever it is found."""

    def __init__(self) -> None:
        self._owners: dict[bytes, Owner] = {}

    def __len__(self) -> int:
        return len(self._owners)

    def add(self, key: str, owner: Owner) -> Owner | None:
        """Add `key` for `owner`, or return the owner that already has it."""
        digest = sha256(key.encode()).digest()
        present = self._owners.get(digest)
        if present is None:
            self._owners[digest] = owner
        return present

    def owner(self, key: str) -> Owner | None:
        """Return the owner of `key`, or None."""
        presented = sha256(key.encode()).digest()
        found: Owner | None = None
        for digest, owner in self._owners.items():
            if hmac.compare_digest(digest, presented):
                found = owner
        return found


def serving_keys(shared: Iterable[Source], tenants: Iterable[Source]) -> KeyRing[str]:
    """Build the ring of the serving keys; an owner is a tenant name (`SHARED_TENANT` for the shared key).

    Entries of `shared` are keys, entries of `tenants` are `TENANT:KEY`. Raises `InvalidSetting`.
    """
    ring: KeyRing[str] = KeyRing()
    for source in shared:
        _add_all(ring, source, ((_usable_key(source.field, entry), SHARED_TENANT) for entry in source.entries))
    for source in tenants:
        _add_all(ring, source, (_tenant_entry(source.field, entry) for entry in source.entries))
    return ring


def control_plane_keys(sources: Iterable[Source]) -> KeyRing[ControlPlaneKey]:
    """Build the ring of the control-plane keys from entries `id:name:role:key`. Raises `InvalidSetting`."""
    ring: KeyRing[ControlPlaneKey] = KeyRing()
    for source in sources:
        if not source.entries:
            raise _refused(source.field, "needs at least one entry id:name:role:key")
        _add_all(ring, source, (_control_plane_entry(source.field, entry) for entry in source.entries))
    return ring


def _add_all(ring: KeyRing[Owner], source: Source, entries: Iterable[tuple[str, Owner]]) -> None:
    here: set[bytes] = set()
    for key, owner in entries:
        digest = sha256(key.encode()).digest()
        present = ring.add(key, owner)
        # The same entry from two places says the same thing twice; anything else is a mistake.
        if digest in here or (present is not None and present != owner):
            raise _refused(source.field, "one key value is given twice; every key must be unique")
        here.add(digest)


def _tenant_entry(field: str, entry: str) -> tuple[str, str]:
    tenant, colon, key = entry.partition(":")
    tenant = tenant.strip()
    if not colon:
        raise _refused(field, "an entry must be TENANT:KEY")
    if not tenant:
        raise _refused(field, "an entry has no tenant before the first ':'")
    if tenant == SHARED_TENANT:
        raise _refused(field, f"the tenant name '{SHARED_TENANT}' is reserved for the shared key")
    return _usable_key(field, key), tenant


def _control_plane_entry(field: str, entry: str) -> tuple[str, ControlPlaneKey]:
    parts = entry.split(":", 3)
    if len(parts) != 4:
        raise _refused(field, "an entry must be id:name:role:key")
    identity, name, role_name, key = parts
    role = Role.named(role_name)
    if role is None:
        raise _refused(field, "the role of an entry id:name:role:key must be admin or user")
    return _usable_key(field, key), ControlPlaneKey(identity.strip(), name.strip(), role)


def _usable_key(field: str, key: str) -> str:
    key = key.strip()
    if not key:
        raise _refused(field, "a key is empty")
    if not (key.isascii() and key.isprintable()):
        raise _refused(field, "a key has characters that an Authorization header cannot carry; use visible ASCII")
    return key


def _refused(field: str, reason: str) -> InvalidSetting:
    return InvalidSetting(field, InvalidSetting.HIDDEN, reason)
