"""Run the benchmarks and write docs/performance.md.

    python -m benchmarks [in-process] [growth] [compiled] [http] [processes] [tokenizers] [report]

Without names all of them. Each prints its medians and ratios and writes JSON to benchmarks/results/, and the page is
made of what lies there; `report` makes the page alone. `benchmarks.load` is apart: it checks promises, not speed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable

from benchmarks import compiled, growth, http, in_process, processes, report
from benchmarks.timing import ROOT


def _tokenizers() -> None:
    command = [sys.executable, "-m", "benchmarks.tokenizers", "speed"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        print("  left out: see above")


PARTS: dict[str, Callable[[], None]] = {
    "in-process": in_process.run,
    "growth": growth.run,
    "compiled": compiled.run,
    "http": http.run,
    "processes": processes.run,
    "tokenizers": _tokenizers,
}


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "report", []], help="default: all")
    wanted = parser.parse_args().parts or PARTS
    for name, run in PARTS.items():
        if name in wanted:
            print(name, flush=True)
            run()
    print(f"written to {report.write().relative_to(ROOT)}")


if __name__ == "__main__":
    main()
