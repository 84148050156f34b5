"""The command line."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command that the arguments name; the exit status."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        from .serve import main as serve

        return serve(arguments[1:])
    print("usage: sluicegate serve [--help]", file=sys.stderr)
    return 2
