"""Does a long output cost more per character than a short one? Fed character by character, for every format.

    python -m benchmarks.growth [--rounds 3] [--only FORMAT ...]

One call with one long argument, of 64 KB and of 256 KB. The times are processor time, the best of the rounds.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.outputs import RENDERERS, TOOLS, long_argument
from benchmarks.timing import write_result
from sluicegate import Machine

SMALL, LARGE = 64 * 1024, 256 * 1024
ROUNDS = 3
LIMIT = 1.5
"""What the larger output may cost per character, as a multiple of the smaller."""


def cost(name: str, text: str) -> float:
    """Microseconds of processor time per character, fed one by one."""
    machine = Machine(name, tools=TOOLS, remember=False)
    started = time.thread_time()
    for character in text:
        machine.feed(character)
    machine.finish()
    return (time.thread_time() - started) / len(text) * 1e6


def run(only: list[str] | None = None, *, rounds: int = ROUNDS) -> None:
    """Measure and write the result."""
    rows = []
    for name in only or RENDERERS:
        small_text, large_text = long_argument(name, SMALL), long_argument(name, LARGE)
        small, large = float("inf"), float("inf")
        for _ in range(rounds):
            small = min(small, cost(name, small_text))
            large = min(large, cost(name, large_text))
        rows.append(
            {"format": name, "small": round(small, 2), "large": round(large, 2), "ratio": round(large / small, 2)}
        )
        verdict = "" if large <= LIMIT * small else "  more than linear"
        print(
            f"  {name:<13} {small:6.2f} µs at 64 KB  {large:6.2f} µs at 256 KB  {large / small:5.2f}{verdict}",
            flush=True,
        )
    write_result("growth", {"limit": LIMIT, "rounds": rounds, "rows": rows})


def main() -> None:
    """Measure the formats that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(RENDERERS), metavar="FORMAT")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="default: %(default)s")
    arguments = parser.parse_args()
    run(arguments.only, rounds=arguments.rounds)


if __name__ == "__main__":
    main()
