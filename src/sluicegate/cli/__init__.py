"""The command line: each command is a module of its own, loaded when it is used."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command that the arguments name.

    Exit status: 0 all is well, 1 the output holds a broken call or the command could not do its work, 2 the
    command line is wrong.
    """
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        # Its flags are made from the settings, and it starts without what the other commands need.
        from sluicegate.cli.serve import main as serve

        return serve(arguments[1:])
    try:
        from sluicegate.cli.application import run
    except ModuleNotFoundError as error:
        print(f"sluicegate needs the package {error.name!r} here: pip install 'sluicegate[cli]'", file=sys.stderr)
        return 1
    return run(arguments)
