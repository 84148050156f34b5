"""Which parsers read the output of a model: those of the request, of the settings, of a worker, or detected."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from sluicegate.core.errors import InvalidDialect, InvalidSetting, UnknownDialect
from sluicegate.dialects.checkpoint_detection import detect_from_checkpoint
from sluicegate.dialects.detection import Choice, Override, choose_parsers, compile_pattern, normalised
from sluicegate.dialects.registry import REASONING, TOOLS
from sluicegate.parsing import find_format
from sluicegate.settings import Settings
from sluicegate.tokenizers.store import TokenizerStore

Checkpoint = tuple[str | None, str | None]


def check_parsers(tool_call_parser: str | None, reasoning_parser: str | None) -> None:
    """Raise `UnknownDialect` for a name that no parser has."""
    if tool_call_parser is not None:
        find_format(TOOLS, tool_call_parser)
    if reasoning_parser is not None:
        find_format(REASONING, reasoning_parser)


class ParserChoice:
    """Chooses parsers. Raises `InvalidSetting` where the settings name one that does not exist.

    `of_workers` gives the parsers that a registered worker names for exactly this model, `of_checkpoint` those that
    the files of a loaded tokenizer speak of; each as a pair of tool-call parser and reasoning parser.
    """

    def __init__(self, settings: Settings) -> None:
        self._tool_call_parser = _checked("tool_call_parser", settings.tool_call_parser, "tool-call")
        self._reasoning_parser = _checked("reasoning_parser", settings.reasoning_parser, "reasoning")
        self._overrides = [_override(entry) for entry in settings.parser_override]
        self.of_workers: Callable[[str], Checkpoint] = lambda _model: (None, None)
        self.of_checkpoint: Callable[[str], Checkpoint] = lambda _model: (None, None)

    def __call__(
        self, model: str | None, tool_call_parser: str | None = None, reasoning_parser: str | None = None
    ) -> Choice:
        """The parsers for one output; the names are not checked."""
        overrides = self._overrides
        checkpoint: Checkpoint = (None, None)
        if model is not None and (tool_call_parser is None or reasoning_parser is None):
            tool, reasoning = self.of_workers(model)
            if tool is not None or reasoning is not None:
                worker = Override(
                    pattern=model, tool_call_parser=tool, reasoning_parser=reasoning, exact=True, origin="a worker"
                )
                overrides = [*overrides, worker]
            checkpoint = self.of_checkpoint(model)
        return choose_parsers(
            model,
            tool_call_parser=tool_call_parser,
            reasoning_parser=reasoning_parser,
            overrides=overrides,
            default_tool_call_parser=self._tool_call_parser,
            default_reasoning_parser=self._reasoning_parser,
            checkpoint=checkpoint,
        )


def parsers_of_checkpoint(store: TokenizerStore, model: str) -> Checkpoint:
    """The parsers that the chat template of a loaded tokenizer speaks of."""
    stored = store.get(model)
    template = None if stored is None else stored.tokenizer.chat_template
    return (None, None) if template is None else _parsers_of_template("\n".join(template.sources.values()))


@lru_cache(maxsize=256)
def _parsers_of_template(template: str) -> Checkpoint:
    match = detect_from_checkpoint(template)
    return match.tool_call_parser, match.reasoning_parser


def _checked(field: str, name: str | None, kind: str) -> str | None:
    if name is None:
        return None
    try:
        check_parsers(*((name, None) if kind == "tool-call" else (None, name)))
    except UnknownDialect as error:
        raise InvalidSetting(field, name, _unknown(kind, error)) from None
    return name


def _unknown(kind: str, error: UnknownDialect) -> str:
    hint = f"; did you mean {' or '.join(error.closest)}?" if error.closest else ""
    return f"unknown {kind} parser '{error.name}'{hint}"


def _override(entry: str) -> Override:
    pattern, equals, parsers = entry.rpartition("=")
    tool, comma, reasoning = parsers.partition(",")
    if not equals or not comma or not pattern.strip() or not (tool.strip() or reasoning.strip()):
        raise InvalidSetting("parser_override", entry, "must be PATTERN=TOOL_PARSER,REASONING_PARSER; one may be empty")
    try:
        compile_pattern(normalised(pattern.strip()))
    except InvalidDialect as error:
        raise InvalidSetting("parser_override", entry, str(error)) from None
    names = tool.strip() or None, reasoning.strip() or None
    try:
        check_parsers(*names)
    except UnknownDialect as error:
        raise InvalidSetting(
            "parser_override", entry, _unknown("tool-call" if error.kind == "tool" else "reasoning", error)
        ) from None
    return Override(
        pattern=pattern.strip(), tool_call_parser=names[0], reasoning_parser=names[1], origin="--parser-override"
    )
