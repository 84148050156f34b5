"""Tags that are read part by part: attributes in any order and spelling."""

from __future__ import annotations

import re

import pytest

from sluicegate.core.context import Context
from sluicegate.core.patterns import CUT, Cut
from sluicegate.core.sequence import Attributes, Captures, Sequence
from tests.support.parsing import pieces

CALL = Sequence("call", Attributes("|>", {"tool": "name", "type": "kind"}, ("name",), ("<|",)))


def read(text: str, size: int) -> Captures | Cut | None:
    """What the sequence captures in a text that comes in pieces."""
    context = Context()
    context.window.keep(0)
    steps = CALL.read(context.window)
    for piece in pieces(text, size):
        context.window.feed(piece)
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value
    context.window.final = True
    with pytest.raises(StopIteration) as stopped:
        next(steps)
    return stopped.value.value


@pytest.mark.parametrize(
    ("text", "captured"),
    [
        ('call tool="f"|> ', {"name": "f"}),
        ('call tool="f" type="x" index="1" |> ', {"name": "f", "kind": "x"}),
        ('call type="x"\n tool="f" tool="g"|> ', {"name": "f", "kind": "x"}),
        ('call tool="&quot;" y|> ', {"name": '"'}),
        ('call type="x"|> ', None),
        ('callx tool="f"|> ', None),
        ('call tool="<|"|> ', None),
        ('call tool="f"', CUT),
    ],
)
def test_attributes(text: str, captured: dict[str, str] | Cut | None) -> None:
    usual = re.match(CALL.usual, text)
    for size in (1, 3, len(text)):
        found = read(text, size)
        if not isinstance(captured, dict):
            assert found is captured
            assert usual is None
        else:
            assert isinstance(found, dict)
            assert {name: capture.text for name, capture in found.items()} == captured
            assert all(text[each.start : each.end] in (each.text, "&quot;") for each in found.values())
            # What the quicker expression matches is captured alike.
            written = {} if usual is None else {name: value for name, value in usual.groupdict().items() if value}
            assert written in ({}, captured)
