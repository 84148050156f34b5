"""Counters of the HTTP service, kept as plain numbers and handed to Prometheus only when it asks."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
OTHER = "other"  # every path that is no route, so that callers cannot fill the memory with labels


class Metrics(Collector):
    """What happened so far. Written by one thread, the event loop's; other parts register collectors of their own."""

    def __init__(self, buckets: Sequence[float] = ()) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self.connections = 0
        self._bounds = tuple(buckets) or BUCKETS
        self._answers: defaultdict[tuple[str, str, int, str], int] = defaultdict(int)
        self._durations: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def count(self, method: str, path: str, status: int, code: str, seconds: float) -> None:
        """Count one answered request. `path` is that of the route, or `OTHER`."""
        self._answers[method, path, status, code] += 1
        self._seconds[path] += seconds
        durations = self._durations.get(path)
        if durations is None:
            durations = self._durations[path] = [0] * (len(self._bounds) + 1)
        durations[bisect_left(self._bounds, seconds)] += 1

    def connections_changed(self, change: int) -> None:
        """A connection was made (1) or has ended (-1)."""
        self.connections += change

    def collect(self) -> Iterable[Metric]:
        """The numbers as Prometheus wants them."""
        requests = CounterMetricFamily("smg_http_requests", "Requests by method and route.", labels=["method", "path"])
        by_method: defaultdict[tuple[str, str], int] = defaultdict(int)
        by_outcome: defaultdict[tuple[str, int, str], int] = defaultdict(int)
        for (method, path, status, code), number in list(self._answers.items()):
            by_method[method, path] += number
            by_outcome[path, status, code] += number
        for (method, path), number in by_method.items():
            requests.add_metric([method, path], number)
        yield requests
        responses = CounterMetricFamily(
            "smg_http_responses", "Answers by route, status and error.", labels=["path", "status_code", "error_code"]
        )
        for (path, status, code), number in by_outcome.items():
            responses.add_metric([path, str(status), code], number)
        yield responses
        durations = HistogramMetricFamily(
            "smg_http_request_duration_seconds", "Time from the head of a request to its answer.", labels=["path"]
        )
        bounds = [*map(str, self._bounds), "+Inf"]
        for path, counts in list(self._durations.items()):
            buckets = list(zip(bounds, accumulate(counts), strict=True))
            durations.add_metric([path], buckets=buckets, sum_value=self._seconds[path])
        yield durations
        yield GaugeMetricFamily("smg_http_connections_active", "Open connections.", value=self.connections)

    def exposition(self) -> bytes:
        """All metrics in the text format, those of other parts included."""
        return generate_latest(self.registry)
