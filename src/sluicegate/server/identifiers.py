"""Ids of jobs, tokenizers and workers."""

from __future__ import annotations

import secrets
import time
import uuid


def uuid7(milliseconds: int, random_bits: int) -> str:
    """A UUID of version 7 (RFC 9562): `milliseconds` since 1970 first, then 74 of `random_bits`."""
    value = (milliseconds & ((1 << 48) - 1)) << 80
    value |= 0x7 << 76 | (random_bits >> 62 & 0xFFF) << 64
    value |= 0b10 << 62 | random_bits & ((1 << 62) - 1)
    return str(uuid.UUID(int=value))


def new_identifier() -> str:
    """A new UUID of version 7."""
    return uuid7(time.time_ns() // 1_000_000, secrets.randbits(74))
