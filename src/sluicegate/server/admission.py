"""Admission to the serving routes: from the settings to places, queues, limits, and the refusals of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry

from sluicegate.admission.files import TENANT_FIELD, TenantPlan, read_scheduler_file, read_tenant_file
from sluicegate.admission.gate import Gate
from sluicegate.admission.limiter import Limiter
from sluicegate.admission.observer import Observer, TenantLabels
from sluicegate.admission.scheduler import OverReserved, Scheduler
from sluicegate.admission.tenants import TenantLimits
from sluicegate.admission.ticket import Priority, Refusal, State, Ticket
from sluicegate.auth.tenant import tenant_key
from sluicegate.core.errors import InvalidSetting
from sluicegate.settings import Settings

from .admission_metrics import AdmissionMetrics
from .request import Request
from .response import Refused, Response, error_response

SCHEDULED_CAPACITY = 1024
MOST_SCHEDULED_CAPACITY = 65535
PLACES_PER_CORE = 1024
LEAST_PLACES = 4096


class Classes:
    """Which class of the scheduler a request is in: what its header asks for, at most what its tenant may have."""

    def __init__(self, default_ceiling: Priority, ceilings: dict[str, Priority], observer: Observer) -> None:
        self._default_ceiling = default_ceiling
        self._ceilings = ceilings
        self._observer = observer

    def priority(self, header: bytes | None, tenant: str) -> Priority:
        """The class of a request with this priority header."""
        name = "" if header is None else header.decode("latin-1").strip()
        requested = Priority.named(name) if name else Priority.DEFAULT
        if requested is None:
            self._observer.unknown_priority(tenant)
            requested = Priority.DEFAULT
        ceiling = self._ceilings.get(tenant, self._default_ceiling)
        if requested > ceiling:
            self._observer.clamped(tenant, requested, ceiling)
            return ceiling
        return requested


class Place:
    """A place among the requests in progress."""

    __slots__ = ("_admission", "_cancel", "_tenant", "_ticket", "refusal")

    def __init__(self, admission: ServiceAdmission, ticket: Ticket, tenant: str) -> None:
        self._admission = admission
        self._ticket = ticket
        self._tenant = tenant
        self._cancel: Callable[[], object] | None = None
        self.refusal: Response | None = None
        """Set when the place was taken away while the body was being read."""
        ticket.on_change = self._taken_away

    @property
    def cancel(self) -> Callable[[], object] | None:
        """What ends the reading of the body. Once it is None again the place can no longer be taken away."""
        return self._cancel

    @cancel.setter
    def cancel(self, cancel: Callable[[], object] | None) -> None:
        self._cancel = cancel
        if cancel is None:
            self._admission.start(self._ticket)

    def _taken_away(self) -> None:
        if self._ticket.refusal is not None:
            self.refusal = answer(self._ticket.refusal)
            if self._cancel is not None:
                self._cancel()

    def charge(self, request: Request, model: str, characters: int) -> None:
        """Count the characters of the prompts, or the ids, against the tenant's limits. Raises `Refused`."""
        del request
        refusal = self._admission.charge(self._tenant, model, characters)
        if refusal is not None:
            raise Refused(answer(refusal))

    def release(self) -> None:
        """Give the place back; once is enough, twice is harmless."""
        self._admission.gate.leave(self._ticket)


class PlaceWithoutTicket:
    """A place that the limiter has given at once: nobody takes it away, and no tenant is charged."""

    __slots__ = ("_gate", "_limiter", "cancel", "refusal")

    def __init__(self, limiter: Limiter, gate: Gate) -> None:
        self._limiter: Limiter | None = limiter
        self._gate = gate
        self.cancel: Callable[[], object] | None = None
        self.refusal: Response | None = None

    def charge(self, request: Request, model: str, characters: int) -> None:
        """See `Permit`."""

    def release(self) -> None:
        """See `Permit`."""
        limiter, self._limiter = self._limiter, None
        if limiter is not None:
            limiter.exit()
            if limiter.waiting:
                self._gate.advance()


class ServiceAdmission:
    """Decides how many serving requests are in progress at once, and how much of it each tenant may have."""

    def __init__(
        self,
        pool: Limiter | Scheduler,
        *,
        classes: Classes | None = None,
        tenants: TenantLimits | None = None,
        tenant_header: bytes | None = None,
    ) -> None:
        self.pool = pool
        self.gate = Gate(pool)
        self._scheduler = pool if isinstance(pool, Scheduler) else None
        self._classes = classes
        self._tenants = tenants
        self._tenant_header = tenant_header
        self._knows_tenants = classes is not None or tenants is not None
        self._limiter = pool if isinstance(pool, Limiter) and not self._knows_tenants else None

    def admit_now(self, request: Request) -> PlaceWithoutTicket | None:
        """A place if one is free, None if `admit` has to be asked."""
        del request  # without tenants and classes all requests are equal
        limiter = self._limiter
        if limiter is None or not limiter.enter(asyncio.get_running_loop().time()):
            return None
        return PlaceWithoutTicket(limiter, self.gate)

    async def admit(self, request: Request) -> Place:
        """Wait for a place. Raises `Refused`."""
        tenant = self._tenant(request) if self._knows_tenants else ""
        ticket = self.ask(tenant, request.headers.get(b"x-smg-priority"))
        if ticket.state is State.WAITING:
            await self.gate.wait(ticket)
        if ticket.refusal is not None:
            raise Refused(answer(ticket.refusal))
        return Place(self, ticket, tenant)

    def ask(self, tenant: str, priority: bytes | None) -> Ticket:
        """A ticket that was admitted or refused, or that waits. `priority` is the header of that name."""
        ticket = Ticket(tenant=tenant)
        if self._tenants is not None:
            refusal = self._tenants.take_request(tenant, asyncio.get_running_loop().time())
            if refusal is not None:
                ticket.settle(State.REFUSED, refusal)
                return ticket
        if self._classes is not None:
            ticket.priority = self._classes.priority(priority, tenant)
        self.gate.ask(ticket)
        return ticket

    def start(self, ticket: Ticket) -> None:
        """Note that the body of a request has been read."""
        if self._scheduler is not None:
            self._scheduler.start(ticket)

    def charge(self, tenant: str, model: str, characters: int) -> Refusal | None:
        """Count the characters of a request, or return why they are over the limit."""
        if self._tenants is None:
            return None
        return self._tenants.take_characters(tenant, model, characters, asyncio.get_running_loop().time())

    def _tenant(self, request: Request) -> str:
        return tenant_of(request, self._tenant_header)


def tenant_header(settings: Settings) -> bytes | None:
    """The header that may name the tenant, None if none may."""
    return settings.tenant_header_name.lower().encode() if settings.trust_tenant_header else None


def tenant_of(request: Request, header_name: bytes | None) -> str:
    """The tenant that a request counts for."""
    if request.tenant is not None:
        return request.tenant
    header = None if header_name is None else request.headers.get(header_name)
    return tenant_key(None, None if header is None else header.decode("latin-1"), request.peer)


def answer(refusal: Refusal) -> Response:
    """The answer to a request that is not admitted."""
    headers: list[tuple[bytes, bytes]] = []
    if refusal.retry_after is not None:
        headers.append((b"retry-after", b"%d" % refusal.retry_after))
    if refusal.preempted:
        headers.append((b"x-smg-preempted", b"true"))
    return error_response(
        "api",
        refusal.status,
        refusal.code,
        refusal.message,
        type=refusal.error_type,
        headers=tuple(headers),
        # What is left of a body that is no longer wanted goes with the connection.
        close=refusal.preempted,
    )


def build_admission(settings: Settings, observer: Observer | None = None) -> tuple[ServiceAdmission, tuple[str, ...]]:
    """The admission that the settings ask for, and warnings, one line each. Raises `InvalidSetting`."""
    observer = observer or Observer()
    if settings.queue_size > 0 and settings.queue_timeout_secs == 0:
        raise InvalidSetting("queue_timeout_secs", 0, "must be above 0 while --queue-size is")
    plan = _tenant_plan(settings)
    warnings: list[str] = []
    tenants: TenantLimits | None = None
    if plan is not None:
        tenants = TenantLimits(plan.default, plan.tenants, observer=observer)
        if plan.ignores_tokens:
            warnings.append(f"{TENANT_FIELD}: tokens_per_minute has no effect; use characters_per_minute")
    classes: Classes | None = None
    pool: Limiter | Scheduler
    if settings.priority_scheduler_enabled:
        pool, classes = _scheduler(settings, observer)
    else:
        pool = _limiter(settings, observer)
    return ServiceAdmission(pool, classes=classes, tenants=tenants, tenant_header=tenant_header(settings)), tuple(
        warnings
    )


def observed_admission(settings: Settings, registry: CollectorRegistry) -> tuple[ServiceAdmission, tuple[str, ...]]:
    """The admission that the settings ask for, with its metrics in `registry`; and warnings, one line each.

    Raises `InvalidSetting`.
    """
    metrics = AdmissionMetrics(TenantLabels(settings.priority_scheduler_tenant_metric_top_n))
    admission, warnings = build_admission(settings, metrics)
    metrics.pool = admission.pool
    registry.register(metrics)
    return admission, warnings


def _limiter(settings: Settings, observer: Observer) -> Limiter:
    capacity = settings.max_concurrent_requests
    if capacity < 0:
        capacity = max(LEAST_PLACES, PLACES_PER_CORE * (os.cpu_count() or 1))
    return Limiter(
        capacity=capacity or None,
        queue_size=settings.queue_size,
        queue_timeout=settings.queue_timeout_secs,
        rate=settings.rate_limit_tokens_per_second,
        burst=_burst(capacity, settings.rate_limit_tokens_per_second),
        observer=observer,
    )


def _scheduler(settings: Settings, observer: Observer) -> tuple[Scheduler, Classes]:
    path = settings.priority_scheduler_config
    plan = read_scheduler_file(None if path is None else Path(path))
    capacity = settings.max_concurrent_requests
    if capacity <= 0:
        capacity = SCHEDULED_CAPACITY
    capacity = min(capacity, MOST_SCHEDULED_CAPACITY)
    rate = settings.rate_limit_tokens_per_second
    burst = _burst(0 if settings.max_concurrent_requests == 0 else capacity, rate)
    try:
        scheduler = Scheduler(capacity=capacity, rules=plan.rules, rate=rate, burst=burst, observer=observer)
    except OverReserved as error:
        raise InvalidSetting("max_concurrent_requests", settings.max_concurrent_requests, str(error)) from None
    default_ceiling = Priority[settings.priority_scheduler_default_max_class.upper()]
    return scheduler, Classes(default_ceiling, dict(plan.ceilings), observer)


def _burst(capacity: int, rate: float | None) -> float:
    return float(capacity) if capacity else max(1.0, rate or 0.0)


def _tenant_plan(settings: Settings) -> TenantPlan | None:
    path = settings.tenant_rate_limit_config
    if settings.tenant_rate_limit_enabled and path is None:
        raise InvalidSetting("tenant_rate_limit_enabled", "true", "needs --tenant-rate-limit-config beside it")
    if path is None:
        return None
    if not settings.tenant_rate_limit_enabled:
        raise InvalidSetting(TENANT_FIELD, path, "needs --tenant-rate-limit-enabled beside it")
    return read_tenant_file(Path(path), trust_tenant_header=settings.trust_tenant_header)
