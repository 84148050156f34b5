"""How a reader of a block says that it is no call, and what becomes of it."""

from __future__ import annotations

from sluicegate.core.blocks import BlockFormat, Session
from sluicegate.core.call import CallBuilder
from sluicegate.core.patterns import Steps


class CutOff(Exception):
    """The text ended inside the call."""


class Malformed(Exception):
    """The block is no call: why, and from which raw offset the end of the fault is searched (or where it ends)."""

    def __init__(self, message: str, resume: int, code: str = "malformed_call", *, ends: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.resume = resume
        self.code = code
        self.ends = ends


def or_fault(form: BlockFormat, session: Session, call: CallBuilder, reading: Steps) -> Steps:
    """Read a call; if it is none, it is a fault, and the window stands behind it."""
    window = session.window
    try:
        yield from reading
    except CutOff:
        window.pos = len(window.text)
        call.fault("incomplete_call", "the text ends inside the call", incomplete=True)
    except Malformed as problem:
        if problem.ends:
            window.rewind(problem.resume)
            call.fault(problem.code, problem.message)
        else:
            yield from form.resynchronise(session, call, problem.resume, problem.code, problem.message)
