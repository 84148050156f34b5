"""What commands read: files, standard input, JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

import sluicegate
from sluicegate.cli.failure import CommandFailed


def read_text(file: Path | None) -> str:
    """A file's text, or that of standard input for None.

    Raises `CommandFailed` if it is no UTF-8 or cannot be read.
    """
    name = "standard input" if file is None else str(file)
    try:
        data = sys.stdin.buffer.read() if file is None else file.read_bytes()
    except OSError as error:
        raise CommandFailed(f"{name}: {error.strerror}") from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandFailed(f"{name}: no UTF-8 at byte {error.start}") from error


def read_tools(file: Path | None) -> list[Any] | None:
    """The tools in a JSON file, None without one. Raises `CommandFailed`."""
    if file is None:
        return None
    try:
        return msgspec.json.decode(read_text(file), type=list[Any])
    except msgspec.DecodeError as error:
        raise CommandFailed(f"{file}: {error}") from error


def register_files(files: Sequence[Path]) -> None:
    """Add the formats that these TOML files declare. Raises `CommandFailed`."""
    for file in files:
        try:
            sluicegate.register_formats(read_text(file))
        except sluicegate.InvalidDialect as error:
            raise CommandFailed(f"{file}: {error}") from error
