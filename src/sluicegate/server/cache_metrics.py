"""Metrics of the tokenizer caches. Told from several threads, so that each number has a lock."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector


class CacheMetrics(Collector):
    """What the caches of all tokenizers do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lookups: Counter[tuple[str, str]] = Counter()
        self._evictions: Counter[str] = Counter()
        self._reused_bytes = 0

    def looked_up(self, layer: str, *, hit: bool) -> None:
        """A text was looked for in a layer."""
        with self._lock:
            self._lookups[layer, "hit" if hit else "miss"] += 1

    def evicted(self, layer: str, entries: int) -> None:
        """Entries had to go."""
        with self._lock:
            self._evictions[layer] += entries

    def reused(self, layer: str, size: int) -> None:
        """`size` bytes of text did not have to be encoded."""
        del layer
        with self._lock:
            self._reused_bytes += size

    def collect(self) -> Iterable[Metric]:
        """The numbers as Prometheus wants them."""
        lookups = CounterMetricFamily(
            "smg_tokenizer_cache_lookups", "Texts looked for in a cache.", labels=["layer", "result"]
        )
        for labels, number in list(self._lookups.items()):
            lookups.add_metric(labels, number)
        yield lookups
        evictions = CounterMetricFamily("smg_tokenizer_cache_evictions", "Entries that had to go.", labels=["layer"])
        for layer, number in list(self._evictions.items()):
            evictions.add_metric([layer], number)
        yield evictions
        yield CounterMetricFamily(
            "smg_tokenizer_cache_reused_bytes", "Bytes of text that were not encoded again.", value=self._reused_bytes
        )
