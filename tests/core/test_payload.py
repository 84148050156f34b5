"""What a table of the payload shape must say."""

from __future__ import annotations

import time

import pytest

from sluicegate.core.blocks import Opener
from sluicegate.core.call_object import CallObject
from sluicegate.core.errors import InvalidDialect
from sluicegate.core.events import CallEnd
from sluicegate.core.payload import Header, Payload
from sluicegate.dialects.kimik2 import KIMIK2
from tests.support.cost import assert_no_dearer
from tests.support.parsing import check_events, run_tool

OPENERS = (Opener(literal="<call>"),)


def test_the_name_stands_in_a_header_or_in_the_object() -> None:
    header, call_object = Header(until="|", form="(?P<name>.+)"), CallObject()
    for wrong in ({}, {"header": header, "call_object": call_object}):
        with pytest.raises(InvalidDialect, match="either a header or a call object"):
            Payload(names=("x",), openers=OPENERS, tail="</call>", **wrong)


def test_a_tail_that_may_be_the_beginning_of_an_opener_is_told_apart() -> None:
    form = Payload(
        names=("x",), openers=(Opener(literal="||"),), call_object=CallObject(), tail="|", optional_tail=True
    )
    text = '||{"name":"f","arguments":{"a":1}}||{"name":"g","arguments":{}} | end'
    whole = run_tool(form, [text])
    assert [(event.name, event.arguments) for event in whole if isinstance(event, CallEnd)] == [
        ("f", '{"a":1}'),
        ("g", "{}"),
    ]
    assert check_events(whole, text) == check_events(run_tool(form, [*text]), text)


def test_a_missing_tail_is_not_searched_for_in_all_that_follows() -> None:
    call = '<|tool_call_begin|>f<|tool_call_argument_begin|>{"a":1}'

    def seconds(calls: int) -> float:
        start = time.process_time()
        run_tool(KIMIK2, [call * calls])
        return (time.process_time() - start) / calls

    assert_no_dearer(lambda: seconds(500), lambda: seconds(8_000), factor=2, slack=1e-5)
