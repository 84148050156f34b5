"""One process and two on two cores: requests per second, and what a request costs.

    python -m benchmarks.processes [--seconds 3] [--rounds 7]

The service and its client `wrk` share two cores. The client needs a part of them, which is not there for the second
process: only requests that keep the service busy for far longer than the client can come near to twice as many. Bodies
of more than 32 KB are tokenized in threads, which use both cores in one process already. Rounds alternate between the
services, and the medians count of those in which others left the machine alone. Beside the requests per second stands
the processor time of the service per request, all processes together: what it costs to share the work does not depend
on what the client takes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import sys
import time
from typing import Any

from benchmarks.http import MODEL, Case, Server, load, serving
from benchmarks.outputs import output
from benchmarks.timing import ROOT, write_result

PROCESSES = (1, 2)
OTHER_WORK = 0.05
"""Share of the cores that others may take in a round that counts."""
ATTEMPTS = 4
"""Rounds that are tried for each that is wanted; where too few are quiet, the least disturbed ones count, too."""


def service(processes: int, cores: str) -> contextlib.AbstractContextManager[Server]:
    """Our service with so many processes, on these cores."""
    command = [sys.executable, "-m", "sluicegate", "serve", "--processes", f"{processes}"]
    return serving(f"{processes}", command, cores)


def busy_seconds() -> float:
    """Processor time that the machine has spent so far, on whatever it was."""
    user, nice, system, _idle, _waiting, *more = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + sum(more)) / os.sysconf("SC_CLK_TCK")


def own_seconds(services: list[Server]) -> float:
    """Processor time of the services, the clients and this process."""
    times = os.times()
    own = times.user + times.system + times.children_user + times.children_system
    return own + sum(service.processor_seconds() for service in services)


def cases() -> list[Case]:
    """The requests."""
    return [
        Case("/parse/function_call", title, {"text": output("qwen", size), "tool_call_parser": "qwen", "tools": []})
        for title, size in (("32 KB", 32_000), ("2 KB", 2_000))
    ] + [
        Case(
            "/parse/function_call",
            "32 KB",
            {"text": output("deepseek", 32_000), "tool_call_parser": "deepseek", "tools": []},
        ),
        Case("/v1/tokenize", "16 KB", {"model": f"{MODEL}", "prompt": output("qwen", 16_000)}),
    ]


def measure(services: list[Server], case: Case, cores: str, seconds: float, rounds: int) -> dict[str, Any]:
    """The medians of one kind of request."""
    body = json.dumps(case.body, ensure_ascii=False).encode()
    answers = [service.ask(case.path, body) for service in services]
    quiet: list[list[dict[str, float]]] = []
    disturbed: list[tuple[float, list[dict[str, float]]]] = []
    while len(quiet) < rounds and len(quiet) + len(disturbed) < ATTEMPTS * rounds:
        before, used, started = busy_seconds(), own_seconds(services), time.monotonic()
        row = [load(server, case, cores, seconds) for server in services]
        other = busy_seconds() - before - (own_seconds(services) - used)
        share = other / (time.monotonic() - started) / len(cores.split(","))
        if share <= OTHER_WORK:
            quiet.append(row)
        else:
            disturbed.append((share, row))
    counted = quiet + [row for _, row in sorted(disturbed, key=lambda entry: entry[0])][: rounds - len(quiet)]
    found = {service.name: [row[place] for row in counted] for place, service in enumerate(services)}
    medians = {
        name: {key: statistics.median(row[key] for row in rows) for key in rows[0]} for name, rows in found.items()
    }
    one, several = (medians[f"{processes}"] for processes in PROCESSES)
    ratio = several["requests_per_second"] / one["requests_per_second"]
    shown = "  ".join(
        f"{name}: {median['requests_per_second']:8,.0f}/s{median['processor_us']:7,.0f} µs p99 {median['p99_ms']:.0f}"
        for name, median in medians.items()
    )
    print(f"  {case.path:<21} {case.title:>12} x{case.connections:<3} {shown}  {ratio:.2f}", flush=True)
    return {
        "path": case.path,
        "body": case.title,
        "connections": case.connections,
        "quiet_rounds": len(quiet),
        "same_answer": all(answer == answers[0] for answer in answers),
        "medians": medians,
        "ratio": round(ratio, 2),
        "processor_ratio": round(several["processor_us"] / max(one["processor_us"], 0.1), 2),
    }


def run(*, seconds: float = 3.0, rounds: int = 7) -> None:
    """Measure and write the result; without a tokenizer, `wrk` or a second core there is nothing to measure."""
    available = sorted(os.sched_getaffinity(0))[:2]
    for missing, reason in (
        (not MODEL.is_dir(), f"no tokenizer in {MODEL.relative_to(ROOT)}: run `make tokenizers`"),
        (shutil.which("wrk") is None, "the client `wrk` is not installed (Debian: apt-get install wrk)"),
        (len(available) < 2, "two cores are needed"),
    ):
        if missing:
            print(f"  left out: {reason}")
            return
    cores = ",".join(map(str, available))
    with contextlib.ExitStack() as running:
        services = [running.enter_context(service(processes, cores)) for processes in PROCESSES]
        rows = [measure(services, case, cores, seconds, rounds) for case in cases()]
    write_result("processes", {"seconds": seconds, "rounds": rounds, "rows": rows})


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of a round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each request (default: %(default)s)")
    arguments = parser.parse_args()
    run(seconds=arguments.seconds, rounds=arguments.rounds)


if __name__ == "__main__":
    main()
