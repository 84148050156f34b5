"""Formats of installed packages: the entry points of the group `sluicegate.dialects`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sluicegate.dialects import registry

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "sluicegate.dialects"


def entry_points(group: str) -> Iterable[EntryPoint]:
    """The entry points of all installed packages."""
    from importlib import metadata  # noqa: PLC0415 - slow to load, and seldom needed

    return metadata.entry_points(group=group)


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
