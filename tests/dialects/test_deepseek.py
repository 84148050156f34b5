"""deepseek, deepseek31: the arguments as JSON between special tokens."""

from __future__ import annotations

import pytest

from sluicegate.dialects.deepseek import DEEPSEEK, DEEPSEEK31
from tests.support.parsing import brief, read

CALL, END, SEPARATOR = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (" f\t", "f"),
        ("\u3000f\x85", "f"),
        # Not white space by Unicode, though Python strips it.
        ("\x1cf\x1f", "\x1cf\x1f"),
        ("\x1c", "\x1c"),
    ],
)
def test_a_name_loses_the_white_space_around_it(written: str, name: str) -> None:
    fenced = f"{CALL}function{SEPARATOR}{written}\n```json\n{{}}\n```{END}"
    plain = f"{CALL}{written}{SEPARATOR}{{}}{END}"
    for tool_format, text in ((DEEPSEEK, fenced), (DEEPSEEK31, plain)):
        assert brief(read(tool_format, text)) == ("", [(name, "{}")], [])
