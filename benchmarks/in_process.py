"""Complete and streamed parses in one process, beside SGLang's parsers.

    python -m benchmarks.in_process [--only FORMAT ...]

SGLang's parsers come from the package `llm-router-utils`, in a virtual environment of its own in .cache/benchmarks, in
which this module runs itself. Both sides get the same text, make their parser anew for each output, and take turns in
one process; what both found is compared with what was rendered. Ours gives spans in every parse, and argument deltas in
every stream.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.outputs import CODE, JSON_FORMATS, RENDERERS, TOOLS, Calls, long_argument, message, output, text_of
from benchmarks.timing import ROOT, environment, processor_time, write_result

SGLANG = {
    "mistral": "mistral",
    "qwen": "qwen25",
    "llama": "llama3",
    "deepseek": "deepseekv3",
    "deepseek31": "deepseekv31",
    "kimik2": "kimi_k2",
    "cohere": "cohere_command4",
    "inkling": "inkling",
    "pythonic": "pythonic",
    "gemma4": "gemma4",
    "minimax_m2": "minimax-m2",
    "minimax_m3": "minimax-m3",
    "qwen_xml": "qwen3_coder",
    "deepseek32": "deepseekv32",
    "deepseek_v4": "deepseekv4",
    "deepseek_v41": "deepseekv41",
    "glm45_moe": "glm45",
    "glm47_moe": "glm47",
    "step3": "step3",
    "hy_v4": "hunyuan",
    "kimi_k3": "kimi_k3",
}
"""The names of our formats, and of the same at SGLang."""

PACKAGE = "llm-router-utils==0.8.1"
NEEDED = [
    "pydantic", "jinja2", "partial_json_parser", "orjson", "typing_extensions", "tiktoken", "transformers==5.19.0",
    "openai==2.6.1", "mistral_common>=1.11.5", "packaging", "huggingface_hub", "msgspec", "json_repair",
]  # fmt: skip
"""What the package needs to parse. xgrammar, which asks for torch, is only for constrained decoding."""

SIZES = {"0.3 KB": 300, "2 KB": 2_000, "32 KB": 32_000}
CHUNKS = (16, 4, 1)
LONG = 34_000
PATIENCE = 3.0
"""Most seconds of processor time for one output."""

Found = list[tuple[str, Any]]


def ours(name: str, text: str) -> Found:
    """What we find in a complete output."""
    import sluicegate

    return [(call.name, call.arguments) for call in sluicegate.parse_tool_calls(text, name, tools=TOOLS).calls]


def ours_streamed(name: str, text: str, size: int) -> Found:
    """What we find in a stream of chunks."""
    from sluicegate import Machine
    from sluicegate.core.events import CallEnd

    machine = Machine(name, tools=TOOLS, remember=False)
    found: Found = []
    for start in range(0, len(text), size):
        for event in machine.feed(text[start : start + size]):
            if type(event) is CallEnd:
                found.append((event.name, event.arguments))
    found.extend((event.name, event.arguments) for event in machine.finish() if type(event) is CallEnd)
    return found


class Sglang:
    """SGLang's parser of one of our formats."""

    def __init__(self) -> None:
        logging.disable(logging.CRITICAL)
        package = "llm_router_utils.sglang.srt"
        self._parser = importlib.import_module(f"{package}.function_call.function_call_parser").FunctionCallParser
        tool = importlib.import_module(f"{package}.entrypoints.openai.protocol").Tool
        self._tools = [tool(**definition) for definition in TOOLS]

    def complete(self, name: str, text: str) -> Found:
        """What it finds in a complete output."""
        _, calls = self._parser(self._tools, SGLANG[name]).parse_non_stream(text)
        return [(call.name, call.parameters) for call in calls]

    def streamed(self, name: str, text: str, size: int, patience: float = 1e9) -> tuple[Found, float]:
        """What it finds in a stream of chunks, and the share of the text that it took before the time was over."""
        parser = self._parser(self._tools, SGLANG[name])
        names: dict[int, str] = {}
        arguments: dict[int, str] = {}
        pieces: list[Any] = []
        end = time.thread_time() + patience
        for start in range(0, len(text), size):
            pieces.extend(parser.parse_stream_chunk(text[start : start + size])[1])
            if time.thread_time() > end:
                return [], start / len(text)
        pieces.extend(parser.parse_stream_end()[1])
        for piece in pieces:
            if piece.name:
                names[piece.tool_index] = piece.name
            arguments[piece.tool_index] = arguments.get(piece.tool_index, "") + (piece.parameters or "")
        return [(name, arguments[index]) for index, name in sorted(names.items())], 1.0


class TooSlow(BaseException):
    """Not even one output was read in time."""


def _stop(_signal: int, _frame: object) -> None:
    raise TooSlow


def is_right(found: Callable[[], Found], calls: Calls) -> bool | None:
    """Whether the calls are those that were rendered; None if they are not found in time."""
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        return [(name, json.loads(arguments)) for name, arguments in found()] == list(calls)
    except TooSlow:
        return None
    except Exception:
        # Whatever the other side raises, it has not found the calls.
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def measure(name: str, sglang: Sglang | None) -> list[dict[str, Any]]:
    """All rows of one format."""
    rows: list[dict[str, Any]] = []
    for title, size in SIZES.items():
        text, (_, calls) = output(name, size), message(size)
        for chunk in (0, *CHUNKS):
            # Character by character a long output costs seconds: `growth` measures that.
            if chunk == 1 and size > 4_000:
                continue
            candidates: dict[str, Callable[[], Found]] = {
                "ours": (lambda: ours_streamed(name, text, chunk)) if chunk else lambda: ours(name, text)  # noqa: B023
            }
            # In small chunks SGLang takes up to half a minute for a long JSON value: `measure_long` says so, once.
            if sglang is not None and name in SGLANG and not (chunk and size > (4_000 if chunk > 1 else 1_000)):
                candidates["sglang"] = (
                    (lambda: sglang.streamed(name, text, chunk)[0])  # noqa: B023
                    if chunk
                    else lambda: sglang.complete(name, text)  # noqa: B023
                )
            right = {side: is_right(call, calls) for side, call in candidates.items()}
            if right.get("sglang") is None:
                candidates.pop("sglang", None)
            times = processor_time({side: _forgiving(call) for side, call in candidates.items()})
            row = {
                "format": name,
                "kind": "json" if name in JSON_FORMATS else "tagged",
                "size": title,
                "bytes": len(text.encode()),
                "chunk": chunk,
                "right": right,
                "microseconds": {side: round(value, 1) for side, value in times.items()},
            }
            if "sglang" in times:
                row["ratio"] = round(times["sglang"] / times["ours"], 2)
            rows.append(row)
            way = f"{chunk} characters" if chunk else "complete"
            shown = "  ".join(f"{side} {value:10,.1f} µs" for side, value in times.items())
            missed = " ".join(f"({side} is wrong)" for side, good in right.items() if good is False)
            missed += f"(sglang takes more than {PATIENCE:g} s)" if right.get("sglang", False) is None else ""
            print(f"  {name:<13} {title:>6} {way:<13} {shown}  {row.get('ratio', '')} {missed}", flush=True)
    return rows


def _forgiving(call: Callable[[], Found]) -> Callable[[], object]:
    """A call whose exceptions are not ours to mend; `is_right` has told of them."""

    def run() -> object:
        try:
            return call()
        except Exception:
            return None

    return run


def measure_long(name: str, sglang: Sglang | None) -> dict[str, Any]:
    """One argument of 34 KB in chunks of four characters, once for SGLang and no longer than its patience."""
    text = long_argument(name, LONG)
    calls: Calls = [("write_file", {"path": "rain.py", "content": text_of(LONG, CODE)})]
    times = processor_time({"ours": lambda: ours_streamed(name, text, 4)}, rounds=5)
    row: dict[str, Any] = {
        "format": name,
        "milliseconds": {"ours": round(times["ours"] / 1000, 2)},
        "right": {"ours": is_right(lambda: ours_streamed(name, text, 4), calls)},
    }
    if sglang is not None and name in SGLANG:
        started = time.thread_time()
        found, share = sglang.streamed(name, text, 4, PATIENCE)
        row["milliseconds"]["sglang"] = round((time.thread_time() - started) * 1000, 1)
        row["share"] = round(share, 3)
        if share == 1.0:
            row["right"]["sglang"] = is_right(lambda: found, calls)
    print(f"  {name}: one argument of 34 KB, 4 characters at a time: {row['milliseconds']} ms", flush=True)
    return row


def work(only: list[str]) -> None:
    """Measure in this process, with SGLang if it can be imported."""
    reason = ""
    sglang: Sglang | None = None
    try:
        sglang = Sglang()
    except ImportError as error:
        reason = f"SGLang's parsers cannot be imported: {error}"
        print(f"  {reason}")
    rows: list[dict[str, Any]] = []
    long: list[dict[str, Any]] = []
    for name in only:
        rows += measure(name, sglang)
        if name in {"qwen", "qwen_xml"}:
            long.append(measure_long(name, sglang))
        # After each format, so that a run that is ended has its result, too.
        write_result("in_process", {"package": PACKAGE, "without": reason, "rows": rows, "long": long})


def run(only: list[str] | None = None) -> None:
    """Measure in the environment of SGLang's parsers."""
    python = environment("sglang", NEEDED, (PACKAGE,))
    if isinstance(python, str):
        print(f"  {python}; ours alone is measured")
        python = sys.executable  # type: ignore[assignment]
    import sluicegate

    package = pathlib.Path(str(sluicegate.__file__)).parent.parent
    paths = os.pathsep.join((str(package), str(ROOT)))
    command = [f"{python}", "-m", "benchmarks.in_process", "--here", "--only", *(only or RENDERERS)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, check=True)


def main() -> None:
    """Measure the formats that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(RENDERERS), default=list(RENDERERS), metavar="FORMAT")
    parser.add_argument("--here", action="store_true", help="in this Python, without an environment for SGLang")
    arguments = parser.parse_args()
    if arguments.here:
        work(arguments.only)
    else:
        run(arguments.only)


if __name__ == "__main__":
    main()
