"""Read what language models write: answer, reasoning and tool calls, every character accounted for."""
