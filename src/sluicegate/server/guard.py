"""The guard of the service: from the settings to who may call which route, and the answers to everybody else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from sluicegate.auth.audit import MESSAGE, FailureWarnings, audit_record, printable
from sluicegate.auth.fetch import Fetcher, ForbiddenUrl, KeySetLocation, check_url
from sluicegate.auth.guard import ControlPlaneGuard, Guards, ServingGuard, build_guards
from sluicegate.auth.jwks import KeySetCache, KeySetUnavailable
from sluicegate.auth.jwt import TokenRules, TokenVerifier, role_mapping
from sluicegate.auth.key_files import others_can_read, read_key_file
from sluicegate.auth.keys import ControlPlaneKey, KeyRing, Source, control_plane_keys, serving_keys
from sluicegate.auth.policy import Configuration, Refusal, open_planes
from sluicegate.auth.verdict import Verdict
from sluicegate.core.errors import InvalidSetting
from sluicegate.settings import Settings

from .logs import get_logger
from .request import Request
from .response import ErrorShape, Response, error_response

LONGEST_DISCOVERY_PAUSE = 60.0
"""Seconds between two attempts to find the key set, once the first ones have failed."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Who may call the service, as the settings say. `location` is where the keys of tokens are."""

    configuration: Configuration
    serving: KeyRing[str]
    control_plane: KeyRing[ControlPlaneKey]
    tokens: TokenRules | None
    location: KeySetLocation | None
    warnings: tuple[str, ...]
    """What an operator should know, one line each."""


def read_access_rules(settings: Settings, fetcher: Fetcher | None = None) -> AccessRules:
    """Read keys and rules for tokens. Raises `InvalidSetting`, without any part of a key."""
    files = {
        name: path
        for name in ("api_key_file", "tenant_api_keys_file", "control_plane_api_keys_file")
        if (path := getattr(settings, name)) is not None
    }
    shared = _sources("api_key", settings.api_key, "api_key_file", files)
    tenants = _sources("tenant_api_key", settings.tenant_api_key, "tenant_api_keys_file", files)
    entries = settings.control_plane_api_keys
    control = _sources("control_plane_api_keys", entries, "control_plane_api_keys_file", files)
    tokens, location = _token_rules(settings, fetcher or Fetcher())
    configuration = Configuration(
        shared_key=bool(shared),
        tenant_keys=bool(tenants),
        control_plane_keys=bool(control),
        tokens=tokens is not None,
    )
    warnings = [f"{name}: other users can read '{path}'" for name, path in files.items() if others_can_read(Path(path))]
    warnings += [f"SECURITY POSTURE: {line}" for line in open_planes(configuration, loopback=settings.on_loopback)]
    return AccessRules(
        configuration, serving_keys(shared, tenants), control_plane_keys(control), tokens, location, tuple(warnings)
    )


def _sources(field: str, entries: tuple[str, ...] | None, file_field: str, files: dict[str, str]) -> list[Source]:
    sources: list[Source] = []
    # An empty list of control-plane keys is a mistake that the reader of the keys tells; None means not given.
    if entries or (entries is not None and field == "control_plane_api_keys"):
        sources.append(Source(field, entries))
    if file_field in files:
        sources.append(read_key_file(file_field, Path(files[file_field])))
    return sources


def _token_rules(settings: Settings, fetcher: Fetcher) -> tuple[TokenRules | None, KeySetLocation | None]:
    issuer, audience, url = settings.jwt_issuer, settings.jwt_audience, settings.jwt_jwks_uri
    roles = role_mapping("jwt_role_mapping", settings.jwt_role_mapping)
    for name, value, other, flag in (
        ("jwt_issuer", issuer, audience, "--jwt-audience"),
        ("jwt_audience", audience, issuer, "--jwt-issuer"),
        ("jwt_jwks_uri", url, issuer, "--jwt-issuer"),
    ):
        if value == "":
            raise InvalidSetting(name, value, "must not be empty")
        if value is not None and other is None:
            raise InvalidSetting(name, value, f"needs {flag} beside it")
    if issuer is None or audience is None:
        return None, None
    # Without a configured URL the issuer's own address is fetched, so the same rules hold for it.
    try:
        check_url(url or issuer)
    except ForbiddenUrl as error:
        raise InvalidSetting("jwt_jwks_uri" if url else "jwt_issuer", url or issuer, str(error)) from None
    return TokenRules(issuer, audience, roles), KeySetLocation(fetcher.get, issuer, url)


def build_guard(settings: Settings) -> tuple[ServiceGuard | None, tuple[str, ...]]:
    """The guard that the settings ask for, None if everything is open; and warnings, one line each.

    Raises `InvalidSetting`.
    """
    rules = read_access_rules(settings)
    verifier: TokenVerifier | None = None
    if rules.tokens is not None and rules.location is not None:
        cache = KeySetCache(rules.location.fetch, time.monotonic)
        verifier = TokenVerifier(rules.tokens, cache, time.time)
    guards = build_guards(rules.configuration, rules.serving, rules.control_plane, verifier)
    if guards.serving is None and guards.control_plane is None:
        return None, rules.warnings
    guard = ServiceGuard(guards, location=rules.location, audit=settings.control_plane_audit_enabled)
    return guard, rules.warnings


class ServiceGuard(Collector):
    """Asks the guard of the route's group, answers refusals, and keeps log, audit log and metrics."""

    def __init__(self, guards: Guards, *, location: KeySetLocation | None = None, audit: bool = False) -> None:
        self._guards = guards
        self.immediate = guards.control_plane is None or guards.control_plane.immediate
        """Whether the decision never has to be waited for."""
        self._location = location
        self._audit = audit
        self._warnings = FailureWarnings()
        self._failures: dict[tuple[str, str], int] = {}
        self._answers: dict[tuple[str, ErrorShape], Response] = {}
        self._discovery: asyncio.Task[None] | None = None
        self._log = get_logger()

    # ------------------------------------------------------------ lifecycle

    def start(self) -> None:
        """Begin to look for the key set, if it has to be discovered. Needs a running event loop."""
        if self._location is not None and self._location.needs_discovery:
            self._discovery = asyncio.get_running_loop().create_task(self._discover(self._location))

    async def stop(self) -> None:
        """End what `start` began."""
        if self._discovery is not None:
            self._discovery.cancel()
            await asyncio.gather(self._discovery, return_exceptions=True)

    async def _discover(self, location: KeySetLocation) -> None:
        pause, reported = 1.0, False
        while location.needs_discovery:
            try:
                await location.discover()
            except KeySetUnavailable as error:
                if not reported:
                    self._log.error("key_set_not_found", reason=str(error), consequence="tokens are answered with 503")
                reported = True
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_DISCOVERY_PAUSE)

    # ------------------------------------------------------------ requests

    def __call__(self, request: Request) -> Response | Awaitable[Response | None] | None:
        """The refusal of the request, or None. Sets `request.tenant`."""
        guard = self._guards.serving if request.route.group == "serving" else self._guards.control_plane
        if guard is None:
            return None
        authorization = request.headers.get(b"authorization")
        verdict = guard.check(request.method, authorization)
        if verdict is not None:
            return self._conclude(guard, request, verdict)
        return self._verify(guard, request, authorization)

    async def _verify(
        self, guard: ServingGuard | ControlPlaneGuard, request: Request, authorization: bytes | None
    ) -> Response | None:
        return self._conclude(guard, request, await guard.verify(request.method, authorization))

    def _conclude(self, guard: ServingGuard | ControlPlaneGuard, request: Request, verdict: Verdict) -> Response | None:
        if self._audit and guard.audited:
            request.verdict = verdict
        refusal = verdict.refusal
        if refusal is None:
            if verdict.tenant is not None:
                request.tenant = f"auth:{verdict.tenant}"
            return None
        counted = (verdict.group.value, refusal.reason)
        self._failures[counted] = self._failures.get(counted, 0) + 1
        if self._warnings.is_due(request.peer, request.started):
            self._log.warning(
                "credential_refused",
                group=verdict.group.value,
                peer=request.peer,
                path=printable(request.path),
                status=refusal.status,
                reason=printable(verdict.details),
                request_id=request.request_id.decode(),
            )
        return self._answer(refusal, "api" if refusal.serving_shape else request.route.shape)

    def _answer(self, refusal: Refusal, shape: ErrorShape) -> Response:
        response = self._answers.get((refusal.code + refusal.reason, shape))
        if response is None:
            headers: list[tuple[bytes, bytes]] = []
            if refusal.challenge is not None:
                headers.append((b"www-authenticate", refusal.challenge.encode()))
            if refusal.retry_after is not None:
                headers.append((b"retry-after", b"%d" % refusal.retry_after))
            response = error_response(shape, refusal.status, refusal.code, refusal.message, headers=tuple(headers))
            self._answers[refusal.code + refusal.reason, shape] = response
        return response

    def answered(self, request: Request, response: Response) -> None:
        """Write the audit record of a request that the guard of the control plane was asked about."""
        if request.verdict is not None:
            record = audit_record(
                request.verdict,
                method=request.method,
                path=request.path,
                status=response.status,
                request_id=request.request_id.decode(),
            )
            # `method` and `path` are values of the record, not parameters of the logger.
            self._log.info(MESSAGE, **record)

    # ------------------------------------------------------------ metrics

    def collect(self) -> Iterable[Metric]:
        """The numbers as Prometheus wants them."""
        failures = CounterMetricFamily(
            "smg_auth_failures", "Refused credentials by group of routes and reason.", labels=["group", "reason"]
        )
        for labels, number in list(self._failures.items()):
            failures.add_metric(labels, number)
        yield failures
