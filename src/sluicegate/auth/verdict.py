"""What the guard says about one request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sluicegate.auth.keys import Role
from sluicegate.auth.policy import Group, Refusal

Method = Literal["api_key", "jwt", "none"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Admitted if `refusal` is None."""

    group: Group
    refusal: Refusal | None = None
    principal: str = "unauthenticated"
    """Id of the key, subject of the token, or `unauthenticated`."""
    method: Method = "none"
    """How the principal was established."""
    role: Role | None = None
    details: str = ""
    """Reason, for log and audit record; never shown to the caller."""
    tenant: str | None = None
    """Tenant name of the presented serving key."""
