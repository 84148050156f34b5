"""Structured logs, for people on the console or as one JSON object a line.

Prompts, outputs and keys are never logged: records hold what a request was about, not what was in it.
"""

from __future__ import annotations

import logging
import logging.handlers
import sys
from collections.abc import Mapping, MutableMapping
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from sluicegate.core.errors import InvalidSetting

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}


def get_logger(name: str = "sluicegate") -> structlog.stdlib.BoundLogger:
    """A logger whose records have an event and named values."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger


def _with_process(number: int, _logger: Any, _method: str, record: MutableMapping[str, Any]) -> Mapping[str, Any]:
    return {**record, "process": number}


def configure_logs(level: str, *, as_json: bool, directory: str | None, process: int | None = None) -> None:
    """Send all records of this process, those of libraries included, to the console or to `sluicegate.log`.

    `process` is the number of a serving process where there are several: its records hold it, and its file has it in
    its name, as two processes cannot take turns in one file.

    Raises `InvalidSetting` when the directory cannot be written.
    """
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if process is not None:
        shared.append(partial(_with_process, process))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler: logging.Handler
    if directory is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        try:
            Path(directory).mkdir(parents=True, exist_ok=True)
            name = "sluicegate.log" if process is None else f"sluicegate-{process}.log"
            handler = logging.handlers.TimedRotatingFileHandler(
                Path(directory) / name, when="midnight", utc=True, encoding="utf-8"
            )
        except OSError as error:
            raise InvalidSetting("log_dir", directory, f"cannot be written: {error.strerror}") from None
    last: list[Any]
    if as_json:
        last = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    else:
        # Never the formatter that structlog takes by default: it shows local variables, hence prompts.
        plain = structlog.dev.plain_traceback
        colors = directory is None and sys.stderr.isatty()
        last = [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain)]
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("sluicegate").setLevel(_LEVELS[level])
    # A malformed request is the caller's fault, and says nothing that an operator could mend.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
