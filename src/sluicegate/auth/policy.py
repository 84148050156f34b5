"""Who may do what: the whole decision table of the service as one pure function, and the six refusals."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Group(enum.Enum):
    """Kind of a route, by what guards it."""

    SERVING = "serving"
    CONTROL_PLANE = "control_plane"
    PUBLIC = "public"


class Presented(enum.Enum):
    """What a request presents. A key or token counts as what it would be under its own setting."""

    NOTHING = enum.auto()
    """No `Authorization` header, or a malformed one."""
    SHARED_KEY = enum.auto()
    TENANT_KEY = enum.auto()
    ADMIN_KEY = enum.auto()
    USER_KEY = enum.auto()
    ADMIN_TOKEN = enum.auto()
    USER_TOKEN = enum.auto()
    UNVERIFIABLE_TOKEN = enum.auto()
    """A JSON Web Token while no key set can be had: it may be good."""
    UNKNOWN = enum.auto()


@dataclass(frozen=True, slots=True)
class Configuration:
    """Which credentials the service is configured with."""

    shared_key: bool = False
    tenant_keys: bool = False
    control_plane_keys: bool = False
    tokens: bool = False

    @property
    def serving_guarded(self) -> bool:
        """Whether serving routes ask for a key."""
        return self.shared_key or self.tenant_keys

    @property
    def control_plane_roles(self) -> bool:
        """Whether the control plane has credentials of its own, with roles."""
        return self.control_plane_keys or self.tokens

    @property
    def control_plane_guarded(self) -> bool:
        """Whether control-plane routes ask for a credential; tenant keys alone close them to everybody."""
        return self.control_plane_roles or self.serving_guarded


@dataclass(frozen=True, slots=True)
class Refusal:
    """Answer to a request that the guard does not admit. `challenge` is the `WWW-Authenticate` value."""

    status: int
    code: str
    message: str
    reason: str
    """Label of the metric of failed credentials."""
    challenge: str | None = None
    retry_after: int | None = None
    """Seconds."""
    serving_shape: bool = False
    """Whether the body has the shape of the serving routes whatever the path."""


MISSING_KEY = Refusal(
    401,
    "invalid_api_key",
    "Missing API key: send it as `Authorization: Bearer <key>`",
    "missing",
    'Bearer realm="data-plane"',
    serving_shape=True,
)
INVALID_KEY = Refusal(
    401,
    "invalid_api_key",
    "Invalid API key",
    "invalid",
    'Bearer realm="data-plane", error="invalid_token"',
    serving_shape=True,
)
MISSING_TOKEN = Refusal(
    401,
    "missing_token",
    "Missing or malformed Authorization header: send `Authorization: Bearer <token>`",
    "missing",
    'Bearer realm="control-plane"',
)
INVALID_TOKEN = Refusal(
    401,
    "invalid_token",
    "Invalid authentication token",
    "invalid",
    'Bearer realm="control-plane", error="invalid_token"',
)
ROLE_TOO_LOW = Refusal(
    403,
    "insufficient_role",
    "Admin role required for this control plane operation",
    "role",
    'Bearer realm="control-plane", error="insufficient_scope"',
)
UNAVAILABLE = Refusal(
    503,
    "token_verification_unavailable",
    "Token verification is temporarily unavailable",
    "unavailable",
    retry_after=5,
)


def decide(configuration: Configuration, group: Group, method: str, presented: Presented) -> Refusal | None:
    """Return why the request is refused, or None if it is admitted. `method` is the HTTP method in upper case."""
    if group is Group.PUBLIC:
        return None
    if group is Group.SERVING:
        return _decide_serving(configuration, presented) if configuration.serving_guarded else None
    if configuration.control_plane_roles:
        return _decide_by_role(configuration, method, presented)
    if configuration.serving_guarded:
        # Without credentials of its own the control plane takes the shared key; tenants never get there.
        return _decide_serving(Configuration(shared_key=configuration.shared_key), presented)
    return None


def _decide_serving(configuration: Configuration, presented: Presented) -> Refusal | None:
    if presented is Presented.NOTHING:
        return MISSING_KEY
    if presented is Presented.SHARED_KEY and configuration.shared_key:
        return None
    if presented is Presented.TENANT_KEY and configuration.tenant_keys:
        return None
    return INVALID_KEY


def _decide_by_role(configuration: Configuration, method: str, presented: Presented) -> Refusal | None:
    if presented is Presented.NOTHING:
        return MISSING_TOKEN
    accepted = {
        Presented.ADMIN_KEY: configuration.control_plane_keys,
        Presented.USER_KEY: configuration.control_plane_keys,
        Presented.ADMIN_TOKEN: configuration.tokens,
        Presented.USER_TOKEN: configuration.tokens,
        Presented.UNVERIFIABLE_TOKEN: configuration.tokens,
    }
    if not accepted.get(presented, False):
        return INVALID_TOKEN
    if presented is Presented.UNVERIFIABLE_TOKEN:
        return UNAVAILABLE
    if presented in (Presented.USER_KEY, Presented.USER_TOKEN) and method not in ("GET", "HEAD"):
        return ROLE_TOO_LOW
    return None


def open_planes(configuration: Configuration, *, loopback: bool) -> list[str]:
    """Return one warning for each way in which the service is open to whoever can reach it.

    `loopback`: whether the service listens on a loopback address only.
    """
    if not configuration.control_plane_guarded:
        if loopback:
            return []
        return ["no credential is configured and the address is not loopback: every route is open to the network"]
    if not configuration.serving_guarded:
        return ["serving routes are open: only control-plane credentials are configured; set --api-key to close them"]
    return []
