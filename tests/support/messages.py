"""Random messages for round trips: contents, names and arguments of calls."""

from __future__ import annotations

import string
from typing import Any

from hypothesis import strategies as st

PLAIN = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in "<>[]{}") + "\n\téß日本😀\u2028"
"""Characters that begin no marker of any format."""

NAMES = st.text(string.ascii_letters + string.digits + "_-.", min_size=1, max_size=24)


def contents(characters: str = PLAIN) -> st.SearchStrategy[str]:
    """Answers: text that is empty, or begins and ends with a word."""
    inside = st.text(characters, max_size=80)
    return st.one_of(st.just(""), inside.map(lambda text: f"On {text} it."))


def values() -> st.SearchStrategy[Any]:
    """JSON values: any characters but surrogates, any integers, finite floats."""
    scalars = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**30), 10**30),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=40),
        st.sampled_from(
            ['{"name":"f","arguments":{}}', "}]", "[", "\\", '"', "[TOOL_CALLS]", "<|python_tag|>", "</s>"]
        ),
    )
    return st.recursive(
        scalars,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
        max_leaves=12,
    )


def arguments() -> st.SearchStrategy[dict[str, Any]]:
    """The arguments of a call."""
    return st.dictionaries(st.text(max_size=12), values(), max_size=4)


def calls(min_size: int = 1) -> st.SearchStrategy[list[tuple[str, dict[str, Any]]]]:
    """Some calls."""
    return st.lists(st.tuples(NAMES, arguments()), min_size=min_size, max_size=4)
