"""The guard: looks at the credential of a request and asks the policy.

`ServingGuard` and `ControlPlaneGuard` exist only where something is guarded; an open plane has None in their place and
costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate.auth.bearer import bearer_token
from sluicegate.auth.jwks import KeySetUnavailable
from sluicegate.auth.jwt import Identity, InvalidToken, NotAToken, TokenVerifier
from sluicegate.auth.keys import SHARED_TENANT, ControlPlaneKey, KeyRing, Role
from sluicegate.auth.policy import Configuration, Group, Presented, decide
from sluicegate.auth.verdict import Verdict


class ServingGuard:
    """Guards routes by the shared key and the tenant keys: the serving routes, and the control plane without its own.

    `ring` holds all of these keys, also those that this group of routes does not accept.
    """

    audited = False
    immediate = True

    def __init__(self, configuration: Configuration, ring: KeyRing[str], group: Group = Group.SERVING) -> None:
        self._ring = ring
        self._group = group
        refusals = {presented: decide(configuration, group, "POST", presented) for presented in Presented}
        self._missing = Verdict(group, refusals[Presented.NOTHING], details="no usable Authorization header")
        self._unknown = Verdict(group, refusals[Presented.UNKNOWN], details="unknown key")
        self._shared = Verdict(group, refusals[Presented.SHARED_KEY], tenant=SHARED_TENANT, method="api_key")
        self._tenant_refusal = refusals[Presented.TENANT_KEY]

    async def verify(self, method: str, authorization: bytes | None) -> Verdict:
        """Judge like `check`: there is nothing to wait for."""
        return self.check(method, authorization)

    def check(self, method: str, authorization: bytes | None) -> Verdict:
        """Judge a request by its `Authorization` header value; `method` makes no difference here."""
        del method
        token = bearer_token(authorization)
        if token is None:
            return self._missing
        owner = self._ring.owner(token)
        if owner is None:
            return self._unknown
        if owner == SHARED_TENANT:
            return self._shared
        details = "" if self._tenant_refusal is None else "tenant keys do not open these routes"
        return Verdict(self._group, self._tenant_refusal, tenant=owner, method="api_key", details=details)


class ControlPlaneGuard:
    """Guards the control plane by its own keys and by tokens."""

    audited = True

    def __init__(
        self, configuration: Configuration, ring: KeyRing[ControlPlaneKey], verifier: TokenVerifier | None
    ) -> None:
        self._configuration = configuration
        self._ring = ring
        self._verifier = verifier

    @property
    def immediate(self) -> bool:
        """Whether `check` always has the answer."""
        return self._verifier is None

    def check(self, method: str, authorization: bytes | None) -> Verdict | None:
        """Judge a request by its `Authorization` header value, or return None if `verify` has to."""
        token = bearer_token(authorization)
        if token is None:
            return self._verdict(method, Presented.NOTHING, details="missing or malformed Authorization header")
        key = self._ring.owner(token)
        if key is not None:
            presented = Presented.ADMIN_KEY if key.role is Role.ADMIN else Presented.USER_KEY
            return self._verdict(method, presented, key=key)
        if self._verifier is None:
            return self._verdict(method, Presented.UNKNOWN, details="unknown key")
        return None

    async def verify(self, method: str, authorization: bytes | None) -> Verdict:
        """Judge a request for which `check` has returned None: its credential may be a token."""
        token = bearer_token(authorization)
        if token is None or self._verifier is None:
            return self._verdict(method, Presented.NOTHING, details="missing or malformed Authorization header")
        try:
            identity = await self._verifier.verify(token)
        except NotAToken:
            return self._verdict(method, Presented.UNKNOWN, details="neither a known key nor a token")
        except InvalidToken as error:
            return self._verdict(method, Presented.UNKNOWN, details=str(error))
        except KeySetUnavailable as error:
            return self._verdict(method, Presented.UNVERIFIABLE_TOKEN, details=str(error))
        presented = Presented.ADMIN_TOKEN if identity.role is Role.ADMIN else Presented.USER_TOKEN
        return self._verdict(method, presented, identity=identity)

    def _verdict(
        self,
        method: str,
        presented: Presented,
        *,
        key: ControlPlaneKey | None = None,
        identity: Identity | None = None,
        details: str = "",
    ) -> Verdict:
        refusal = decide(self._configuration, Group.CONTROL_PLANE, method, presented)
        if refusal is not None and not details:
            details = "role too low"
        if key is not None:
            return Verdict(Group.CONTROL_PLANE, refusal, key.id, "api_key", key.role, details)
        if identity is not None:
            return Verdict(Group.CONTROL_PLANE, refusal, identity.subject, "jwt", identity.role, details)
        return Verdict(Group.CONTROL_PLANE, refusal, details=details)


@dataclass(frozen=True, slots=True)
class Guards:
    """The guards of both groups of routes; None where a group is open."""

    serving: ServingGuard | None
    control_plane: ServingGuard | ControlPlaneGuard | None


def build_guards(
    configuration: Configuration,
    serving: KeyRing[str],
    control_plane: KeyRing[ControlPlaneKey],
    verifier: TokenVerifier | None,
) -> Guards:
    """Make the guards that the configuration asks for."""
    serving_guard = ServingGuard(configuration, serving) if configuration.serving_guarded else None
    if configuration.control_plane_roles:
        return Guards(serving_guard, ControlPlaneGuard(configuration, control_plane, verifier))
    if configuration.serving_guarded:
        return Guards(serving_guard, ServingGuard(configuration, serving, Group.CONTROL_PLANE))
    return Guards(None, None)
