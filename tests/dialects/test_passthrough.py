"""passthrough: no markup at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sluicegate.core.context import Context
from sluicegate.core.events import Content
from sluicegate.core.machine import FormatMachine
from sluicegate.dialects.passthrough import PASSTHROUGH
from tests.support.parsing import read


@given(st.text())
def test_every_text_is_content(text: str) -> None:
    outcome = read(PASSTHROUGH, text)
    assert (outcome.content, outcome.calls, outcome.diagnostics) == (text, (), ())


def test_every_chunk_passes_at_once() -> None:
    machine = FormatMachine(PASSTHROUGH.read(context := Context(None)), context)
    for chunk in ('{"name":"f",', "<tool_call>", "[TOOL_CALLS]"):
        assert [event.text for event in machine.feed(chunk) if isinstance(event, Content)] == [chunk]
    assert machine.finish() == []
