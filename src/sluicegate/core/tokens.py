"""Markers with conditions: a literal to search for, and the forms that may begin with it.

`Vocabulary.find` is `Markers.find` for markers that are more than a literal: a tag with a variable part, or an
opener that counts only if something follows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sluicegate.core.patterns import Markers, Pattern

WhenCut: TypeAlias = Literal["text", "marker", "tail"]


@dataclass(frozen=True)
class Token:
    """One form that begins with `literal`.

    Without a pattern the literal is the token. With one, the pattern (which includes the literal) must match; the
    token ends behind the match, behind its group `until`, or with the literal (`only_literal`: the pattern is a
    condition on what follows). When the output ends before that is decided, the literal is `text`, or a `marker`;
    a form of kind `tail` is nothing but a beginning of its pattern that the end of the output cut off.
    """

    name: str
    literal: str
    pattern: Pattern | None = None
    until: str = ""
    only_literal: bool = False
    when_cut: WhenCut = "text"


class Vocabulary:
    """The tokens of one state, searched together; of several forms of one literal the first that matches counts."""

    __slots__ = ("_forms", "_markers", "tokens")

    def __init__(self, tokens: Iterable[Token]) -> None:
        self.tokens = tuple(tokens)
        self._markers = Markers(token.literal for token in self.tokens)
        self._forms: dict[str, list[Token]] = {}
        for token in self.tokens:
            self._forms.setdefault(token.literal, []).append(token)

    def find(self, text: str, pos: int, final: bool) -> tuple[str | None, int, int]:
        """Search from `pos`: the next token's name, start and end, or None and from where text must be held."""
        while True:
            literal, at = self._markers.find(text, pos, final)
            if literal is None:
                return None, at, at
            end = at + len(literal)
            for token in self._forms[literal]:
                pattern = token.pattern
                if pattern is None:
                    return token.name, at, end
                if token.when_cut == "tail":
                    if final and pattern.may_match(text, at) is not None:
                        return token.name, at, len(text)
                    continue
                found = pattern.match(text, at)
                if found is not None:
                    return token.name, at, end if token.only_literal else found.end(token.until or 0)
                if pattern.may_match(text, at) is not None:
                    if not final:
                        return None, at, at
                    if token.when_cut == "marker":
                        return token.name, at, end
            pos = end
