"""Writes docs/reference/settings.md from the fields of `sluicegate.settings`."""

from __future__ import annotations

import pathlib
from itertools import groupby

from sluicegate.cli.serve import shown_default
from sluicegate.settings import FIELDS, Field

PAGE = pathlib.Path(__file__).parent / "reference" / "settings.md"

HEAD = """# Settings

Every setting has a flag of `sluicegate serve`, an environment variable and a member of the settings file, a TOML file
that `--config FILE` or `SLUICEGATE_CONFIG` names; its members are the flags without the dashes in front, or with `_`
in place of `-`. A flag counts before a variable, a variable before the file. The sources of a secret add up.

A value that cannot be used stops the start with exit status 1 and one line that names the setting, the value and the
reason, but never the value of a secret. Lists are written with several values behind one flag, flags marked “repeat”
are given once for each value; in variables white space separates the values. Times are seconds, sizes are bytes.
Switches are turned off by `--no-…`.

In Kubernetes a Service called `sluicegate` makes the cluster set `SLUICEGATE_PORT` in every pod of its namespace to
an address: set `enableServiceLinks: false`, or give `--port`.

Other variables that count: `HF_TOKEN`, `HF_HOME`, `HF_ENDPOINT` and `HF_HUB_OFFLINE` for downloads from a model hub;
`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` for requests to hubs and key sets; `TOKENIZERS_PARALLELISM`
and `RAYON_NUM_THREADS` for the threads of encoders.

`--parser` and `--enable-igw` of SMG are accepted and have no effect.
"""


def page() -> str:
    """The page."""
    parts = [HEAD]
    for group, fields in groupby(FIELDS, key=lambda field: field.group):
        parts.append(f"## {group}\n\n| Flag | Variable | Default | Meaning |\n|---|---|---|---|")
        parts += [_row(field) for field in fields]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _row(field: Field) -> str:
    value = "" if field.is_switch else f" {field.metavar or field.name.split('_')[-1].upper()}"
    more = " …" if field.is_list and not field.repeat else ""
    flags = ", ".join(f"`{name}{value}{more}`" for name in (field.flag, *field.aliases))
    default = f"`{shown_default(field)}`" if shown_default(field) else "off" if field.is_switch else "—"
    meaning = field.description + (" (repeat)" if field.repeat else "")
    return f"| {flags.replace('|', chr(92) + '|')} | `{field.variable}` | {default} | {meaning} |"


def write() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    write()
