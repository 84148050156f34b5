"""What all tool formats of blocks share."""

from __future__ import annotations

import pytest

from sluicegate import InvalidDialect
from sluicegate.core.blocks import BlockFormat


def test_a_format_needs_a_name() -> None:
    with pytest.raises(InvalidDialect, match="a format needs a name"):
        BlockFormat(names=(), openers=())
