"""What the settings say about the sharing of a service between processes."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sluicegate.auth.key_files import read_key_file
from sluicegate.settings import Settings


def tells_tenants_apart(settings: Settings) -> bool:
    """Whether admission has to know whose request it is."""
    return settings.priority_scheduler_enabled or settings.tenant_rate_limit_enabled


def lends_places(settings: Settings) -> bool:
    """Whether only the number of requests in progress is limited, or nothing: then processes can be lent places."""
    return not (tells_tenants_apart(settings) or settings.rate_limit_tokens_per_second)


def settings_of_processes(settings: Settings) -> Settings:
    """The settings of the serving processes: keys as they are now, and nothing that the supervisor does itself.

    A process that is started later must accept the same keys, whatever the key files hold by then.
    Raises `InvalidSetting`.
    """
    control = settings.control_plane_api_keys
    if settings.control_plane_api_keys_file is not None:
        control = _joined("control_plane_api_keys_file", control or (), settings.control_plane_api_keys_file)
    return msgspec.structs.replace(
        settings,
        api_key=_joined("api_key_file", settings.api_key, settings.api_key_file),
        tenant_api_key=_joined("tenant_api_keys_file", settings.tenant_api_key, settings.tenant_api_keys_file),
        control_plane_api_keys=control,
        api_key_file=None,
        tenant_api_keys_file=None,
        control_plane_api_keys_file=None,
        disable_tokenizer_autoload=True,
        worker_urls=(),
        ca_cert_paths=(),
        client_cert_path=None,
        client_key_path=None,
    )


def _joined(field: str, entries: tuple[str, ...], file: str | None) -> tuple[str, ...]:
    if file is None:
        return entries
    return tuple(dict.fromkeys((*entries, *read_key_file(field, Path(file)).entries)))
