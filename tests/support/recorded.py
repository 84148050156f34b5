"""Replays recorded HTTP cases against a real service.

A case has the flags of the service (`config`), steps before its request (`setup`), the `request`, and what is expected.
Its texts under `message`, `error`, `reason` and `param` are free where it says so.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.outside import Outside
from tests.support.service import free_port
from tests.support.wire import Answer, Wire

UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
LISTS = ("allow", "vary", "access-control-expose-headers", "access-control-allow-methods")
FREE = ("message", "error", "reason", "param")
SETTLE_SECONDS = 0.3  # until the service has seen what was sent to it without waiting for an answer


class RecordedService:
    """A service with the flags of some cases, in the directory of their fixtures."""

    def __init__(self, config: list[str], outside: Outside, place: Path) -> None:
        self.config, self.outside = config, outside
        self.ports = {name: free_port() for name in ("main", "health", "prometheus")}
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the service
        command = [sys.executable, "-m", "sluicegate", "serve", "--host", "127.0.0.1"]
        command += ["--port", str(self.ports["main"]), "--prometheus-port", str(self.ports["prometheus"])]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "SLUICEGATE_"))}
        environment |= {"HF_ENDPOINT": f"http://127.0.0.1:{outside.port}", "HF_HOME": str(place / "hub")}
        self.process = subprocess.Popen(
            command + [self.fill(flag) for flag in config],
            stdout=self._output,
            stderr=subprocess.STDOUT,
            cwd=place,
            env=environment,
        )

    def fill(self, text: str) -> str:
        """The text with the ports that it leaves open."""
        ports = {"<jwks-port>": self.outside.port, "<port>": self.ports["main"]}
        ports |= {f"<{name}-port>": port for name, port in self.ports.items()}
        for name, port in ports.items():
            text = text.replace(name, str(port))
        return text

    def wait(self, path: str, seconds: float = 60) -> None:
        """Wait until the path answers 200."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if Wire(self.ports["main"], "GET", path).answer().status == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(f"{path} does not answer 200: {self.output()[-1000:]}")

    def output(self) -> str:
        """What the service has printed."""
        self._output.seek(0)
        return self._output.read().decode("utf-8", "replace")

    def credential(self) -> dict[str, str]:
        """A header that the guard of the control plane takes, if there is one."""
        config = self.config
        for entry in config:
            parts = entry.split(":", 3)
            if len(parts) == 4 and parts[2].lower() == "admin":
                return {"authorization": f"Bearer {parts[3]}"}
        if "--jwt-issuer" in config:
            value = {flag: self.fill(config[config.index(flag) + 1]) for flag in ("--jwt-issuer", "--jwt-audience")}
            role = (
                config[config.index("--jwt-role-mapping") + 1].split("=")[0]
                if "--jwt-role-mapping" in config
                else "admin"
            )
            claims = {"iss": value["--jwt-issuer"], "aud": value["--jwt-audience"], "exp": "now+600", "roles": [role]}
            spec = {"alg": "RS256", "key": "rsa1", "kid": "r256", "claims": claims}
            return {"authorization": f"Bearer {self.outside.issuer.token(spec)}"}
        if "--api-key" in config:
            return {"authorization": f"Bearer {config[config.index('--api-key') + 1]}"}
        return {}

    def stop(self) -> None:
        """End the service, whatever state it is in."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._output.close()


@contextlib.contextmanager
def recorded_service(config: list[str], outside: Outside, place: Path, *, ready: str) -> Iterator[RecordedService]:
    """A running service with these flags."""
    service = RecordedService(config, outside, place)
    try:
        service.wait("/health")
        service.wait(ready)
        yield service
    finally:
        service.stop()


def refused_start(case: dict[str, Any], outside: Outside, place: Path) -> list[str]:
    """What is wrong with a start that must be refused."""
    service = RecordedService(case["config"], outside, place)
    try:
        status = service.process.wait(60)
        problems = [] if status != 0 else ["exit status 0"]
        return problems + _output_problems(case["expect"], service.output())
    except subprocess.TimeoutExpired:
        return ["the service has started"]
    finally:
        service.stop()


class Replay:
    """One case on one service."""

    def __init__(self, case: dict[str, Any], service: RecordedService) -> None:
        self._case, self._service, self._outside = case, service, service.outside
        self._saved = ""
        self._added: list[str] = []
        self._held: list[tuple[Wire, int | None]] = []
        self._own: Wire | None = None
        self._timers: list[threading.Timer] = []
        self._problems: list[str] = []

    def run(self) -> list[str]:
        """What differs from the recording."""
        try:
            for step in self._case.get("setup", []):
                self._step(step)
            self._problems += self._ask_until_it_holds()
            self._finish_held()
            expect = self._case["expect"]
            if "exit" in expect and self._service.process.wait(10) != expect["exit"]:
                self._problems.append(f"exit status {self._service.process.returncode}")
            if "output_has" in expect or "output_lacks" in expect:
                time.sleep(0.2)
                self._problems += _output_problems(expect, self._service.output())
        finally:
            self._clean()
        return self._problems

    def _send(self, request: dict[str, Any], *, keep_back: bool = False) -> Wire:
        body: bytes | None = None
        if "body" in request:
            body = json.dumps(request["body"], separators=(",", ":"), ensure_ascii=False).encode()
        elif "body_text" in request:
            body = request["body_text"].encode("utf-8", "surrogatepass")
        elif "body_b64" in request:
            body = base64.b64decode(request["body_b64"])
        headers: dict[str, Any] = {}
        for name, value in request.get("headers", {}).items():
            if isinstance(value, dict):
                spec = json.loads(self._service.fill(json.dumps(value["bearer_jwt"])))
                headers[name] = f"Bearer {self._outside.issuer.token(spec)}"
            else:
                headers[name] = self._service.fill(value) if isinstance(value, str) else value
        if request is not self._case["request"] and body is not None:
            headers.setdefault("content-type", "application/json")
        path = request["path"].replace("{id}", self._saved)
        port = self._service.ports[request.get("port", "main")]
        return Wire(port, request["method"], path, headers, body, keep_back=keep_back)

    def _step(self, step: dict[str, Any]) -> None:
        if "hold" in step or "queued" in step:
            self._hold(step.get("hold") or step["queued"])
        elif "release_hold_after_secs" in step:
            timer = threading.Timer(
                step["release_hold_after_secs"], lambda: [wire.complete() for wire, _ in self._held]
            )
            self._timers.append(timer)
            timer.start()
        elif "body_incomplete" in step:
            self._own = self._send(self._case["request"], keep_back=True)
            time.sleep(SETTLE_SECONDS)
        elif "jwks_mode" in step:
            self._outside.mode = step["jwks_mode"]
        elif "signal" in step:
            self._service.process.send_signal(signal.Signals[f"SIG{step['signal']}"])
        elif "sleep" in step:
            time.sleep(step["sleep"])
        else:
            self._request_before(step)

    def _hold(self, spec: dict[str, Any]) -> None:
        member: dict[str, Any] = {"tokens": [1]} if "detokenize" in spec["path"] else {"prompt": "hi"}
        body = json.dumps({"model": "", **member}).encode()
        headers = {"content-type": "application/json", **spec.get("headers", {})}
        port = self._service.ports["main"]
        wires = [Wire(port, spec["method"], spec["path"], headers, body, keep_back=True) for _ in range(spec["count"])]
        time.sleep(SETTLE_SECONDS)
        if spec.get("then") == "disconnect":
            for wire in wires:
                wire.close()
            time.sleep(SETTLE_SECONDS)
        else:
            self._held += [(wire, spec.get("expect_status")) for wire in wires]

    def _request_before(self, step: dict[str, Any]) -> None:
        for _ in range(step.get("repeat", 1)):
            wire = self._send(step)
            if step.get("background"):
                self._held.append((wire, step.get("expect_status")))
                time.sleep(SETTLE_SECONDS)
                continue
            answer = wire.answer()
            if answer.status != step.get("expect_status", answer.status):
                self._problems.append(f"{step['method']} {step['path']} answers {answer.status}: {answer.text}")
            identity = self._note_added(step, answer)
            if identity and ("save" in step or "wait" in step):
                self._saved = identity
        if "wait" in step:
            state = self._settled(self._saved, (step["wait"],), step.get("wait_secs", 20))
            if state != step["wait"]:
                self._problems.append(f"the tokenizer is {state}, not {step['wait']}")

    def _note_added(self, request: dict[str, Any], answer: Answer) -> str:
        if (request["method"], request["path"]) == ("POST", "/v1/tokenizers") and answer.status in (202, 409):
            self._added.append(answer.json()["id"])
            return self._added[-1]
        return ""

    def _settled(self, key: str, states: tuple[str, ...], seconds: float) -> str | None:
        deadline, state = time.monotonic() + seconds, None
        while time.monotonic() < deadline:
            path = f"/v1/tokenizers/{key}/status"
            answer = Wire(self._service.ports["main"], "GET", path, self._service.credential()).answer()
            if answer.status != 200:
                return None
            state = answer.json()["status"]
            if state in states:
                return str(state)
            time.sleep(0.05)
        return state

    def _ask_until_it_holds(self) -> list[str]:
        deadline = time.monotonic() + self._case.get("eventually", 0)
        while True:
            problems = self._ask()
            if not problems or time.monotonic() >= deadline:
                return problems
            time.sleep(0.1)

    def _ask(self) -> list[str]:
        request, began = self._case["request"], time.monotonic()
        wire, self._own = self._own or self._send(request, keep_back=request.get("stall_body", False)), None
        answer = wire.answer()
        seconds, expect = time.monotonic() - began, self._case["expect"]
        self._note_added(request, answer)
        problems = differences(self._case, answer)
        if not expect.get("min_secs", 0) <= seconds <= expect.get("max_secs", 30):
            problems.append(f"answered after {seconds:.1f} s")
        return problems

    def _finish_held(self) -> None:
        for timer in self._timers:
            timer.cancel()
        for wire, _ in self._held:
            wire.complete()
        for wire, status in self._held:
            try:
                answer = wire.answer(30 if status else 5)
            except (OSError, http.client.HTTPException) as error:
                if status is not None:
                    self._problems.append(f"held request: {error!r}, not {status}")
            else:
                if answer.status != (status or answer.status):
                    self._problems.append(f"held request: {answer.status}, not {status}: {answer.text}")
        self._held = []

    def _clean(self) -> None:
        for timer in self._timers:
            timer.cancel()
        for wire in [*(wire for wire, _ in self._held), *([self._own] if self._own else [])]:
            wire.close()
        self._outside.reset()
        if self._service.process.poll() is None:
            for key in self._added:
                self._settled(key, ("completed", "failed"), 20)
                Wire(
                    self._service.ports["main"], "DELETE", f"/v1/tokenizers/{key}", self._service.credential()
                ).answer()


def _output_problems(expect: dict[str, Any], output: str) -> list[str]:
    lacking = [f"prints no {part!r}" for part in expect.get("output_has", []) if part not in output]
    return lacking + [f"prints {part!r}" for part in expect.get("output_lacks", []) if part in output]


# ---------------------------------------------------------------- comparison


def differences(case: dict[str, Any], answer: Answer) -> list[str]:
    """How an answer differs from what the case expects."""
    expect, free = case["expect"], case.get("wording") == "free"
    problems = [] if answer.status == expect["status"] else [f"status {answer.status}: {answer.text[:300]}"]
    if "json" in expect:
        try:
            got = json.loads(UUID.sub("<uuid>", answer.text))
        except ValueError:
            return [*problems, f"no JSON: {answer.text[:300]!r}"]
        want = expect["json"]
        if _comparable(want, want, free) != _comparable(got, want, free):
            problems.append(f"body {json.dumps(got)[:500]}, not {json.dumps(want)[:500]}")
    if "text" in expect and answer.text != expect["text"] and not (free and answer.text):
        problems.append(f"text {answer.text!r}")
    problems += [f"no {part!r} in the body" for part in expect.get("text_has", []) if part not in answer.text]
    for name, wanted in expect.get("headers", {}).items():
        found = answer.headers.get(name)
        if not _header_holds(name, wanted, found):
            problems.append(f"header {name}: {found!r}, not {wanted!r}")
    return problems


def _comparable(value: Any, want: Any, free: bool, name: str = "") -> Any:
    """The value with its kinds written out, since 1 equals True, and without texts that are free."""
    if isinstance(value, dict):
        members = want if isinstance(want, dict) else {}
        return {key: _comparable(inner, members.get(key), free, key) for key, inner in value.items()}
    if isinstance(value, list):
        wanted = want if isinstance(want, list) and len(want) == len(value) else [None] * len(value)
        return [_comparable(inner, part, free, name) for inner, part in zip(value, wanted, strict=True)]
    if free and name in FREE and isinstance(value, str) and isinstance(want, str):
        return "free"
    return type(value).__name__, value


def _header_holds(name: str, want: str | None, got: str | None) -> bool:
    if want is None or got is None or want == "*":
        return (want is None) == (got is None)
    if want == "req-<24 alphanumerics>":
        return re.fullmatch(r"req-[A-Za-z0-9]{24}", got) is not None
    if span := re.fullmatch(r"(\d+)\.\.(\d+)", want):
        return got.isdecimal() and int(span[1]) <= int(got) <= int(span[2])
    if name in LISTS:
        return sorted(part.strip().lower() for part in got.split(",")) == sorted(
            part.strip().lower() for part in want.split(",")
        )
    return UUID.sub("<uuid>", got) == want
