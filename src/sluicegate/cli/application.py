"""The commands by name."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App
from cyclopts.exceptions import CycloptsError
from rich.console import Console

from sluicegate._version import __version__
from sluicegate.cli.failure import CommandFailed
from sluicegate.core.errors import SluicegateError

app = App(
    name="sluicegate",
    help="Read what language models write: answer, reasoning and tool calls, every character accounted for.",
    version=__version__,
)
app.command("sluicegate.cli.parse:parse")
app.command("sluicegate.cli.parse:reasoning")
app.command("sluicegate.cli.stream:stream")
app.command("sluicegate.cli.tokens:tokenize")
app.command("sluicegate.cli.tokens:detokenize")
app.command("sluicegate.cli.dialects:app", name="dialects")
app.command("sluicegate.cli.completion:serve", name="serve")
app.command("sluicegate.cli.doctor:doctor")
app.register_install_completion_command()  # pyright: ignore[reportUnknownMemberType]


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit status."""
    try:
        status = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        Console(stderr=True).print(str(error), markup=False, highlight=False)
        return 2
    except (CommandFailed, SluicegateError) as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of a pipe has had enough.
        sys.stderr.close()
        return 0
    return status if isinstance(status, int) else 0
