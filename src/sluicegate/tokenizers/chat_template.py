"""Chat templates: a checkpoint's own Jinja template, run in a sandbox, as Hugging Face's renderer runs it.

The environment (names, filters, white space rules) follows the documentation of `apply_chat_template`. A template is
data of the checkpoint: it can neither reach Python objects behind its arguments nor change those arguments.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from sluicegate.tokenizers.errors import ChatTemplateError, TokenizerFileInvalid, TokenizerNotFound

if TYPE_CHECKING:
    from jinja2 import Environment

    from sluicegate.tokenizers.checkpoint import CheckpointConfig

MAX_RENDERED = 64 * 1024 * 1024
"""Code points; a template that writes more is stopped."""

Message = Mapping[str, Any]
Tool = Mapping[str, Any]


class ChatTemplate:
    """The named templates of a checkpoint; "default" is used unless tools are given and there is a "tool_use" one.

    `special_tokens` (bos_token, eos_token, …) can be used by name inside the template.
    """

    def __init__(self, templates: Mapping[str, str], special_tokens: Mapping[str, str] | None = None) -> None:
        self._sources = dict(templates)
        self._special_tokens = dict(special_tokens or {})
        self._compiled: dict[str, Any] = {}

    @property
    def sources(self) -> Mapping[str, str]:
        """The text of each template by name."""
        return self._sources

    def render(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None, add_generation_prompt: bool = False,
        arguments: Mapping[str, Any] | None = None, now: Callable[[], datetime] | None = None,
    ) -> str:  # fmt: skip
        """Return the prompt for a conversation.

        `arguments` are further variables of the template (`enable_thinking`, …); `now` is the clock behind
        `strftime_now`. Raises ChatTemplateError with the template's own words where it refuses the messages.
        """
        template = self._choose(has_tools=bool(tools))
        variables: dict[str, Any] = {
            **self._special_tokens,
            "messages": messages,
            "tools": tools or None,
            "documents": documents,
            "add_generation_prompt": add_generation_prompt,
            **(arguments or {}),
        }
        if now is not None:
            variables["strftime_now"] = partial(_format_now, now)
        return _run(template, variables)

    def _choose(self, *, has_tools: bool) -> Any:
        name = "tool_use" if has_tools and "tool_use" in self._sources else "default"
        if name not in self._sources:
            known = ", ".join(sorted(self._sources)) or "none"
            raise ChatTemplateError(f"the checkpoint has no chat template named '{name}' (it has: {known})")
        if name not in self._compiled:
            self._compiled[name] = _compile(self._sources[name])
        return self._compiled[name]


def read_chat_template(
    directory: Path | None, config: CheckpointConfig, file: Path | None = None
) -> ChatTemplate | None:
    """Find the template: `file` if given, else chat_template.jinja, chat_template.json, tokenizer_config.json.

    Raises TokenizerNotFound or TokenizerFileInvalid when `file` is missing, empty or no text; what lies in a checkpoint
    and cannot be read counts as absent.
    """
    special_tokens = config.named_tokens()
    if file is not None:
        return ChatTemplate({"default": _read_template_file(file)}, special_tokens)
    templates: dict[str, str] = {}
    if directory is not None:
        templates |= _templates_in(directory)
    if not templates:
        templates = _named_templates(config.chat_template)
    return ChatTemplate(templates, special_tokens) if templates else None


def _templates_in(directory: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(directory.glob("additional_chat_templates/*.jinja")):
        found |= _text_of(path, path.stem)
    found |= _text_of(directory / "chat_template.jinja", "default")
    if found:
        return found
    try:
        members = msgspec.json.decode((directory / "chat_template.json").read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, RecursionError):
        return {}
    return _named_templates(members.get("chat_template"))


def _text_of(path: Path, name: str) -> dict[str, str]:
    try:
        return {name: path.read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError):
        return {}


def _named_templates(value: Any) -> dict[str, str]:
    if isinstance(value, str):
        return {"default": value}
    if not isinstance(value, list):
        return {}
    members = cast("Iterable[Any]", value)
    entries = [cast("dict[str, Any]", entry) for entry in members if isinstance(entry, dict)]
    return {
        entry["name"]: entry["template"]
        for entry in entries
        if isinstance(entry.get("name"), str) and isinstance(entry.get("template"), str)
    }


def _read_template_file(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise TokenizerFileInvalid(f"Chat template '{file}' is not UTF-8 text") from None
    except OSError as error:
        raise TokenizerNotFound(f"Chat template '{file}' cannot be read: {error.strerror}") from None
    if not text.strip():
        raise TokenizerFileInvalid(f"Chat template '{file}' is empty")
    if file.suffix == ".json":
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise TokenizerFileInvalid(f"Chat template '{file}' is not valid JSON: {error}") from None
        named = _named_templates(
            cast("dict[str, Any]", value).get("chat_template") if isinstance(value, dict) else value
        )
        if "default" not in named:
            raise TokenizerFileInvalid(f"Chat template '{file}' has no member chat_template with a template")
        return named["default"]
    return text


class Repetition:
    """Bounds `*` and `**`, as Jinja's sandbox bounds ranges, so that a template cannot take all memory."""

    OPERATORS = frozenset({"*", "**"})

    @staticmethod
    def check(operator: str, left: Any, right: Any) -> None:
        if operator == "**":
            if isinstance(right, int) and abs(right) > 4096:
                raise ChatTemplateError("the chat template computes a power that is too big")
            return
        for sized, times in ((left, right), (right, left)):
            if isinstance(times, int) and hasattr(sized, "__len__") and len(sized) * times > MAX_RENDERED:
                raise ChatTemplateError("the chat template repeats a value too often")


def _environment() -> Environment:
    from jinja2 import nodes  # noqa: PLC0415 - only when a template is rendered
    from jinja2.ext import Extension, loopcontrols  # noqa: PLC0415
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415

    class Generation(Extension):
        """{% generation %} … {% endgeneration %} marks what the model wrote; rendering passes it through."""

        tags = {"generation"}  # noqa: RUF012 - the interface of the library

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body, lineno=line)

    class Sandbox(ImmutableSandboxedEnvironment):
        intercepted_binops = Repetition.OPERATORS

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            Repetition.check(operator, left, right)
            return super().call_binop(context, operator, left, right)

    environment = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    environment.filters["tojson"] = _to_json
    names = cast("dict[str, Any]", environment.globals)
    names["raise_exception"] = _raise
    names["strftime_now"] = _no_clock
    return environment


def _to_json(
    value: Any, ensure_ascii: bool = False, indent: int | str | None = None,
    separators: tuple[str, str] | None = None, sort_keys: bool = False,
) -> str:  # fmt: skip
    """JSON for a model to read: unlike Jinja's own filter nothing is escaped for HTML, and members keep their order."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )  # fmt: skip


def _raise(message: Any) -> None:
    raise ChatTemplateError(f"{message}")


def _format_now(now: Callable[[], datetime], form: str) -> str:
    return now().strftime(form)


def _no_clock(_form: str) -> str:
    raise ChatTemplateError("the template asks for the date, but no clock was given")


def _compile(source: str) -> Any:
    from jinja2 import TemplateError  # noqa: PLC0415

    try:
        return _environment().from_string(source)
    except (TemplateError, RecursionError, MemoryError, ValueError) as error:
        raise ChatTemplateError(f"the chat template is not valid: {error}") from None


def _run(template: Any, variables: dict[str, Any]) -> str:
    parts: list[str] = []
    size = 0
    try:
        for part in template.generate(**variables):
            size += len(part)
            if size > MAX_RENDERED:
                raise ChatTemplateError(f"the chat template wrote more than {MAX_RENDERED} characters")
            parts.append(part)
    except ChatTemplateError:
        raise
    except Exception as error:
        # Whatever a template does wrong surfaces as an exception of any class: a TypeError for a missing member, …
        raise ChatTemplateError(f"the chat template failed: {error}") from None
    return "".join(parts)
