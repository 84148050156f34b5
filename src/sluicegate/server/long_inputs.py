"""Long inputs: read and worked on in threads, in parts, so that short requests need not wait for them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TypeAlias, TypeVar

from sluicegate.core.collect import collect
from sluicegate.core.events import Event, Outcome
from sluicegate.parsing import Machine

from .body import LONG_BODY, go_on
from .long_strings import Pause
from .response import Response
from .routing import SMALL_BODY
from .state import ServiceState

T = TypeVar("T")
Answer: TypeAlias = Response | Awaitable[Response]

PIECE = 16 * 1024
"""Code points of a long text that a parser takes at once: a compiled core keeps the interpreter lock meanwhile."""

_REST = 1e-5
"""Seconds; the system makes 50 to 100 µs of it, long enough for a waiting thread to be put on the core."""


def rest() -> None:
    """Let others go first. A thread that works without a pause for a millisecond calls this within.

    The system may put the thread of the event loop behind one that computes, with or without the interpreter lock, and
    leave it there until its next tick, for up to 4 ms, although another core is free.
    """
    time.sleep(_REST)


def read(
    state: ServiceState, reader: Callable[[bytes, Pause], T], body: bytes, answer: Callable[[T], Answer]
) -> Answer:
    """Read a body, in a thread if it is long, and answer it."""
    return answer(reader(body, go_on)) if len(body) < LONG_BODY else _read_in_thread(state, reader, body, answer)


async def _read_in_thread(
    state: ServiceState, reader: Callable[[bytes, Pause], T], body: bytes, answer: Callable[[T], Answer]
) -> Response:
    response = answer(await state.in_thread(partial(reader, body, rest)))
    return response if isinstance(response, Response) else await response


def run(state: ServiceState, body: bytes, work: Callable[[], Response]) -> Answer:
    """Do the work that a body asks for, in a thread if the body is not short."""
    return work() if len(body) <= SMALL_BODY else state.in_thread(work)


def parse(machine: Machine, text: str, *, keep_frame: bool) -> Outcome:
    """The outcome of a text; a long one is fed in pieces, with a rest after each, so only in a thread.

    Raises `TextLimitExceeded`, before any of the text is read.
    """
    machine.check_size(text)
    return collect(_events_of(machine, text), keep_frame=keep_frame)


def _events_of(machine: Machine, text: str) -> Iterator[Event]:
    if len(text) <= SMALL_BODY:
        yield from machine.feed(text)
    else:
        for start in range(0, len(text), PIECE):
            yield from machine.feed(text[start : start + PIECE])
            rest()
    yield from machine.finish()
