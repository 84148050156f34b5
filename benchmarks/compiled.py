"""The compiled core beside its source: the same outputs, read as a whole and in chunks of four characters.

    python -m benchmarks.compiled [--only FORMAT ...]

Each side is a process of its own; they take turns, and the medians of the rounds count. `scripts/build-compiled` makes
the compiled core.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from typing import Any

from benchmarks.timing import ROOT, ROUNDS, core, processor_time, write_result

COMPILED = ROOT / ".cache" / "compiled"
SIDES = {"source": ROOT / "src", "compiled": COMPILED}
FORMATS = (
    "qwen",
    "json",
    "mistral",
    "deepseek31",
    "kimik2",
    "qwen_xml",
    "glm45_moe",
    "deepseek_v4",
    "minimax_m2",
)


def _times(formats: list[str]) -> dict[str, float]:
    """One round: µs of each case in this process."""
    import sluicegate
    from benchmarks.outputs import output

    found: dict[str, float] = {}
    for name in formats:
        for title, size in (("0.3 KB", 300), ("2 KB", 2_000)):
            text = output(name, size)

            def complete(name: str = name, text: str = text) -> object:
                return sluicegate.parse_tool_calls(text, name)

            def streamed(name: str = name, text: str = text) -> None:
                machine = sluicegate.Machine(name)
                for start in range(0, len(text), 4):
                    machine.feed(text[start : start + 4])
                machine.finish()

            for way, call in (("complete", complete), ("4 at a time", streamed)):
                found[f"{name}|{title}|{way}"] = processor_time({"it": call}, rounds=1)["it"]
    return found


def _round(side: str, formats: list[str]) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.compiled",
        "--here",
        side,
        "--only",
        *formats,
    ]
    paths = os.pathsep.join((str(SIDES[side]), str(ROOT)))
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def run(formats: list[str] | None = None) -> None:
    """Measure both sides in turns and write the result."""
    if not COMPILED.is_dir():
        print("  left out: there is no compiled core (scripts/build-compiled)")
        return
    chosen = formats or list(FORMATS)
    times: dict[str, dict[str, list[float]]] = {}
    for _ in range(ROUNDS):
        for side in SIDES:
            for case, spent in _round(side, chosen).items():
                times.setdefault(case, {}).setdefault(side, []).append(spent)
    rows: list[dict[str, Any]] = []
    for case, sides in times.items():
        name, size, way = case.split("|")
        source, compiled = (round(statistics.median(sides[side]), 1) for side in SIDES)
        rows.append(
            {
                "format": name,
                "size": size,
                "way": way,
                "source": source,
                "compiled": compiled,
                "ratio": round(source / compiled, 2),
            }
        )
        print(
            f"  {name:12} {size:7} {way:12} {source:9,.1f} µs  {compiled:9,.1f} µs  {rows[-1]['ratio']}",
            flush=True,
        )
    write_result("compiled", {"rows": rows})


def main() -> None:
    """Measure the formats that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(FORMATS))
    parser.add_argument("--here", choices=tuple(SIDES), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here is None:
        run(arguments.only)
        return
    if core() != arguments.here:
        raise SystemExit(f"the core of this process is {core()}, not {arguments.here}")
    print(json.dumps(_times(arguments.only)))


if __name__ == "__main__":
    main()
