"""Inkling: messages of typed blocks, in any order and number.

    <|message_model|><|content_thinking|>The user asks for the weather.<|end_message|>
    <|message_model|><|content_text|>I will look it up.<|end_message|>
    <|message_model|>get_weather<|content_invoke_tool_json|>{…}<|end_message|>

Source: the chat template of the checkpoint.
"""

from sluicegate.core.channels import DROP, REGION_END, REGION_QUOTE, ChannelFormat, Move, Region, State
from sluicegate.core.patterns import SPACE_CLASS, Pattern, Run, either
from sluicegate.core.tokens import Token, Vocabulary

MODEL, THINKING, TEXT, CALL = (
    "<|message_model|>",
    "<|content_thinking|>",
    "<|content_text|>",
    "<|content_invoke_tool_json|>",
)
ENDS = ("<|end_message|>", "<|content_model_end_sampling|>")
OTHER_TYPES = (
    "<|content_image|>",
    "<|content_audio_input|>",
    "<|content_tool_error|>",
    "<|content_xml|>",
    "<|content_invoke_tool_text|>",
)
OTHERS = ("<|endoftext|>", "<|message_user|>", "<|message_system|>", "<|message_tool|>", "<|audio_end|>")

HEADER, CUT_HEADER, END, OTHER = "header", "cut header", "end", "other"
TYPE = either(THINKING, TEXT, CALL, *OTHER_TYPES)

IN_MESSAGE = {
    THINKING: Move("drop", "reasoning"),
    TEXT: Move("drop", "content"),
    CALL: Move("keep", "call"),
    END: Move("drop", "none"),
    HEADER: Move("drop", "none"),
    OTHER: DROP,
}

INKLING = ChannelFormat(
    "inkling",
    markers=(THINKING,),
    closer=ENDS[0],
    vocabulary=Vocabulary(
        (
            # The type token is not part of the header: it is read next.
            Token(HEADER, MODEL, Pattern(MODEL, Run("^<", name="name"), TYPE), until="name"),
            Token(CUT_HEADER, MODEL, Pattern(MODEL, Run(f"^<{SPACE_CLASS}"), "<"), when_cut="tail"),
            Token(MODEL, MODEL),
            *(Token(token, token) for token in (THINKING, TEXT, CALL)),
            *(Token(END, token) for token in ENDS),
            *(Token(OTHER, token) for token in (*OTHER_TYPES, *OTHERS)),
        )
    ),
    states={
        "none": State(side="content", moves={**IN_MESSAGE, MODEL: DROP, CUT_HEADER: DROP}),
        "content": State(side="content", moves=IN_MESSAGE),
        "reasoning": State(side="reasoning", moves=IN_MESSAGE),
    },
    regions={
        "call": Region(
            outside=Vocabulary((*(Token(REGION_END, token) for token in ENDS), Token(REGION_QUOTE, '"'))),
            inside=Vocabulary((Token("escaped", "\\\\"), Token("escaped", '\\"'), Token(REGION_QUOTE, '"'))),
            to="none",
        )
    },
    starts=("none", "reasoning", "none"),
)
