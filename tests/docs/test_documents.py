"""The examples of README.md and docs/ do what they say.

In blocks marked `python` every `>>>` line runs, all blocks of one document in one namespace. In blocks marked
`console` every `$ ` line is a shell command, and its output is what stands below it; `…` stands for anything.
Commands that call port 30000 reach a service that was started for the tests, with the bundled tokenizers.
"""

from __future__ import annotations

import doctest
import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.support.service import Service

ROOT = pathlib.Path(__file__).parent.parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
by_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def blocks(document: pathlib.Path, language: str) -> list[str]:
    return [found[2] for found in BLOCK.finditer(document.read_text("utf-8")) if found[1] == language]


@by_document
@pytest.mark.usefixtures("own_registry")
def test_python(document: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = "\n".join(block for block in blocks(document, "python") if ">>>" in block)
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(examples, {}, document.name, str(document), 0)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert not said, "".join(said)


@by_document
def test_console(document: pathlib.Path, tmp_path: pathlib.Path, demo_service: Service) -> None:
    environment = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    for block in blocks(document, "console"):
        for command, want in steps(block):
            here = command.replace("127.0.0.1:30000", f"127.0.0.1:{demo_service.port}")
            done = subprocess.run(
                ["bash", "-c", here],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=60,
                check=False,
            )
            assert matches(want, done.stdout), f"{command}\nwant:\n{want}\ngot:\n{done.stdout}"


def steps(block: str) -> list[tuple[str, str]]:
    """The commands of a console block and what they print; a command goes on in the next line behind a backslash."""
    found: list[tuple[str, str]] = []
    lines = iter(block.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\") or command.count("'") % 2:
                command += "\n" + next(lines)
            found.append((command, ""))
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def matches(want: str, got: str) -> bool:
    return re.fullmatch(re.escape(want.strip()).replace("…", ".*"), got.strip(), re.DOTALL) is not None
