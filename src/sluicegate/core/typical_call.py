"""A whole call of the tagged shape, read at once if it is what models mostly write.

Typical is a call that lies in the window as a whole, whose values hold none of the tags that may end them, and that
leaves nothing to report. It is matched by regular expressions that are made from the format's table. Every other call
is read by `CallReading`, from its start; what is read here, it would read alike (a property test holds the two equal).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from sluicegate.core.blocks import Session
from sluicegate.core.call import CallBuilder
from sluicegate.core.json_reader import quote
from sluicegate.core.patterns import SPACE_CLASS, WHITE_SPACE, Matcher
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


class TypicalCall:
    """Reads the typical calls of one format; made once, used for all."""

    def __init__(self, table: Tagged) -> None:
        self._table = table
        self._closer = table.values.closer.literal
        self._suffixed = "(?P<suffix>" in table.item.expression

    @cached_property
    def _heads(self) -> dict[str, Matcher]:
        """What matches an opener and the head behind it, by the opener's literal."""
        begins = "" if self._table.preamble is None else self._table.preamble.expression
        return {
            literal: re.compile(re.escape(literal) + begins + head.expression).match
            for literal, head in self._table.heads.items()
        }

    @cached_property
    def _item(self) -> Matcher:
        """What matches the opening tag of an item and white space before it."""
        return re.compile(_SPACE + self._table.item.expression).match

    @cached_property
    def _sign(self) -> Matcher:
        """What finds the next tag that may end a value."""
        values = self._table.values
        early = () if values.early_closer is None else (values.early_closer,)
        literals = {tag.literal for tag in (values.closer, values.item, values.call_closer, *early)}
        return re.compile("|".join(map(re.escape, sorted(literals, key=len, reverse=True)))).search

    @cached_property
    def _behind(self) -> Matcher:
        """What matches the rest of a value's closing tag and white space, where the call goes on behind it."""
        values = self._table.values
        continues = values.continues.expression.replace("(?P<suffix>", "(?:")
        return re.compile(f"{_rest(values.closer)}{_SPACE}(?={continues})").match

    @cached_property
    def _ending(self) -> Matcher:
        """What matches the end of a call and of its wrapper; a group stands before the closer."""
        table = self._table
        if table.closer.literal.startswith(table.values.item.literal):
            return re.compile(_NOTHING).match
        wrapper_end = ""
        if table.wrapper != "none" and table.wrapper_end is not None:
            wrapper_end = f"{_SPACE}{_expression(table.wrapper_end)}"
        return re.compile(f"(?P<before>{_SPACE}){_expression(table.closer)}{wrapper_end}").match

    def read(self, session: Session, call: CallBuilder, literal: str, suffix: str) -> bool:
        """Read the call whose opener `literal` is next in the window, if it is typical; else consume nothing."""
        table, window = self._table, session.window
        text, base = window.text, window.base
        head = self._heads[literal](text, window.pos)
        if head is None or session.context.details:
            return False
        written = f":{suffix}" if suffix else ""
        captures = table.heads[literal].captured(head, written, base)
        if captures is None or ("end" in captures and captures["end"].text == "/>"):
            return False
        name = captures["name"].trimmed() if table.trim_names else captures["name"]
        schema = session.context.tools.schema(name.text, table.schema_rules)
        item_syntax = table.item
        pos = body = head.end()
        members: dict[str, str] = {}
        next_item, next_sign, goes_on, closer = self._item, self._sign, self._behind, self._closer
        while (item := next_item(text, pos)) is not None:
            start = item.end()
            captured = item_syntax.texts(item, written)
            sign = next_sign(text, start)
            if captured is None or sign is None or sign[0] != closer:
                return False
            behind = goes_on(text, sign.end())
            if behind is None or (self._suffixed and suffix_of(behind) != suffix):
                return False
            key = captured["key"]
            if table.trim_keys:
                key = key.strip(WHITE_SPACE)
            if key in members or not (key or table.empty_keys):
                return False
            types = self._named_types(captured) if table.type_name else schema.types_of_member(key)
            json = self._value(text[start : sign.start()], types)
            if json is None:
                return False
            members[key] = json
            pos = behind.end()
        ending = self._ending(text, pos)
        if ending is None or (self._suffixed and suffix_of(ending) != suffix) or not name.text.strip(WHITE_SPACE):
            return False
        arguments = f"{{{','.join([f'{quote(key)}:{json}' for key, json in members.items()])}}}"
        call.part("name", name.start, name.end)
        call.part("arguments", base + body, base + ending.end("before"))
        call.announce(name.text)
        call.write(arguments)
        window.pos = ending.end()
        call.end(name.text, arguments)
        return True

    def _named_types(self, captured: Mapping[str, str]) -> frozenset[str]:
        """The types of a value whose opening tag names one."""
        name = captured.get(self._table.type_name)
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
