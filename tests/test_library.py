"""What the library needs, and what it offers."""

from __future__ import annotations

import subprocess
import sys

import sluicegate

ONLY_MSGSPEC = """
import importlib.abc, sys
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in {"msgspec", "sluicegate"}:
            raise ModuleNotFoundError(f"only msgspec is installed, not {top}", name=top)
sys.meta_path.insert(0, Refuse())
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", ONLY_MSGSPEC + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_library_needs_msgspec_alone() -> None:
    code = """
import sluicegate
outcome = sluicegate.parse('<think>a</think>b<tool_call>{"name":"f"}</tool_call>', model="Qwen/Qwen3-8B")
print(outcome.reasoning, outcome.content, outcome.calls[0].name)
for parser in sluicegate.tool_call_parsers():
    sluicegate.parse_tool_calls("text", parser)
"""
    assert run(code) == "a b f"


def test_what_is_missing_is_named_with_the_way_out() -> None:
    code = """
import sluicegate
try:
    sluicegate.load_tokenizer("gpt-4o")
except sluicegate.SluicegateError as error:
    print(error)
"""
    assert "pip install 'sluicegate[tokenizers]'" in run(code)


def test_every_public_name_is_there() -> None:
    assert all(hasattr(sluicegate, name) for name in sluicegate.__all__)
    assert sorted(sluicegate.__all__) == sluicegate.__all__
