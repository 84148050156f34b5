"""The metrics of all processes as one: counters add up over all that ever served, levels over those that live."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from .messages import Family, Sample

Labels: TypeAlias = tuple[tuple[str, str], ...]
LEVEL = "gauge"


def families_of(registry: CollectorRegistry) -> list[Family]:
    """All numbers of a registry."""
    return [
        Family(
            metric.name,
            metric.documentation,
            metric.type,
            [Sample(sample.name, tuple(sorted(sample.labels.items())), sample.value) for sample in metric.samples],
        )
        for metric in registry.collect()
    ]


class _Sums(Collector):
    """Families added up."""

    def __init__(self) -> None:
        self._kinds: dict[str, Family] = {}
        self._values: dict[str, dict[tuple[str, Labels], float]] = {}

    def add(self, families: Iterable[Family], *, levels: bool = True) -> None:
        """Add numbers, with levels or without."""
        for family in families:
            self._kinds.setdefault(family.name, family)
            values = self._values.setdefault(family.name, {})
            if family.type == LEVEL and not levels:
                continue
            for sample in family.samples:
                key = sample.name, sample.labels
                values[key] = values.get(key, 0.0) + sample.value

    def families(self) -> list[Family]:
        """The sums."""
        return [
            Family(name, kind.text, kind.type, [Sample(*key, value) for key, value in self._values[name].items()])
            for name, kind in self._kinds.items()
        ]

    def collect(self) -> Iterable[Metric]:
        """The sums as Prometheus wants them."""
        for family in self.families():
            metric = Metric(family.name, family.text, family.type)
            for sample in family.samples:
                metric.add_sample(sample.name, dict(sample.labels), sample.value)
            yield metric


class SummedMetrics:
    """What the processes have counted. Those that have ended are kept in one sum, so that no counter falls."""

    def __init__(self) -> None:
        self._ended = _Sums()

    def retire(self, families: Iterable[Family]) -> None:
        """Keep the last numbers of a process that has ended."""
        self._ended.add(families, levels=False)

    def exposition(self, living: Iterable[Iterable[Family]]) -> bytes:
        """All metrics in the text format."""
        sums = _Sums()
        for families in living:
            sums.add(families)
        sums.add(self._ended.families(), levels=False)
        registry = CollectorRegistry(auto_describe=False)
        registry.register(sums)
        return generate_latest(registry)
