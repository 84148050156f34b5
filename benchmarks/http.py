"""The service beside SMG over HTTP: requests per second, latency, processor time per request, resident memory.

    python -m benchmarks.http [--seconds 2] [--rounds 5] [--all]

Each server is bound to one core and the client, `wrk`, to another; rounds alternate between the servers, and the
medians count. SMG is the package `smg`, in a virtual environment of its own in .cache/benchmarks. Both serve the
tokenizer qwen3 of `make tokenizers`, and llama3_1 in a run of its own. A third server, `benchmarks.floor`, answers
short requests without any work: no server in Python takes less. `--all` also measures bodies of 1 MB, batches of 1,000
texts, and 1 and 256 connections.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.outputs import PROSE, output, text_of
from benchmarks.timing import CACHE, ROOT, environment, write_result

PACKAGE = "smg==1.13.0"
MODEL = ROOT / ".cache" / "tokenizers" / "qwen3"
OTHER_MODEL = ROOT / ".cache" / "tokenizers" / "llama3_1"
NOBODY = "http://127.0.0.1:9"
"""SMG does not start without a worker; none is asked here."""
LONGEST_FOR_FLOOR = 16 * 1024
"""Bytes of a body from which it may come in several pieces."""
SCRIPT = """\
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local file = io.open("{path}", "rb")
wrk.body = file:read("*a")
file:close()
done = function(summary, latency)
  io.write(string.format("p50=%f p99=%f requests=%d seconds=%f errors=%d\\n",
    latency:percentile(50), latency:percentile(99),
    summary.requests, summary.duration / 1e6, summary.errors.status + summary.errors.connect + summary.errors.read
    + summary.errors.write + summary.errors.timeout))
end
"""


@dataclass
class Case:
    """One kind of request."""

    path: str
    title: str
    body: dict[str, Any]
    connections: int = 16


@dataclass
class Server:
    """A running server."""

    name: str
    port: int
    process: subprocess.Popen[bytes]

    def processor_seconds(self) -> float:
        """Processor time that its process, and those that it has started, have used so far."""
        pid, ticks = self.process.pid, 0
        for process in (pid, *pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
            fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def resident_megabytes(self) -> float:
        """Its resident memory."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else 0.0

    def ask(self, path: str, body: bytes) -> Any:
        """One answer, as JSON."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


def free_ports() -> tuple[int, int]:
    """Two loopback ports that nothing listens on."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1]), int(other.getsockname()[1])


@contextlib.contextmanager
def serving(name: str, command: list[str], cores: str, model: pathlib.Path = MODEL) -> Iterator[Server]:
    """Start a server on these cores (`0`, or `0,1`), wait until it answers a request, and end it afterwards."""
    port, metrics_port = free_ports()
    command = [*command, "--host", "127.0.0.1", "--port", f"{port}", "--prometheus-port", f"{metrics_port}"]
    command += ["--model-path", f"{model}", "--log-level", "error"]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(["taskset", "-c", cores, *command], stdout=log, stderr=log)
        server = Server(name, port, process)
        try:
            probe = json.dumps({"model": f"{model}", "prompt": "Hello"}).encode()
            end = time.monotonic() + 120
            while True:
                with contextlib.suppress(OSError, urllib.error.URLError):
                    server.ask("/v1/tokenize", probe)
                    break
                if process.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    raise SystemExit(f"{name} does not start: {log.read().decode()[-2000:]}")
                time.sleep(0.2)
            yield server
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def cases(everything: bool) -> list[Case]:
    """The requests."""
    sizes = {"0.3 KB": 300, "2 KB": 2_000, "32 KB": 32_000}
    if everything:
        sizes["1 MB"] = 1_000_000
    found: list[Case] = []
    for title, size in sizes.items():
        text = output("qwen", size)
        thought = f"<think>\n{text_of(size * 2 // 3, PROSE)}\n</think>\n\n{text_of(size // 3, PROSE)}"
        found.append(Case("/parse/function_call", title, {"text": text, "tool_call_parser": "qwen", "tools": []}))
        found.append(Case("/parse/reasoning", title, {"text": thought, "reasoning_parser": "qwen3"}))
    tokenized = {"12 B": text_of(12, PROSE), "2 KB": output("qwen", 2_000), "32 KB": output("qwen", 32_000)}
    if everything:
        tokenized["1 MB"] = output("qwen", 1_000_000)
    found += [Case("/v1/tokenize", title, {"model": f"{MODEL}", "prompt": text}) for title, text in tokenized.items()]
    if everything:
        batch = [f"{place} {text_of(1_000, PROSE)}" for place in range(1_000)]
        found.append(Case("/v1/tokenize", "1,000 x 1 KB", {"model": f"{MODEL}", "prompt": batch}))
    ids = [9707, 1879, 0, 358, 686, 1401, 518, 279, 17595, 1156]
    found += [
        Case("/v1/detokenize", f"{len(ids) * times} ids", {"model": f"{MODEL}", "tokens": ids * times})
        for times in (1, 50)
    ]
    if everything:
        small = [case for case in found if case.title in {"0.3 KB", "12 B", "10 ids"}]
        found += [Case(case.path, case.title, case.body, number) for case in small for number in (1, 256)]
    return found


def other_cases(everything: bool) -> list[Case]:
    """Those with the other tokenizer."""
    rows = [case for case in cases(everything) if isinstance(case.body.get("prompt"), str) and case.title != "12 B"]
    return [
        Case(case.path, f"{case.title}, {OTHER_MODEL.name}", {**case.body, "model": f"{OTHER_MODEL}"}) for case in rows
    ]


def load(server: Server, case: Case, cores: str, seconds: float) -> dict[str, float]:
    """One round of requests, from a client on these cores."""
    with tempfile.TemporaryDirectory() as folder:
        body, script = pathlib.Path(folder) / "body.json", pathlib.Path(folder) / "script.lua"
        body.write_bytes(json.dumps(case.body, ensure_ascii=False).encode())
        script.write_text(SCRIPT.format(path=body))
        before = server.processor_seconds()
        command = [
            "taskset",
            "-c",
            cores,
            "wrk",
            "-t1",
            f"-c{case.connections}",
            f"-d{max(1, round(seconds))}s",
            "--timeout",
            "30s",
        ]
        command += ["-s", f"{script}", f"http://127.0.0.1:{server.port}{case.path}"]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        used = server.processor_seconds() - before
    found = re.search(r"p50=([\d.]+) p99=([\d.]+) requests=(\d+) seconds=([\d.]+) errors=(\d+)", answer)
    if found is None:
        raise SystemExit(f"wrk has said something unexpected:\n{answer}")
    p50, p99, requests, lasted, errors = (float(value) for value in found.groups())
    if not requests or errors:
        raise SystemExit(f"{server.name} has failed on {case.path}:\n{answer}")
    return {
        "requests_per_second": round(requests / lasted, 1),
        "p50_ms": round(p50 / 1000, 2),
        "p99_ms": round(p99 / 1000, 2),
        "processor_us": round(used / requests * 1e6, 1),
    }


def measure(servers: list[Server], case: Case, client_core: str, seconds: float, rounds: int) -> dict[str, Any]:
    """The medians of one kind of request, and whether both answered the same."""
    body = json.dumps(case.body, ensure_ascii=False).encode()
    # What has several reads to come would be answered several times by the floor.
    servers = [server for server in servers if server.name != "floor" or len(body) < LONGEST_FOR_FLOOR]
    answers = [server.ask(case.path, body) for server in servers if server.name != "floor"]
    found: dict[str, list[dict[str, float]]] = {server.name: [] for server in servers}
    for _ in range(rounds):
        for server in servers:
            found[server.name].append(load(server, case, client_core, seconds))
    medians = {
        name: {key: statistics.median(row[key] for row in rows) for key in rows[0]} for name, rows in found.items()
    }
    row: dict[str, Any] = {
        "path": case.path,
        "body": case.title,
        "connections": case.connections,
        "same_answer": all(answer == answers[0] for answer in answers),
        "medians": medians,
    }
    if "smg" in medians:
        ours, smg = medians["ours"], medians["smg"]
        row["ratio"] = round(ours["requests_per_second"] / smg["requests_per_second"], 2)
        row["processor_ratio"] = round(smg["processor_us"] / max(ours["processor_us"], 0.1), 2)
    shown = "  ".join(
        f"{name} {median['requests_per_second']:8,.0f}/s{median['processor_us']:7,.0f} µs p99 {median['p99_ms']:.1f} ms"
        for name, median in medians.items()
    )
    print(f"  {case.path:<21} {case.title:>12} x{case.connections:<3} {shown}  {row.get('ratio', '')}", flush=True)
    return row


def run(*, seconds: float = 2.0, rounds: int = 5, everything: bool = False) -> None:
    """Measure and write the result; without a tokenizer, `wrk` or a second core there is nothing to measure."""
    for missing, reason in (
        *(
            (not model.is_dir(), f"no tokenizer in {model.relative_to(ROOT)}: run `make tokenizers`")
            for model in (MODEL, OTHER_MODEL)
        ),
        (shutil.which("wrk") is None, "the client `wrk` is not installed (Debian: apt-get install wrk)"),
        (len(os.sched_getaffinity(0)) < 2, "two cores are needed, one for the server and one for the client"),
    ):
        if missing:
            print(f"  left out: {reason}")
            return
    server_core, client_core = map(str, sorted(os.sched_getaffinity(0))[:2])
    commands = {"ours": [sys.executable, "-m", "sluicegate", "serve"]}
    without = ""
    python = environment("smg", [PACKAGE])
    if isinstance(python, str):
        without = python
        print(f"  {python}; ours alone is measured")
    else:
        commands["smg"] = [f"{CACHE / 'smg' / 'bin' / 'smg'}", "launch", "--worker-urls", NOBODY]
    with contextlib.ExitStack() as running:
        servers = [running.enter_context(serving(name, command, server_core)) for name, command in commands.items()]
        resident = {server.name: round(server.resident_megabytes(), 1) for server in servers}
        floor = [sys.executable, "-m", "benchmarks.floor"]
        servers.append(running.enter_context(serving("floor", floor, server_core)))
        rows = [measure(servers, case, client_core, seconds, rounds) for case in cases(everything)]
        loaded = {server.name: round(server.resident_megabytes(), 1) for server in servers if server.name in resident}
    with contextlib.ExitStack() as running:
        servers = [
            running.enter_context(serving(name, command, server_core, OTHER_MODEL))
            for name, command in commands.items()
        ]
        rows += [measure(servers, case, client_core, seconds, rounds) for case in other_cases(everything)]
    print(f"  resident memory in MB at the start {resident}, at the end {loaded}")
    write_result(
        "http",
        {
            "package": PACKAGE,
            "without": without,
            "seconds": seconds,
            "rounds": rounds,
            "resident_mb": resident,
            "resident_mb_at_the_end": loaded,
            "rows": rows,
        },
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each request (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="all sizes and numbers of connections")
    arguments = parser.parse_args()
    run(seconds=arguments.seconds, rounds=arguments.rounds, everything=arguments.all)


if __name__ == "__main__":
    main()
