"""What the metrics of admission need to be told. Levels (in progress, waiting) are read from the pool itself."""

from __future__ import annotations

from sluicegate.admission.ticket import Priority


class Observer:
    """Told what happens; does nothing by itself. Override what is of interest."""

    def limited(self, *, allowed: bool) -> None:
        """The plain limiter has let a request pass, or turned it away."""

    def turned_away(self, cause: str) -> None:
        """The plain limiter has turned a request away: `concurrency`, `rate`, `queue_full` or `timeout`."""

    def scheduled(self, priority: Priority, outcome: str) -> None:
        """A request has been `admitted`, `rejected_queue_full`, `rejected_queue_timeout`, `preempted`,
        or its client has gone while it waited (`client_cancelled`)."""

    def waited(self, priority: Priority, seconds: float) -> None:
        """An admitted request had waited this long."""

    def preempted(self, victim: Priority, by: Priority) -> None:
        """A request in upload has lost its place."""

    def promoted(self, priority: Priority) -> None:
        """A starved request has passed ahead of higher classes."""

    def clamped(self, tenant: str, requested: Priority, effective: Priority) -> None:
        """A tenant has asked for a class above its ceiling."""

    def unknown_priority(self, tenant: str) -> None:
        """The priority header held no name of a class."""

    def tenant_limited(self, tenant: str, limit: str, *, allowed: bool) -> None:
        """A tenant limit (`requests`, `characters`, `model_requests`, `model_characters`) has been checked."""


class TenantLabels:
    """Keeps the number of metric labels bounded: the first tenants have their own, the rest share `other`."""

    OTHER = "other"

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def label(self, tenant: str) -> str:
        """Return the label of a tenant."""
        if tenant in self._known:
            return tenant
        if len(self._known) >= self._most:
            return self.OTHER
        self._known.add(tenant)
        return tenant
