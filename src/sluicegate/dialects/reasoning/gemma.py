"""Gemma 4: a channel that may repeat; its label belongs to the marker.

    <|channel>thought
    The user asks for the weather.
    <channel|>I will look it up.<|tool_call>…<tool_call|>

Source: the chat template of the checkpoints.
"""

from sluicegate.core.channels import REGION_END, REGION_QUOTE, ChannelFormat, Move, Region, State
from sluicegate.core.tokens import Token, Vocabulary

CHANNEL, CLOSE, CALL, CALL_END, QUOTE = "<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", '<|"|>'
LABEL = "thought\n"

OPEN_TOKEN, CLOSE_TOKEN, CALL_TOKEN = "open", "close", "call"

GEMMA4 = ChannelFormat(
    "gemma4",
    markers=(CHANNEL,),
    closer=CLOSE,
    vocabulary=Vocabulary(
        (
            Token(OPEN_TOKEN, CHANNEL + LABEL),
            Token(OPEN_TOKEN, CHANNEL),
            Token(CLOSE_TOKEN, CLOSE),
            Token(CALL_TOKEN, CALL),
        )
    ),
    states={
        "content": State(
            side="content",
            moves={
                OPEN_TOKEN: Move("drop", "reasoning"),
                CLOSE_TOKEN: Move("drop", stray=True),
                CALL_TOKEN: Move("keep", "tool"),
            },
        ),
        "reasoning": State(
            side="reasoning",
            moves={
                OPEN_TOKEN: Move("drop"),
                CLOSE_TOKEN: Move("drop", "content"),
                CALL_TOKEN: Move("keep", "tool"),
            },
            frame_at_end=True,
        ),
    },
    regions={
        "tool": Region(
            outside=Vocabulary((Token(REGION_END, CALL_END), Token(REGION_QUOTE, QUOTE))),
            inside=Vocabulary((Token(REGION_QUOTE, QUOTE),)),
            to="content",
        )
    },
    starts=("content", "reasoning", "content"),
    label=LABEL,
)
