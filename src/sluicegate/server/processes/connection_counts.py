"""How many connections each process has, in memory that all of them share: what keeps their numbers equal.

Each process writes its own number alone. Nothing depends on what is read being the latest: a connection that goes to
the wrong process is served as well.
"""

from __future__ import annotations

import mmap
import tempfile
from array import array
from struct import calcsize
from typing import IO, Final

_KIND: Final = "i"
ABSENT = 2**31 - 1
"""Stands for a process that accepts no connections."""


def make_file(processes: int) -> IO[bytes]:
    """The memory for so many processes, as a file without a name that they inherit."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller
    file.write(array(_KIND, [ABSENT] * processes).tobytes())
    file.flush()
    return file


class ConnectionCounts:
    """The numbers, by the number of the process (from 1). `descriptor` is that of the file."""

    def __init__(self, descriptor: int, processes: int) -> None:
        self._memory = mmap.mmap(descriptor, calcsize(_KIND) * processes)
        self._counts = memoryview(self._memory).cast(_KIND)

    def set(self, number: int, connections: int) -> None:
        """Note how many connections a process has, or `ABSENT`."""
        self._counts[number - 1] = connections

    def has_more_than_others(self, number: int) -> bool:
        """Whether another process has fewer connections."""
        return self._counts[number - 1] > min(self._counts)
