"""Reading a model's raw output: complete texts and streams, calls, reasoning, or both in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sluicegate.core.chain import Chain
from sluicegate.core.collect import collect
from sluicegate.core.context import HELD_TEXT_LIMIT, Context
from sluicegate.core.errors import ConflictingStart, MachineFinished, TextLimitExceeded
from sluicegate.core.events import Diagnostic, Event, Outcome
from sluicegate.core.foreign import ForeignMarkers, first_foreign
from sluicegate.core.machine import FormatMachine, ReasoningFormat, read_reasoning, read_tool_calls
from sluicegate.dialects.detection import choose_parsers
from sluicegate.dialects.registry import REASONING, TOOLS, FormatTable, FormatType
from sluicegate.plugins import load_installed_formats

TEXT_LIMIT: Final = 4_194_304
"""Default limit of the text that one reasoning parser takes, in bytes of UTF-8; 0 is none."""

PASSTHROUGH: Final = "passthrough"


def find_format(table: FormatTable[FormatType], name: str) -> FormatType:
    """The format of this name, of an installed package if need be. Raises `UnknownDialect`."""
    found = table.get(name)
    if found is None:
        load_installed_formats()
        found = table.find(name)
    return found


def start_state(form: ReasoningFormat, in_reasoning: bool | None, prompt: str | None) -> tuple[bool | None, str]:
    """Where an output begins, and the marker that the prompt left open.

    A prompt decides it by what it really ends with; an empty one says nothing. Raises `ConflictingStart` if
    `in_reasoning` says the opposite.
    """
    if not prompt:
        return in_reasoning, ""
    marker = form.opened_by(prompt)
    if in_reasoning is not None and in_reasoning != bool(marker):
        raise ConflictingStart(in_reasoning=in_reasoning, marker=marker)
    return bool(marker), marker


def _size(text: str) -> int:
    """Bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class Machine:
    """Reads one output while it comes: feed it the chunks, then finish it.

    Without a parser of one side that side reads nothing. No text makes a machine raise, but for the limit.

    Parameters
    ----------
    tool_call_parser, reasoning_parser: names of formats; `UnknownDialect` if there is none of this name.
    tools: the caller's tools in the OpenAI shape; they type the arguments of formats that write no types.
    in_reasoning: whether the prompt left the reasoning open; None is the parser's default.
    prompt: the rendered prompt or its tail, which decides `in_reasoning`.
    deltas: whether arguments are sent as they grow (`ArgumentsDelta`).
    details: whether calls carry the sub-spans of keys and values.
    remember: whether the events are kept for `finish_outcome`; without it memory stays bounded.
    held_text_limit: most text that waits for a decision, in code points.
    text_limit: most text that a reasoning parser takes, in bytes of UTF-8, 0 for none; `feed` raises
        `TextLimitExceeded` beyond it.
    """

    __slots__ = ("_events", "_finished", "_limit", "_machine", "_size", "_watches")

    def __init__(
        self,
        tool_call_parser: str | None = None,
        reasoning_parser: str | None = None,
        *,
        tools: Sequence[Any] | None = None,
        in_reasoning: bool | None = None,
        prompt: str | None = None,
        deltas: bool = True,
        details: bool = False,
        remember: bool = True,
        held_text_limit: int = HELD_TEXT_LIMIT,
        text_limit: int = TEXT_LIMIT,
    ) -> None:
        tool_form = None if tool_call_parser is None else find_format(TOOLS, tool_call_parser)
        reasoning_form = None if reasoning_parser is None else find_format(REASONING, reasoning_parser)
        self._watches: list[tuple[FormatTable[Any], str, ForeignMarkers]] = []
        machines: list[FormatMachine] = []
        if reasoning_form is not None:
            self._watch(REASONING, reasoning_form)
            if reasoning_parser != PASSTHROUGH:
                context = Context(held_text_limit=held_text_limit)
                state, marker = start_state(reasoning_form, in_reasoning, prompt)
                machines.append(FormatMachine(reasoning_form.read(context, state, marker), context))
        if tool_form is not None:
            self._watch(TOOLS, tool_form)
        if tool_form is not None and (tool_call_parser != PASSTHROUGH or not machines):
            context = Context(tools, deltas=deltas, details=details, held_text_limit=held_text_limit)
            machines.append(FormatMachine(tool_form.read(context), context))
        if not machines:
            context = Context()
            machines.append(FormatMachine(TOOLS.find(PASSTHROUGH).read(context), context))
        self._machine: Chain | FormatMachine = machines[0] if len(machines) == 1 else Chain(*machines)
        self._limit = text_limit if reasoning_parser not in {None, PASSTHROUGH} else 0
        self._size = 0
        self._finished = False
        self._events: list[Event] | None = [] if remember else None

    def _watch(self, table: FormatTable[FormatType], form: FormatType) -> None:
        self._watches.append((table, form.names[0], ForeignMarkers(*table.signs(form))))

    def check_size(self, text: str) -> None:
        """Raise `TextLimitExceeded` if this complete text, in whatever pieces it will be fed, exceeds `text_limit`."""
        _check_size(text, self._limit)

    def feed(self, chunk: str) -> list[Event]:
        """Take the next piece of the raw text and return what is certain now.

        Raises `TextLimitExceeded` beyond the limit and `MachineFinished` behind the end.
        """
        if self._limit:
            self._size += _size(chunk)
            if self._size > self._limit:
                raise TextLimitExceeded(self._size, self._limit)
        events = self._machine.feed(chunk)
        for _, _, watch in self._watches:
            watch.feed(chunk)
        if self._events is not None:
            self._events.extend(events)
        return events

    def finish(self) -> list[Event]:
        """The text has ended: decide what was open and return the last events.

        Raises `MachineFinished` the second time.
        """
        events = self._machine.finish()
        self._finished = True
        for table, name, watch in self._watches:
            watch.finish()
            if watch.found is not None:
                events.append(_foreign_markers(table, name, *watch.found))
        if self._events is not None:
            self._events.extend(events)
        return events

    def finish_outcome(self, *, keep_frame: bool = False) -> Outcome:
        """Finish if that is still to be done, and return all that was read.

        With `keep_frame` the white space of the templates stays in the texts. Raises `MachineFinished` if the
        machine was told not to remember.
        """
        if self._events is None:
            raise MachineFinished(
                "the machine does not remember its events; make it with remember=True, or collect them"
            )
        if not self._finished:
            self.finish()
        return collect(self._events, keep_frame=keep_frame)


def _foreign_markers(table: FormatTable[Any], name: str, marker: str, at: int) -> Diagnostic:
    names = sorted({owner.names[0] for owner in table.owners(marker)})
    return Diagnostic(
        "other_format_markers",
        "warning",
        at,
        at + len(marker),
        f"the text holds {marker}, a marker of the {table.kind} format {' or '.join(names)}, and none of {name}",
        raw=marker,
    )


def _watch_whole(events: list[Event], table: FormatTable[FormatType], form: FormatType, text: str) -> None:
    own, foreign = table.signs(form)
    found = first_foreign(text, own, foreign)
    if found is not None:
        events.append(_foreign_markers(table, form.names[0], *found))


def _check_size(text: str, limit: int) -> None:
    # No code point has more than four bytes.
    if limit and len(text) * 4 > limit:
        size = _size(text)
        if size > limit:
            raise TextLimitExceeded(size, limit)


def parse_tool_calls(
    text: str,
    parser: str,
    *,
    tools: Sequence[Any] | None = None,
    keep_frame: bool = True,
    details: bool = False,
    held_text_limit: int = HELD_TEXT_LIMIT,
) -> Outcome:
    """Read the tool calls of a complete output that holds no reasoning.

    `outcome.content` is the text around the calls. See `Machine` for the parameters. Raises `UnknownDialect`.
    """
    form = find_format(TOOLS, parser)
    events = read_tool_calls(form, text, tools, details, held_text_limit)
    _watch_whole(events, TOOLS, form, text)
    return collect(events, keep_frame=keep_frame)


def parse_reasoning(
    text: str,
    parser: str,
    *,
    in_reasoning: bool | None = None,
    prompt: str | None = None,
    keep_frame: bool = True,
    text_limit: int = TEXT_LIMIT,
) -> Outcome:
    """Split a complete output into reasoning and answer; calls stay in the answer.

    See `Machine` for the parameters. Raises `UnknownDialect`, `TextLimitExceeded`, `ConflictingStart`.
    """
    form = find_format(REASONING, parser)
    if parser != PASSTHROUGH:
        _check_size(text, text_limit)
    state, marker = start_state(form, in_reasoning, prompt)
    events = read_reasoning(form, text, state, marker)
    _watch_whole(events, REASONING, form, text)
    return collect(events, keep_frame=keep_frame)


def parse(
    text: str,
    *,
    tools: Sequence[Any] | None = None,
    model: str | None = None,
    tool_call_parser: str | None = None,
    reasoning_parser: str | None = None,
    in_reasoning: bool | None = None,
    prompt: str | None = None,
    keep_frame: bool = False,
    details: bool = False,
    held_text_limit: int = HELD_TEXT_LIMIT,
    text_limit: int = TEXT_LIMIT,
) -> Outcome:
    """Read reasoning, answer and tool calls of a complete output in one pass.

    The parsers are those that are named; what is not named comes from the model's name (`choose_parsers`), and is
    nothing if no model is given either. See `Machine` for the other parameters. Raises `UnknownDialect`,
    `TextLimitExceeded`, `ConflictingStart`.
    """
    choice = choose_parsers(model, tool_call_parser=tool_call_parser, reasoning_parser=reasoning_parser)
    machine = Machine(
        choice.tool_call_parser,
        choice.reasoning_parser,
        tools=tools,
        in_reasoning=in_reasoning,
        prompt=prompt,
        deltas=False,
        details=details,
        remember=False,
        held_text_limit=held_text_limit,
        text_limit=text_limit,
    )
    return collect([*machine.feed(text), *machine.finish()], keep_frame=keep_frame)


def tool_call_parsers() -> tuple[str, ...]:
    """Names of all tool-call parsers."""
    return TOOLS.names


def reasoning_parsers() -> tuple[str, ...]:
    """Names of all reasoning parsers."""
    return REASONING.names
