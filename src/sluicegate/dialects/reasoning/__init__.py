"""How model families write their chain of thought: one file per family."""

from __future__ import annotations

from typing import Final

from sluicegate.core.machine import ReasoningFormat
from sluicegate.dialects.reasoning.cohere import COHERE_CMD
from sluicegate.dialects.reasoning.deepseek import DEEPSEEK_R1, DEEPSEEK_V4, DEEPSEEK_V31, DEEPSEEK_V41
from sluicegate.dialects.reasoning.gemma import GEMMA4
from sluicegate.dialects.reasoning.glm import GLM45
from sluicegate.dialects.reasoning.hunyuan import HY_V4
from sluicegate.dialects.reasoning.inkling import INKLING
from sluicegate.dialects.reasoning.kimi import KIMI, KIMI_K25, KIMI_THINKING
from sluicegate.dialects.reasoning.kimi_k3 import KIMI_K3
from sluicegate.dialects.reasoning.minimax import MINIMAX, MINIMAX_M3
from sluicegate.dialects.reasoning.nemotron import NANO_V3
from sluicegate.dialects.reasoning.passthrough import PASSTHROUGH
from sluicegate.dialects.reasoning.qwen import QWEN3, QWEN3_THINKING
from sluicegate.dialects.reasoning.step import STEP3
from sluicegate.dialects.reasoning.think import BASE

REASONING_FORMATS: Final[tuple[ReasoningFormat, ...]] = (
    BASE,
    PASSTHROUGH,
    DEEPSEEK_R1,
    DEEPSEEK_V31,
    DEEPSEEK_V4,
    DEEPSEEK_V41,
    QWEN3,
    QWEN3_THINKING,
    NANO_V3,
    GLM45,
    STEP3,
    KIMI,
    KIMI_K25,
    KIMI_THINKING,
    KIMI_K3,
    MINIMAX,
    MINIMAX_M3,
    COHERE_CMD,
    HY_V4,
    GEMMA4,
    INKLING,
)
