"""Where a tagged value ends: nothing in it but its own closing tag, where the grammar can go on from there.

A value ends at its first closing tag behind which, after white space, the call goes on (`continues`). If a call closer
comes first, two things are possible: the value quotes it, or its closing tag was forgotten. Nothing is decided until a
closing tag that counts comes (it was quoted), or a call visibly starts or the text ends (it was forgotten). What a
search behind a call closer found holds for the values that follow (`Session.known`), so that the time stays linear.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable
from dataclasses import dataclass
from re import Match
from typing import Literal, TypeAlias

from sluicegate.core.block_fault import CutOff, Malformed
from sluicegate.core.blocks import Session
from sluicegate.core.errors import InvalidDialect
from sluicegate.core.patterns import WHITE_SPACE, Markers, Pattern
from sluicegate.core.tags import Tag, suffix_of
from sluicegate.core.white_space import skip_space

SignKind: TypeAlias = Literal["closer", "call_closer", "early_closer", "item", "start", "section", "section_end"]


@dataclass(frozen=True)
class Sign:
    """A literal that means something inside a value, `newline` with the template's line break before it."""

    kind: SignKind
    literal: str
    rest: Pattern | None
    newline: int


class Signs:
    """The signs that are searched for together.

    `first` is the character that all begin with, "" if they differ; with `breaks` a line break may stand before it.
    """

    __slots__ = ("_forms", "_markers", "breaks", "first")

    def __init__(self, signs: Iterable[Sign]) -> None:
        self._forms: dict[str, list[Sign]] = {}
        for sign in signs:
            self._forms.setdefault(sign.literal, []).append(sign)
        self._markers = Markers(self._forms)
        self.breaks = any(literal.startswith("\n") for literal in self._forms)
        firsts = {literal.removeprefix("\n")[0] for literal in self._forms}
        self.first = firsts.pop() if len(firsts) == 1 else ""

    def find(self, text: str, pos: int, final: bool, suffix: str) -> tuple[Sign | None, int, int, Match[str] | None]:
        """The next sign, its start and end, and the match of its variable part; None and from where text is held.

        All but the signs of other calls and sections must carry the call's `suffix`.
        """
        while True:
            literal, at = self._markers.find(text, pos, final)
            if literal is None:
                return None, at, at, None
            end = at + len(literal)
            for sign in self._forms[literal]:
                if sign.rest is None:
                    return sign, at, end, None
                match = sign.rest.match(text, end)
                if match is not None:
                    if sign.kind in ("start", "section", "section_end") or suffix_of(match) == suffix:
                        # What shows that a call starts is looked at again if it does not count here.
                        return sign, at, end if sign.kind == "start" else match.end(), match
                elif not final and sign.rest.may_match(text, end) is not None:
                    return None, at, at, None
            pos = at + 1


@dataclass(frozen=True, kw_only=True)
class ValueSyntax:
    """How a format's values end.

    `closer` ends a value where `continues` matches behind it. `call_closer` is where it ended if its closer was
    forgotten; `early_closer` is a weaker one, which counts where no `call_closer` comes, and then only before a call
    or, at the end of the text, before nothing but an end-of-turn token or a cut call closer. `item` is the opening of
    the next item: in a value that was never closed it shows that more is damaged; with `declared_items` it ends the
    value if it stands behind a line break and its key (group `key`) is declared and not yet given. `start` is how a
    call visibly starts. With `frame` the template writes a line break on either side of a value, with
    `newline_before_call_closer` one before a call closer. `sections` matter where markers count in a section only.
    """

    closer: Tag
    continues: Pattern
    call_closer: Tag
    early_closer: Tag | None = None
    item: Tag
    declared_items: bool = False
    start: Tag
    frame: bool = False
    newline_before_call_closer: bool = False
    sections: tuple[Tag, ...] = ()

    def signs(self, *, behind_call_closer: bool) -> Signs:
        """The signs to search for, behind a call closer those of other calls, too."""
        before = ("", "\n")
        found = [*_signs("closer", self.closer, before if self.frame else ("",))]
        found += _signs("item", self.item, ("\n",) if self.declared_items else ("",))
        framed = self.frame or self.newline_before_call_closer
        found += _signs("call_closer", self.call_closer, before if framed else ("",))
        if self.early_closer is not None:
            found += _signs("early_closer", self.early_closer, before)
        if behind_call_closer:
            found += _signs("start", self.start, ("",))
            for tag in self.sections:
                if tag.role not in {"section", "section_end"}:
                    raise InvalidDialect(f"{tag.literal!r} is no section marker")
                found += _signs("section" if tag.role == "section" else "section_end", tag, ("",))
        return Signs(found)


def _signs(kind: SignKind, tag: Tag, before: tuple[str, ...]) -> Iterable[Sign]:
    return (Sign(kind, newline + tag.literal, tag.rest, len(newline)) for newline in before)


class End:
    """Where a value ends, as raw offset; `by` says at what. The window stands where the call goes on."""

    __slots__ = ("at", "by")

    def __init__(self, at: int, by: Literal["closer", "item", "call_closer"]) -> None:
        self.at = at
        self.by = by


class CallCloser:
    """A call closer K inside an open value, in raw offsets: where the value would end, where K starts and ends."""

    __slots__ = ("end", "start", "value_end", "weak")

    def __init__(self, value_end: int, start: int, end: int, weak: bool = False) -> None:
        self.value_end = value_end
        self.start = start
        self.end = end
        self.weak = weak


Write: TypeAlias = Callable[[str], object]


class ValueReader:
    """Reads values of one format; made once, used for all."""

    __slots__ = ("_behind", "_end_tokens", "_inside", "_sectioned", "syntax")

    def __init__(self, syntax: ValueSyntax, end_tokens: tuple[str, ...], *, sectioned: bool) -> None:
        self.syntax = syntax
        self._inside = syntax.signs(behind_call_closer=False)
        self._behind = syntax.signs(behind_call_closer=True)
        self._end_tokens = end_tokens
        self._sectioned = sectioned

    def find_end(
        self,
        session: Session,
        write: Write,
        suffix: str,
        open_keys: Collection[str],
        close: CallCloser | None = None,
    ) -> Generator[None, None, End]:
        """Read on to the end of the value, handing its text to `write`.

        `open_keys` are the declared keys that were not given yet. `close` is a call closer that was read before; the
        value's text is then written from its `value_end` on. Raises `CutOff` and `Malformed`.
        """
        window = session.window
        limit = session.context.held_text_limit
        section = session.section
        first, breaks = self._inside.first, self._inside.breaks
        damage = -1
        if close is not None and self._is_known(session, close, open_keys):
            return self._forgotten(session, close, damage)
        while True:
            if close is None:
                # Most chunks hold nothing that may begin a sign.
                text = window.text
                while text.find(first, window.pos) < 0 and not (window.final or (breaks and text[-1:] == "\n")):
                    if len(text) > window.pos:
                        write(text[window.pos :])
                        window.pos = len(text)
                    yield
                    text = window.text
            signs = self._inside if close is None else self._behind
            sign, at, end, match = signs.find(window.text, window.pos, window.final, suffix)
            if close is None:
                if sign is None and window.final:
                    # What may be the beginning of a tag is no part of a value that was cut off.
                    write(window.text[window.pos : signs.find(window.text, window.pos, False, suffix)[1]])
                elif at > window.pos:
                    write(window.text[window.pos : at])
            elif window.base + at - close.end > limit:
                session.known = window.base + at
                self._report_limit(session, close, limit)
                return self._forgotten(session, close, damage)
            window.pos = at
            if sign is None:
                if not window.final:
                    yield
                    continue
                if close is None or (close.weak and not self._ends_with(session, close)):
                    raise CutOff
                session.known = window.offset
                return self._forgotten(session, close, damage)
            start = window.offset
            if sign.kind == "closer":
                counts = yield from self.counts(session, end, suffix)
                if counts:
                    if close is not None:
                        write(window.slice(close.value_end, start))
                    return End(start, "closer")
                if counts is None:
                    window.pos = len(window.text)
                    continue
                damage = start if damage < 0 else damage
                if close is None:
                    write(window.slice(start, window.offset))
                continue
            if sign.kind == "item":
                if self.syntax.declared_items:
                    assert match is not None
                    key = match["key"].strip(WHITE_SPACE)
                    if key in open_keys:
                        if close is not None:
                            write(window.slice(close.value_end, start))
                        window.pos = at + 1
                        return End(start, "item")
                    if close is not None:
                        session.passed_keys[key] = start
                damage = start if damage < 0 else damage
            elif sign.kind == "start":
                if not self._sectioned or section == suffix_of(match) or (section is None and suffix_of(match)):
                    assert close is not None
                    session.known = start
                    return self._forgotten(session, close, damage)
            elif sign.kind == "section":
                section = suffix_of(match)
            elif sign.kind == "section_end":
                section = None if section == suffix_of(match) else section
            elif close is None or close.weak:
                found = CallCloser(start, start + sign.newline, start + end - at, sign.kind == "early_closer")
                if close is not None:
                    if not found.weak and not window.slice(close.end, found.start).strip(WHITE_SPACE):
                        found = CallCloser(close.value_end, close.start, found.end)
                    else:
                        write(window.slice(close.value_end, found.value_end))
                close = found
                if not close.weak and self._is_known(session, close, open_keys):
                    return self._forgotten(session, close, damage)
            if close is None:
                write(window.text[at:end])
            window.pos = end

    @staticmethod
    def _is_known(session: Session, close: CallCloser, open_keys: Collection[str]) -> bool:
        """Whether an earlier search has shown that nothing ends the value behind this call closer."""
        passed = session.passed_keys
        return close.end <= session.known and not any(passed.get(key, -1) >= close.end for key in open_keys)

    def counts(self, session: Session, end: int, suffix: str) -> Generator[None, None, bool | None]:
        """Whether the call goes on behind a closing tag that ends at position `end`; None if the text ends too early.

        Consumes the tag and the white space behind it, a line break at its end excepted where the tag does not count.
        """
        window = session.window
        window.pos = end
        last = yield from skip_space(window)
        continues = self.syntax.continues
        while True:
            match = continues.match(window.text, window.pos)
            if match is not None:
                if suffix_of(match) == suffix:
                    return True
                break
            if continues.may_match(window.text, window.pos) is None:
                break
            if window.final:
                return None
            yield
        if last == "\n":
            window.rewind(window.offset - 1)
        return False

    def _ends_with(self, session: Session, close: CallCloser) -> bool:
        """Whether the text ends behind a weak call closer as it does behind a call."""
        window = session.window
        rest = window.slice(close.end, window.offset).lstrip(WHITE_SPACE)
        return self.syntax.call_closer.literal.startswith(rest) or rest.startswith(self._end_tokens)

    @staticmethod
    def _report_limit(session: Session, close: CallCloser, limit: int) -> None:
        session.context.report(
            "held_text_limit",
            "warning",
            close.start,
            close.end,
            f"more than {limit} code points waited behind a call closer in an open value: the value ends there",
        )

    @staticmethod
    def _forgotten(session: Session, close: CallCloser, damage: int) -> End:
        """The value's closing tag was forgotten: it ended before the call closer."""
        if 0 <= damage < close.start:
            raise Malformed("a value is not closed, and more is damaged than one closing tag", close.end, ends=True)
        session.context.report(
            "unclosed_parameter", "warning", close.start, close.end, "a value has no closing tag: it ends with its call"
        )
        session.window.rewind(close.start)
        return End(close.value_end, "call_closer")
