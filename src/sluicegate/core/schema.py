"""The caller's tools: which names are declared, and what types a parameter may have.

A parameter's allowed types are those of its JSON Schema: `$ref` (inside the tool's `parameters`, at most 16 hops), then
`type`, then `anyOf` and `oneOf` (union), `allOf` (intersection), then the types of `enum` and `const` values. An empty
set means that the schema names no type. Whatever a caller passes as a schema, reading it never fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard
from urllib.parse import unquote

NO_TYPES: Final[frozenset[str]] = frozenset()
REFERENCE_LIMIT: Final = 16
"""Most references followed one after another."""

# Nearly all schemas are plain dictionaries, which this asks for without narrowing the type of their members.
_PLAIN: Final[Any] = dict
_NESTING_LIMIT: Final = 32
_NAMES: Final = {name: name for name in ("string", "integer", "number", "boolean", "object", "array", "null")}
_ALONE: Final = {name: frozenset((name,)) for name in _NAMES}
_OF_VALUES: Final = (
    (bool, "boolean"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
    (Mapping, "object"),
    (Sequence, "array"),
)


TYPE_ALIASES: Final = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "dict": "object",
    "list": "array",
}
"""Type names of programming languages that callers write in schemas."""


@dataclass(frozen=True, kw_only=True)
class SchemaRules:
    """How a format's page reads schemas.

    `aliases` are type names beside those of JSON Schema; with `fold_case` names count in any case.
    `members_in_branches` looks for a member also in the branches of `anyOf`, `oneOf` and `allOf`.
    """

    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    fold_case: bool = False
    members_in_branches: bool = False


PLAIN_RULES: Final = SchemaRules()


def _is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    # Asking for the abstract class is slow, and nearly all schemas are plain dictionaries.
    return type(value) is dict or isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


class SchemaNode:
    """One schema of a tool, or the absence of one. Members are looked up once and remembered."""

    __slots__ = ("_budget", "_declared", "_items", "_members", "_other", "_root", "_rules", "_schema", "_types")

    def __init__(self, schema: Any, root: Any, rules: SchemaRules) -> None:
        self._schema = schema
        self._root = root
        self._rules = rules
        self._budget = 0
        self._types: frozenset[str] | None = None
        self._declared: tuple[str, ...] | None = None
        self._members: dict[str, SchemaNode] = {}
        self._other: SchemaNode | None = None
        self._items: SchemaNode | None = None

    @property
    def types(self) -> frozenset[str]:
        """The allowed types by their names in JSON Schema; empty if none is named."""
        if self._types is None:
            self._budget = 1_000
            self._types = frozenset(self._types_of(self._schema, 0, 0))
        return self._types

    @property
    def declared(self) -> tuple[str, ...]:
        """The names of the declared members."""
        if self._declared is None:
            properties = self._resolved().get("properties")
            keys = properties if _is_mapping(properties) else ()
            self._declared = tuple(key for key in keys if isinstance(key, str))
        return self._declared

    def member(self, key: str) -> SchemaNode:
        """The schema of a member: declared, else found in the branches, else that of additional members."""
        known = self._members.get(key)
        if known is not None:
            return known
        self._budget = 1_000
        found = self._find_member(self._schema, key, 0)
        if found is not None:
            node = self._members[key] = SchemaNode(found, self._root, self._rules)
            return node
        if self._other is None:
            self._budget = 1_000
            self._other = self._child(self._find_other(self._schema, 0))
        return self._other

    def types_of_member(self, key: str) -> frozenset[str]:
        """The allowed types of a member, which nearly all schemas name plainly."""
        schema = self._schema
        if schema is None:
            return NO_TYPES
        properties: Any = schema.get("properties") if type(schema) is _PLAIN and "$ref" not in schema else None
        declared: Any = properties.get(key) if type(properties) is _PLAIN else None
        named = declared.get("type") if type(declared) is _PLAIN and "$ref" not in declared else None
        alone = _ALONE.get(named) if isinstance(named, str) else None
        return self.member(key).types if alone is None else alone

    @property
    def items(self) -> SchemaNode:
        """The schema of a list's elements."""
        if self._items is None:
            self._budget = 1_000
            self._items = self._child(self._find_items(self._schema, 0))
        return self._items

    def _child(self, schema: Any) -> SchemaNode:
        return SchemaNode(schema if _is_mapping(schema) else None, self._root, self._rules)

    def _resolved(self, schema: Any = None) -> Mapping[Any, Any]:
        """The schema itself, or what its references lead to; empty if that is no schema."""
        schema = self._schema if schema is None else schema
        for _ in range(REFERENCE_LIMIT + 1):
            if not _is_mapping(schema):
                return {}
            if "$ref" not in schema:
                return schema
            schema = self._target(schema["$ref"])
        return {}

    def _target(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        node = self._root
        for part in reference.split("/")[1:]:
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            if _is_mapping(node):
                node = node.get(name)
            elif _is_list(node) and name.isascii() and name.isdigit() and len(name) < 6:
                position = int(name)
                node = node[position] if position < len(node) else None
            else:
                return None
        return node

    def _types_of(self, schema: Any, hops: int, nesting: int) -> set[str]:
        self._budget -= 1
        if not _is_mapping(schema) or nesting > _NESTING_LIMIT or self._budget < 0:
            return set()
        if "$ref" in schema:
            if hops == REFERENCE_LIMIT:
                return set()
            return self._types_of(self._target(schema["$ref"]), hops + 1, nesting + 1)
        found = self._named(schema.get("type"))
        if found:
            return found
        for union in ("anyOf", "oneOf"):
            for branch in _branches(schema, union):
                found |= self._types_of(branch, hops, nesting + 1)
        if found:
            return found
        named = [types for branch in _branches(schema, "allOf") if (types := self._types_of(branch, hops, nesting + 1))]
        if named:
            return named[0].intersection(*named[1:])
        values = schema.get("enum")
        if _is_list(values):
            return {_type_of(value) for value in values}
        return {_type_of(schema["const"])} if "const" in schema else set()

    def _named(self, names: Any) -> set[str]:
        found: set[str] = set()
        for given in names if _is_list(names) else [names]:
            if isinstance(given, str):
                name = given.casefold() if self._rules.fold_case else given
                known = _NAMES.get(name) or self._rules.aliases.get(name)
                if known is not None:
                    found.add(known)
        return found

    def _find_member(self, schema: Any, key: str, nesting: int) -> Any:
        self._budget -= 1
        resolved = self._resolved(schema)
        properties = resolved.get("properties")
        if _is_mapping(properties) and key in properties:
            # A declared member without a schema is not an additional one.
            return {} if properties[key] is None else properties[key]
        if self._rules.members_in_branches and nesting < _NESTING_LIMIT and self._budget > 0:
            for branch in _branches(resolved, "anyOf", "oneOf", "allOf"):
                found = self._find_member(branch, key, nesting + 1)
                if found is not None:
                    return found
        return None

    def _find_other(self, schema: Any, nesting: int) -> Any:
        self._budget -= 1
        resolved = self._resolved(schema)
        other = resolved.get("additionalProperties")
        if _is_mapping(other):
            return other
        if self._rules.members_in_branches and nesting < _NESTING_LIMIT and self._budget > 0:
            # An optional dictionary is written as a union of one with null.
            for branch in _branches(resolved, "anyOf", "oneOf", "allOf"):
                found = self._find_other(branch, nesting + 1)
                if found is not None:
                    return found
        return None

    def _find_items(self, schema: Any, nesting: int) -> Any:
        self._budget -= 1
        resolved = self._resolved(schema)
        items = resolved.get("items")
        if _is_mapping(items):
            return items
        if nesting < _NESTING_LIMIT and self._budget > 0:
            for branch in _branches(resolved, "anyOf", "oneOf", "allOf"):
                found = self._find_items(branch, nesting + 1)
                if found is not None:
                    return found
        return None


def _branches(schema: Mapping[Any, Any], *keywords: str) -> Iterable[Any]:
    for keyword in keywords:
        branches = schema.get(keyword)
        if _is_list(branches):
            yield from branches


def _type_of(value: Any) -> str:
    return next((name for kind, name in _OF_VALUES if isinstance(value, kind)), "null")


class Tools:
    """Tools in the OpenAI shape, looked up by name; of two tools with one name the first counts.

    Entries that are no tools are passed over: a machine never fails because of a schema.
    """

    __slots__ = ("_index", "_rest", "_schemas", "given")

    def __init__(self, tools: Sequence[Any] | None) -> None:
        self.given = bool(tools)
        # The `parameters` of the tools that were looked at, by name, and the rest: few of many tools are called.
        self._rest = iter(tools or ())
        self._index: dict[str, Any] = {}
        self._schemas: dict[tuple[str, int], SchemaNode] = {}

    def declares(self, name: str) -> bool:
        """Whether a tool of this name is declared."""
        if name in self._index:
            return True
        for tool in self._rest:
            function = tool.get("function") if _is_mapping(tool) else None
            if _is_mapping(function):
                found = function.get("name")
                if isinstance(found, str) and found not in self._index:
                    self._index[found] = function.get("parameters")
                    if found == name:
                        return True
        return False

    def parameters(self, name: str) -> Any:
        """The `parameters` schema of a tool as the caller gave it, None if there is none."""
        return self._index[name] if self.declares(name) else None

    def schema(self, name: str, rules: SchemaRules) -> SchemaNode:
        """The `parameters` schema of a tool, read by a format's rules; one without types if the tool has none."""
        if not self.declares(name):
            return SchemaNode(None, None, rules)
        key = name, id(rules)
        node = self._schemas.get(key)
        if node is None:
            parameters = self._index[name]
            node = self._schemas[key] = SchemaNode(parameters, parameters, rules)
        return node
