"""The shape of a call as a name and an object in braces: `call:name{key:value,…}`, strings between delimiters.

Strings have no escapes: a delimiter ends one only where the object goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from re import Match
from typing import Final

from sluicegate.core.block_fault import CutOff, Malformed, or_fault
from sluicegate.core.blocks import BlockFormat, Session
from sluicegate.core.call import CallBuilder
from sluicegate.core.json_reader import DEPTH_LIMIT, Write, quote, quote_inside
from sluicegate.core.patterns import SPACE, SPACE_CLASS, WHITE_SPACE, Markers, Pattern, Run, Steps, either, stands_at
from sluicegate.core.schema import PLAIN_RULES, SchemaNode, SchemaRules
from sluicegate.core.tags import Opener
from sluicegate.core.values import Conversion, Value

_SPACE: Final = re.compile(f"[{SPACE_CLASS}]*+")
_NAME: Final = re.compile(rf"[^{SPACE_CLASS}(<{{]*+")
_KEY: Final = re.compile(r"[^():<\[\]{},]*+")
_DELIMITED_KEY: Final = re.compile(r"[^<]*+")
_TOKEN: Final = re.compile(r"[^,}\]<)]*+")
_GOES_ON: Final = frozenset({",", "}", "]"})


@dataclass(kw_only=True, eq=False)
class BraceCalls(BlockFormat):
    """A format of this shape: one opener, then `prefix`, a name and the object; `end` closes the call.

    Without `end` a call is complete before the next opener, an end-of-turn token or the end of the text. `delimiter`
    stands at both ends of a string. `conversion` reads bare values.
    """

    prefix: str
    delimiter: str
    end: str
    schema_rules: SchemaRules = PLAIN_RULES
    conversion: Conversion

    def __post_init__(self) -> None:
        super().__post_init__()
        opener = self.openers[0].literal
        end_tokens = self.layout.end_tokens
        self.inside_string = Markers((self.delimiter, self.end, opener))
        self.visible_start = Pattern(opener, SPACE, self.prefix, SPACE, Run(rf"^{SPACE_CLASS}(<{{", 1), SPACE, "{")
        self.before_end = Pattern(either(self.end, opener, *end_tokens))
        # What a typical call consists of, see `_read_typical`.
        self._typical_head = re.compile(rf"{re.escape(opener + self.prefix)}([^{SPACE_CLASS}(<{{]+){{").match
        self._typical_key = re.compile(rf"(?!{re.escape(self.delimiter)})([^{SPACE_CLASS}():<\[\]{{}},]+):").match
        self._typical_bare = re.compile(rf"[^{SPACE_CLASS}<>()\[\]{{}},]+(?=[,}}])").match
        self._typical_end = f"}}{self.end}"

    def read_block(self, session: Session, opener: Opener, found: Match[str] | None) -> Steps:  # noqa: ARG002
        """Read one call."""
        call = session.call()
        if self._read_typical(session, call):
            return
        session.take(len(opener.literal))
        yield from or_fault(self, session, call, _BraceCall(self, session, call).read())

    def _read_typical(self, session: Session, call: CallBuilder) -> bool:
        """Read the call at once if it is what models mostly write and lies in the window as a whole: strings and bare
        values without white space around them, nothing to report. Else consume nothing.
        """
        window, delimiter = session.window, self.delimiter
        text, base = window.text, window.base
        head = self._typical_head(text, window.pos)
        if head is None:
            return False
        name = head[1]
        name_start, name_end = head.span(1)
        schema = session.context.tools.schema(name, self.schema_rules)
        if schema.types and "object" not in schema.types:
            return False
        start = head.end() - 1
        pos = start + 1
        members: dict[str, str] = {}
        places: list[tuple[int, int, int, int]] = []
        while (found := self._typical_key(text, pos)) is not None:
            key = found[1]
            value_start = found.end()
            types = schema.types_of_member(key)
            if stands_at(text, delimiter, value_start):
                inside = value_start + len(delimiter)
                literal, end = self.inside_string.find(text, inside, window.final)
                if literal != delimiter or (types and "string" not in types):
                    return False
                json = quote(text[inside:end])
                end += len(delimiter)
            else:
                value = self._typical_bare(text, value_start)
                if value is None:
                    return False
                bare = value[0]
                end = value.end()
                if "string" in types:
                    json = "null" if bare == "null" and "null" in types else quote(bare)
                else:
                    json, suits = self.conversion.convert(Value(bare, types))
                    if not suits:
                        return False
            if key in members:
                return False
            members[key] = json
            places.append((base + pos, base + value_start - 1, base + value_start, base + end))
            pos = end
            if not stands_at(text, ",", pos):
                break
            pos += 1
        if not stands_at(text, self._typical_end, pos):
            return False
        call.part("name", base + name_start, base + name_end)
        for key_start, key_end, member_start, member_end in places:
            call.part("key", key_start, key_end)
            call.part("value", member_start, member_end)
        call.part("arguments", base + start, base + pos + 1)
        call.announce(name)
        call.write(f"{{{','.join([f'{quote(key)}:{json}' for key, json in members.items()])}}}")
        window.pos = pos + len(self._typical_end)
        call.end(name)
        return True


class _Frame:
    """One open bracket, and the schema of what stands in it."""

    __slots__ = ("items", "keys", "node", "opening")

    def __init__(self, opening: str, node: SchemaNode) -> None:
        self.opening = opening
        self.node = node
        self.items = 0
        self.keys: set[str] = set()


class _BraceCall:
    """One call at work."""

    __slots__ = ("_call", "_duplicates", "_format", "_session", "_window")

    def __init__(self, table: BraceCalls, session: Session, call: CallBuilder) -> None:
        self._format = table
        self._session = session
        self._window = session.window
        self._call = call
        self._duplicates: list[str] = []

    def read(self) -> Steps:
        """Read what stands behind the opener."""
        window, call, table = self._window, self._call, self._format
        yield from self._space()
        yield from self._literal(table.prefix)
        yield from self._space()
        start = window.offset
        yield from self._session.consume(_NAME)
        name = window.slice(start, window.offset)
        if not name:
            raise Malformed("the call has no name", start)
        call.part("name", start, window.offset)
        if (yield from self._space()) != "{":
            raise Malformed("no object follows the name", window.offset)
        call.announce(name)
        start = window.offset
        yield from self._object(self._session.context.tools.schema(name, table.schema_rules))
        end = window.offset
        call.part("arguments", start, end)
        yield from self._space()
        if window.pos < len(window.text):
            found = yield from table.before_end.expect(window)
            if found is None:
                raise Malformed(f"something other than {table.end!r} follows the object", window.offset)
            if not isinstance(found, Match):
                raise CutOff
            if found[0] == table.end:
                self._session.take(len(table.end))
            else:
                window.rewind(end)
        call.end(name, repeated=self._duplicates)

    def _space(self) -> Generator[None, None, str]:
        """Consume white space; returns the next character, "" at the end of the text."""
        yield from self._session.consume(_SPACE)
        return self._window.text[self._window.pos : self._window.pos + 1]

    def _literal(self, literal: str) -> Steps:
        window = self._window
        while not window.text.startswith(literal, window.pos):
            if not literal.startswith(window.text[window.pos :]):
                raise Malformed(f"no {literal!r}", window.offset)
            if window.final:
                raise CutOff
            yield
        self._session.take(len(literal))

    def _at_delimiter(self) -> Generator[None, None, bool]:
        """Whether the delimiter of strings is next."""
        window, delimiter = self._window, self._format.delimiter
        while not window.text.startswith(delimiter, window.pos):
            if not delimiter.startswith(window.text[window.pos :]):
                return False
            if window.final:
                raise CutOff
            yield
        return True

    def _object(self, node: SchemaNode) -> Steps:
        """Read the object whose brace is next."""
        window, write = self._window, self._call.write
        frames = [self._open("{", node)]
        complete = True
        start = 0
        while frames:
            following = window.text[window.pos : window.pos + 1]
            if following in WHITE_SPACE:
                following = yield from self._space()
            frame = frames[-1]
            if not following:
                raise CutOff
            if following == ",":
                window.pos += 1
                complete = True
                continue
            if following in "}]":
                if (following == "}") != (frame.opening == "{"):
                    raise Malformed(f"{following!r} where another bracket is open", window.offset)
                window.pos += 1
                write(following)
                frames.pop()
                complete = False
                end = window.offset
            else:
                if not complete:
                    raise Malformed("a comma must stand between members", window.offset)
                if frame.items:
                    write(",")
                frame.items += 1
                if frame.opening == "[":
                    child = frame.node.items
                else:
                    start_of_key = window.offset
                    child, end_of_key = yield from self._key(frame)
                    following = window.text[window.pos : window.pos + 1]
                    if following in WHITE_SPACE:
                        following = yield from self._space()
                    if len(frames) == 1:
                        self._call.part("key", start_of_key, end_of_key)
                        start = window.offset
                if following in {"{", "["}:
                    if len(frames) == DEPTH_LIMIT:
                        raise Malformed(f"more than {DEPTH_LIMIT} containers are open", window.offset, "depth_exceeded")
                    frames.append(self._open(following, child))
                    continue
                end = yield from self._scalar(child, following)
                complete = False
            if len(frames) == 1:
                self._call.part("value", start, end)

    def _open(self, opening: str, node: SchemaNode) -> _Frame:
        kind = "object" if opening == "{" else "array"
        if node.types and kind not in node.types:
            self._mismatch(node, self._window.offset, self._window.offset + 1)
        self._window.pos += 1
        self._call.write(opening)
        return _Frame(opening, node)

    def _key(self, frame: _Frame) -> Generator[None, None, tuple[SchemaNode, int]]:
        """Read a key and its colon; returns the schema of its value, and where the key ends."""
        window, delimiter = self._window, self._format.delimiter
        token = window.offset
        if window.text[window.pos] == delimiter[0] and (yield from self._at_delimiter()):
            self._session.take(len(delimiter))
            start = window.offset
            yield from self._session.consume(_DELIMITED_KEY)
            key = window.slice(start, window.offset)
            if not (yield from self._at_delimiter()):
                raise Malformed("a key is not closed", token)
            self._session.take(len(delimiter))
            end = window.offset
        else:
            yield from self._session.consume(_KEY)
            key = window.slice(token, window.offset).rstrip(WHITE_SPACE)
            end = token + len(key)
        if not key:
            raise Malformed("a member has no key", token)
        following = window.text[window.pos : window.pos + 1]
        if following in WHITE_SPACE:
            following = yield from self._space()
        if not following:
            raise CutOff
        if following != ":":
            raise Malformed("no colon follows the key", window.offset)
        window.pos += 1
        quoted = quote(key)
        if quoted in frame.keys:
            self._duplicates.append(quoted)
        frame.keys.add(quoted)
        self._call.write(f"{quoted}:")
        return frame.node.member(key), end

    def _scalar(self, node: SchemaNode, following: str) -> Generator[None, None, int]:
        """Read a string or a bare value; returns where it ends."""
        window = self._window
        start = window.offset
        if following == self._format.delimiter[0] and (yield from self._at_delimiter()):
            end = yield from self._string()
            if node.types and "string" not in node.types:
                self._mismatch(node, start, end)
            return end
        yield from self._session.consume(_TOKEN)
        if window.pos == len(window.text):
            raise CutOff
        bare = window.slice(start, window.offset).rstrip(WHITE_SPACE)
        if not bare or window.text[window.pos] in "<)":
            raise Malformed("a member has no value that can be read", start)
        if "string" in node.types:
            json, suits = "null" if bare == "null" and "null" in node.types else quote(bare), True
        else:
            json, suits = self._format.conversion.convert(Value(bare, node.types))
        self._call.write(json)
        end = start + len(bare)
        if not suits:
            self._mismatch(node, start, end)
        return end

    def _mismatch(self, node: SchemaNode, start: int, end: int) -> None:
        wanted = ", ".join(sorted(node.types))
        self._session.context.report(
            "schema_mismatch", "warning", start, end, f"the value is none of the types {wanted}", call=self._call.index
        )

    def _string(self) -> Generator[None, None, int]:
        """Read the string whose delimiter is next; returns where it ends."""
        window, table = self._window, self._format
        write: Write = self._call.write
        self._session.take(len(table.delimiter))
        write('"')
        last_end = -1
        while True:
            text = window.text
            literal, at = table.inside_string.find(text, window.pos, window.final)
            if at > window.pos:
                write(quote_inside(text[window.pos : at]))
                window.pos = at
            if literal is None:
                if window.final:
                    raise self._never_closed(last_end)
                yield
                continue
            if literal == table.delimiter:
                start = window.offset
                self._session.take(len(literal))
                end = window.offset
                if (yield from self._space()) in _GOES_ON:
                    write('"')
                    return end
                if window.pos < len(window.text):
                    write(quote_inside(window.slice(start, window.offset)))
                continue
            if literal == table.end:
                last_end = window.offset + len(literal)
            elif last_end >= 0:
                found = yield from table.visible_start.expect(window)
                if isinstance(found, Match):
                    raise Malformed("a string is never closed", last_end, ends=True)
            write(quote_inside(literal))
            window.pos += len(literal)

    def _never_closed(self, last_end: int) -> Malformed | CutOff:
        """The error for a string that is open at the end of the text."""
        window = self._window
        if last_end >= 0:
            rest = window.slice(last_end, window.offset).lstrip(WHITE_SPACE)
            if not rest or rest.startswith(self._format.layout.end_tokens):
                return Malformed("a string is never closed", last_end, ends=True)
        return CutOff()
