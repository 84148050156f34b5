"""One fuzz target: a format reads any text without an error, and every cutting of the text gives one outcome.

    python -m fuzz.target NAME [libFuzzer options]

The invariant: for every text, the spans tile it, deltas join to the arguments, arguments are valid JSON, and
reading it whole equals reading it in pieces.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["sluicegate.core", "sluicegate.dialects"]):
    from sluicegate.core.collect import collect
    from sluicegate.dialects.registry import reasoning_format, tool_format
    from tests.support.parsing import check_events, run_reasoning, run_tool

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "s": {"type": "string"}, "o": {"type": "object"}}}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]


def main() -> None:
    """Fuzz the format named by the first argument; `reasoning:NAME` for a reasoning format."""
    kind, _, name = sys.argv.pop(1).rpartition(":")

    def read_whole_and_in_pieces(data: bytes) -> None:
        if not data:
            return
        size, text = data[0] % 9 + 1, data[1:].decode("utf-8", "replace")
        chunks = [text[start : start + size] for start in range(0, len(text), size)]
        if kind == "reasoning":
            whole = collect(run_reasoning(reasoning_format(name), [text]), keep_frame=True)
            pieces = collect(run_reasoning(reasoning_format(name), chunks), keep_frame=True)
            assert whole.content + whole.reasoning is not None
            assert [span.start for span in whole.spans[1:]] == [span.end for span in whole.spans[:-1]]
        else:
            tools = TOOLS if data[0] & 64 else None
            whole = check_events(run_tool(tool_format(name), [text], tools), text)
            pieces = check_events(run_tool(tool_format(name), chunks, tools), text)
        assert whole == pieces

    atheris.Setup(sys.argv, read_whole_and_in_pieces)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
