"""The caller's tools: which names are declared, and what type a parameter has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Tools:
    """Tools in the OpenAI shape, looked up by name; of two tools with one name the first counts.

    Entries that are no tools are passed over: a machine never fails because of a schema.
    """

    __slots__ = ("_by_name", "given")

    def __init__(self, tools: Sequence[Any] | None) -> None:
        self.given = bool(tools)
        self._by_name: dict[str, Any] = {}
        for tool in tools or ():
            function = tool.get("function") if isinstance(tool, Mapping) else None
            name = function.get("name") if isinstance(function, Mapping) else None
            if isinstance(name, str):
                self._by_name.setdefault(name, function.get("parameters"))

    def declares(self, name: str) -> bool:
        """Whether a tool of this name is declared."""
        return name in self._by_name

    def parameters(self, name: str) -> Any:
        """The `parameters` schema of a tool as the caller gave it, None if there is none."""
        return self._by_name.get(name)
