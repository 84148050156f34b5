"""What no type of a setting can say: values that do not go together, and files that are not there."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import TYPE_CHECKING

from sluicegate.core.errors import InvalidSetting

if TYPE_CHECKING:
    from sluicegate.settings import Settings

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def check_settings(settings: Settings) -> None:
    """Refuse values that do not go together, or name what is not there. Raises `InvalidSetting`."""
    for host in ("host", "prometheus_host"):
        value = getattr(settings, host)
        if value is not None and not _is_address(value):
            raise InvalidSetting(host, value, "must be an IPv4 or IPv6 address, or a host name")
    for name, other in (("tls_cert_path", "tls_key_path"), ("client_cert_path", "client_key_path")):
        for one, missing in ((name, other), (other, name)):
            if getattr(settings, one) is not None and getattr(settings, missing) is None:
                raise InvalidSetting(one, getattr(settings, one), f"needs {'--' + missing.replace('_', '-')} beside it")
    taken = {(settings.host, settings.port)}
    for name, address in (
        ("prometheus_port", (settings.metrics_host, settings.prometheus_port)),
        ("health_check_port", (settings.host, settings.health_check_port)),
    ):
        if address in taken:
            raise InvalidSetting(name, address[1], "another listener has this port")
        taken.add((address[0], address[1] or 0))
    origins = settings.cors_allowed_origins
    for origin in origins:
        if origin == "*" and len(origins) > 1:
            raise InvalidSetting("cors_allowed_origins", list(origins), "* must stand alone")
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise InvalidSetting(
                "cors_allowed_origins", origin, "must be scheme://host[:port] in lower case, or * alone"
            )
    if not settings.request_id_headers:
        raise InvalidSetting("request_id_headers", [], "needs at least one header name")
    for name, headers in (
        ("request_id_headers", settings.request_id_headers),
        ("tenant_header_name", (settings.tenant_header_name,)),
    ):
        for header in headers:
            if not _HEADER_NAME.fullmatch(header):
                raise InvalidSetting(name, header, "is not a header name")
    if settings.request_timeout_secs == 0:
        raise InvalidSetting("request_timeout_secs", 0, "must be above 0")
    buckets = settings.prometheus_duration_buckets
    if list(buckets) != sorted(set(buckets)):
        raise InvalidSetting("prometheus_duration_buckets", list(buckets), "bounds must grow")
    _check_files(settings)


def _check_files(settings: Settings) -> None:
    for name in ("tls_cert_path", "tls_key_path", "client_cert_path", "client_key_path"):
        value = getattr(settings, name)
        if value is not None and not Path(value).is_file():
            raise InvalidSetting(name, value, "there is no such file")
    for path in settings.ca_cert_paths:
        if not Path(path).is_file():
            raise InvalidSetting("ca_cert_paths", path, "there is no such file")
    template = settings.chat_template
    if template is not None and (not Path(template).is_file() or Path(template).stat().st_size == 0):
        raise InvalidSetting("chat_template", template, "there is no such file, or it is empty")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return bool(
            re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9-]+)*", host)
        ) and not re.fullmatch(r"[\d.]+", host)
    return True
