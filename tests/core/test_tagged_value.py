"""Tables of tagged values that cannot be."""

from __future__ import annotations

import pytest

from sluicegate.core.errors import InvalidDialect
from sluicegate.core.patterns import Pattern
from sluicegate.core.tagged_value import ValueSyntax
from sluicegate.core.tags import Tag


def test_only_section_markers_tell_where_a_section_is() -> None:
    syntax = ValueSyntax(
        closer=Tag(literal="</v>"),
        continues=Pattern("</c>"),
        call_closer=Tag(literal="</c>"),
        item=Tag(literal="<v>"),
        start=Tag(literal="<c>"),
        sections=(Tag(literal="<s>"),),
    )
    with pytest.raises(InvalidDialect, match="<s>"):
        syntax.signs(behind_call_closer=True)
