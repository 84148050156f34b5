"""How failures inside the engines reach Python: exceptions of any class, and panics of their Rust code."""

from __future__ import annotations


def is_engine_failure(failure: BaseException) -> bool:
    """Whether this came out of an engine, and not from outside like KeyboardInterrupt.

    A Rust panic arrives as a BaseException of a class that each library has its own of and none exports.
    """
    return isinstance(failure, Exception) or type(failure).__name__ == "PanicException"


def reason_of(failure: BaseException) -> str:
    """One line for a person."""
    if isinstance(failure, UnicodeEncodeError):
        return f"the text has a lone surrogate at code point {failure.start}"
    return f"{failure}".strip().partition("\n")[0] or type(failure).__name__
