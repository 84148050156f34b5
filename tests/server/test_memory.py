"""What stays in memory for good is left out of garbage collections, and what does not stay goes at once."""

from __future__ import annotations

import subprocess
import sys

AFTER_THE_START = """
import gc
from sluicegate.server.lifecycle import prepare_process
prepare_process()
print(gc.get_freeze_count(), len(gc.get_objects()))
"""


def test_modules_are_left_out_of_garbage_collections() -> None:
    done = subprocess.run([sys.executable, "-c", AFTER_THE_START], capture_output=True, text=True, check=True)
    frozen, collected = map(int, done.stdout.split())
    assert frozen > 10_000 > 100 * collected
