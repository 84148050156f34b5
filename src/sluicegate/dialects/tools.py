"""The tool formats that come with the library, in the order of the documentation."""

from __future__ import annotations

from sluicegate.core.machine import ToolFormat
from sluicegate.dialects.cohere import COHERE
from sluicegate.dialects.deepseek import DEEPSEEK, DEEPSEEK31
from sluicegate.dialects.inkling import INKLING
from sluicegate.dialects.json_calls import JSON
from sluicegate.dialects.kimik2 import KIMIK2
from sluicegate.dialects.llama import LLAMA
from sluicegate.dialects.mistral import MISTRAL
from sluicegate.dialects.passthrough import PASSTHROUGH
from sluicegate.dialects.qwen import QWEN

TOOL_FORMATS: tuple[ToolFormat, ...] = (
    PASSTHROUGH,
    JSON,
    MISTRAL,
    QWEN,
    LLAMA,
    DEEPSEEK,
    DEEPSEEK31,
    KIMIK2,
    INKLING,
    COHERE,
)
