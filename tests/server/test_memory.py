"""What stays in memory for good is left out of garbage collections."""

from __future__ import annotations

import subprocess
import sys
from typing import Any
from unittest import mock

from sluicegate.server import startup
from sluicegate.settings import Settings
from tests.support.in_process import TINY

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


def test_the_tokenizers_of_the_start_are_left_out_once_all_are_there() -> None:
    state: Any = mock.Mock(settings=Settings(demo=True, model_path=f"{TINY}"))
    jobs = mock.Mock()
    starting = startup.Startup(state, mock.Mock())
    starting.start(jobs)
    *others, last = (call.args[3] for call in jobs.submit.call_args_list)
    assert others
    with mock.patch.object(startup, "freeze_present_objects") as freeze:
        for ended in others:
            ended(None)
        freeze.assert_not_called()
        last(None)
        freeze.assert_called_once_with()
