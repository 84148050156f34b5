"""TLS material towards workers."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sluicegate.core.errors import InvalidSetting


@dataclass(frozen=True, slots=True)
class WorkerCredentials:
    """PEM bytes. Without `authorities` the ones that gRPC carries are trusted."""

    authorities: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = None

    @classmethod
    def from_files(cls, authorities: Sequence[str], certificate: str | None, key: str | None) -> WorkerCredentials:
        """Read and check the files of the settings `ca_cert_paths`, `client_cert_path` and `client_key_path`.

        Raises `InvalidSetting`.
        """
        for path in authorities:
            try:
                ssl.create_default_context(cafile=path)
            except (OSError, ValueError) as error:
                raise InvalidSetting("ca_cert_paths", path, f"no certificates in PEM form: {_reason(error)}") from None
        if certificate is None and key is None:
            return cls(authorities=_joined(authorities))
        if certificate is None or key is None:
            given, missing = ("client_key_path", "client_cert_path") if key else ("client_cert_path", "client_key_path")
            raise InvalidSetting(given, key or certificate, f"belongs together with {missing}: give both or neither")
        try:
            ssl.create_default_context().load_cert_chain(certificate, key, password=_no_password)
        except (OSError, ValueError) as error:
            reason = f"does not make a client certificate with the key '{key}': {_reason(error)}"
            raise InvalidSetting("client_cert_path", certificate, reason) from None
        return cls(_joined(authorities), Path(certificate).read_bytes(), Path(key).read_bytes())


def _joined(paths: Sequence[str]) -> bytes | None:
    return b"\n".join(Path(path).read_bytes() for path in paths) or None


def _no_password() -> str:
    raise ValueError("the key is encrypted; give one that is not")


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
