"""Chat templates: found where checkpoints have them, rendered as Hugging Face does, and kept in their sandbox."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from sluicegate.tokenizers import ChatTemplate, ChatTemplateError, TokenizerFileInvalid, TokenizerNotFound
from sluicegate.tokenizers.chat_template import read_chat_template
from sluicegate.tokenizers.checkpoint import CheckpointConfig
from tests.tokenizers.miniatures import write_checkpoint

MESSAGES = [{"role": "user", "content": "Hi <b> & 中"}, {"role": "assistant", "content": "Yes"}]


def render(source: str, **options: Any) -> str:
    return ChatTemplate({"default": source}, {"bos_token": "<s>"}).render(MESSAGES, **options)


def test_white_space_around_blocks_is_trimmed() -> None:
    source = "{% for message in messages %}\n    {% if true %}\n{{ message.role }}\n    {% endif %}\n{% endfor %}\n"
    assert render(source) == "user\nassistant\n"


def test_variables_are_those_of_the_renderer() -> None:
    source = "{{ bos_token }}{{ messages|length }}{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}"
    assert render(source, add_generation_prompt=True) == "<s>2TrueTrueTrue"
    assert render("{{ enable_thinking }}", arguments={"enable_thinking": False}) == "False"
    assert render("{{ bos_token }}", arguments={"bos_token": "other"}) == "other"


def test_tojson_is_for_models_not_for_browsers() -> None:
    assert render("{{ messages[0] | tojson }}") == '{"role": "user", "content": "Hi <b> & 中"}'
    assert render("{{ {'b': 1, 'a': [1]} | tojson(indent=2) }}") == json.dumps({"b": 1, "a": [1]}, indent=2)


def test_loop_controls_and_generation_blocks() -> None:
    assert render("{% for m in messages %}{% if loop.index0 %}{% break %}{% endif %}{{ m.role }}{% endfor %}") == "user"
    assert render("{% generation %}{{ messages[1].content }}{% endgeneration %}!") == "Yes!"


def test_template_may_refuse_the_messages() -> None:
    with pytest.raises(ChatTemplateError, match="roles must alternate"):
        render("{{ raise_exception('roles must alternate') }}")


def test_date_comes_from_the_clock_that_is_passed_in() -> None:
    source = "{{ strftime_now('%d %b %Y') }}"
    assert render(source, now=lambda: datetime(2026, 2, 3)) == "03 Feb 2026"  # noqa: DTZ001 - local time of the caller
    with pytest.raises(ChatTemplateError, match="no clock"):
        render(source)


def test_tool_use_template_is_taken_when_there_are_tools() -> None:
    template = ChatTemplate({"default": "plain", "tool_use": "{{ tools|length }} tools"})
    assert template.render(MESSAGES) == "plain"
    assert template.render(MESSAGES, tools=[]) == "plain"
    assert template.render(MESSAGES, tools=[{"type": "function"}]) == "1 tools"


def test_missing_default_says_what_there_is() -> None:
    with pytest.raises(ChatTemplateError, match="it has: rag"):
        ChatTemplate({"rag": "x"}).render(MESSAGES)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append({}) }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ ().__class__.__base__.__subclasses__() }}",
        "{{ 'a' * 10**10 }}",
        "{{ 10 ** 10000000 }}",
        "{{ [0] * 1000000000 }}",
        "{% for a in range(1000000) %}x{% endfor %}",
        "{% for a in range(90000) %}{{ 'x' * 5000 }}{% endfor %}",
        "{% include 'x' %}",
        "{{ missing.attribute.deeper }}",
        "{{ 1 / 0 }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% if %}",
        "{{ unclosed",
    ],
)
def test_bad_template_is_an_error_and_nothing_more(source: str) -> None:
    messages = json.loads(json.dumps(MESSAGES))
    with pytest.raises(ChatTemplateError):
        ChatTemplate({"default": source}).render(messages)
    assert messages == MESSAGES


def test_objects_behind_the_arguments_are_out_of_reach() -> None:
    assert render("{{ messages.__class__ }}x{{ ''.__doc__ }}") == "x"


def find(directory: Path | None, config: dict[str, Any] | None = None, file: Path | None = None) -> ChatTemplate | None:
    return read_chat_template(directory, CheckpointConfig(config or {}), file)


def test_template_is_looked_for_in_order(tmp_path: Path) -> None:
    config = {"chat_template": "config", "eos_token": {"content": "</s>"}}
    found = find(tmp_path, config)
    assert found is not None
    assert found.render([]) == "config"
    write_checkpoint(tmp_path, {"chat_template.json": {"chat_template": "json"}})
    assert (find(tmp_path, config) or ChatTemplate({})).render([]) == "json"
    write_checkpoint(tmp_path, {"chat_template.jinja": b"file {{ eos_token }}"})
    assert (find(tmp_path, config) or ChatTemplate({})).render([]) == "file </s>"
    write_checkpoint(tmp_path, {"additional_chat_templates/tool_use.jinja": b"tools"})
    assert (find(tmp_path, config) or ChatTemplate({})).render([], tools=[{}]) == "tools"
    write_checkpoint(tmp_path, {"own.jinja": b"own"})
    assert (find(tmp_path, config, tmp_path / "own.jinja") or ChatTemplate({})).render([]) == "own"
    assert find(None) is None
    assert find(tmp_path / "nowhere") is None


def test_list_of_named_templates() -> None:
    named = [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}, {"name": 1}, "x"]
    found = find(None, {"chat_template": named})
    assert found is not None
    assert found.sources == {"default": "a", "tool_use": "b"}


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("missing.jinja", None, TokenizerNotFound),
        ("empty.jinja", b" \n", TokenizerFileInvalid),
        ("bytes.jinja", b"\xff\xfe", TokenizerFileInvalid),
        ("broken.json", b"{", TokenizerFileInvalid),
        ("other.json", b"[1]", TokenizerFileInvalid),
        ("string.json", b'"text"', None),
    ],
)
def test_template_file_that_was_asked_for_must_be_one(
    tmp_path: Path, name: str, content: bytes | None, error: type[Exception] | None
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    if error is None:
        assert find(None, file=tmp_path / name) is not None
        return
    with pytest.raises(error, match=name):
        find(None, file=tmp_path / name)
