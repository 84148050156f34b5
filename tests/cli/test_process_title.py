"""The command line as other users of the host see it."""

import subprocess
import sys
import time

import pytest

from sluicegate.cli.process_title import without_secrets
from tests.support.service import free_port


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ([], []),
        (["--port", "1", "--demo"], ["--port", "1", "--demo"]),
        (["--api-key", "s", "--port", "1"], ["--api-key", "***", "--port", "1"]),
        (["--api-key=s", "--tenant-api-key=red:s"], ["--api-key=***", "--tenant-api-key=***"]),
        (
            ["--control-plane-api-keys", "a:b:admin:s", "c:d:user:t", "--host", "::"],
            ["--control-plane-api-keys", "***", "***", "--host", "::"],
        ),
        (["--api-key-file", "keys"], ["--api-key-file", "keys"]),
    ],
)
def test_without_secrets(arguments, shown):
    assert without_secrets(arguments) == shown


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_running_service_does_not_show_its_keys():
    ports = ["--port", str(free_port()), "--prometheus-port", str(free_port())]
    command = [sys.executable, "-m", "sluicegate", "serve", "--host", "127.0.0.1", *ports, "--api-key", "sekret-1"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + 30
            shown = ""
            while "***" not in shown and time.monotonic() < end:
                with open(f"/proc/{process.pid}/cmdline") as file:
                    shown = file.read()
                time.sleep(0.02)
            assert "--api-key ***" in shown
            assert "sekret" not in shown
        finally:
            process.terminate()
