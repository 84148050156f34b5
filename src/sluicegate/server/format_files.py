"""Formats of one's own, from the files that the settings name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sluicegate.core.errors import InvalidDialect, InvalidSetting
from sluicegate.dialects.declared import register_formats


def register_format_files(files: Iterable[str]) -> None:
    """Add the formats that the files declare. Raises `InvalidSetting` for a file that cannot be read or used."""
    for file in files:
        try:
            register_formats(Path(file).read_text("utf-8"))
        except OSError as error:
            raise InvalidSetting("format_file", file, error.strerror or str(error)) from None
        except UnicodeDecodeError as error:
            raise InvalidSetting("format_file", file, f"no UTF-8 at byte {error.start}") from None
        except InvalidDialect as error:
            raise InvalidSetting("format_file", file, str(error)) from None
