"""The tool formats that come with the library, in the order of the documentation."""

from __future__ import annotations

from sluicegate.core.machine import ToolFormat
from sluicegate.dialects.cohere import COHERE
from sluicegate.dialects.deepseek import DEEPSEEK, DEEPSEEK31
from sluicegate.dialects.dsml import DEEPSEEK32, DEEPSEEK_V4, DEEPSEEK_V41
from sluicegate.dialects.inkling import INKLING
from sluicegate.dialects.json_calls import JSON
from sluicegate.dialects.kimik2 import KIMIK2
from sluicegate.dialects.llama import LLAMA
from sluicegate.dialects.mistral import MISTRAL
from sluicegate.dialects.passthrough import PASSTHROUGH
from sluicegate.dialects.pythonic import PYTHONIC
from sluicegate.dialects.qwen import QWEN
from sluicegate.dialects.qwen_xml import QWEN_XML

TOOL_FORMATS: tuple[ToolFormat, ...] = (
    PASSTHROUGH,
    JSON,
    MISTRAL,
    QWEN,
    LLAMA,
    DEEPSEEK,
    DEEPSEEK31,
    PYTHONIC,
    KIMIK2,
    INKLING,
    COHERE,
    QWEN_XML,
    DEEPSEEK32,
    DEEPSEEK_V4,
    DEEPSEEK_V41,
)
