"""What a table of the payload shape must say."""

from __future__ import annotations

import pytest

from sluicegate.core.blocks import Opener
from sluicegate.core.call_object import CallObject
from sluicegate.core.errors import InvalidDialect
from sluicegate.core.payload import Header, Payload

OPENERS = (Opener(literal="<call>"),)


def test_the_name_stands_in_a_header_or_in_the_object() -> None:
    header, call_object = Header(until="|", form="(?P<name>.+)"), CallObject()
    for wrong in ({}, {"header": header, "call_object": call_object}):
        with pytest.raises(InvalidDialect, match="either a header or a call object"):
            Payload(names=("x",), openers=OPENERS, tail="</call>", **wrong)
