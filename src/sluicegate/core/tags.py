"""The marks of a format: literals, literals with a variable part, and openers with a condition on what follows."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from re import Match
from typing import Final, Literal, TypeAlias

from sluicegate.core.patterns import CUT, Cut, Pattern
from sluicegate.core.window import Window

Role: TypeAlias = Literal["marker", "section", "section_end", "wrapper", "headed", "end_token", "channel"]
Stop: TypeAlias = Literal["", "behind", "before"]


@dataclass(frozen=True, kw_only=True)
class Opener:
    """A literal, with `rest` behind it if the marker has a variable part, that opens a block where `condition` follows.

    Where the condition is contradicted the literal is a mention, plain text. Its reach ends behind the first of
    `reach`, or before the next opener that counts: inside it other markers are text, too. `closing_stops` end a fault
    of this block beside those of the format. A block with a `problem` is never readable. `bare_header` lets
    the block begin with a word before the literal, if that is the call's name.
    A `trial` is a bracket that may begin a call: the reader of the block says whether it is one, or text.
    `other_bodies` are names of other formats with what stands behind the literal there: such a mention is reported.
    """

    literal: str
    rest: Pattern | None = None
    condition: Pattern | None = None
    reach: tuple[str, ...] = ()
    closing_stops: tuple[str, ...] = ()
    problem: str = ""
    bare_header: bool = False
    trial: bool = False
    other_bodies: tuple[tuple[str, Pattern], ...] = ()

    def decide(self, window: Window) -> Generator[None, None, tuple[Match[str] | None] | Cut | None]:
        """Whether the literal, which is next in the window, opens a block: the match of the condition in a tuple,
        `CUT` if the text ends before that is decided, or None. It stays in the window: it is text if it does not count.
        """
        found = recognise(window, self.literal, (self,), None)
        while found is None:
            yield
            found = recognise(window, self.literal, (self,), None)
        if found.verdict == "cut":
            return CUT
        return (found.match,) if found.verdict == "counts" else None


@dataclass(frozen=True, kw_only=True)
class Tag:
    """Any other marker. Where its variable part `rest` does not follow, the literal is text.

    With `alone` the literal is then the marker by itself. `stop` says whether a fault ends before or behind it.
    """

    literal: str
    rest: Pattern | None = None
    role: Role = "marker"
    alone: bool = False
    stop: Stop = ""


Form: TypeAlias = "Opener | Tag"
Verdict: TypeAlias = Literal["counts", "mention", "text", "cut"]


class Recognised:
    """What stands at a literal: its form and the length of the marker.

    `match` is that of the opener's condition, else that of the variable part; its positions hold until more text comes.
    """

    __slots__ = ("form", "match", "size", "verdict")

    def __init__(
        self, verdict: Verdict, form: Form | None = None, size: int = 0, match: Match[str] | None = None
    ) -> None:
        self.verdict: Verdict = verdict
        self.form = form
        self.size = size
        self.match = match


TEXT: Final = Recognised("text")


def is_certain(form: Form) -> bool:
    """Whether the literal alone makes the marker, whatever follows."""
    return form.rest is None and (isinstance(form, Tag) or form.condition is None)


def suffix_of(match: Match[str] | None) -> str:
    """The suffix that a marker carries, in formats where they do."""
    return "" if match is None else match.groupdict().get("suffix") or ""


def recognise(
    window: Window, literal: str, forms: Sequence[Form], section: str | None, *, sectioned: bool = False
) -> Recognised | None:
    """What the literal at the window's position is, None if that takes more text; nothing is consumed.

    Of several forms the first that fits counts. With `sectioned` markers count inside a section if they carry its
    suffix (`section`, None outside), and outside if they carry a suffix.
    """
    text, at = window.text, window.pos + len(literal)
    undecided = False
    missed: list[Pattern] = []
    mention = TEXT
    for form in forms:
        size = len(literal)
        match: Match[str] | None = None
        if form.rest is not None:
            match = form.rest.match(text, at)
            if match is None:
                if isinstance(form, Tag) and form.alone and (window.final or form.rest.may_match(text, at) is None):
                    return Recognised("counts", form, size)
                missed.append(form.rest)
                continue
            size = match.end() - window.pos
        here = not sectioned or _counts_in(section, form, suffix_of(match))
        if isinstance(form, Tag):
            if here:
                return Recognised("counts", form, size, match)
            continue
        condition = form.condition
        if here and condition is not None:
            found = condition.match(text, window.pos + size)
            if found is not None:
                return Recognised("counts", form, size, found)
            if condition.may_match(text, window.pos + size) is not None:
                if window.final:
                    return Recognised("cut", form, size)
                undecided = True
        elif here:
            return Recognised("counts", form, size, match)
        mention = Recognised("mention", form, size)
    if window.final:
        return mention
    # Asked last: mostly another form fits.
    return None if undecided or any(rest.may_match(text, at) is not None for rest in missed) else mention


def _counts_in(section: str | None, form: Form, suffix: str) -> bool:
    opens = isinstance(form, Tag) and form.role == "section"
    if section is None:
        return opens or bool(suffix) or (isinstance(form, Tag) and form.role in ("section_end", "end_token"))
    return opens or suffix == section or (isinstance(form, Tag) and form.role == "end_token")
