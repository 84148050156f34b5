"""Read what language models write: answer, reasoning and tool calls, every character accounted for."""

from sluicegate._version import __version__
from sluicegate.core.collect import collect
from sluicegate.core.errors import (
    ConflictingStart,
    InvalidDialect,
    MachineFinished,
    SluicegateError,
    TextLimitExceeded,
    UnknownDialect,
)
from sluicegate.core.events import (
    ArgumentsDelta,
    Call,
    CallEnd,
    CallFault,
    CallStart,
    Content,
    Diagnostic,
    Event,
    Fault,
    Frame,
    Markup,
    Outcome,
    Part,
    Reasoning,
    Span,
)
from sluicegate.dialects.declared import register_formats
from sluicegate.dialects.detection import Choice, Override, choose_parsers
from sluicegate.parsing import Machine, parse, parse_reasoning, parse_tool_calls, reasoning_parsers, tool_call_parsers
from sluicegate.tokenizers import StreamingDetokenizer, Tokenizer, load_tokenizer

__all__ = [
    "ArgumentsDelta",
    "Call",
    "CallEnd",
    "CallFault",
    "CallStart",
    "Choice",
    "ConflictingStart",
    "Content",
    "Diagnostic",
    "Event",
    "Fault",
    "Frame",
    "InvalidDialect",
    "Machine",
    "MachineFinished",
    "Markup",
    "Outcome",
    "Override",
    "Part",
    "Reasoning",
    "SluicegateError",
    "Span",
    "StreamingDetokenizer",
    "TextLimitExceeded",
    "Tokenizer",
    "UnknownDialect",
    "__version__",
    "choose_parsers",
    "collect",
    "load_tokenizer",
    "parse",
    "parse_reasoning",
    "parse_tool_calls",
    "reasoning_parsers",
    "register_formats",
    "tool_call_parsers",
]
