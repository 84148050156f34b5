"""Fuzz every format in turn, each for its share of the time, and say how many inputs were tried.

Dictionaries are made from the formats' markers, the first inputs are the recorded outputs.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from sluicegate.dialects.registry import REASONING, TOOLS, reasoning_format, tool_format
from tests.support.strategies import recorded_texts, vocabulary

RUNS = re.compile(r"^Done (\d+) runs in \d+ second", re.MULTILINE)


def main() -> int:
    """Exit status 1 if any format failed; the failing input is left in the working directory."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=1200, help="for all formats together")
    parser.add_argument("--only", action="append", help="one format; reasoning:NAME for a reasoning format")
    arguments = parser.parse_args()
    every = [form.names[0] for form in TOOLS.formats] + [f"reasoning:{form.names[0]}" for form in REASONING.formats]
    targets = arguments.only or every
    share = max(1, arguments.seconds // len(targets))
    tried = failed = 0
    for target in targets:
        runs, output = fuzz(target, share)
        tried += runs
        verdict = "ok"
        if output:
            failed += 1
            verdict = f"FAILED\n{output}"
        print(f"{target:28} {runs:9} inputs  {verdict}", flush=True)
    print(f"{tried} inputs tried on {len(targets)} formats, {failed} failed")
    return 1 if failed else 0


def fuzz(target: str, seconds: int, *further: str) -> tuple[int, str]:
    """Run one target: how many inputs were tried, and what it printed if it failed.

    `further` are options of libFuzzer, such as `-runs=1000`.
    """
    kind, _, name = target.rpartition(":")
    pattern = "reasoning*.jsonl" if kind else "tool-*.jsonl"
    markers = reasoning_format(name).markers if kind else tool_format(name).markers
    with tempfile.TemporaryDirectory() as directory:
        corpus = pathlib.Path(directory) / "corpus"
        corpus.mkdir()
        for number, text in enumerate(recorded_texts(name, pattern)):
            (corpus / str(number)).write_bytes(bytes([number % 256]) + text.encode("utf-8", "replace"))
        words = pathlib.Path(directory) / "words"
        words.write_text("\n".join(entry(word) for word in vocabulary(name, pattern, markers) if word), "utf-8")
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "fuzz.target",
                target,
                f"-max_total_time={seconds}",
                f"-dict={words}",
                "-max_len=2000",
                *further,
                str(corpus),
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    printed = done.stdout + done.stderr
    found = RUNS.search(printed)
    return int(found[1]) if found else 0, "" if done.returncode == 0 else printed[-6000:]


def entry(word: str) -> str:
    """A line of a libFuzzer dictionary."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in word.encode("utf-8", "replace")) + '"'


if __name__ == "__main__":
    raise SystemExit(main())
