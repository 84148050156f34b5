"""Where settings come from, which counts, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sluicegate.cli.serve import make_parser
from sluicegate.core.errors import InvalidSetting
from sluicegate.settings import FIELDS, Settings, resolve
from tests.support.service import running


def flags(*arguments: str) -> dict[str, Any]:
    return vars(make_parser().parse_args(arguments))


def test_flags_before_environment_before_file_before_default(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('port = 1001\nqueue-size = 1\nqueue_timeout_secs = 1.5\nlog-level = "warn"\n')
    environment = {"SLUICEGATE_PORT": "1002", "SLUICEGATE_QUEUE_SIZE": "2", "SLUICEGATE_TEST_QWEN3": "/x", "PORT": "9"}
    settings = resolve(flags("--port", "1003"), environment, file)
    assert (settings.port, settings.queue_size, settings.queue_timeout_secs, settings.log_level) == (
        1003,
        2,
        1.5,
        "warn",
    )
    assert settings.max_payload_size == Settings().max_payload_size


def test_the_sources_of_a_secret_add_up(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('api_key = ["from-file", "both"]\ncontrol_plane_api_keys = ["a:A:admin:k"]\n')
    environment = {"SLUICEGATE_API_KEY": "with blank", "SLUICEGATE_TENANT_API_KEYS": "red:r blue:b"}
    settings = resolve(flags("--api-key", "both", "--tenant-api-key", "green:g"), environment, file)
    assert settings.api_key == ("both", "with blank", "from-file")
    assert settings.tenant_api_key == ("green:g", "red:r", "blue:b")
    assert settings.control_plane_api_keys == ("a:A:admin:k",)


def test_every_field_has_a_flag_a_variable_and_words() -> None:
    text = make_parser().format_help()
    for field in FIELDS:
        assert field.flag in text
        assert field.variable in text
        assert field.description
    assert len({field.variable for field in FIELDS}) == len(FIELDS)


@pytest.mark.parametrize("name", [field.name for field in FIELDS if field.is_switch])
def test_switches_can_be_turned_on_and_off(name: str) -> None:
    flag, variable = f"--{name.replace('_', '-')}", f"SLUICEGATE_{name.upper()}"
    assert getattr(resolve(flags(flag), {}), name) is True
    assert getattr(resolve({}, {variable: "true"}), name) is True
    assert getattr(resolve(flags(flag.replace("--", "--no-", 1)), {variable: "1"}), name) is False


@pytest.mark.parametrize(
    ("values", "field", "reason"),
    [
        ({"port": "x"}, "port", "must be a whole number"),
        ({"port": "0"}, "port", "must be at least 1"),
        ({"port": "65536"}, "port", "must be at most 65535"),
        ({"max_payload_size": "0"}, "max_payload_size", "at least 1"),
        ({"queue_size": "-1"}, "queue_size", "at least 0"),
        ({"queue_timeout_secs": "nan"}, "queue_timeout_secs", "at least 0"),
        ({"queue_timeout_secs": "inf"}, "queue_timeout_secs", "at most"),
        ({"demo": "maybe"}, "demo", "true or false"),
        ({"log_level": "loud"}, "log_level", "must be one of debug, info, warn, error"),
        ({"priority_scheduler_default_max_class": "x"}, "priority_scheduler_default_max_class", "must be one of"),
        ({"host": "not an address"}, "host", "must be an IPv4 or IPv6 address"),
        ({"host": "1.2.3"}, "host", "must be an IPv4 or IPv6 address"),
        ({"tls_cert_path": "x.pem"}, "tls_cert_path", "needs --tls-key-path beside it"),
        ({"tls_key_path": "x.pem"}, "tls_key_path", "needs --tls-cert-path beside it"),
        ({"prometheus_port": "30000"}, "prometheus_port", "another listener has this port"),
        ({"cors_allowed_origins": ["a.example"]}, "cors_allowed_origins", "scheme://host"),
        ({"cors_allowed_origins": ["*", "http://a.example"]}, "cors_allowed_origins", "must stand alone"),
        ({"request_id_headers": []}, "request_id_headers", "at least one"),
        ({"request_id_headers": ["a b"]}, "request_id_headers", "not a header name"),
        ({"request_timeout_secs": "0"}, "request_timeout_secs", "above 0"),
        ({"prometheus_duration_buckets": ["1", "1"]}, "prometheus_duration_buckets", "must grow"),
        ({"chat_template": "/nope.jinja"}, "chat_template", "no such file"),
    ],
)
def test_a_wrong_value_is_refused_with_its_reason(values: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(InvalidSetting) as refusal:
        resolve(values, {})
    assert refusal.value.field == field
    assert reason in refusal.value.reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [("porter = 1", "no setting 'porter'"), ("port = ", "not TOML"), ("port = '1'", "must be a whole number")],
)
def test_a_wrong_file_is_refused(content: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(content)
    with pytest.raises(InvalidSetting) as refusal:
        resolve({}, {}, file)
    assert reason in refusal.value.reason


def serve(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sluicegate", "serve", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("--api-kye", "sekret-1"),
        ("sekret-1",),
        ("--control-plane-api-keys", "a:A:root:sekret-1"),
        ("--api-key", "sekret-1", "--port", "x"),
        ("--port", "1", "2", "sekret-1"),
        ("--api-key",),
    ],
)
def test_a_refused_start_is_one_line_without_a_secret(arguments: tuple[str, ...]) -> None:
    result = serve(*arguments)
    assert result.returncode == 1
    assert result.stderr.startswith("Configuration error: Invalid value for field '")
    assert len(result.stderr.splitlines()) == 1
    assert "sekret-1" not in result.stderr + result.stdout


def test_a_busy_port_is_a_refused_start(demo_service: Any) -> None:
    result = serve("--host", "127.0.0.1", "--port", str(demo_service.port))
    assert result.returncode == 1
    assert "Invalid value for field 'port'" in result.stderr.splitlines()[-1]


def test_logs_go_to_a_directory(tmp_path: Path) -> None:
    with running("--log-dir", str(tmp_path / "logs"), "--log-json", "--log-level", "debug"):
        pass
    events = [json.loads(line)["event"] for line in (tmp_path / "logs" / "sluicegate.log").read_text().splitlines()]
    assert {"listening", "stopped"} <= set(events)
    (tmp_path / "file").touch()
    result = serve("--log-dir", str(tmp_path / "file"))
    assert result.returncode == 1
    assert "Invalid value for field 'log_dir'" in result.stderr


def test_help_ends_well() -> None:
    result = serve("--help")
    assert result.returncode == 0
    assert "--max-payload-size" in result.stdout
