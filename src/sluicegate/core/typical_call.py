"""A whole call of the tagged shape, read at once if it is what models mostly write.

Typical is a call that lies in the window as a whole, whose values hold none of the tags that may end them, and that
leaves nothing to report. It is matched by regular expressions that are made from the format's table. Every other call
is read by `CallReading`, from its start; what is read here, it would read alike (a property test holds the two equal).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from re import Match
from typing import TYPE_CHECKING, Final

from sluicegate.core.blocks import Session
from sluicegate.core.call import CallBuilder
from sluicegate.core.json_reader import quote
from sluicegate.core.patterns import SPACE_CLASS, WHITE_SPACE, Matcher, stands_at
from sluicegate.core.schema import NO_TYPES
from sluicegate.core.tags import Tag, suffix_of
from sluicegate.core.values import TooDeep, Value, strict_json

if TYPE_CHECKING:
    from sluicegate.core.tagged import Tagged

_SPACE: Final = f"[{SPACE_CLASS}]*+"
_NOTHING: Final = "(?!)"
_TEXT: Final = frozenset({"string"})
_CONTAINERS_AND_STRINGS: Final = ("{", "[", '"')


def _rest(tag: Tag) -> str:
    """The expression of a tag's variable part."""
    return "" if tag.rest is None else tag.rest.expression


def _expression(tag: Tag) -> str:
    return re.escape(tag.literal) + _rest(tag)


class _Expressions:
    """The regular expressions of one format's typical calls."""

    __slots__ = ("behind", "ending", "heads", "item", "sign")

    def __init__(self, table: Tagged, signs: Iterable[str]) -> None:
        values = table.values
        begins = "" if table.preamble is None else table.preamble.expression
        closer = values.closer.literal
        longer = any(sign != closer and sign.startswith(closer) for sign in signs)
        if longer or table.closer.literal.startswith(values.item.literal):
            # What looks like one tag may be the beginning of another: no call is certain at first sight.
            begins = _NOTHING
        # What matches an opener and the head behind it, by the opener's literal.
        self.heads: dict[str, Matcher] = {
            literal: re.compile(re.escape(literal) + begins + head.expression).match
            for literal, head in table.heads.items()
        }
        # What matches the opening tag of an item and white space before it.
        self.item: Matcher = re.compile(_SPACE + table.item.usual).match
        # What finds the next tag that may end a value.
        self.sign: Matcher = re.compile("|".join(map(re.escape, sorted(signs, key=len, reverse=True)))).search
        # What matches the rest of a value's closing tag and white space, where the call goes on behind it.
        continues = values.continues.expression.replace("(?P<suffix>", "(?:")
        self.behind: Matcher = re.compile(f"{_rest(values.closer)}{_SPACE}(?={continues})").match
        # What matches the end of a call and of its wrapper; a group stands before the closer.
        wrapper_end = ""
        if table.wrapper != "none" and table.wrapper_end is not None:
            wrapper_end = f"{_SPACE}{_expression(table.wrapper_end)}"
        self.ending: Matcher = re.compile(f"(?P<before>{_SPACE}){_expression(table.closer)}{wrapper_end}").match


class TypicalCall:
    """Reads the typical calls of one format; made once, used for all."""

    def __init__(self, table: Tagged) -> None:
        values = table.values
        self._table = table
        self._closer = values.closer.literal
        early = () if values.early_closer is None else (values.early_closer.literal,)
        self._signs = {values.closer.literal, values.item.literal, values.call_closer.literal, *early}
        firsts = {sign[0] for sign in self._signs}
        # What may end a value begins with this character, "" if that is not one and the same.
        self._first = firsts.pop() if len(firsts) == 1 else ""
        # Made when they are first needed: a process uses few of the formats that it imports.
        self._expressions: _Expressions | None = None

    def read(self, session: Session, call: CallBuilder, literal: str, suffix: str) -> bool:
        """Read the call whose opener `literal` is next in the window, if it is typical; else consume nothing."""
        table, window = self._table, session.window
        text, base = window.text, window.base
        expressions = self._expressions
        if expressions is None:
            expressions = self._expressions = _Expressions(table, self._signs)
        head = expressions.heads[literal](text, window.pos)
        if head is None or session.context.details:
            return False
        written = f":{suffix}" if suffix else ""
        captures = table.heads[literal].captured(head, written, base)
        if captures is None or ("end" in captures and captures["end"].text == "/>"):
            return False
        name = captures["name"].trimmed() if table.trim_names else captures["name"]
        schema = session.context.tools.schema(name.text, table.schema_rules)
        pos = body = head.end()
        members: dict[str, str] = {}
        next_item, goes_on, closer, suffixed = expressions.item, expressions.behind, self._closer, table.item.suffixed
        while (item := next_item(text, pos)) is not None:
            start = item.end()
            end = text.find(self._first, start)
            if not stands_at(text, closer, end):
                sign = expressions.sign(text, start)
                end = -1 if sign is None or sign[0] != closer else sign.start()
            if end < 0 or (suffixed and item["suffix"] != written):
                return False
            behind = goes_on(text, end + len(closer))
            if behind is None or (suffixed and suffix_of(behind) != suffix):
                return False
            key: str = item["key"]
            if table.trim_keys:
                key = key.strip(WHITE_SPACE)
            if key in members or not (key or table.empty_keys):
                return False
            types = self._named_types(item) if table.type_name else schema.types_of_member(key)
            json = self._value(text[start:end], types)
            if json is None:
                return False
            members[key] = json
            pos = behind.end()
        ending = expressions.ending(text, pos)
        if ending is None or (suffixed and suffix_of(ending) != suffix) or not name.text.strip(WHITE_SPACE):
            return False
        arguments = f"{{{','.join([f'{quote(key)}:{json}' for key, json in members.items()])}}}"
        call.write_whole(name.text, (name.start, name.end), arguments, (base + body, base + ending.end("before")))
        window.pos = ending.end()
        call.end(name.text, arguments)
        return True

    def _named_types(self, item: Match[str]) -> frozenset[str]:
        """The types of a value whose opening tag names one."""
        name = item[self._table.type_name]
        return _TEXT if name is None or name in self._table.text_types else NO_TYPES

    def _value(self, text: str, types: frozenset[str]) -> str | None:
        """The JSON text of a value, None if reading it would leave something to report, or its end is not certain."""
        table = self._table
        if table.values.frame:
            text = text.removesuffix("\n").removeprefix("\n")
        if "string" in types:
            return "null" if text == "null" and "null" in types else quote(text)
        value = Value(text, types)
        try:
            if table.json_first and value.trimmed.startswith(_CONTAINERS_AND_STRINGS) and strict_json(value) is None:
                # It ends where its JSON ends, which may be behind a closing tag that it quotes.
                return None
            json, fits = table.conversion.convert(value)
        except TooDeep:
            return None
        return json if fits and not value.duplicates else None
