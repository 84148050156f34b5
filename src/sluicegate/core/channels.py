"""Reasoning in typed channels: tables of states and tokens, and the one reader of all such formats.

Text of a state goes to the state's side, a token moves to another state. Blocks of tool calls are regions: they
pass verbatim up to the token that ends them, and quoted stretches are not searched for it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from sluicegate.core.context import Context
from sluicegate.core.errors import InvalidDialect
from sluicegate.core.events import Content, Reasoning, Side
from sluicegate.core.patterns import WHITE_SPACE, Steps
from sluicegate.core.reasoning import drop, open_block, report_stray, report_unclosed, send, send_frame
from sluicegate.core.tokens import Vocabulary

Treatment: TypeAlias = Literal["drop", "keep", "text"]


@dataclass(frozen=True)
class Move:
    """What a token does in a state: it is markup (`drop`), content (`keep`) or text of the state (`text`).

    `to` is the next state, empty for the same. `held` is the side of the text that the state held until now.
    `stray` marks a token that opens or closes nothing.
    """

    treatment: Treatment
    to: str = ""
    held: Side = "content"
    stray: bool = False


TEXT: Final = Move("text")
DROP: Final = Move("drop")


@dataclass(frozen=True, kw_only=True)
class State:
    """A state: the side of its text, and what the tokens do in it (a token that is not named is text).

    A state that `holds` keeps its text until a token says which side it is, and is content without one. Text that
    is not blank leads to the state `on_text` (of the same side). With `frame_at_end` one newline in front of a
    dropped token that leaves the reasoning is the template's.
    """

    side: Side
    moves: Mapping[str, Move]
    holds: bool = False
    on_text: str = ""
    frame_at_end: bool = False


REGION_END: Final = "end"
REGION_QUOTE: Final = "quote"


@dataclass(frozen=True, kw_only=True)
class Region:
    """Content that passes verbatim up to and including the token `end`, then goes on in the state `to`.

    The token `quote` of `outside` begins a quoted stretch, the one of `inside` ends it. All other tokens are data.
    """

    outside: Vocabulary
    inside: Vocabulary
    to: str


class ChannelFormat:
    """A format of typed channels.

    Attributes
    ----------
    names: parser names, the first is the main one.
    markers: the literals that open a block of reasoning; `closer` is what closes one in a prompt.
    vocabulary: all tokens outside regions.
    states, regions: the table.
    starts: the start states for `in_reasoning` absent, true and false.
    label: a text that is dropped at the start of the output; it opens the block if `in_reasoning` is absent.
    """

    def __init__(
        self,
        *names: str,
        markers: tuple[str, ...],
        closer: str,
        vocabulary: Vocabulary,
        states: Mapping[str, State],
        regions: Mapping[str, Region],
        starts: tuple[str, str, str],
        label: str = "",
    ) -> None:
        if not names or not markers:
            raise InvalidDialect(f"a reasoning format needs a name and a marker: {names!r}, {markers!r}")
        known = {*states, *regions}
        reached = {*starts, *(region.to for region in regions.values())}
        for state in states.values():
            reached |= {move.to for move in state.moves.values()} | {state.on_text}
        reached.discard("")
        if reached != known:
            raise InvalidDialect(f"{names[0]}: states that are unknown or never reached: {sorted(reached ^ known)}")
        self.names = names
        self.markers = markers
        self.closer = closer
        self.vocabulary = vocabulary
        self.states = states
        self.regions = regions
        self.starts = starts
        self.label = label

    @property
    def begins_in_reasoning(self) -> bool:
        """Whether the output begins in the block if the caller does not know the prompt."""
        return self.states[self.starts[0]].side == "reasoning"

    def opened_by(self, prompt: str) -> str:
        """The marker that the rendered prompt left open, or nothing."""
        return next(filter(None, (open_block(prompt, marker, self.closer) for marker in self.markers)), "")

    def read(self, context: Context, in_reasoning: bool | None = None, opened_by: str = "") -> Steps:  # noqa: ARG002
        """Read one output; the marker that opened the block makes no difference."""
        absent, inside, outside = self.starts
        name = absent if in_reasoning is None else inside if in_reasoning else outside
        if self.label and (yield from _read_label(context, self.label)) and in_reasoning is None:
            name = inside
        window = context.window
        state = self.states[name]
        block_start = window.offset
        held: list[tuple[int, str]] = []
        scan = window.pos
        while True:
            text = window.text
            token, at, behind = self.vocabulary.find(text, scan, window.final)
            if state.on_text and text[window.pos : at].strip(WHITE_SPACE):
                state = self.states[state.on_text]
            if token is None:
                if state.frame_at_end and not window.final and at > window.pos and text[at - 1] == "\n":
                    at -= 1  # the template's, if the block ends here
                if state.holds:
                    _hold(context, at, held)
                else:
                    send(context, at, state.side)
                if window.final:
                    break
                yield
                scan = window.pos
                continue
            move = state.moves.get(token, TEXT)
            if move.treatment == "text":
                if move.stray:
                    report_stray(context, window.base + at, text[at:behind], dropped=False)
                scan = behind
                continue
            next_state = self.states.get(move.to) if move.to else state
            leaves = state.side == "reasoning" and (next_state is None or next_state.side == "content")
            if state.holds:
                _hold(context, at, held)
                if move.to:
                    if next_state and next_state.on_text and any(piece.strip(WHITE_SPACE) for _, piece in held):
                        next_state = self.states[next_state.on_text]
                    _release(context, held, move.held)
            elif (
                state.frame_at_end and leaves and at > window.pos and text[at - 1] == "\n" and move.treatment == "drop"
            ):
                send(context, at - 1, state.side)
                send_frame(context, at, state.side)
            else:
                send(context, at, state.side)
            if move.stray:
                report_stray(context, window.offset, text[at:behind], dropped=move.treatment == "drop")
            if move.treatment == "drop":
                drop(context, behind)
            else:
                if leaves:
                    report_unclosed(context, block_start, by_call=True)
                send(context, behind, "content")
            if next_state is None:
                region = self.regions[move.to]
                yield from _read_region(context, region)
                next_state = self.states[region.to]
            if next_state.side == "reasoning" and state.side == "content":
                block_start = window.offset
            state = next_state
            scan = window.pos
        _release(context, held, state.side)
        if state.side == "reasoning":
            report_unclosed(context, block_start)


def _read_label(context: Context, label: str) -> Generator[None, None, bool]:
    """Drop the label at the start of the output, if it is there."""
    window = context.window
    while True:
        if window.text.startswith(label):
            drop(context, len(label))
            return True
        if window.final or not label.startswith(window.text):
            return False
        yield


def _read_region(context: Context, region: Region) -> Steps:
    """Send everything up to the token that ends the region, or to the end of the output."""
    window = context.window
    quoted = False
    scan = window.pos
    while True:
        token, at, behind = (region.inside if quoted else region.outside).find(window.text, scan, window.final)
        if token is None:
            send(context, at, "content")
            if window.final:
                return
            yield
            scan = window.pos
        elif token == REGION_END:
            send(context, behind, "content")
            return
        else:
            if token == REGION_QUOTE:
                quoted = not quoted
            scan = behind


def _hold(context: Context, end: int, held: list[tuple[int, str]]) -> None:
    window = context.window
    if end > window.pos:
        held.append((window.offset, window.text[window.pos : end]))
        window.pos = end


def _release(context: Context, held: list[tuple[int, str]], side: Side) -> None:
    event = Reasoning if side == "reasoning" else Content
    for start, text in held:
        context.events.append(event(start, start + len(text), text))
    held.clear()
