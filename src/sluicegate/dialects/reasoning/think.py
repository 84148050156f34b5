"""Models that write `<think>` and `</think>` and have no format of their own.

<think>The user asks for 6*7.</think>It is 42.
"""

from sluicegate.core.reasoning import PairFormat

BASE = PairFormat("base", start="<think>", end="</think>")
