"""Whether what a character costs depends on the length of the text."""

from __future__ import annotations

from collections.abc import Callable

LEAST_TURNS, MOST_TURNS = 3, 25


def assert_no_dearer(
    small: Callable[[], float], large: Callable[[], float], factor: float, slack: float = 0.0, cheap: float = 0.0
) -> None:
    """The cost of `large` is below `factor` times that of `small` and `slack`, or below `cheap`; all are seconds.

    They are measured in turns, and the cheapest of each counts: whatever else the machine does only makes them dearer.
    """
    cheap_small = cheap_large = float("inf")
    for turn in range(1, MOST_TURNS + 1):
        cheap_small, cheap_large = min(cheap_small, small()), min(cheap_large, large())
        if turn >= LEAST_TURNS and (cheap_large < factor * cheap_small + slack or cheap_large < cheap):
            return
    raise AssertionError(f"{cheap_large * 1e6:.2f} µs, and {cheap_small * 1e6:.2f} µs in the shorter text")
