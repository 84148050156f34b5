"""From the text of a tagged value to JSON, by the types that its schema allows.

A format's `Conversion` lists the readings that are tried in order; the first that applies gives the value. Text that
no reading takes stays text, verbatim. Values whose types allow a string never come here: they are text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import isinf
from typing import Final, TypeAlias

from sluicegate.core.context import Context
from sluicegate.core.json_reader import JsonBroken, JsonReader, complete_value, quote
from sluicegate.core.patterns import WHITE_SPACE
from sluicegate.core.python_reader import PythonReader
from sluicegate.core.python_strings import LiteralBroken
from sluicegate.core.schema import NO_TYPES

_JSON_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?").fullmatch
_NUMBER: Final = re.compile(
    r"(?P<sign>[-+]?)(?=\.?[0-9])(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<exponent>(?:[eE][-+]?[0-9]+)?)"
).fullmatch
_INTEGER: Final = re.compile(r"([-+]?)([0-9]+)").fullmatch
_KINDS: Final = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}
_INTEGRAL: Final = re.compile(r"([-+]?)([0-9]+)(?:\.0+)?").fullmatch


class TooDeep(Exception):
    """The value opens more containers than are allowed."""


class Value:
    """One value's text and the types that its schema allows (empty: it names none).

    `around` counts the containers that are open around it, `duplicates` collects keys that it repeats (as JSON text).
    `trimmed` is the text without white space around it.
    """

    __slots__ = ("around", "duplicates", "text", "trimmed", "types")

    def __init__(
        self, text: str, types: frozenset[str] = NO_TYPES, around: int = 1, duplicates: list[str] | None = None
    ) -> None:
        self.text = text
        self.types = types
        self.around = around
        self.duplicates = [] if duplicates is None else duplicates
        self.trimmed = text.strip(WHITE_SPACE)


Reading: TypeAlias = Callable[[Value], "str | None"]
"""A reading of a value: its JSON text, or None if it does not apply. It may raise `TooDeep`."""


@dataclass(frozen=True)
class Conversion:
    """The readings of a format, tried in order. With `text_misfits` a value that stays text is always reported."""

    readings: tuple[Reading, ...]
    text_misfits: bool = False

    def convert(self, value: Value) -> tuple[str, bool]:
        """The value as JSON text, and whether it fits the allowed types.

        Raises `TooDeep` if the value opens too many containers.
        """
        for reading in self.readings:
            json = reading(value)
            if json is not None:
                return json, fits(json, value.types)
        return quote(value.text), not self.text_misfits and not value.types


def fits(json: str, types: frozenset[str]) -> bool:
    """Whether a JSON value is of one of the types; any value fits where no type is named."""
    if not types:
        return True
    kind = kind_of(json)
    return kind in types or (kind == "integer" and "number" in types)


def kind_of(json: str) -> str:
    """The type of a JSON value by its name in JSON Schema; `5.0` is an integer, `1e3` a number."""
    return _KINDS.get(json[0]) or ("integer" if json.isdigit() or _INTEGRAL(json) is not None else "number")


def read_json(text: str, around: int, duplicates: list[str]) -> str | None:
    """The text as one strict JSON value without white space around it, compact; None if it is none.

    Raises `TooDeep` if it opens more containers than are allowed.
    """
    if not text:
        return None
    if text[0] in "{[":
        complete = complete_value(text, 0, around)
        if complete is not None and complete[1] == len(text):
            return complete[0]
    elif _JSON_NUMBER(text) is not None:
        return None if _overflows(text) else text
    elif text in ("true", "false", "null"):
        return text
    elif text[0] != '"':
        return None
    context = _whole(text)
    reader = JsonReader(context, around=around)
    pieces: list[str] = []
    try:
        deque(reader.value(pieces.append), 0)
    except JsonBroken as problem:
        if problem.code == "depth_exceeded":
            raise TooDeep(problem.message) from None
        return None
    if context.window.pos < len(text):
        return None
    duplicates += reader.duplicates
    return "".join(pieces)


def _whole(text: str) -> Context:
    """A context for a reader of text that is complete."""
    context = Context()
    context.window.feed(text)
    context.window.final = True
    return context


def _overflows(number: str) -> bool:
    return not number.lstrip("-").isdigit() and isinf(float(number))


def strict_json(value: Value) -> str | None:
    """One strict JSON value."""
    return read_json(value.trimmed, value.around, value.duplicates)


def json_of_allowed_kind(value: Value) -> str | None:
    """One strict JSON value of an allowed type, an integer without fraction and exponent; any without types."""
    json = strict_json(value)
    if json is None or not value.types:
        return json
    kind = kind_of(json)
    if kind == "integer" and "." in json:
        kind = "number"
    return json if kind in value.types or (kind == "integer" and "number" in value.types) else None


def json_for_containers(value: Value) -> str | None:
    """One strict JSON value of any kind, where an object or an array is allowed."""
    return strict_json(value) if "object" in value.types or "array" in value.types else None


def json_without_types(value: Value) -> str | None:
    """One strict JSON value, where no type is named."""
    return None if value.types else strict_json(value)


def json_number(value: Value) -> str | None:
    """A JSON number, where a number is allowed."""
    text = value.trimmed
    return text if "number" in value.types and _JSON_NUMBER(text) is not None and not _overflows(text) else None


def json_word_or_number(value: Value) -> str | None:
    """`true`, `false`, `null` or a JSON number, whatever types are named."""
    text = value.trimmed
    return text if text in ("true", "false", "null") or (_JSON_NUMBER(text) and not _overflows(text)) else None


def boolean_in_any_case(value: Value) -> str | None:
    """`true` or `FALSE`, where a boolean is allowed."""
    word = value.trimmed.lower() if "boolean" in value.types else ""
    return word if word in ("true", "false") else None


def boolean_capitalised(value: Value) -> str | None:
    """`true`, `True`, `false` or `False`, where a boolean is allowed."""
    word = value.trimmed if "boolean" in value.types else ""
    return word.lower() if word in ("true", "True", "false", "False") else None


def integer_digits(value: Value) -> str | None:
    """Digits with a sign, where an integer is allowed; written without plus sign and leading zeros."""
    return _integer(_INTEGER, value.trimmed) if "integer" in value.types else None


def integral_number(value: Value) -> str | None:
    """The same, also with a fraction of zeros (`5.0`)."""
    return _integer(_INTEGRAL, value.trimmed) if "integer" in value.types else None


def _integer(form: Callable[[str], re.Match[str] | None], text: str) -> str | None:
    if text.isdecimal() and text.isascii() and text[0] != "0":
        return text
    found = form(text)
    return None if found is None else ("-" if found[1] == "-" else "") + (found[2].lstrip("0") or "0")


def python_container(value: Value) -> str | None:
    """A Python list, tuple or dict, where an object or an array is allowed."""
    text = value.trimmed if "object" in value.types or "array" in value.types else ""
    if not text.startswith(("[", "(", "{")):
        return None
    context = _whole(text)
    reader = PythonReader(context, newlines=True, bare_words=False, free_signs=True)
    pieces: list[str] = []
    try:
        deque(reader.value(pieces.append, value.around), 0)
    except LiteralBroken as problem:
        if problem.code == "depth_exceeded":
            raise TooDeep(problem.message) from None
        return None
    json = "".join(pieces)
    if context.window.pos < len(text) or json[0] not in "{[":
        return None
    value.duplicates.extend(reader.duplicates)
    return json


def python_word(value: Value) -> str | None:
    """`True`, `False`, `None`."""
    return {"True": "true", "False": "false", "None": "null"}.get(value.trimmed)


def _loose(value: Value) -> str:
    """The exact text where a type is named, else the trimmed text."""
    return value.text if value.types else value.trimmed


def any_word(value: Value) -> str | None:
    """`true`/`True`, `false`/`False`, `null`/`None`: exactly, where a type is named."""
    words = {"true": "true", "True": "true", "false": "false", "False": "false", "null": "null", "None": "null"}
    return words.get(_loose(value))


def any_number(value: Value) -> str | None:
    """A number in a free spelling (`+5`, `.5`, `5.`), leading zeros only for integers and numbers; trimmed."""
    return _number(value.trimmed, value.types)


def exact_number(value: Value) -> str | None:
    """The same, exactly the text where a type is named."""
    return _number(_loose(value), value.types)


def _number(text: str, types: frozenset[str]) -> str | None:
    found = _NUMBER(text)
    if found is None:
        return None
    whole = found["whole"] or "0"
    if len(whole) > 1 and whole[0] == "0" and "integer" not in types and "number" not in types:
        return None
    if _JSON_NUMBER(text) is None:
        sign = "-" if found["sign"] == "-" else ""
        # `5.` has a fraction, so it stays one.
        fraction = "" if found["fraction"] is None else f".{found['fraction'] or '0'}"
        text = f"{sign}{whole.lstrip('0') or '0'}{fraction}{found['exponent']}"
    return None if _overflows(text) else text
