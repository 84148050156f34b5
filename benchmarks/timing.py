"""Fair times on a machine that is not ours alone: the candidates take turns, the median of the rounds counts."""

from __future__ import annotations

import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).parent.parent
RESULTS = pathlib.Path(__file__).parent / "results"
CACHE = ROOT / ".cache" / "benchmarks"

ROUNDS = 5
BUDGET = 0.005
"""Time that one candidate may take in one round, in seconds; a single call may take longer."""


def processor_time(calls: dict[str, Callable[[], object]], *, rounds: int = ROUNDS) -> dict[str, float]:
    """Processor time of one call of each candidate, in microseconds: the median of rounds in which they take turns.

    Processor time, not the clock on the wall: what else the machine does is not counted.
    """
    times: dict[str, int] = {}
    for name, call in calls.items():
        call()
        started = time.thread_time()
        call()
        times[name] = max(1, int(BUDGET / max(time.thread_time() - started, 1e-6)))
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            repeat = range(times[name])
            started = time.thread_time()
            for _ in repeat:
                call()
            found[name].append((time.thread_time() - started) / times[name] * 1e6)
    return {name: statistics.median(values) for name, values in found.items()}


def core() -> str:
    """Whether the core that is measured is compiled, or plain source."""
    import sluicegate.core.window

    return "source" if str(sluicegate.core.window.__file__).endswith(".py") else "compiled"


def machine() -> dict[str, Any]:
    """The machine, and what it had to do besides."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "core": core(),
        "load": round(os.getloadavg()[0], 1),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def write_result(name: str, result: dict[str, Any]) -> pathlib.Path:
    """Write what was measured, with the machine, to the folder of the results."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = json.dumps({"machine": machine(), **result}, indent=1, ensure_ascii=False)
    path.write_text(content + "\n", "utf-8")
    return path


def environment(name: str, requirements: list[str], alone: tuple[str, ...] = ()) -> pathlib.Path | str:
    """The Python of a virtual environment for another project's packages, or why there is none.

    The packages of `alone` are installed without what they ask for.
    """
    folder = CACHE / name
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if ready.exists():
        return python
    print(f"setting up {folder.relative_to(ROOT)} …", flush=True)
    install = [f"{python}", "-m", "pip", "install", "--quiet"]
    try:
        subprocess.run([sys.executable, "-m", "venv", f"{folder}"], check=True)
        subprocess.run([*install, *requirements], check=True)
        if alone:
            subprocess.run([*install, "--no-deps", *alone], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"{name} could not be installed: {error}"
    ready.touch()
    return python
