"""Load above capacity: do admitted requests keep their latency, and does every other one get its documented refusal?

    python -m benchmarks.load [--seconds 10] [--json FILE] [limiter] [scheduler] [hostile] [long-prompt] [long-output]
        [drain]

Six scenarios, each against a service of its own:

- `limiter`: requests arrive at twice the rate that the service can work off. Admitted ones must keep a p99 below
  twice the unloaded p99, all others must be refused with `admission_queue_full`.
- `scheduler`: requests of class `bulk` flood the service, those of `interactive` come in at an
  eighth of its capacity and must keep their p99 as above. The service has a place for each core but one, which the
  client needs: more would share the cores, and nobody's request would be as fast as alone. `bulk` gets one place.
- `hostile`: idle connections by the thousand and uploads that have stopped. Others must keep their p99 as above.
- `long-prompt`: one prompt of 1 MB after another is in flight. Prompts of 12 bytes must keep a p99 below three times
  the unloaded p99.
- `long-output`: the same beside outputs of 1 MB with 5,000 calls that are parsed; below ten times.
- `drain`: SIGTERM under load. Every request that was sent must be answered, and the exit status must be 0.

In all of them no request may be lost, and none answered twice: each answer carries the id of its request, and the
service must have counted as many answers as there were requests. Exit status 1 if a promise is not kept.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field

import uvloop

from benchmarks.http import free_ports

MODEL = "qwen3"
IDLE_CONNECTIONS, UPLOADS = 10_000, 1_000
UPLOAD_HEADERS = "Content-Type: application/json\r\nContent-Length: 99"
WORDS = "The sluice lets through what the river carries, and holds back what the mill cannot take. "
REFUSALS = {
    "admission_queue_full",
    "admission_queue_timeout",
    "scheduler_queue_full",
    "scheduler_queue_timeout",
    "scheduler_preempted",
}
RULES = {"queue_timeout_secs": 5, "starvation_threshold_secs": 60, "can_preempt": False}
PLACES = max(1, (os.cpu_count() or 2) - 1)
CLASSES = {
    "system": {"reserved_floor": 0, "queue_size": 8, **RULES},
    "interactive": {"reserved_floor": PLACES - 1, "queue_size": 64, **RULES, "can_preempt": True},
    "default": {"reserved_floor": 0, "queue_size": 8, **RULES},
    "bulk": {"reserved_floor": 0, "queue_size": 4, **RULES, "queue_timeout_secs": 1},
}


@dataclass
class Tally:
    """What became of the requests of one kind. Times are milliseconds."""

    sent: int = 0
    accepted: list[float] = field(default_factory=list)
    refused: collections.Counter[str] = field(default_factory=collections.Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def answered(self) -> int:
        return len(self.accepted) + self.refused.total()

    def percentile(self, share: float) -> float:
        ordered = sorted(self.accepted)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")

    def line(self, name: str) -> str:
        refused = ", ".join(f"{number} {code}" for code, number in sorted(self.refused.items())) or "none"
        return (
            f"{name:22} {self.sent:6} sent  {len(self.accepted):6} accepted  p50 {self.percentile(0.5):7.1f} ms  "
            f"p99 {self.percentile(0.99):7.1f} ms  refused: {refused}"
        )


@dataclass
class Target:
    """A running service."""

    port: int
    metrics_port: int
    process: subprocess.Popen[bytes]

    def counted_answers(self, path: str) -> int:
        """Answers that the service says it has given on a path."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        wanted = [line for line in lines if line.startswith("smg_http_responses_total{") and f'path="{path}"' in line]
        return round(sum(float(line.rsplit(" ", 1)[1]) for line in wanted))


@contextlib.contextmanager
def serving(*flags: str) -> Iterator[Target]:
    """Start a service and wait until it is ready; end it afterwards."""
    port, metrics_port = free_ports()
    command = [sys.executable, "-m", "sluicegate", "serve", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--prometheus-port", str(metrics_port), "--demo", "--log-level", "error", *flags]
    process = subprocess.Popen(command)
    target = Target(port, metrics_port, process)
    try:
        end = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readiness", timeout=5):
                break
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit("the service does not become ready")
            time.sleep(0.05)
        yield target
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


class Client:
    """Sends requests, each on a connection of its own, and keeps the tally."""

    def __init__(self, port: int, path: str, body: bytes, **headers: str) -> None:
        self.tally = Tally()
        self._port = port
        lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", "Connection: close"]
        lines += [f"Content-Length: {len(body)}", *(f"{name}: {value}" for name, value in headers.items())]
        self._head = "\r\n".join(lines)
        self._body = body

    async def ask(self) -> None:
        """Send one request and read everything that comes back until the service closes the connection."""
        identity, head = self._next()
        began = time.perf_counter()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(head + self._body)
            answer = await reader.read(-1)
            writer.close()
        except OSError as error:
            self.tally.wrong.append(f"lost: {type(error).__name__}")
            return
        head, _, body = answer.partition(b"\r\n\r\n")
        self._judge(head, len(body), identity, (time.perf_counter() - began) * 1000)

    def ask_and_wait(self, buffer: bytearray) -> None:
        """The same with a socket that blocks, for a process of its own. The answer has to fit into the buffer.

        Takes next to no processor time, of which others are to have as much as without it.
        """
        identity, head = self._next()
        began, size = time.perf_counter(), 0
        try:
            with socket.create_connection(("127.0.0.1", self._port), 60) as connection:
                connection.sendall(head)
                connection.sendall(self._body)
                while piece := connection.recv_into(memoryview(buffer)[size:]):
                    size += piece
        except OSError as error:
            self.tally.wrong.append(f"lost: {type(error).__name__}")
            return
        milliseconds = (time.perf_counter() - began) * 1000
        head, end, _ = bytes(buffer[: min(size, 4096)]).partition(b"\r\n\r\n")
        self._judge(head, size - len(head + end), identity, milliseconds)

    def _next(self) -> tuple[str, bytes]:
        self.tally.sent += 1
        identity = f"load-{id(self.tally):x}-{self.tally.sent}"
        return identity, f"{self._head}\r\nX-Request-Id: {identity}\r\n\r\n".encode()

    def _judge(self, head: bytes, length: int, identity: str, milliseconds: float) -> None:
        """Count an answer with this head and a body of `length` bytes."""
        lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        if headers.get("x-request-id") != identity or length != int(headers.get("content-length", "-1")):
            self.tally.wrong.append(f"not one whole answer to its request: {head[:80]!r}")
        elif lines[0].split()[1] == "200":
            self.tally.accepted.append(milliseconds)
        else:
            code = headers.get("x-smg-error-code", "none")
            documented = code in REFUSALS and headers.get("retry-after", "").isdigit()
            if documented:
                self.tally.refused[code] += 1
            else:
                self.tally.wrong.append(f"undocumented refusal: {lines[0]} {code}")

    async def one_by_one(self, number: int) -> None:
        """Send requests, each when the one before has been answered."""
        for _ in range(number):
            await self.ask()

    async def steadily(self, per_second: float, seconds: float) -> None:
        """Send requests at a fixed rate, whatever becomes of them, and wait for all the answers."""
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number in range(int(per_second * seconds)):
                await asyncio.sleep(max(0.0, began + number / per_second - time.perf_counter()))
                group.create_task(self.ask())


def tokenize_body(characters: int) -> bytes:
    text = WORDS * (characters // len(WORDS) + 1)
    return json.dumps({"model": MODEL, "prompt": text[:characters]}).encode()


class Report:
    """What was measured, and what was promised and not kept."""

    def __init__(self, scenario: str) -> None:
        self.scenario = scenario
        self.rows: list[dict[str, object]] = []
        self.problems: list[str] = []

    def show(self, name: str, tally: Tally) -> None:
        """Print a tally and keep it."""
        print("  " + tally.line(name))
        row = {"scenario": self.scenario, "requests": name, "sent": tally.sent, "accepted": len(tally.accepted)}
        p50, p99 = (round(tally.percentile(share), 1) for share in (0.5, 0.99))
        self.rows.append({**row, "p50_ms": p50, "p99_ms": p99, "refused": dict(tally.refused)})
        self.problems += [f"{name}: {wrong}" for wrong in tally.wrong[:5]]
        if tally.answered + len(tally.wrong) != tally.sent:
            self.problems.append(f"{name}: {tally.sent} sent, {tally.answered} answered")

    def compare(self, name: str, tally: Tally, unloaded: Tally, limit: float = 2) -> None:
        """Check that the p99 of the accepted is below `limit` times the unloaded one."""
        ratio = tally.percentile(0.99) / unloaded.percentile(0.99)
        print(f"  p99 of the accepted {name} requests: {ratio:.2f} times the unloaded p99")
        self.rows[-1]["p99_ratio"] = round(ratio, 2)
        if not ratio < limit:
            self.problems.append(f"{name}: p99 is {ratio:.2f} times the unloaded p99, promised is less than {limit}")

    def count(self, target: Target, path: str, *tallies: Tally) -> None:
        """Check that the service has answered each request once."""
        sent, counted = sum(tally.sent for tally in tallies), target.counted_answers(path)
        if counted != sent:
            self.problems.append(f"{sent} requests were sent, the service counts {counted} answers")


async def limiter(report: Report, seconds: float, characters: int) -> None:
    """Twice the capacity at the plain limiter."""
    path, body = "/v1/tokenize", tokenize_body(characters)
    with serving("--max-concurrent-requests", "1", "--queue-size", "0") as target:
        unloaded = await measure_unloaded(report, target, path, body)
        capacity = 1000 / statistics.fmean(unloaded.accepted)
        client = Client(target.port, path, body)
        await client.steadily(2 * capacity, seconds)
        report.show("twice the capacity", client.tally)
        report.compare("twice the capacity", client.tally, unloaded)
        report.count(target, path, unloaded, client.tally)
        if not client.tally.refused:
            report.problems.append("nothing was refused: the load was not above the capacity")


async def scheduler(report: Report, seconds: float, characters: int) -> None:
    """A flood of bulk beside interactive requests."""
    path, body = "/v1/tokenize", tokenize_body(characters)
    with tempfile.TemporaryDirectory() as directory:
        classes = pathlib.Path(directory) / "classes.yaml"
        classes.write_text(json.dumps({"classes": CLASSES}))  # JSON is YAML
        flags = ["--priority-scheduler-enabled", "--priority-scheduler-config", str(classes)]
        flags += ["--priority-scheduler-default-max-class", "interactive", "--max-concurrent-requests", f"{PLACES}"]
        with serving(*flags) as target:
            unloaded = await measure_unloaded(report, target, path, body, **{"X-SMG-Priority": "interactive"})
            capacity = 1000 / statistics.fmean(unloaded.accepted)
            interactive = Client(target.port, path, body, **{"X-SMG-Priority": "interactive"})
            bulk = Client(target.port, path, body, **{"X-SMG-Priority": "bulk"})
            async with asyncio.TaskGroup() as group:
                group.create_task(interactive.steadily(capacity / 8, seconds))
                group.create_task(bulk.steadily(2 * capacity, seconds))
            report.show("bulk", bulk.tally)
            report.show("interactive", interactive.tally)
            report.compare("interactive", interactive.tally, unloaded)
            report.count(target, path, unloaded, interactive.tally, bulk.tally)
            if interactive.tally.refused:
                report.problems.append("an interactive request was refused although places are reserved")


async def measure_unloaded(
    report: Report, target: Target, path: str, body: bytes, *, number: int = 200, **headers: str
) -> Tally:
    """Latencies of requests one after the other."""
    warm, cold = Client(target.port, path, body, **headers), Client(target.port, path, body, **headers)
    await cold.one_by_one(20)
    await warm.one_by_one(number)
    report.show("unloaded", warm.tally)
    if len(warm.tally.accepted) != warm.tally.sent:
        raise SystemExit(f"the unloaded service does not answer: {warm.tally.wrong[:1] or dict(warm.tally.refused)}")
    warm.tally.sent += cold.tally.sent
    return warm.tally


async def drain(report: Report, seconds: float, characters: int) -> None:
    """SIGTERM under load."""
    del characters
    path = "/parse/reasoning"
    body = json.dumps({"text": "<think>" + WORDS * 20 + "</think>" + WORDS, "reasoning_parser": "qwen3"}).encode()
    with serving() as target:
        client = Client(target.port, path, body)
        stopped = asyncio.Event()

        async def go_on() -> None:
            while not stopped.is_set():
                await client.ask()

        async with asyncio.TaskGroup() as group:
            for _ in range(32):
                group.create_task(go_on())
            await asyncio.sleep(seconds / 4)
            target.process.send_signal(signal.SIGTERM)
            stopped.set()
        report.show("until SIGTERM", client.tally)
        status = await asyncio.to_thread(target.process.wait, 60)
        print(f"  exit status {status}")
        if status:
            report.problems.append(f"exit status {status}, promised is 0")


async def hostile(report: Report, seconds: float, characters: int) -> None:
    """Idle connections and uploads that go nowhere, beside ordinary requests."""
    del characters
    path = "/parse/reasoning"
    body = json.dumps({"text": "<think>" + WORDS * 20 + "</think>" + WORDS, "reasoning_parser": "qwen3"}).encode()
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    idle, uploads = min(IDLE_CONNECTIONS, descriptors // 2), min(UPLOADS, descriptors // 10)
    with serving() as target, contextlib.ExitStack() as connections:
        unloaded = await measure_unloaded(report, target, path, body)
        print(f"  {idle} idle connections, {uploads} uploads that have stopped")
        for number in range(idle + uploads):
            connection = connections.enter_context(socket.create_connection(("127.0.0.1", target.port), 20))
            if number >= idle:
                connection.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\n{UPLOAD_HEADERS}\r\n\r\n{{".encode())
        client = Client(target.port, path, body)
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            await client.one_by_one(50)
        report.show("ordinary", client.tally)
        report.compare("ordinary", client.tally, unloaded)
        report.count(target, path, unloaded, client.tally)


async def long_prompt(report: Report, seconds: float, characters: int) -> None:
    """A prompt of 1 MB in flight all the time, beside prompts of 12 bytes."""
    del characters
    await beside_long_inputs(report, seconds, "/v1/tokenize", tokenize_body(1_000_000), 3)


async def long_output(report: Report, seconds: float, characters: int) -> None:
    """An output of 1 MB in flight all the time, beside prompts of 12 bytes."""
    del characters
    call = json.dumps({"name": "f", "arguments": {"text": WORDS, "number": 3}})
    text = f"<tool_call>\n{call}\n</tool_call>\n" * (1_000_000 // len(call))
    body = json.dumps({"text": text, "tool_call_parser": "qwen", "tools": []}).encode()
    await beside_long_inputs(report, seconds, "/parse/function_call", body, 10)


async def beside_long_inputs(report: Report, seconds: float, long_path: str, long_body: bytes, limit: float) -> None:
    """One long request after another, beside prompts of 12 bytes."""
    path, body = "/v1/tokenize", tokenize_body(12)
    with serving() as target:
        unloaded = await measure_unloaded(report, target, path, body, number=2000)
        small = Client(target.port, path, body)
        # In a process of its own: what it takes to read 1 MB must not look like latency of the others.
        context = multiprocessing.get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        sending = context.Process(target=send_long_inputs, args=(target.port, seconds, long_path, long_body, sender))
        sending.start()
        await asyncio.to_thread(receiver.recv)  # the first one was answered
        while sending.is_alive() and not receiver.poll():
            await small.one_by_one(50)
        large: Tally = await asyncio.to_thread(receiver.recv)
        sending.join()
        report.show("1 MB", large)
        report.show("12 bytes", small.tally)
        report.compare("12-byte", small.tally, unloaded, limit)
        if long_path == path:
            report.count(target, path, unloaded, small.tally, large)
        else:
            report.count(target, path, unloaded, small.tally)
            report.count(target, long_path, large)


def send_long_inputs(
    port: int, seconds: float, path: str, body: bytes, sender: multiprocessing.connection.Connection
) -> None:
    """Send one long request after another, and what became of them when the time is over."""
    client, buffer = Client(port, path, body), bytearray(4_000_000)
    client.ask_and_wait(buffer)
    sender.send(None)
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        client.ask_and_wait(buffer)
    sender.send(client.tally)


SCENARIOS = {
    "limiter": limiter,
    "scheduler": scheduler,
    "hostile": hostile,
    "long-prompt": long_prompt,
    "long-output": long_output,
    "drain": drain,
}


def main() -> int:
    """Run the scenarios; the exit status."""
    parser = argparse.ArgumentParser(description="Load above capacity: are the promises of admission kept?")
    parser.add_argument("scenarios", nargs="*", choices=[*SCENARIOS, []], help="default: all")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of each load (default: %(default)s)")
    parser.add_argument("--characters", type=int, default=1_000_000, help="size of a prompt (default: %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write what was measured there")
    arguments = parser.parse_args()
    reports: list[Report] = []
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    for name in arguments.scenarios or SCENARIOS:
        print(name)
        reports.append(Report(name))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # a client that takes little of the machine
            runner.run(SCENARIOS[name](reports[-1], arguments.seconds, arguments.characters))
    problems = [problem for report in reports for problem in report.problems]
    for problem in problems:
        print(f"NOT KEPT  {problem}")
    if arguments.json is not None:
        rows = [row for report in reports for row in report.rows]
        arguments.json.write_text(json.dumps({"rows": rows, "not_kept": problems}, indent=1))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
