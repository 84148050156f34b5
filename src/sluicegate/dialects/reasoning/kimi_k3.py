"""Kimi K3: tags made of three tokens, one channel each for thoughts, answer and calls.

    <|open|>think<|sep|>The user asks for the weather.<|close|>think<|sep|>
    <|open|>response<|sep|>I will look it up.<|close|>response<|sep|><|open|>tools<|sep|>…<|close|>tools<|sep|>

Without knowledge of the prompt only the first tag says what the text in front of it is. Source: the chat template
of the checkpoint.
"""

from sluicegate.core.channels import DROP, REGION_END, REGION_QUOTE, ChannelFormat, Move, Region, State
from sluicegate.core.patterns import SPACE, SPACE_CLASS, Pattern, Run, either
from sluicegate.core.tokens import Token, Vocabulary

OPEN, CLOSE, SEPARATOR = "<|open|>", "<|close|>", "<|sep|>"
CHANNELS = ("think", "response", "message")
# White space and attributes together are capped like every variable part.
ATTRIBUTES = either((Run(SPACE_CLASS, 1, 1), Run("^<", 0, 255)), "")


def opener(channel: str, name: str = "") -> Token:
    """The tag that opens a channel; messages and arguments may carry attributes."""
    variable = ATTRIBUTES if channel in {"message", "argument"} else SPACE
    return Token(name or f"open {channel}", OPEN, Pattern(OPEN, SPACE, channel, variable, SEPARATOR))


def closer(channel: str, name: str = "") -> Token:
    """The tag that closes a channel."""
    return Token(name or f"close {channel}", CLOSE, Pattern(CLOSE, SPACE, channel, SPACE, SEPARATOR))


def cut_off(literal: str, *channels: str) -> Token:
    """A tag without white space that the end of the output cut off."""
    return Token("cut", literal, Pattern(literal, either(*channels), SEPARATOR), when_cut="tail")


def tools_region(to: str) -> Region:
    """The calls, then the state `to`; what stands inside an argument ends nothing."""
    return Region(
        outside=Vocabulary((closer("tools", REGION_END), opener("argument", REGION_QUOTE))),
        inside=Vocabulary((closer("argument", REGION_QUOTE),)),
        to=to,
    )


WRAPPERS = ("open response", "close response", "open message", "close message")
STRAY_TEXT = Move("text", stray=True)

KIMI_K3 = ChannelFormat(
    "kimi_k3",
    markers=("<|open|>think<|sep|>",),
    closer="<|close|>think<|sep|>",
    vocabulary=Vocabulary(
        (
            *map(opener, (*CHANNELS, "tools")),
            *map(closer, CHANNELS),
            cut_off(OPEN, *CHANNELS, "tools"),
            cut_off(CLOSE, *CHANNELS),
        )
    ),
    states={
        # The text in front of the first tag waits for it.
        "undecided": State(
            side="content",
            holds=True,
            moves={
                "open think": Move("drop", "reasoning"),
                "close think": Move("drop", "answer", held="reasoning"),
                "open response": Move("drop", "blank"),
                "close response": Move("drop", "blank"),
                "open message": DROP,
                "close message": Move("drop", "blank"),
                "open tools": Move("keep", "tools in content"),
                "cut": DROP,
            },
        ),
        # Content that has nothing but white space so far.
        "blank": State(
            side="content",
            on_text="content",
            moves={
                "open think": Move("drop", "reasoning"),
                "close think": Move("drop", "answer", stray=True),
                **dict.fromkeys(WRAPPERS, DROP),
                "open tools": Move("keep", "tools in content"),
                "cut": DROP,
            },
        ),
        "content": State(
            side="content",
            moves={
                "open think": Move("drop", "reasoning"),
                "close think": Move("keep", "answer", stray=True),
                **dict.fromkeys(WRAPPERS, DROP),
                "open tools": Move("keep", "tools in content"),
                "cut": DROP,
            },
        ),
        "assumed": State(
            side="reasoning",
            moves={
                "open think": Move("drop", "reasoning"),
                **dict.fromkeys(
                    ("close think", "open response", "close response", "close message"), Move("drop", "answer")
                ),
                "open tools": Move("keep", "tools in answer"),
                "cut": DROP,
            },
        ),
        "reasoning": State(
            side="reasoning",
            moves={
                "open think": DROP,
                **dict.fromkeys(("close think", "open response"), Move("drop", "answer")),
                "open tools": Move("keep", "tools in answer"),
                "cut": DROP,
            },
        ),
        "answer": State(
            side="content",
            moves={
                **dict.fromkeys(("open think", "close think"), STRAY_TEXT),
                **dict.fromkeys(WRAPPERS, DROP),
                "open tools": Move("keep", "tools in answer"),
                "cut": DROP,
            },
        ),
    },
    regions={"tools in content": tools_region("content"), "tools in answer": tools_region("answer")},
    starts=("undecided", "assumed", "blank"),
)
