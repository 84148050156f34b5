"""Key files: where keys may come from besides the command line and the environment."""

from __future__ import annotations

import stat
from pathlib import Path

from sluicegate.auth.keys import Source
from sluicegate.core.errors import InvalidSetting


def read_key_file(field: str, path: Path) -> Source:
    """Read one entry a line; blank lines and lines that begin with `#` are ignored. Raises `InvalidSetting`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or type(error).__name__
        raise InvalidSetting(field, path, f"cannot be read: {reason}") from None
    lines = (line.strip() for line in text.splitlines())
    entries = tuple(line for line in lines if line and not line.startswith("#"))
    if not entries:
        raise InvalidSetting(field, path, "holds no entry")
    return Source(field, entries)


def others_can_read(path: Path) -> bool:
    """Tell whether users other than the owner of the file may read it."""
    return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
