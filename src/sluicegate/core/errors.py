"""The errors of the library. Model output never raises one, but for a limit that the caller set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class SluicegateError(Exception):
    """Base of every error that the library raises on purpose."""


class UnknownDialect(SluicegateError, LookupError):
    """No registered format has this name.

    Attributes: `kind` ("tool" or "reasoning"), `name`, `known` (all names, sorted), `closest` (the similar ones).
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known: Sequence[str] = sorted(known)
        self.closest: Sequence[str] = get_close_matches(name, self.known, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(self.closest)}?" if self.closest else ""
        super().__init__(f"Unknown {kind} parser: {name}{hint}")


class InvalidDialect(SluicegateError, ValueError):
    """A format's table contradicts itself; raised when the table is made, never while parsing."""


class TextLimitExceeded(SluicegateError, ValueError):
    """More text was fed to a parser than its limit allows. `size` and `limit` are bytes of UTF-8."""

    def __init__(self, size: int, limit: int) -> None:
        self.size = size
        self.limit = limit
        super().__init__(f"Buffer overflow: {size} bytes exceeds maximum {limit}")


class ConflictingStart(SluicegateError, ValueError):
    """`in_reasoning` and the prompt contradict each other. `marker` is what the prompt left open, or empty."""

    def __init__(self, *, in_reasoning: bool, marker: str) -> None:
        self.in_reasoning = in_reasoning
        self.marker = marker
        where = f"ends inside a block that {marker!r} opened" if marker else "ends outside the reasoning"
        given = str(in_reasoning).lower()
        super().__init__(f"in_reasoning is {given}, but the prompt {where}; give only one of the two")


class MachineFinished(SluicegateError, RuntimeError):
    """`feed` or `finish` was called on a machine that has already finished: make a new one for each output."""


class InvalidSetting(SluicegateError, ValueError):
    """A setting cannot be used; the service does not start with it.

    Attributes: `field` (name of the setting), `value` (as given; for a secret `HIDDEN`), `reason`.
    """

    HIDDEN = "<hidden>"

    def __init__(self, field: str, value: object, reason: str) -> None:
        self.field = field
        self.value = value
        self.reason = reason
        super().__init__(f"Invalid value for field '{field}': {value} - {reason}")
