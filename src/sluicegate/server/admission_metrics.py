"""Metrics of admission: counted as it happens, levels read when Prometheus asks."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from sluicegate.admission.observer import Observer, TenantLabels
from sluicegate.admission.scheduler import Scheduler
from sluicegate.admission.ticket import Places, Priority

WAIT_BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 300.0)


class _Waits:
    """Histogram of the waits of one class."""

    def __init__(self) -> None:
        self.counts = [0] * (len(WAIT_BUCKETS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(WAIT_BUCKETS, seconds)] += 1
        self.seconds += seconds


class AdmissionMetrics(Observer, Collector):
    """What admission tells. `pool` is set once there is one."""

    pool: Places | None = None

    def __init__(self, tenant_labels: TenantLabels) -> None:
        self._labels = tenant_labels
        self._limited: Counter[tuple[str, ...]] = Counter({("allowed",): 0, ("rejected",): 0})
        self._turned_away: Counter[tuple[str, ...]] = Counter()
        self._scheduled: Counter[tuple[str, ...]] = Counter()
        self._waits = {priority: _Waits() for priority in Priority}
        self._preempted: Counter[tuple[str, ...]] = Counter()
        self._promoted: Counter[tuple[str, ...]] = Counter()
        self._clamped: Counter[tuple[str, ...]] = Counter()
        self._unknown: Counter[tuple[str, ...]] = Counter()
        self._tenant_limited: Counter[tuple[str, ...]] = Counter()

    # ------------------------------------------------------------ what happens

    def limited(self, *, allowed: bool) -> None:
        self._limited["allowed" if allowed else "rejected",] += 1

    def turned_away(self, cause: str) -> None:
        self._turned_away[cause,] += 1

    def scheduled(self, priority: Priority, outcome: str) -> None:
        self._scheduled[priority.label, outcome] += 1

    def waited(self, priority: Priority, seconds: float) -> None:
        self._waits[priority].add(seconds)

    def preempted(self, victim: Priority, by: Priority) -> None:
        self._preempted[victim.label, by.label] += 1

    def promoted(self, priority: Priority) -> None:
        self._promoted[priority.label,] += 1

    def clamped(self, tenant: str, requested: Priority, effective: Priority) -> None:
        self._clamped[self._labels.label(tenant), requested.label, effective.label] += 1

    def unknown_priority(self, tenant: str) -> None:
        self._unknown[self._labels.label(tenant),] += 1

    def tenant_limited(self, tenant: str, limit: str, *, allowed: bool) -> None:
        self._tenant_limited[self._labels.label(tenant), limit, "allowed" if allowed else "rejected"] += 1

    # ------------------------------------------------------------ what Prometheus sees

    def collect(self) -> Iterable[Metric]:
        """The numbers as Prometheus wants them."""
        if isinstance(self.pool, Scheduler):
            yield from self._of_scheduler(self.pool)
        elif self.pool is not None:
            yield from self._of_limiter(self.pool)
        yield _counter(
            "smg_tenant_rate_limit", "Checks of tenant limits.", ["tenant", "limit", "result"], self._tenant_limited
        )

    def _of_limiter(self, pool: Places) -> Iterable[Metric]:
        yield _counter("smg_http_rate_limit", "Requests that passed or did not.", ["result"], self._limited)
        yield GaugeMetricFamily("smg_admission_inflight", "Requests in progress.", value=pool.inflight)
        yield GaugeMetricFamily("smg_admission_queue_depth", "Requests that wait.", value=pool.waiting)
        yield _counter("smg_admission_queue_rejected", "Requests turned away.", ["cause"], self._turned_away)

    def _of_scheduler(self, pool: Scheduler) -> Iterable[Metric]:
        yield _counter("smg_scheduler_admit", "Requests by outcome.", ["class", "outcome"], self._scheduled)
        gauges: dict[str, tuple[str, Callable[[Priority], float]]] = {
            "inflight": ("Requests in progress.", pool.inflight_of),
            "queue_depth": ("Requests that wait.", pool.waiting_of),
            "queue_size_limit": ("Most requests that may wait.", lambda priority: pool.rules[priority].queue_size),
            "class_capacity_pressure": ("Share of the places within reach that are taken.", pool.pressure),
        }
        for name, (text, read) in gauges.items():
            gauge = GaugeMetricFamily(f"smg_scheduler_{name}", text, labels=["class"])
            for priority in Priority:
                gauge.add_metric([priority.label], read(priority))
            yield gauge
        waits = HistogramMetricFamily("smg_scheduler_queue_wait_seconds", "Waits of the admitted.", labels=["class"])
        bounds = [*map(str, WAIT_BUCKETS), "+Inf"]
        for priority, wait in self._waits.items():
            buckets = list(zip(bounds, accumulate(wait.counts), strict=True))
            waits.add_metric([priority.label], buckets=buckets, sum_value=wait.seconds)
        yield waits
        yield GaugeMetricFamily(
            "smg_scheduler_utilization", "Share of the places that are taken.", value=pool.inflight / pool.capacity
        )
        yield _counter("smg_scheduler_preemption", "Places taken away.", ["victim_class", "by_class"], self._preempted)
        yield _counter("smg_scheduler_starvation_promotion", "Starved requests let ahead.", ["class"], self._promoted)
        yield _counter(
            "smg_scheduler_clamp",
            "Classes lowered to the ceiling of the tenant.",
            ["tenant", "requested_class", "effective_class"],
            self._clamped,
        )
        yield _counter(
            "smg_scheduler_unknown_priority_value", "Priority headers that name no class.", ["tenant"], self._unknown
        )


def _counter(name: str, text: str, labels: list[str], numbers: Counter[tuple[str, ...]]) -> Metric:
    family = CounterMetricFamily(name, text, labels=labels)
    for values, number in list(numbers.items()):
        family.add_metric(values, number)
    return family
