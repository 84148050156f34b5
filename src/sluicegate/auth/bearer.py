"""Reading of the `Authorization` header: the scheme `Bearer` and what follows it."""

from __future__ import annotations


def bearer_token(authorization: bytes | None) -> str | None:
    """Return the token of an `Authorization` header value, or None if the header is absent or malformed.

    Only blanks (0x20) separate scheme and token; the whole rest of the value is the token. A value with a byte outside
    ASCII is malformed.
    """
    if authorization is None or not authorization.isascii():
        return None
    scheme, _, token = authorization.strip(b" ").partition(b" ")
    token = token.strip(b" ")
    if not token or scheme.lower() != b"bearer":
        return None
    return token.decode("ascii")
