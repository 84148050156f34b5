"""The shape of nested elements: arguments as tags that hold text or further tags, each behind one token.

    TOKEN<invoke name="f">TOKEN<tags>TOKEN<item>aTOKEN</item>TOKEN</tags>TOKEN</invoke>

Whether an element is text, a list or an object is decided by its schema, else by how it is written. Where a text ends
is in `element_text`.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from re import Match
from typing import Final, Literal

from sluicegate.core.block_fault import CutOff, Malformed, or_fault
from sluicegate.core.blocks import BlockFormat, Session
from sluicegate.core.call import CallBuilder
from sluicegate.core.element_text import ElementText
from sluicegate.core.json_reader import DEPTH_LIMIT, Write, quote
from sluicegate.core.patterns import RUN_LIMIT, SPACE_CLASS, WHITE_SPACE, Markers, Steps, stands_at
from sluicegate.core.schema import PLAIN_RULES, SchemaNode, SchemaRules
from sluicegate.core.tags import Opener
from sluicegate.core.text_value import TextValue
from sluicegate.core.values import Conversion, TooDeep, Value

_SPACE: Final = re.compile(f"[{SPACE_CLASS}]*+")
_TAG: Final = re.compile(rf"<([^<>]{{0,{RUN_LIMIT}}})>").match
_TAG_BEGINNING: Final = re.compile(rf"(?:<[^<>]{{0,{RUN_LIMIT}}})?\Z").match
_ATTRIBUTE: Final = re.compile(
    rf"(?:^|(?<=[{SPACE_CLASS}]))(?P<key>[^{SPACE_CLASS}=]++)[{SPACE_CLASS}]*+=[{SPACE_CLASS}]*+"
    rf"(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<bare>[^{SPACE_CLASS}]*+))"
)


@dataclass(kw_only=True, eq=False)
class Elements(BlockFormat):
    """A format of this shape.

    `token` stands before every tag. `call` and `section` are names of tags that are no elements. An element that holds
    nothing but elements named `item` is a list where its schema does not decide; an empty one of that name is null.
    """

    token: str
    call: str
    section: str
    item: str
    schema_rules: SchemaRules = PLAIN_RULES
    conversion: Conversion

    def __post_init__(self) -> None:
        super().__post_init__()
        self.reserved = re.compile(rf"(?:{self.call}(?:[{SPACE_CLASS}/].*)?|{self.section}|/.*|)", re.DOTALL).fullmatch
        self.texts = ElementText(self.token, self.call)
        self.header_end = Markers(("<", ">"))
        # What a typical call consists of, see `_read_typical`.
        space, token = f"[{SPACE_CLASS}]", re.escape(self.token)
        self._typical_head = re.compile(rf'{token}<{re.escape(self.call)}{space}name="([^"<>]+)">').match
        self._typical_item = re.compile(rf"{space}*{token}<([^{SPACE_CLASS}<>/]{{1,{RUN_LIMIT}}})>").match
        self._typical_end = re.compile(rf"({space}*){token}</{re.escape(self.call)}>").match

    def read_block(self, session: Session, opener: Opener, found: Match[str] | None) -> Steps:  # noqa: ARG002
        """Read one call."""
        call = session.call()
        if self._read_typical(session, call):
            return
        session.take(len(self.token) + len(self.call) + 1)
        yield from or_fault(self, session, call, _Invoke(self, session, call).read())

    def _read_typical(self, session: Session, call: CallBuilder) -> bool:
        """Read the call at once if it is what models mostly write and lies in the window as a whole: elements that hold
        text, each closed by its tag, and nothing to report. Else consume nothing.
        """
        window, token = session.window, self.token
        text, base = window.text, window.base
        head = self._typical_head(text, window.pos)
        name = "" if head is None else head[1].strip(WHITE_SPACE)
        if head is None or not name:
            return False
        name_start, name_end = head.span(1)
        schema = session.context.tools.schema(name, self.schema_rules)
        start = pos = head.end()
        members: dict[str, str] = {}
        places: list[tuple[int, int, int, int]] = []
        while (found := self._typical_item(text, pos)) is not None:
            key = found[1]
            value_start = found.end()
            end = text.find(token, value_start)
            closer = f"{token}</{key}>"
            if end < 0 or not stands_at(text, closer, end) or key in members or self.reserved(key) is not None:
                return False
            types = schema.types_of_member(key)
            json = self._typical_value(text[value_start:end], types)
            if json is None:
                return False
            members[key] = json
            places.append((base + found.start(1), base + value_start - 1, base + value_start, base + end))
            pos = end + len(closer)
        ending = self._typical_end(text, pos)
        if ending is None:
            return False
        call.part("name", base + name_start, base + name_end)
        for key_start, key_end, member_start, member_end in places:
            call.part("key", key_start, key_end)
            call.part("value", member_start, member_end)
        call.part("arguments", base + start, base + ending.end(1))
        call.announce(name)
        call.write(f"{{{','.join([f'{quote(key)}:{json}' for key, json in members.items()])}}}")
        window.pos = ending.end()
        call.end(name)
        return True

    def _typical_value(self, text: str, types: frozenset[str]) -> str | None:
        """The JSON of an element's text, None if there would be something to report, or if it is blank."""
        if "string" in types:
            return "null" if text == "null" and "null" in types else quote(text)
        value = Value(text, types)
        if not value.trimmed:
            return None
        try:
            json, suits = self.conversion.convert(value)
        except TooDeep:
            return None
        return json if suits and not value.duplicates else None


class _Child:
    """An element of a container that is not decided yet: its JSON, and its text if it holds text."""

    __slots__ = ("name", "text", "written")

    def __init__(self, name: str, written: list[str], text: str | None = None) -> None:
        self.name = name
        self.written = written
        self.text = text


class _Frame:
    """A container at work. Text of an `open` one waits for its end: only then is it a list or an object."""

    __slots__ = ("children", "items", "keys", "kind", "name", "node", "write")

    def __init__(self, name: str, node: SchemaNode, kind: Literal["list", "object", "open"], write: Write) -> None:
        self.name = name
        self.node = node
        self.kind = kind
        self.write = write
        self.items = 0
        self.keys: set[str] = set()
        self.children: list[_Child] = []


class _Invoke:
    """One call at work."""

    __slots__ = ("_call", "_duplicates", "_format", "_frames", "_session", "_window")

    def __init__(self, table: Elements, session: Session, call: CallBuilder) -> None:
        self._format = table
        self._session = session
        self._window = session.window
        self._call = call
        self._duplicates: list[str] = []
        self._frames: list[_Frame] = []

    def read(self) -> Steps:
        """Read what stands behind the name of the opening tag."""
        window, call, table = self._window, self._call, self._format
        name, empty = yield from self._header()
        call.announce(name)
        start = end = window.offset
        if not empty:
            schema = self._session.context.tools.schema(name, table.schema_rules)
            self._frames.append(_Frame("", schema, "object", call.write))
            while self._frames:
                if window.text[window.pos : window.pos + 1] in WHITE_SPACE:
                    yield from self._session.consume(_SPACE)
                end = window.offset
                yield from self._next()
        call.part("arguments", start, end)
        if not call.written:
            call.write("{}")
        call.end(name, repeated=self._duplicates)

    def _header(self) -> Generator[None, None, tuple[str, bool]]:
        """Read the rest of the opening tag; returns the call's name and whether the call ends there."""
        window = self._window
        start = window.offset
        while True:
            literal, at = self._format.header_end.find(window.text, window.pos, window.final)
            window.pos = at
            if literal is not None:
                break
            if window.final:
                raise CutOff
            yield
        if literal == "<":
            raise Malformed("the opening tag is not closed", window.offset)
        header = window.slice(start, window.offset)
        window.pos += 1
        empty = header.endswith("/")
        for found in _ATTRIBUTE.finditer(header.removesuffix("/")):
            if found["key"] == "name":
                group = next(group for group in ("double", "single", "bare") if found[group] is not None)
                name = found[group].strip(WHITE_SPACE)
                if name:
                    name_start, name_end = found.span(group)
                    self._call.part("name", start + name_start, start + name_end)
                    return name, empty
                break
        raise Malformed("the call has no name", window.offset)

    def _tag(self) -> Generator[None, None, Match[str] | None]:
        """The tag that is next, behind its token, if there is one; raises `CutOff` if that is not decided."""
        window, token = self._window, self._format.token
        while True:
            text, pos = window.text, window.pos
            if text.startswith(token, pos):
                found = _TAG(text, pos + len(token))
                if found is not None:
                    return found
                if _TAG_BEGINNING(text, pos + len(token)) is None:
                    return None
            elif not token.startswith(text[pos:]):
                return None
            if window.final:
                raise CutOff
            yield

    def _element_name(self, tag: Match[str] | None) -> str:
        """The name of the element that a tag opens, or nothing."""
        name = "" if tag is None else tag[1].strip(WHITE_SPACE)
        return "" if self._format.reserved(name) else name

    def _next(self) -> Steps:
        """Read the next tag: the end of the container or a child."""
        window, frames = self._window, self._frames
        frame = frames[-1]
        start = window.offset
        tag = yield from self._tag()
        if tag is None:
            raise Malformed("something other than a tag stands between tags", start)
        size = tag.end() - window.pos
        name = self._element_name(tag)
        if name:
            yield from self._child(frame, name, start + len(self._format.token) + 1, size)
            return
        expected = f"/{self._format.call}" if len(frames) == 1 else f"/{frame.name}"
        closing = tag[1] if len(frames) == 1 else "/" + tag[1].removeprefix("/").strip(WHITE_SPACE)
        if not tag[1].startswith("/") or closing != expected:
            raise Malformed(f"the tag {tag[1][:40]!r} stands where no such tag may", start)
        self._session.take(size)
        frames.pop()
        self._close(frame)
        if len(frames) == 1:
            self._call.part("value", self._call.parts[-1].end + 1, start)

    def _child(self, frame: _Frame, name: str, key_start: int, size: int) -> Steps:
        """Read the element whose opening tag is next."""
        window, frames, table = self._window, self._frames, self._format
        opening = window.offset
        if frame.kind == "list" or (frame.kind == "open" and name == table.item):
            node = frame.node.items
        else:
            node = frame.node.member(name)
        self._session.take(size)
        start = window.offset
        if len(frames) == 1:
            self._call.part("key", key_start, start - 1)
        write = self._begin(frame, name)
        if "string" not in node.types:
            yield from self._session.consume(_SPACE)
            if self._element_name((yield from self._tag_or_text())):
                if len(frames) == DEPTH_LIMIT:
                    raise Malformed(f"more than {DEPTH_LIMIT} containers are open", opening, "depth_exceeded")
                frames.append(_Frame(name, node, _kind(node), write))
                if frames[-1].kind != "open":
                    write("[" if frames[-1].kind == "list" else "{")
                self._check(node, ("array", "object"), opening)
                return
            window.rewind(start)
        yield from self._text(frame, name, node, write)

    def _tag_or_text(self) -> Generator[None, None, Match[str] | None]:
        """The tag that is next; None also where the text ends before that is decided."""
        try:
            return (yield from self._tag())
        except CutOff:
            return None

    def _begin(self, frame: _Frame, name: str) -> Write:
        """A child begins: write what stands before it; returns where it is written to."""
        if frame.kind == "open":
            child = _Child(name, [])
            frame.children.append(child)
            return child.written.append
        separator = "," if frame.items else ""
        frame.items += 1
        if frame.kind == "list":
            frame.write(separator)
            return frame.write
        quoted = quote(name)
        if quoted in frame.keys:
            self._duplicates.append(quoted)
        frame.keys.add(quoted)
        outermost = "{" if len(self._frames) == 1 and not separator else separator
        frame.write(f"{outermost}{quoted}:")
        return frame.write

    def _close(self, frame: _Frame) -> None:
        if frame.kind == "list":
            frame.write("]")
        elif frame.kind == "object":
            if frame.items:
                frame.write("}")
        elif all(child.name == self._format.item for child in frame.children):
            frame.write("[" + ",".join("".join(child.written) for child in frame.children) + "]")
        else:
            members: list[str] = []
            keys: set[str] = set()
            for child in frame.children:
                json = "".join(child.written)
                if child.name == self._format.item and child.text is not None:
                    # It was read as the item of a list, and is a member after all.
                    json, _ = self._convert(
                        child.text, child.name, frame.node.member(child.name), len(self._frames) + 1
                    )
                quoted = quote(child.name)
                if quoted in keys:
                    self._duplicates.append(quoted)
                keys.add(quoted)
                members.append(f"{quoted}:{json}")
            frame.write("{" + ",".join(members) + "}")

    def _text(self, frame: _Frame, name: str, node: SchemaNode, write: Write) -> Steps:
        """Read an element that holds text."""
        window, frames = self._window, self._frames
        start = window.offset
        if "string" in node.types:
            text = TextValue(write, frame=False, nullable="null" in node.types)
            end = yield from self._format.texts.read(self._session, text.write, name, nested=len(frames) > 1)
            text.finish()
        else:
            pieces: list[str] = []
            end = yield from self._format.texts.read(self._session, pieces.append, name, nested=len(frames) > 1)
            json, suits = self._convert("".join(pieces), name, node, len(frames))
            write(json)
            if not suits:
                self._mismatch(node, start, end)
        if frame.kind == "open":
            frame.children[-1].text = window.slice(start, end)
        if len(frames) == 1:
            self._call.part("value", start, end)

    def _convert(self, text: str, name: str, node: SchemaNode, around: int) -> tuple[str, bool]:
        """The JSON of a text in `around` containers, and whether it fits its types."""
        types = node.types
        if "string" in types:
            return ("null" if text == "null" and "null" in types else quote(text)), True
        if not text and name == self._format.item and around > 1 and (not types or "null" in types):
            return "null", True
        if not text.strip(WHITE_SPACE) and ("array" in types or "object" in types):
            return ("[]" if "array" in types else "{}"), True
        try:
            value = Value(text, types, around=around, duplicates=self._duplicates)
            return self._format.conversion.convert(value)
        except TooDeep as problem:
            raise Malformed(str(problem), self._window.offset, "depth_exceeded") from None

    def _check(self, node: SchemaNode, kinds: tuple[str, ...], start: int) -> None:
        if node.types and not node.types.intersection(kinds):
            self._mismatch(node, start, self._window.offset)

    def _mismatch(self, node: SchemaNode, start: int, end: int) -> None:
        wanted = ", ".join(sorted(node.types))
        self._session.context.report(
            "schema_mismatch", "warning", start, end, f"the value is none of the types {wanted}", call=self._call.index
        )


def _kind(node: SchemaNode) -> Literal["list", "object", "open"]:
    array, other = "array" in node.types, "object" in node.types
    if array == other:
        return "open"
    return "list" if array else "object"
