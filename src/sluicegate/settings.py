"""The settings of the service: what they are, where they come from, and which values are refused.

`Settings` is the only list of them: the flags of `sluicegate serve`, its `--help`, the environment variables,
the members of the settings file and the table in the documentation are all made from its fields.
A setting is taken from the flag, else from the environment, else from the file, else it has its default.
The sources of a secret add up.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from sluicegate.core.errors import InvalidSetting
from sluicegate.settings_checks import check_settings

PREFIX = "SLUICEGATE_"
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Port = Annotated[int, Meta(ge=1, le=65535)]
Texts = tuple[str, ...]
PriorityClass = Literal["bulk", "default", "interactive", "system"]
OnOrOff = Literal["on", "off"]


def _describe(
    group: str,
    text: str,
    *,
    metavar: str | None = None,
    secret: bool = False,
    repeat: bool = False,
    aliases: tuple[str, ...] = (),
    variable: str | None = None,
) -> Meta:
    """What a field's flag, variable and documentation need beside its type and default."""
    extra = {
        "group": group,
        "metavar": metavar,
        "secret": secret,
        "repeat": repeat,
        "aliases": aliases,
        "variable": variable,
    }
    return Meta(description=text, extra=extra)


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that can be set when the service starts. Times are seconds, sizes are bytes."""

    host: Annotated[str, _describe("Listeners", "address to bind, IPv4 or IPv6")] = "0.0.0.0"  # noqa: S104
    port: Annotated[Port, _describe("Listeners", "main port")] = 30000
    health_check_port: Annotated[
        Port | None, _describe("Listeners", "second port that answers /health, /liveness and /readiness alone")
    ] = None
    prometheus_port: Annotated[Port, _describe("Listeners", "port of GET /metrics")] = 29000
    prometheus_host: Annotated[str | None, _describe("Listeners", "address of GET /metrics; default: --host")] = None
    prometheus_duration_buckets: Annotated[
        tuple[Annotated[float, Meta(gt=0)], ...],
        _describe("Listeners", "bounds of the duration histogram, seconds; default: built in", metavar="SECONDS"),
    ] = ()
    tls_cert_path: Annotated[str | None, _describe("Listeners", "PEM certificate chain; with --tls-key-path")] = None
    tls_key_path: Annotated[str | None, _describe("Listeners", "PEM private key; with --tls-cert-path")] = None

    playground: Annotated[
        OnOrOff | None,
        _describe(
            "Listeners",
            "serve the playground at /playground; default: on where --host is a loopback address",
            metavar="on|off",
        ),
    ] = None

    processes: Annotated[
        Annotated[int, Meta(ge=1)],
        _describe("Listeners", "processes that serve the main port, all of them as one service", metavar="N"),
    ] = 1

    model_path: Annotated[
        str | None,
        _describe("Tokenizers", "tokenizer loaded at start: directory, file or hub id", aliases=("--model",)),
    ] = None
    tokenizer_path: Annotated[str | None, _describe("Tokenizers", "the same; wins over --model-path")] = None
    tokenizer_roots: Annotated[
        Texts,
        _describe(
            "Tokenizers",
            "directories in which tokenizers may be read that POST /v1/tokenizers or a worker names; / is everywhere; "
            "default: the working directory and the start-up paths",
            metavar="DIR",
        ),
    ] = ()
    chat_template: Annotated[str | None, _describe("Tokenizers", "chat template file of the start-up tokenizer")] = None
    disable_tokenizer_autoload: Annotated[
        bool, _describe("Tokenizers", "load no tokenizer at start and none from workers")
    ] = False
    demo: Annotated[bool, _describe("Tokenizers", "load the bundled demo tokenizers, too")] = False
    tokenizer_cache_enable_l0: Annotated[bool, _describe("Tokenizers", "cache of whole texts")] = False
    tokenizer_cache_l0_max_entries: Annotated[
        Annotated[int, Meta(gt=0)], _describe("Tokenizers", "most texts in the whole-text cache")
    ] = 10000
    tokenizer_cache_l0_max_memory: Annotated[
        Annotated[int, Meta(gt=0)], _describe("Tokenizers", "most bytes in the whole-text cache")
    ] = 268435456
    tokenizer_cache_enable_l1: Annotated[bool, _describe("Tokenizers", "cache of prefixes")] = False
    tokenizer_cache_l1_max_memory: Annotated[
        Annotated[int, Meta(gt=0)], _describe("Tokenizers", "most bytes in the prefix cache")
    ] = 52428800

    tool_call_parser: Annotated[
        str | None, _describe("Parsers", "tool-call parser of POST /parse where nothing names one; default: detected")
    ] = None
    reasoning_parser: Annotated[
        str | None, _describe("Parsers", "reasoning parser of POST /parse where nothing names one; default: detected")
    ] = None
    parser_override: Annotated[
        Texts,
        _describe("Parsers", "parsers of the models that match", metavar="PATTERN=TOOL,REASONING", repeat=True),
    ] = ()
    format_file: Annotated[
        Texts, _describe("Parsers", "TOML file that declares formats of your own", metavar="FILE", repeat=True)
    ] = ()

    max_payload_size: Annotated[Annotated[int, Meta(gt=0)], _describe("Requests", "most bytes of a request body")] = (
        67108864
    )
    max_batch_items: Annotated[
        Annotated[int, Meta(ge=0)], _describe("Requests", "most strings or sequences in a request; 0: no limit")
    ] = 16384
    request_id_headers: Annotated[
        Texts, _describe("Requests", "headers that may name the request, in order", metavar="NAME")
    ] = ("x-request-id", "x-correlation-id", "x-trace-id", "request-id")
    cors_allowed_origins: Annotated[
        Texts, _describe("Requests", "origins of pages that may call the service, or * alone", metavar="ORIGIN")
    ] = ()
    request_timeout_secs: Annotated[Seconds, _describe("Requests", "longest time to read a body")] = 1800.0
    stream_body_stall_timeout_secs: Annotated[
        Seconds, _describe("Requests", "longest time between two pieces of a body; 0: no limit")
    ] = 60.0
    header_read_timeout_secs: Annotated[
        Seconds, _describe("Requests", "longest time to read the head of a request; 0: no limit")
    ] = 30.0
    idle_connection_timeout_secs: Annotated[
        Seconds, _describe("Requests", "longest time a connection may be idle; 0: no limit")
    ] = 90.0
    shutdown_grace_period_secs: Annotated[
        Seconds, _describe("Requests", "longest time for requests in progress after SIGTERM")
    ] = 180.0

    api_key: Annotated[
        Texts,
        _describe(
            "Keys",
            "key of the serving routes, and of the control plane when nothing else guards it",
            metavar="KEY",
            secret=True,
            repeat=True,
        ),
    ] = ()
    tenant_api_key: Annotated[
        Texts,
        _describe(
            "Keys",
            "key of one tenant for the serving routes",
            metavar="TENANT:KEY",
            secret=True,
            repeat=True,
            variable="SLUICEGATE_TENANT_API_KEYS",
        ),
    ] = ()
    control_plane_api_keys: Annotated[
        Texts | None,
        _describe("Keys", "keys of the control plane, with a role", metavar="ID:NAME:ROLE:KEY", secret=True),
    ] = None
    api_key_file: Annotated[str | None, _describe("Keys", "file with serving keys, one a line")] = None
    tenant_api_keys_file: Annotated[str | None, _describe("Keys", "file with TENANT:KEY, one a line")] = None
    control_plane_api_keys_file: Annotated[str | None, _describe("Keys", "file with ID:NAME:ROLE:KEY, one a line")] = (
        None
    )
    control_plane_audit_enabled: Annotated[bool, _describe("Keys", "log one record per control-plane request")] = False
    jwt_issuer: Annotated[str | None, _describe("Keys", "issuer of accepted tokens; with --jwt-audience")] = None
    jwt_audience: Annotated[str | None, _describe("Keys", "audience of accepted tokens; with --jwt-issuer")] = None
    jwt_jwks_uri: Annotated[str | None, _describe("Keys", "URL of the issuer's key set; default: discovered")] = None
    jwt_role_mapping: Annotated[
        Texts, _describe("Keys", "roles of the issuer and what they are here", metavar="ISSUER_ROLE=ROLE")
    ] = ()
    trust_tenant_header: Annotated[
        bool, _describe("Keys", "let the tenant header name the tenant when no credential does")
    ] = False
    tenant_header_name: Annotated[str, _describe("Keys", "the tenant header")] = "x-smg-tenant-id"

    max_concurrent_requests: Annotated[
        int, _describe("Admission", "most requests in progress; negative: by number of cores; 0: no limit")
    ] = -1
    queue_size: Annotated[Annotated[int, Meta(ge=0)], _describe("Admission", "most requests that wait")] = 100
    queue_timeout_secs: Annotated[Seconds, _describe("Admission", "longest wait of a request")] = 60.0
    rate_limit_tokens_per_second: Annotated[
        Annotated[float, Meta(ge=0)] | None, _describe("Admission", "most requests per second; 0: no limit")
    ] = None
    priority_scheduler_enabled: Annotated[bool, _describe("Admission", "schedule requests by priority class")] = False
    priority_scheduler_default_max_class: Annotated[
        PriorityClass, _describe("Admission", "highest class of tenants that the scheduler's file does not name")
    ] = "default"
    priority_scheduler_config: Annotated[str | None, _describe("Admission", "YAML file of the scheduler")] = None
    priority_scheduler_tenant_metric_top_n: Annotated[
        Annotated[int, Meta(ge=0)], _describe("Admission", "tenants with a metric label of their own")
    ] = 32
    tenant_rate_limit_enabled: Annotated[
        bool, _describe("Admission", "limit each tenant; with --tenant-rate-limit-config")
    ] = False
    tenant_rate_limit_config: Annotated[str | None, _describe("Admission", "YAML file of the tenant limits")] = None

    job_queue_capacity: Annotated[
        Annotated[int, Meta(gt=0)], _describe("Workers", "most tokenizer and worker jobs that wait")
    ] = 1000
    job_queue_concurrency: Annotated[
        Annotated[int, Meta(gt=0)], _describe("Workers", "most tokenizer and worker jobs at once")
    ] = 200
    worker_urls: Annotated[
        Texts, _describe("Workers", "gRPC workers to fetch tokenizers from", metavar="grpc[s]://HOST:PORT")
    ] = ()
    worker_startup_timeout_secs: Annotated[Seconds, _describe("Workers", "longest time to reach a worker")] = 1800.0
    worker_startup_check_interval: Annotated[
        Annotated[float, Meta(gt=0)], _describe("Workers", "longest pause between two attempts to reach a worker")
    ] = 30.0
    ca_cert_paths: Annotated[Texts, _describe("Workers", "PEM files that vouch for workers", metavar="FILE")] = ()
    client_cert_path: Annotated[str | None, _describe("Workers", "PEM certificate shown to workers")] = None
    client_key_path: Annotated[str | None, _describe("Workers", "PEM private key of that certificate")] = None

    log_level: Annotated[Literal["debug", "info", "warn", "error"], _describe("Logs", "least level of log records")] = (
        "info"
    )
    log_json: Annotated[bool, _describe("Logs", "one JSON object a line")] = False
    log_dir: Annotated[str | None, _describe("Logs", "directory of the log file; default: the console")] = None
    tracing_enabled: Annotated[
        bool, _describe("Logs", "OpenTelemetry spans of requests; needs the extra 'otel' and a configured SDK")
    ] = False

    @property
    def metrics_host(self) -> str:
        """The address of the metrics listener."""
        return self.prometheus_host or self.host

    @property
    def on_loopback(self) -> bool:
        """Whether the main port can be reached from this machine alone."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def shows_playground(self) -> bool:
        """Whether the playground is served."""
        return self.on_loopback if self.playground is None else self.playground == "on"

    @property
    def startup_tokenizer(self) -> str | None:
        """Name and source of the tokenizer that is loaded at start, if any."""
        return None if self.disable_tokenizer_autoload else self.tokenizer_path or self.model_path


class Field(NamedTuple):
    """One setting, as flags, variables and documentation see it."""

    name: str
    type: Any
    default: Any
    description: str
    group: str
    metavar: str | None
    secret: bool
    repeat: bool
    aliases: tuple[str, ...]
    variable: str

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def is_switch(self) -> bool:
        return self.type is bool

    @property
    def is_list(self) -> bool:
        return any(get_origin(part) is tuple for part in (self.type, *get_args(self.type)))


def _fields() -> Iterator[Field]:
    hints = get_type_hints(Settings, include_extras=True)
    for field in msgspec.structs.fields(Settings):
        inner, meta = get_args(hints[field.name])[0], hints[field.name].__metadata__[-1]
        extra = dict(meta.extra)
        variable = extra.pop("variable") or PREFIX + field.name.upper()
        if get_origin(hints[field.name]) is Annotated and len(hints[field.name].__metadata__) > 1:
            inner = Annotated[inner, *hints[field.name].__metadata__[:-1]]
        yield Field(field.name, inner, field.default, meta.description, variable=variable, **extra)


FIELDS: tuple[Field, ...] = tuple(_fields())
BY_NAME: Mapping[str, Field] = {field.name: field for field in FIELDS}


def resolve(flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None = None) -> Settings:
    """The settings from all sources.

    `flags` holds the fields that the command line names: texts, lists of texts, or booleans. `environment` holds
    variables of any kind, of which those of the settings count. `file` is a TOML file whose members are
    fields, spelt with `-` or `_`.

    Raises `InvalidSetting`.
    """
    written = _read_file(file) if file else {}
    values: dict[str, Any] = {}
    for field in FIELDS:
        found = [
            _convert(field, value, text=is_text)
            for value, is_text in (
                (flags.get(field.name), True),
                (_from_environment(field, environment), True),
                (written.get(field.name), False),
            )
            if value is not None
        ]
        if found:
            values[field.name] = _joined(found) if field.secret and field.is_list else found[0]
    settings = Settings(**values)
    check_settings(settings)
    return settings


def _joined(sources: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The entries of all sources of a secret; what two of them say is taken once."""
    entries: list[str] = []
    for source in sources:
        entries += [entry for entry in source if entry not in entries] if entries else source
    return tuple(entries)


def _from_environment(field: Field, environment: Mapping[str, str]) -> Any:
    value = environment.get(field.variable)
    if value is None or not field.is_list or (field.secret and field.name == "api_key"):
        return [value] if value is not None and field.is_list else value
    return value.split()


def _read_file(path: Path) -> dict[str, Any]:
    try:
        members = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidSetting("config", str(path), f"the file cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting("config", str(path), f"the file is not TOML: {error}") from None
    values = {name.replace("-", "_"): value for name, value in members.items()}
    for name in values:
        if name not in BY_NAME:
            raise InvalidSetting("config", str(path), f"there is no setting '{name}'")
    return values


def _convert(field: Field, value: Any, *, text: bool) -> Any:
    """`value` as the field's type; `text` says that it was written as text, so that numbers have to be read from it."""
    if text and field.is_switch and isinstance(value, str) and value.lower() in ("", "false", "no", "off"):
        return False
    if text and field.is_switch and isinstance(value, str) and value.lower() in ("true", "yes", "on"):
        return True
    try:
        return msgspec.convert(value, field.type, strict=not text)
    except msgspec.ValidationError as error:
        shown = InvalidSetting.HIDDEN if field.secret else value
        raise InvalidSetting(field.name, shown, _reason(field, str(error))) from None


def _reason(field: Field, error: str) -> str:
    """What msgspec says about a value, in words."""
    choices = [
        choice
        for part in (field.type, *get_args(field.type))
        if get_origin(part) is Literal
        for choice in get_args(part)
    ]
    if choices:
        return f"must be one of {', '.join(choices)}"
    words = error.split(" - at ", maxsplit=1)[0]
    bound = re.fullmatch(r"Expected `(?:int|float)` ([<>]=?) (\S+)", words)
    if bound:
        return f"must be {_BOUNDS[bound[1]]} {bound[2].removesuffix('.0')}"
    wanted = re.match(r"Expected `(\w+)", words)
    return f"must be {_KINDS[wanted[1]]}" if wanted and wanted[1] in _KINDS else words[0].lower() + words[1:]


_BOUNDS = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}
_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text", "array": "a list"}
