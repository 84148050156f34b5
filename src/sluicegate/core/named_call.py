"""A call without call object: its name behind the marker, then perhaps an id, then the arguments object.

The opener's condition captures the name as `name`.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from re import Match
from typing import Final

from sluicegate.core.blocks import BlockFormat, Session
from sluicegate.core.brackets import Brackets
from sluicegate.core.json_reader import JsonBroken, JsonCut, JsonReader
from sluicegate.core.patterns import CUT, SPACE_CLASS, Cut, Pattern, Steps, either

_SPACE: Final = re.compile(f"[{SPACE_CLASS}]*")


class NamedCall:
    """Between name and arguments may stand `id_marker` with an id, and `arguments_marker`; white space is free.

    An id is a run of `id_characters`, the inside of a character class.
    """

    __slots__ = ("_behind_id", "_behind_marker", "_behind_name", "_id", "_id_marker")

    def __init__(self, *, id_marker: str, id_characters: str, arguments_marker: str) -> None:
        self._id_marker = id_marker
        self._id = re.compile(f"[{id_characters}]*")
        self._behind_name = Pattern(either(id_marker, arguments_marker, "{"))
        self._behind_id = Pattern(either(arguments_marker, "{"))
        self._behind_marker = Pattern("{")

    def read(self, form: BlockFormat, brackets: Brackets, session: Session, found: Match[str]) -> Steps:
        """Read the call whose opener is next in the window; `found` is the match of its condition."""
        window, context = session.window, session.context
        call = session.call()
        name = found["name"]
        call.part("name", window.base + found.start("name"), window.base + found.end("name"))
        window.pos = found.end("name")
        call.announce(name)
        start = -1
        reader = JsonReader(context)
        try:
            bracket = yield from self._read_header(session)
            if bracket is None:
                message = "no JSON object follows the name of the call"
                yield from form.resynchronise(session, call, window.offset, "malformed_call", message)
                return
            start = window.offset
            if bracket is not CUT:
                yield from reader.value(call.write)
        except JsonCut:
            bracket = CUT
        except JsonBroken as problem:
            yield from brackets.skip(session, start, problem.open, '"' if problem.in_string else "")
            call.fault(problem.code, problem.message)
            return
        if bracket is CUT:
            window.pos = len(window.text)
            call.fault("incomplete_call", "the text ends inside the call", incomplete=True)
            return
        call.part("arguments", start, window.offset)
        for key_start, key_end, value_start, value_end in reader.members:
            call.part("key", key_start, key_end)
            call.part("value", value_start, value_end)
        call.end(name, repeated=reader.duplicates)

    def _read_header(self, session: Session) -> Generator[None, None, Match[str] | Cut | None]:
        """Consume what stands between name and arguments: the match of their bracket, which is next."""
        window = session.window
        pattern = self._behind_name
        while True:
            yield from session.consume(_SPACE)
            found = yield from pattern.expect(window)
            if found is None or found is CUT or found[0] == "{":
                return found
            session.take(len(found[0]))
            pattern = self._behind_marker
            if found[0] == self._id_marker:
                pattern = self._behind_id
                yield from session.consume(_SPACE)
                if not (yield from session.consume(self._id)):
                    return CUT if window.pos == len(window.text) else None
