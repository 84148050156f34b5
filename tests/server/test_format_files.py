"""Formats of one's own in the service."""

from __future__ import annotations

import pathlib

import pytest

import sluicegate
from sluicegate.core.errors import InvalidSetting
from sluicegate.server.format_files import register_format_files

FORMAT = """
[[tool]]
names = ["acme"]
shape = "object"
open = "[CALL]"
close = "[/CALL]"
"""

pytestmark = pytest.mark.usefixtures("own_registry")


def test_a_format_of_a_file_is_registered(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "acme.toml"
    file.write_text(FORMAT, "utf-8")
    register_format_files([str(file)])
    text = '[CALL]{"name": "f", "arguments": {}}[/CALL]'
    assert [call.name for call in sluicegate.parse_tool_calls(text, "acme").calls] == ["f"]
    with pytest.raises(InvalidSetting, match="two tool formats are called 'acme'"):
        register_format_files([str(file)])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (None, "No such file or directory"),
        (b"\xff", "no UTF-8 at byte 0"),
        (b"[[tool]]", "missing required field"),
    ],
)
def test_a_file_that_cannot_be_used_stops_the_start(tmp_path: pathlib.Path, data: bytes | None, reason: str) -> None:
    file = tmp_path / "acme.toml"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(InvalidSetting, match=reason) as refused:
        register_format_files([str(file)])
    assert str(refused.value).startswith(f"Invalid value for field 'format_file': {file} - ")
