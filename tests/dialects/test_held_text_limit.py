"""At the limit of held text later markers are text, however the output is cut into chunks."""

from __future__ import annotations

import pytest

from sluicegate import Machine

LIMIT = 30
FILLER = "y" * (LIMIT + 20)


@pytest.mark.parametrize(
    ("parser", "text"),
    [
        ("qwen", f'<tool_call>{{"x":}}</tool_call>{FILLER}<tool_call>{{"name":"f"}}</tool_call>'),
        ("mistral", f'[TOOL_CALLS]f[ARGS]{{"a":tr}} {FILLER}[TOOL_CALLS]f{{}}'),
        ("mistral", f"stray [/TOOL_CALLS] {FILLER}[TOOL_CALLS]f{{}}"),
        ("pythonic", f"[f(a=1+1)]{FILLER}[f(a=1)]"),
    ],
)
def test_markers_behind_the_limit_are_text(parser: str, text: str) -> None:
    for chunks in ([text], list(text)):
        machine = Machine(parser, held_text_limit=LIMIT)
        for chunk in chunks:
            machine.feed(chunk)
        outcome = machine.finish_outcome(keep_frame=True)
        assert (outcome.content, outcome.calls) == (text, ())
        assert [found.code for found in outcome.diagnostics].count("held_text_limit") == 1
