"""Identity of a tenant, as admission knows it: `auth:<tenant>`, `header:<value>` or `ip:<address>`."""

from __future__ import annotations

import ipaddress


def tenant_key(owner: str | None, header: str | None, peer: str) -> str:
    """Return the key of the tenant behind a request.

    `owner` is the tenant name of the presented serving key, `header` the value of the trusted tenant header (None where
    it is not trusted), `peer` the address of the client. A credential always beats the header.
    """
    if owner is not None:
        return f"auth:{owner}"
    if header is not None and (value := header.strip()):
        return f"header:{value}"
    return f"ip:{plain_address(peer)}"


def plain_address(address: str) -> str:
    """Return an IP address in its usual spelling; an IPv4 address inside an IPv6 one is written as IPv4."""
    if address.isascii() and ":" not in address:
        return address
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(parsed)
