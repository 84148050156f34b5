"""The tagged shape: a head that names the call, items of key and value between tags, a closer.

Everything that formats of this shape do differently is a field of the table. How a call is read is in `tagged_call`,
where a value ends in `tagged_value`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from re import Match
from typing import Literal

from sluicegate.core.block_fault import CutOff, Malformed
from sluicegate.core.blocks import BlockFormat, Opener, Session
from sluicegate.core.patterns import Steps
from sluicegate.core.schema import PLAIN_RULES, SchemaRules
from sluicegate.core.sequence import Sequence
from sluicegate.core.tagged_call import Branches, CallReading, branch
from sluicegate.core.tagged_value import ValueReader, ValueSyntax
from sluicegate.core.tags import Tag, suffix_of
from sluicegate.core.typical_call import TypicalCall
from sluicegate.core.values import Conversion


@dataclass(kw_only=True, eq=False)
class Tagged(BlockFormat):
    """A format of this shape.

    `heads` read what stands behind an opener up to the first item and capture `name`, and `end` where a tag may close
    itself (`/>`). With `trim_names` white space around names is no part of them. With `name_waits` the name is certain
    only when an item or a closer follows.
    `item` reads an item's opening tag and captures `key`; it begins with `values.item`. With `trim_keys` white space
    around keys is no part of them, with `empty_keys` they may be empty.

    `closer` ends a call. `wrapper_end` may follow it (`wrapper="optional"`; it then also ends a call by itself), or
    must (`"required"`: it, or the next `next_call` of the same block, which `preamble` begins). `ends_before` are tags
    before which a call ends, too. With `json_body` an object in place of the items is the arguments.

    A value is text, or converted: the types of the tool's schema decide (`schema_rules`), or the captured `type_name`,
    whose `text_types` (and absence) mean text. With `json_first` a value that is not text ends where its JSON ends, if
    a closing tag follows it.
    """

    heads: Mapping[str, Sequence]
    trim_names: bool = True
    name_waits: bool = False
    item: Sequence
    trim_keys: bool = True
    empty_keys: bool = False
    values: ValueSyntax
    closer: Tag
    wrapper_end: Tag | None = None
    wrapper: Literal["none", "optional", "required"] = "none"
    next_call: str = ""
    preamble: Sequence | None = None
    ends_before: tuple[Tag, ...] = ()
    json_body: bool = False
    conversion: Conversion
    schema_rules: SchemaRules = PLAIN_RULES
    type_name: str = ""
    text_types: tuple[str, ...] = ()
    json_first: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.typical_call = TypicalCall(self)
        self.value_reader = ValueReader(self.values, self.layout.end_tokens, sectioned=self.sectioned)
        item, closer = self.values.item, branch("closer", self.closer)
        wrapper_end = () if self.wrapper_end is None else (branch("wrapper_end", self.wrapper_end),)
        next_call = (branch("call", Tag(literal=self.next_call)),) if self.next_call else ()
        before = tuple(branch("before", tag) for tag in self.ends_before)
        # What may come next: in a call, behind a JSON body, behind a JSON value, and behind a call.
        self.behind_json_body: Branches = (closer,)
        self.body: Branches = (
            branch("item", Tag(literal=item.literal) if self.values.declared_items else item),
            closer,
            *(wrapper_end if self.wrapper == "optional" else ()),
            *before,
        )
        self.behind_json: Branches = (branch("value", self.values.closer), branch("closer", self.values.call_closer))
        self.behind_call: Branches = (*wrapper_end, *next_call)

    def read_block(self, session: Session, opener: Opener, found: Match[str] | None) -> Steps:
        """Read the calls of one block."""
        window = session.window
        suffix = suffix_of(found)
        head = self.heads[opener.literal]
        begins = self.preamble
        call = session.call()
        if self.typical_call.read(session, call, opener.literal, suffix):
            return
        session.take(len(opener.literal))
        while True:
            reading = CallReading(self, session, call, suffix)
            try:
                if begins is not None:
                    yield from reading.expect(begins)
                    begins = None
                more = yield from reading.read(head)
            except CutOff:
                window.pos = len(window.text)
                call.fault("incomplete_call", "the text ends inside the call", incomplete=True)
                return
            except Malformed as problem:
                if not problem.ends:
                    yield from self.resynchronise(
                        session, call, problem.resume, problem.code, problem.message, opener=opener
                    )
                    return
                window.rewind(problem.resume)
                more = self.wrapper == "required" and (yield from reading.read_behind(after_fault=True))
                call.fault(problem.code, problem.message)
            if not more:
                return
            call = session.call()
