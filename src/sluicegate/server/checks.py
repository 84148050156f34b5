"""What can be said about a service before it starts: whether it would, and what is open to whom."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from sluicegate.admission.scheduler import Scheduler
from sluicegate.auth.jwks import KeySetUnavailable
from sluicegate.core.errors import InvalidSetting
from sluicegate.settings import Settings
from sluicegate.tokenizers.store import TokenizerStore

from .admission import ServiceAdmission, build_admission
from .guard import AccessRules, read_access_rules
from .identifiers import new_identifier
from .jobs import JobQueue
from .listeners import bind, tls_context
from .loading import LocalLoader, allowed_roots
from .metrics import Metrics
from .startup import Startup
from .state import ServiceState
from .tokenizer_jobs import TokenizerJobs

Verdict = Literal["ok", "note", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. An `error` keeps the service from starting, or from being ready."""

    verdict: Verdict
    subject: str
    text: str


def check_service(settings: Settings) -> Iterator[Finding]:
    """Check everything that the service needs to start, in the order in which an operator sets it up."""
    yield from _guarded("keys", lambda: _keys(read_access_rules(settings)))
    yield from _guarded("admission", lambda: _admission(settings))
    yield from _processes(settings)
    yield from _guarded("tls", lambda: _tls(settings))
    yield from _ports(settings)
    yield from _guarded("tokenizers", lambda: _tokenizers(settings))


def _guarded(subject: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except InvalidSetting as error:
        yield Finding("error", subject, str(error))


# ---------------------------------------------------------------- keys and what is open to whom


def _keys(rules: AccessRules) -> Iterator[Finding]:
    yield Finding(
        "ok",
        "keys",
        f"{_number(len(rules.serving), 'serving key')}, {_number(len(rules.control_plane), 'control-plane key')}",
    )
    if rules.location is not None and rules.tokens is not None:
        try:
            asyncio.run(rules.location.fetch())
            yield Finding("ok", "keys", f"the key set of {rules.tokens.issuer} can be fetched")
        except KeySetUnavailable as error:
            yield Finding("warning", "keys", f"tokens would be answered with 503: {error}")
    for warning in rules.warnings:
        yield Finding("warning", "keys", warning)


def who_may(settings: Settings) -> Iterator[Finding]:
    """Say who may call which routes. Raises `InvalidSetting`."""
    rules = read_access_rules(settings)
    configuration = rules.configuration
    reach = _reach(settings.host, settings.port)
    keys = [
        text
        for text, has in (("the shared key", configuration.shared_key), ("tenant keys", configuration.tenant_keys))
        if has
    ]
    serving = " or ".join(keys) if keys else "nothing: open to everybody there"
    yield Finding("note", "access", f"POST /v1/tokenize, /v1/detokenize ({reach}) ask for {serving}")
    if configuration.control_plane_roles:
        roles = [
            text
            for text, has in (
                ("a control-plane key", configuration.control_plane_keys),
                (f"a token of {settings.jwt_issuer}", configuration.tokens),
            )
            if has
        ]
        control = f"{' or '.join(roles)}, with role admin for anything but GET"
    elif configuration.shared_key:
        control = "the shared key"
    elif configuration.tenant_keys:
        control = "a key that nobody has: set --api-key or --control-plane-api-keys"
    else:
        control = "nothing: open to everybody there"
    yield Finding("note", "access", f"/parse*, /v1/tokenizers*, /workers* ({reach}) ask for {control}")
    roots = ", ".join(str(root) for root in allowed_roots(settings))
    yield Finding("note", "access", f"who may POST /v1/tokenizers or /workers can have tokenizers read under: {roots}")
    yield Finding("note", "access", f"/health, /liveness, /readiness ({reach}) are open")
    metrics = _reach(settings.metrics_host, settings.prometheus_port)
    yield Finding("note", "access", f"/metrics ({metrics}) is open")


def _reach(host: str, port: int) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"{host}:{port}"
    shown = f"[{host}]:{port}" if address.version == 6 else f"{host}:{port}"
    if address.is_loopback:
        return f"{shown}, this host only"
    return f"{shown}, every network of this host" if address.is_unspecified else shown


# ---------------------------------------------------------------- admission, TLS, ports, tokenizers


def _admission(settings: Settings) -> Iterator[Finding]:
    admission, warnings = build_admission(settings)
    yield Finding("ok", "admission", _limits(settings, admission))
    if settings.tenant_rate_limit_enabled:
        yield Finding("ok", "admission", f"tenant limits of {settings.tenant_rate_limit_config}")
    for warning in warnings:
        yield Finding("warning", "admission", warning)


def _limits(settings: Settings, admission: ServiceAdmission) -> str:
    rate = settings.rate_limit_tokens_per_second
    front = f", at most {rate:g} requests per second" if rate else ""
    if isinstance(admission.pool, Scheduler):
        reserved = ", ".join(f"{priority.label} {places}" for priority, places in admission.pool.reservations.items())
        return f"priority scheduler with {admission.pool.capacity} places, of which are reserved: {reserved}{front}"
    capacity = admission.pool.capacity
    places = "no limit of requests in progress" if capacity is None else f"at most {capacity} requests in progress"
    queue = (
        f"{settings.queue_size} may wait for {settings.queue_timeout_secs:g} s" if settings.queue_size else "none waits"
    )
    return f"{places}, {queue}{front}"


def _processes(settings: Settings) -> Iterator[Finding]:
    cores = os.cpu_count() or 1
    if settings.processes > cores:
        text = f"{settings.processes} serve the main port, more than there are cores ({cores})"
        yield Finding("warning", "processes", text)
    elif settings.processes > 1:
        yield Finding("ok", "processes", f"{settings.processes} serve the main port; each loads every tokenizer")


def _tls(settings: Settings) -> Iterator[Finding]:
    if tls_context(settings) is not None:
        yield Finding("ok", "tls", f"certificate {settings.tls_cert_path}")
    elif read_access_rules(settings).configuration.control_plane_guarded:
        yield Finding("note", "tls", "off: keys cross the network in the clear unless a proxy adds TLS")


def _ports(settings: Settings) -> Iterator[Finding]:
    wanted = [
        ("port", settings.host, settings.port),
        ("prometheus_port", settings.metrics_host, settings.prometheus_port),
    ]
    if settings.health_check_port is not None:
        wanted.append(("health_check_port", settings.host, settings.health_check_port))
    for field, host, port in wanted:
        try:
            bind(field, host, port).close()
            yield Finding("ok", "ports", f"{field} {port} on {host} is free")
        except InvalidSetting as error:
            yield Finding("error", "ports", str(error))


def _tokenizers(settings: Settings) -> Iterator[Finding]:
    state = ServiceState(settings, TokenizerStore(new_identifier), Metrics())
    asyncio.run(_load_at_start(state))
    names = sorted(entry.name for entry in state.store.list())
    if state.startup == "failed":
        yield Finding("error", "tokenizers", state.startup_reason)
    elif not names:
        yield Finding("note", "tokenizers", "none is loaded at start: add some with POST /v1/tokenizers")
    for name in names:
        yield Finding("ok", "tokenizers", f"'{name}' can be loaded")
    for root in settings.tokenizer_roots:
        if not os.access(root, os.R_OK | os.X_OK):
            yield Finding("warning", "tokenizers", f"the root {root} cannot be read")


async def _load_at_start(state: ServiceState) -> None:
    queue = JobQueue(state.settings.job_queue_capacity, state.settings.job_queue_concurrency)
    startup = Startup(state, LocalLoader(state.settings, state.metrics.registry))
    startup.start(TokenizerJobs(state.store, queue, clock=time.monotonic, new_id=new_identifier))
    await startup.wait()
    await queue.close()


def _number(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
