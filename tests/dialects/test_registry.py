"""Formats by name, and formats of installed packages."""

from __future__ import annotations

from typing import Any

import pytest

import sluicegate
from sluicegate import InvalidDialect, UnknownDialect, plugins
from sluicegate.core.reasoning import PairFormat
from sluicegate.dialects import registry
from sluicegate.dialects.qwen import QWEN

pytestmark = pytest.mark.usefixtures("own_registry")


class Installed:
    """An entry point."""

    name = "acme"

    def load(self) -> Any:
        def register(formats: Any) -> None:
            formats.register_reasoning_format(PairFormat("acme_thinks", start="[THINK]", end="[/THINK]"))

        return register


def test_formats_are_found_by_every_name() -> None:
    assert registry.tool_format("qwen") is QWEN
    assert registry.tool_format("qwen_coder") is registry.tool_format("nemotron")
    assert registry.reasoning_format("qwen3").names == ("qwen3",)
    assert len(registry.TOOLS.formats) < len(registry.TOOLS.names)
    assert registry.REASONING.owners("◁think▷") == (registry.reasoning_format("kimi"),)
    assert registry.REASONING.owners("<nothing>") == ()


def test_short_markers_tell_no_format_from_another() -> None:
    registry.register_reasoning_format(PairFormat("short", start="[T]", end="[/T]"))
    assert "[T]" not in registry.REASONING.telling_markers
    assert sluicegate.parse_reasoning("[T]a[/T]", "base").diagnostics == ()


def test_a_name_is_given_once() -> None:
    with pytest.raises(InvalidDialect, match="two tool formats are called 'qwen'"):
        registry.register_tool_format(QWEN)
    with pytest.raises(InvalidDialect, match="needs a name"):
        registry.register_reasoning_format(PairFormat("", start="a", end="b"))


def test_formats_of_installed_packages_are_there_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def entry_points(group: str) -> list[Installed]:
        asked.append(group)
        return [Installed()]

    monkeypatch.setattr(plugins, "entry_points", entry_points)
    assert sluicegate.parse_reasoning("<think>a</think>", "base").reasoning == "a"
    assert asked == []
    assert sluicegate.parse_reasoning("[THINK]a[/THINK]", "acme_thinks").reasoning == "a"
    assert asked == ["sluicegate.dialects"]
    with pytest.raises(UnknownDialect) as unknown:
        sluicegate.parse_reasoning("", "acme_think")
    assert unknown.value.closest[0] == "acme_thinks"
    assert plugins.load_installed_formats() == ("acme",)
    assert asked == ["sluicegate.dialects"]
