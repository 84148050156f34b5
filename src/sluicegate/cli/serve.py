"""`sluicegate serve`: the service, with one flag for every setting."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from sluicegate.cli.process_title import hide_secrets
from sluicegate.core.errors import InvalidSetting, SluicegateError
from sluicegate.settings import FIELDS, Field, Settings, resolve

_IGNORED_FLAGS = {"parser": "?", "enable_igw": "?"}  # accepted from command lines of an SMG gateway


class _Parser(argparse.ArgumentParser):
    """Errors are one line, and never hold what was written on the command line: it may be a secret."""

    def error(self, message: str) -> NoReturn:
        flag, _, reason = message.removeprefix("argument ").partition(": ")
        if message.startswith("unrecognized arguments"):
            unknown = [word.partition("=")[0] for word in reason.split() if word.startswith("--")]
            flag, reason = (unknown[0], "there is no such flag") if unknown else ("command line", "unexpected argument")
        raise InvalidSetting(flag.split("/")[0].lstrip("-").replace("-", "_"), InvalidSetting.HIDDEN, reason or message)


def make_parser() -> argparse.ArgumentParser:
    """The flags, made from the settings."""
    parser = _Parser(
        prog="sluicegate serve",
        description="Start the service. A setting comes from its flag, else from its environment variable, else from "
        "the settings file; the sources of a secret add up.",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        epilog="Exit status: 0 after SIGTERM or SIGINT, 1 when the start is refused.",
    )
    parser.add_argument("--config", metavar="FILE", help="TOML file with settings (SLUICEGATE_CONFIG)")
    groups: dict[str, Any] = {}
    for field in FIELDS:
        if field.group not in groups:
            groups[field.group] = parser.add_argument_group(field.group)
        _add_flag(groups[field.group], field)
    for name, arity in _IGNORED_FLAGS.items():
        parser.add_argument("--" + name.replace("_", "-"), nargs=arity, help=argparse.SUPPRESS)
    return parser


def _add_flag(group: Any, field: Field) -> None:
    text = f"{field.description} ({field.variable})"
    default = shown_default(field)
    if default:
        text += f" [{default}]"
    text = text.replace("%", "%%")
    names = (field.flag, *field.aliases)
    if field.is_switch:
        group.add_argument(*names, dest=field.name, action=argparse.BooleanOptionalAction, help=text)
    elif field.repeat:
        group.add_argument(*names, dest=field.name, action="append", metavar=field.metavar, help=text)
    elif field.is_list:
        group.add_argument(*names, dest=field.name, nargs="*", metavar=field.metavar, help=text)
    else:
        group.add_argument(
            *names, dest=field.name, metavar=field.metavar or field.name.split("_")[-1].upper(), help=text
        )


def shown_default(field: Field) -> str:
    """The default as it would be written on the command line; empty where there is none."""
    default = field.default
    if default is None or default == () or field.is_switch:
        return ""
    if field.is_list:
        return " ".join(map(str, default))
    return f"{default:g}" if isinstance(default, float) else str(default)


def read_settings(arguments: Sequence[str]) -> tuple[Settings, tuple[str, ...]]:
    """The settings that these flags, the environment and the settings file make; and the flags without effect.

    Raises `InvalidSetting`.
    """
    flags = vars(make_parser().parse_args(arguments))
    ignored = [name for name in _IGNORED_FLAGS if name in flags]
    for name in ignored:
        del flags[name]
    file = flags.pop("config", None) or os.environ.get("SLUICEGATE_CONFIG")
    settings = resolve(flags, os.environ, Path(file) if file else None)
    return settings, tuple("--" + name.replace("_", "-") for name in ignored)


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal; the exit status."""
    hide_secrets(arguments)
    try:
        settings, ignored = read_settings(arguments)
        try:
            from sluicegate.server.lifecycle import run
        except ModuleNotFoundError as error:
            print(
                f"sluicegate serve needs the package '{error.name}': pip install 'sluicegate[server]'", file=sys.stderr
            )
            return 1
        run(settings, ignored_flags=ignored)
    except InvalidSetting as error:
        print(f"Configuration error: {error}", file=sys.stderr)
        return 1
    except SluicegateError as error:
        print(f"sluicegate serve: {error}", file=sys.stderr)
        return 1
    return 0
