"""The tool formats that come with the library, in the order of the documentation."""

from __future__ import annotations

from sluicegate.core.machine import ToolFormat
from sluicegate.dialects.cohere import COHERE
from sluicegate.dialects.deepseek import DEEPSEEK, DEEPSEEK31
from sluicegate.dialects.dsml import DEEPSEEK32, DEEPSEEK_V4, DEEPSEEK_V41
from sluicegate.dialects.gemma4 import GEMMA4
from sluicegate.dialects.glm import GLM45_MOE, GLM47_MOE
from sluicegate.dialects.hy_v4 import HY_V4
from sluicegate.dialects.inkling import INKLING
from sluicegate.dialects.json_calls import JSON
from sluicegate.dialects.kimi_k3 import KIMI_K3
from sluicegate.dialects.kimik2 import KIMIK2
from sluicegate.dialects.llama import LLAMA
from sluicegate.dialects.minimax_m2 import MINIMAX_M2
from sluicegate.dialects.minimax_m3 import MINIMAX_M3
from sluicegate.dialects.mistral import MISTRAL
from sluicegate.dialects.passthrough import PASSTHROUGH
from sluicegate.dialects.pythonic import PYTHONIC
from sluicegate.dialects.qwen import QWEN
from sluicegate.dialects.qwen_xml import QWEN_XML
from sluicegate.dialects.sarashina import SARASHINA
from sluicegate.dialects.step3 import STEP3

TOOL_FORMATS: tuple[ToolFormat, ...] = (
    PASSTHROUGH,
    JSON,
    MISTRAL,
    QWEN,
    LLAMA,
    DEEPSEEK,
    DEEPSEEK31,
    PYTHONIC,
    SARASHINA,
    KIMIK2,
    INKLING,
    MINIMAX_M3,
    GEMMA4,
    COHERE,
    QWEN_XML,
    DEEPSEEK32,
    DEEPSEEK_V4,
    DEEPSEEK_V41,
    GLM45_MOE,
    GLM47_MOE,
    STEP3,
    MINIMAX_M2,
    HY_V4,
    KIMI_K3,
)
