"""The formats by name: those that come with the library and those that were added.

The registry is the one place of the library that changes while a program runs, and only when a format is added.
"""

from __future__ import annotations

from typing import Final, Generic, Protocol, TypeVar

from sluicegate.core.errors import InvalidDialect, UnknownDialect
from sluicegate.core.machine import ReasoningFormat, ToolFormat
from sluicegate.core.patterns import Markers
from sluicegate.dialects.reasoning import REASONING_FORMATS
from sluicegate.dialects.tools import TOOL_FORMATS


class _Named(Protocol):
    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def markers(self) -> tuple[str, ...]: ...


FormatType = TypeVar("FormatType", bound=_Named)

SHORTEST_TELLING_MARKER: Final = 5
"""Shorter markers, such as a bracket, do not tell one format from another; in characters."""


class FormatTable(Generic[FormatType]):
    """The formats of one side: `kind` is "tool" or "reasoning"."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._by_name: dict[str, FormatType] = {}
        self._markers: dict[str, list[FormatType]] = {}
        self._signs: dict[str, tuple[tuple[str, ...], Markers]] = {}

    def add(self, form: FormatType) -> None:
        """Add a format under all its names. Raises `InvalidDialect` if one is taken."""
        if not form.names or not all(form.names):
            raise InvalidDialect(f"a {self.kind} format needs a name: {form.names!r}")
        for name in form.names:
            if name in self._by_name:
                raise InvalidDialect(f"two {self.kind} formats are called {name!r}")
        for name in form.names:
            self._by_name[name] = form
        for marker in form.markers:
            if len(marker) >= SHORTEST_TELLING_MARKER:
                self._markers.setdefault(marker, []).append(form)
        self._signs.clear()

    def get(self, name: str) -> FormatType | None:
        """The format of this name, None if there is none."""
        return self._by_name.get(name)

    def find(self, name: str) -> FormatType:
        """The format of this name. Raises `UnknownDialect`."""
        found = self._by_name.get(name)
        if found is None:
            raise UnknownDialect(self.kind, name, self._by_name)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order in which they were added."""
        return tuple(self._by_name)

    @property
    def formats(self) -> tuple[FormatType, ...]:
        """All formats, in the order in which they were added."""
        return tuple({id(form): form for form in self._by_name.values()}.values())

    @property
    def telling_markers(self) -> tuple[str, ...]:
        """All markers that tell formats apart."""
        return tuple(self._markers)

    def signs(self, form: FormatType) -> tuple[tuple[str, ...], Markers]:
        """The format's own markers, and those of all other formats that it does not share."""
        name = form.names[0]
        found = self._signs.get(name)
        if found is None:
            own = form.markers
            found = self._signs[name] = own, Markers(self._markers.keys() - set(own))
        return found

    def owners(self, marker: str) -> tuple[FormatType, ...]:
        """The formats that open a block with this marker."""
        return tuple(self._markers.get(marker, ()))


TOOLS: Final[FormatTable[ToolFormat]] = FormatTable("tool")
REASONING: Final[FormatTable[ReasoningFormat]] = FormatTable("reasoning")

for _tool_format in TOOL_FORMATS:
    TOOLS.add(_tool_format)
for _reasoning_format in REASONING_FORMATS:
    REASONING.add(_reasoning_format)


def tool_format(name: str) -> ToolFormat:
    """The tool format of this name. Raises `UnknownDialect`."""
    return TOOLS.find(name)


def reasoning_format(name: str) -> ReasoningFormat:
    """The reasoning format of this name. Raises `UnknownDialect`."""
    return REASONING.find(name)


def register_tool_format(form: ToolFormat) -> None:
    """Add a tool format. Raises `InvalidDialect` if one of its names is taken."""
    TOOLS.add(form)


def register_reasoning_format(form: ReasoningFormat) -> None:
    """Add a reasoning format. Raises `InvalidDialect` if one of its names is taken."""
    REASONING.add(form)
