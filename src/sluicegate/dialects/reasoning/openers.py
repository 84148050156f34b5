"""Call openers that more than one family writes."""

from __future__ import annotations

from typing import Final

from sluicegate.core.patterns import SPACE, SPACE_CLASS, Run, either
from sluicegate.core.reasoning import call_opener

TAG_NAME_END: Final = Run(SPACE_CLASS + "/>", 1, 1)
"""What ends the name of a tag."""

QWEN_CALL: Final = call_opener("<tool_call>", SPACE, either("{", "<function="))
"""JSON calls and calls of the Coder models."""
