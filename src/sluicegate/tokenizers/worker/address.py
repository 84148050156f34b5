"""URLs of gRPC workers: `grpc://host:port` in the clear, `grpcs://host:port` over TLS."""

from __future__ import annotations

import re
from dataclasses import dataclass

_URL = re.compile(r"(grpcs?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*)):([0-9]{1,5})/?")
_MAXIMUM_LENGTH = 2048


@dataclass(frozen=True, slots=True)
class WorkerAddress:
    """Where a worker listens. Equal addresses are the same worker, however the URL was spelled."""

    secure: bool
    target: str
    """`host:port` as gRPC dials it, the host in lower case."""

    @classmethod
    def parse(cls, url: str) -> WorkerAddress:
        """Read a worker URL. Raises `ValueError` with the reason and the accepted form."""
        match = _URL.fullmatch(url) if len(url) <= _MAXIMUM_LENGTH else None
        if match is None:
            raise ValueError(f"{url[:200]!r} is not a worker URL: write grpc://host:port or grpcs://host:port")
        scheme, host, port = match.groups()
        if not 1 <= int(port) <= 65535:
            raise ValueError(f"{url!r} is not a worker URL: port {port} is not between 1 and 65535")
        return cls(secure=scheme == "grpcs", target=f"{host.lower()}:{int(port)}")
