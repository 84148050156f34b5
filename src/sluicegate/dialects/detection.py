"""Which parsers fit: from a model's name, and the order in which names, overrides, flags and detection count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from sluicegate.core.errors import InvalidDialect
from sluicegate.dialects.model_table import MODEL_TABLE

PASSTHROUGH: Final = "passthrough"

DecidedBy: TypeAlias = Literal["request", "override", "flag", "model", "checkpoint", "nothing"]
"""What named a parser, in the order in which they count; `nothing` is passthrough for want of anything better."""


class ModelMatch(Struct, frozen=True):
    """The row of the table that fits a model's name."""

    pattern: str
    tool_call_parser: str
    reasoning_parser: str


class Override(Struct, frozen=True, kw_only=True):
    """Parsers for the models that fit `pattern` (a whole name if `exact`); a side that is None is left to others.

    `origin` says where the override was set, for messages.
    """

    pattern: str
    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
    exact: bool = False
    origin: str = ""

    def fits(self, model: str) -> bool:
        """Whether the override is meant for this model."""
        if self.exact:
            return self.pattern == model
        return compile_pattern(normalised(self.pattern)).search(normalised(model)) is not None


class Side(Struct, frozen=True):
    """The parser of one side, what named it, and the pattern or place that did."""

    parser: str
    decided_by: DecidedBy
    why: str


class Choice(Struct, frozen=True):
    """The parsers of both sides and why."""

    tools: Side
    reasoning: Side

    @property
    def tool_call_parser(self) -> str:
        """Name of the tool-call parser."""
        return self.tools.parser

    @property
    def reasoning_parser(self) -> str:
        """Name of the reasoning parser."""
        return self.reasoning.parser


def normalised(model: str) -> str:
    """A model's name as patterns see it: lower case, one kind of slash and dash, the last two components of a path."""
    return "/".join(model.lower().replace("\\", "/").replace("_", "-").rstrip("/").split("/")[-2:])


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern of the table as a regular expression.

    Its pieces (between `*`) begin a word; one that ends in a digit is not followed by another digit, nor by a `b` that
    ends the word (a number of parameters). Raises `InvalidDialect` for a pattern without a character.
    """
    pieces = pattern.split("*")
    if not any(pieces):
        raise InvalidDialect(f"the model pattern {pattern!r} fits every model; give at least one character")
    expressions = [
        rf"(?<![a-z0-9]){re.escape(piece)}" + (r"(?![0-9]|b(?![a-z0-9]))" if "0" <= piece[-1] <= "9" else "")
        if piece
        else ""
        for piece in pieces
    ]
    return re.compile(".*".join(expressions), re.DOTALL)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], ModelMatch], ...]:
    """The table, longest pattern first, then in its own order: the first that fits wins."""
    rows = [ModelMatch(*row) for row in MODEL_TABLE]
    rows.sort(key=lambda row: -len(row.pattern.replace("*", "")))
    return tuple((compile_pattern(row.pattern), row) for row in rows)


@lru_cache(maxsize=1024)
def match_model(model: str) -> ModelMatch | None:
    """The row of the table for a model's name or path, None if no pattern fits."""
    name = normalised(model)
    return next((row for pattern, row in _patterns() if pattern.search(name)), None)


def choose_parsers(
    model: str | None = None,
    *,
    tool_call_parser: str | None = None,
    reasoning_parser: str | None = None,
    overrides: Sequence[Override] = (),
    default_tool_call_parser: str | None = None,
    default_reasoning_parser: str | None = None,
    checkpoint: tuple[str | None, str | None] = (None, None),
) -> Choice:
    """Choose the parsers, each side on its own.

    What counts, in this order: the names given here (`tool_call_parser`, `reasoning_parser`), the first override that
    fits the model, the defaults, the table of model names, what the checkpoint's own files say, passthrough. Names
    are not checked here: `UnknownDialect` comes from where they are used.
    """
    fitting = [override for override in overrides if override.fits(model)] if model else []
    row = match_model(model) if model else None

    def side(
        named: str | None,
        overriding: list[tuple[str, Override]],
        flag: str | None,
        detected: str | None,
        seen: str | None,
    ) -> Side:
        if named is not None:
            return Side(named, "request", "named in the request")
        if overriding:
            parser, override = overriding[0]
            return Side(
                parser,
                "override",
                f"override {override.pattern!r}" + (f" of {override.origin}" if override.origin else ""),
            )
        if flag is not None:
            return Side(flag, "flag", "set for all models")
        if detected is not None and row is not None:
            return Side(detected, "model", f"the model name fits the pattern {row.pattern!r}")
        if seen is not None:
            return Side(seen, "checkpoint", "the checkpoint's own files write its markers")
        return Side(
            PASSTHROUGH, "nothing", f"no pattern fits the model name {model!r}" if model else "no parser was named"
        )

    return Choice(
        side(
            tool_call_parser,
            [(o.tool_call_parser, o) for o in fitting if o.tool_call_parser is not None],
            default_tool_call_parser,
            row.tool_call_parser if row else None,
            checkpoint[0],
        ),
        side(
            reasoning_parser,
            [(o.reasoning_parser, o) for o in fitting if o.reasoning_parser is not None],
            default_reasoning_parser,
            row.reasoning_parser if row else None,
            checkpoint[1],
        ),
    )
