"""Schemas as callers write them, and as they should not."""

from __future__ import annotations

from typing import Any

import pytest

from sluicegate.core.schema import PLAIN_RULES, SchemaNode, SchemaRules, Tools

ALIASED = SchemaRules(aliases={"str": "string", "int": "integer"}, fold_case=True)
BRANCHES = SchemaRules(members_in_branches=True)


def node(schema: Any, rules: SchemaRules = PLAIN_RULES) -> SchemaNode:
    return SchemaNode(schema, schema, rules)


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"type": "string"}, {"string"}),
        ({"type": ["integer", "null"]}, {"integer", "null"}),
        ({"type": "String"}, set()),
        ({"type": ["nothing", 5, "array"]}, {"array"}),
        ({"type": "nothing", "anyOf": [{"type": "object"}]}, {"object"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}, {}]}, {"string", "null"}),
        ({"oneOf": [{"type": "integer"}, {"enum": ["a"]}]}, {"integer", "string"}),
        ({"allOf": [{"type": ["string", "null"]}, {"type": ["string", "integer"]}, {"description": "x"}]}, {"string"}),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, set()),
        ({"anyOf": "nonsense", "enum": [1, 2.5, True, None, [], {}, "x"]}, None),
        ({"const": None}, {"null"}),
        ({"const": False}, {"boolean"}),
        ({"nullable": True, "type": "string"}, {"string"}),
        ({"enum": 5}, set()),
        ({}, set()),
        (None, set()),
        (True, set()),
        ([], set()),
        ("string", set()),
        ({"type": {"type": "string"}}, set()),
    ],
)
def test_types(schema: Any, types: set[str] | None) -> None:
    every = {"integer", "number", "boolean", "null", "array", "object", "string"}
    assert node(schema).types == (every if types is None else types)


def test_aliases_and_case_are_the_formats_own() -> None:
    assert node({"type": ["STR", "Int"]}, ALIASED).types == {"string", "integer"}
    assert node({"type": "str"}).types == set()


@pytest.mark.parametrize(
    ("reference", "types"),
    [
        ("#/$defs/a", {"string"}),
        ("#/$defs/b~1c~0d", {"integer"}),
        ("#/$defs/e%20f", {"boolean"}),
        ("#/list/1", {"null"}),
        ("#", {"object"}),
        ("#/list/7", set()),
        ("#/list/99999999999", set()),
        ("#/list/x", set()),
        ("#/type/x", set()),
        ("#/nowhere", set()),
        ("other.json#/a", set()),
        (5, set()),
    ],
)
def test_references(reference: Any, types: set[str]) -> None:
    root = {
        "type": "object",
        "properties": {"p": {"$ref": reference}},
        "list": [{"type": "string"}, {"type": "null"}],
        "$defs": {"a": {"type": "string"}, "b/c~d": {"type": "integer"}, "e f": {"const": True}},
    }
    assert node(root).member("p").types == types


def test_sixteen_references_are_followed_and_circles_end() -> None:
    chain: dict[str, Any] = {f"r{n}": {"$ref": f"#/$defs/r{n + 1}"} for n in range(20)}
    root = {"$defs": {**chain, "r20": {"type": "string"}, "loop": {"anyOf": [{"$ref": "#/$defs/loop"}] * 9}}}
    assert SchemaNode({"$ref": "#/$defs/r5"}, root, PLAIN_RULES).types == {"string"}
    assert SchemaNode({"$ref": "#/$defs/r4"}, root, PLAIN_RULES).types == set()
    assert SchemaNode({"$ref": "#/$defs/r1"}, root, PLAIN_RULES).member("x").types == set()
    loop = SchemaNode({"$ref": "#/$defs/loop"}, root, BRANCHES)
    assert (loop.types, loop.member("x").types, loop.items.types, loop.declared) == (set(), set(), set(), ())


def test_deep_schemas_end() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        deep = {"anyOf": [deep]}
    assert node(deep).types == set()
    assert node(deep, BRANCHES).member("a").types == set()
    assert node(deep).items.types == set()


def test_members_are_declared_found_in_branches_or_additional() -> None:
    schema = {
        "properties": {"a": {"type": "string"}, 5: {}},
        "oneOf": [{"properties": {"b": {"type": "integer"}}}, "nonsense"],
        "additionalProperties": {"type": "number"},
    }
    plain, branches = node(schema), node(schema, BRANCHES)
    assert [plain.member(key).types for key in "abc"] == [{"string"}, {"number"}, {"number"}]
    assert [branches.member(key).types for key in "abc"] == [{"string"}, {"integer"}, {"number"}]
    assert plain.declared == ("a",)
    assert plain.member("a") is plain.member("a")
    assert plain.member("c") is plain.member("d")
    assert node({"additionalProperties": True}).member("a").types == set()
    other = {"properties": {"a": None}, "additionalProperties": {"type": "string"}}
    assert node(other).member("a").types == set()
    assert node({"properties": []}).declared == ()
    optional = {"anyOf": [{"type": "object", "additionalProperties": {"type": "string"}}, {"type": "null"}]}
    assert node(optional).member("a").types == set()
    assert node(optional, BRANCHES).member("a").types == {"string"}


def test_items() -> None:
    strings = node({"items": {"type": "string"}})
    assert strings.items.types == {"string"}
    assert strings.items is strings.items
    assert node({"anyOf": [{"type": "null"}, {"items": {"type": "integer"}}]}).items.types == {"integer"}
    assert node({"items": [{"type": "string"}]}).items.types == set()


def test_tools_are_looked_up_by_name_and_the_first_counts() -> None:
    tools = Tools(
        [
            {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}},
            {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "null"}}}}},
            {"type": "function", "function": {"name": 5}},
            {"type": "function", "function": {"name": "g", "parameters": None}},
            {"type": "function", "function": "nonsense"},
            "nonsense",
        ]
    )
    assert tools.given
    assert (tools.declares("f"), tools.declares("g"), tools.declares("h")) == (True, True, False)
    assert tools.schema("f", PLAIN_RULES).member("a").types == {"string"}
    assert tools.schema("f", PLAIN_RULES) is tools.schema("f", PLAIN_RULES)
    assert tools.schema("g", PLAIN_RULES).member("a").types == set()
    assert tools.schema("h", PLAIN_RULES).member("a").types == set()
    assert tools.parameters("g") is None
    assert not Tools(None).given
