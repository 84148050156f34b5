"""Memory that was freed, given back to the system; and what stays, kept out of garbage collections."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress


def release_freed_memory() -> None:
    """Give back what the C library keeps of freed memory: after loading a tokenizer, a fifth of the process.

    Only glibc has a call for it; elsewhere nothing happens. Blocks for some milliseconds.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def freeze_present_objects() -> None:
    """Keep all present objects out of garbage collections; they go, as most do, with the last reference.

    Collections look at all of the others at once, and everything waits: with the modules for 20 to 60 ms.
    """
    gc.freeze()
