"""Formats of installed packages: the entry points of the group `sluicegate.dialects`."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import entry_points
from typing import Final

from sluicegate.dialects import registry

GROUP: Final = "sluicegate.dialects"


@lru_cache(maxsize=1)
def load_installed_formats() -> tuple[str, ...]:
    """Load every entry point of the group, once: each is a function that is called with the registry module.

    Returns their names. Errors of a package, and `InvalidDialect` for a name that is taken, come through: a format
    that cannot be had is not passed over in silence.
    """
    loaded: list[str] = []
    for entry_point in sorted(entry_points(group=GROUP), key=lambda entry_point: entry_point.name):
        register = entry_point.load()
        register(registry)
        loaded.append(entry_point.name)
    return tuple(loaded)
