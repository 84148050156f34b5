"""`sluicegate doctor`."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.service import free_port


def doctor(*flags, cwd=None, **environment):
    ports = ["--port", str(free_port()), "--prometheus-port", str(free_port())]
    command = [sys.executable, "-m", "sluicegate", "doctor", "--host", "127.0.0.1", *ports, *flags]
    env = environment or None
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, env=env, timeout=120)
    return done.returncode, " ".join(done.stdout.split()), done.stderr


def test_a_sound_service_and_who_may_call_it():
    status, report, errors = doctor("--api-key", "sekret-1", "--tenant-api-key", "red:sekret-2")
    assert (status, errors) == (0, "")
    assert "ERROR" not in report
    assert "2 serving keys" in report
    assert "/v1/tokenize, /v1/detokenize (127.0.0.1:" in report
    assert "ask for the shared key or tenant keys" in report
    assert "/workers* (127.0.0.1:" in report
    assert "sekret" not in report


def test_open_to_everybody():
    status, report, _ = doctor("--host", "0.0.0.0")
    assert status == 0
    assert "warning keys SECURITY POSTURE" in report
    assert "open to everybody" in report


def test_settings_from_the_environment_count():
    status, report, _ = doctor(SLUICEGATE_API_KEY="sekret-1")
    assert (status, "1 serving key" in report, "sekret" in report) == (0, True, False)


def test_several_processes():
    status, report, _ = doctor("--processes", "1000")
    assert status == 0
    assert "warning processes 1000 serve the main port, more than there are cores" in report


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["--api-key", ""], "ERROR keys"),
        (["--tenant-api-key", "sekret-1"], "ERROR keys"),
        (["--queue-size", "-1"], "ERROR settings"),
        (["--processes", "0"], "ERROR settings"),
        (["--priority-scheduler-enabled", "--max-concurrent-requests", "3"], "ERROR admission"),
        (["--tenant-rate-limit-enabled"], "ERROR admission"),
        (["--nonsense"], "ERROR settings"),
    ],
)
def test_what_keeps_the_service_from_starting(flags, line):
    status, report, errors = doctor(*flags)
    assert (status, errors) == (1, "")
    assert line in report
    assert "sekret" not in report


def test_a_busy_port_and_a_broken_tokenizer(tmp_path: Path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "tokenizer.json").write_text("{}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, report, errors = doctor("--health-check-port", str(port), "--model-path", "./broken", cwd=tmp_path)
    assert (status, errors) == (1, "")
    assert f"ERROR ports Invalid value for field 'health_check_port': {port}" in report
    assert "ERROR tokenizers start-up tokenizer './broken' failed to load" in report


def test_a_key_set_that_cannot_be_had_is_a_warning():
    url = f"http://127.0.0.1:{free_port()}"
    status, report, _ = doctor("--jwt-issuer", url, "--jwt-audience", "gate")
    assert status == 0
    assert "warning keys tokens would be answered with 503" in report
    assert "ask for a token of" in report
