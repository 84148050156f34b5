"""`sluicegate parse`, `reasoning`, `stream` and `dialects`: what they print and how they end."""

from __future__ import annotations

import io
import json
import pathlib
import sys
from typing import Any

import pytest

from sluicegate.cli import main

CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
OUTPUT = f"<think>\nTwo.\n</think>\n\nOn it.\n{CALL}"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> Any:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, stdin: str | bytes = "") -> tuple[int, str, str]:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "argv", ["sluicegate", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        status = main()
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def test_parse_prints_the_answer_of_the_service(run: Any, tmp_path: pathlib.Path) -> None:
    (tmp_path / "out.txt").write_text(OUTPUT)
    status, printed, _ = run("parse", "out.txt", "--model", "Qwen/Qwen3-8B", "--json")
    answer = json.loads(printed)
    assert status == 0
    assert (answer["reasoning_text"], answer["content"], answer["finish"]) == ("Two.", "On it.", "tool_calls")
    assert answer["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a":1}'}
    assert answer["tool_calls"][0]["id"].startswith("call_")
    assert "spans" not in answer


def test_parse_explains_on_standard_input(run: Any) -> None:
    status, printed, _ = run("parse", "--tool-call-parser", "qwen", "--explain", stdin=f"a{CALL}")
    assert status == 0
    assert "     0      1  content    a" in printed
    assert "call 0: add" in printed


def test_a_cut_off_call_is_told_and_ends_with_status_1(run: Any) -> None:
    status, printed, _ = run("parse", "--tool-call-parser", "qwen", "--explain", stdin=CALL[:-20])
    assert status == 1
    assert "incomplete call: add" in printed
    assert "error: incomplete_call at 1:1" in printed


def test_tools_type_the_arguments(run: Any, tmp_path: pathlib.Path) -> None:
    raw = "<tool_call>\n<function=f>\n<parameter=a>\n007\n</parameter>\n</function>\n</tool_call>"
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    (tmp_path / "tools.json").write_text(
        json.dumps([{"type": "function", "function": {"name": "f", "parameters": schema}}])
    )
    _, printed, _ = run("parse", "--tool-call-parser", "qwen_xml", "--tools", "tools.json", "--json", stdin=raw)
    assert json.loads(printed)["tool_calls"][0]["function"]["arguments"] == '{"a":"007"}'


@pytest.mark.parametrize(
    ("arguments", "stdin", "status", "said"),
    [
        (("parse", "--tool-call-parser", "quen"), "x", 1, "did you mean"),
        (("parse", "missing.txt"), "", 1, "missing.txt: No such file"),
        (("parse", "--tools", "missing.json"), "x", 1, "missing.json"),
        (("parse",), b"a\xff", 1, "no UTF-8 at byte 1"),
        (("parse", "--no-such-flag"), "x", 2, "--no-such-flag"),
        (("stream", "--chunk-size", "0"), "x", 2, "Must be >= 1"),
        (("nothing",), "", 2, "nothing"),
    ],
)
def test_what_is_wrong_is_said(
    run: Any, arguments: tuple[str, ...], stdin: str | bytes, status: int, said: str
) -> None:
    got, printed, error = run(*arguments, stdin=stdin)
    assert got == status
    assert said in error
    assert not printed


def test_reasoning(run: Any) -> None:
    status, printed, _ = run("reasoning", "--parser", "qwen3", "--json", stdin=OUTPUT)
    assert status == 0
    assert json.loads(printed) == {"normal_text": f"\n\nOn it.\n{CALL}", "reasoning_text": "\nTwo.\n"}
    _, printed, _ = run("reasoning", "--parser", "qwen3", "--in-reasoning", "--explain", stdin="Two.</think>b")
    assert "reasoning" in printed


def test_stream_says_what_is_certain_after_each_chunk(run: Any) -> None:
    status, printed, _ = run("stream", "--model", "Qwen/Qwen3-8B", "--chunk-size", "5", "--json", stdin=OUTPUT)
    events = [json.loads(line) for line in printed.splitlines()]
    assert status == 0
    assert "".join(e["event"]["json"] for e in events if e["event"]["type"] == "arguments_delta") == '{"a":1}'
    assert [e["fed"] for e in events] == sorted(e["fed"] for e in events)
    _, printed, _ = run("stream", "--model", "Qwen/Qwen3-8B", stdin=OUTPUT)
    assert "CallStart       0 add" in printed


def test_dialects_lists_both_sides(run: Any) -> None:
    _, printed, _ = run("dialects", "--json")
    rows = [json.loads(line) for line in printed.splitlines()]
    assert {"kind": "tool", "names": ["qwen"], "markers": ["<tool_call>"]} in rows
    assert any(row["kind"] == "reasoning" and "qwen3" in row["names"] for row in rows)
    _, printed, _ = run("dialects")
    assert "<tool_call>" in printed


def test_help_and_version(run: Any) -> None:
    status, printed, _ = run("--help")
    assert status == 0
    assert all(command in printed for command in ("parse", "stream", "tokenize", "serve", "doctor"))
    assert run("--version")[1].strip().count(".") == 2


@pytest.mark.usefixtures("own_registry")
def test_formats_of_ones_own_come_from_files(run: Any, tmp_path: pathlib.Path) -> None:
    (tmp_path / "acme.toml").write_text('[[reasoning]]\nnames = ["acme"]\nstart = "[T]"\nend = "[/T]"\n')
    chosen = ("--format-file", "acme.toml", "--json")
    status, printed, _ = run("reasoning", "--parser", "acme", *chosen, stdin="[T]a[/T]b")
    assert (status, json.loads(printed)) == (0, {"normal_text": "b", "reasoning_text": "a"})
    status, _, error = run("parse", "--reasoning-parser", "acme", *chosen, stdin="[T]a[/T]b")
    assert (status, "two reasoning formats are called 'acme'" in error) == (1, True)
