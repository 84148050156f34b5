"""The tokenizer bundle of a worker: one ZIP archive in consecutive messages, received and unpacked without trust.

Wire contract: `GetTokenizerChunk { bytes data = 1; string sha256 = 2; }` of `smg.grpc.common`; the last message carries
the SHA-256 of the whole archive in hexadecimal. Whoever sends it is not trusted: sizes are counted while receiving
and while inflating, never taken from a header, and only plain files of known names are written.
"""

from __future__ import annotations

import hashlib
import io
import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

from sluicegate.tokenizers.worker.errors import BundleError

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "tiktoken.model",
    "chat_template.json",
    "*.tiktoken",
    "*.jinja",
    "*.model",
)
"""The files at the root of the archive that are written; everything else is checked and thrown away."""

_PIECE = 1 << 16
# 50 entries need a few KiB; the bound keeps a hostile directory of millions of entries out of memory.
_MAXIMUM_SINGLE_READ = 1 << 20


@dataclass(frozen=True, slots=True)
class BundleLimits:
    """Bounds of one bundle: the archive in bytes, its entries, and the bytes of all entries together once inflated."""

    archive_bytes: int = 209_715_200
    entries: int = 50
    unpacked_bytes: int = 500 * 1024 * 1024


DEFAULT_LIMITS = BundleLimits()


class BundleReceiver:
    """Writes the messages of one `GetTokenizer` stream to `output` and checks size and digest on the way."""

    def __init__(self, output: BinaryIO, limits: BundleLimits = DEFAULT_LIMITS) -> None:
        self._output = output
        self._limits = limits
        self._digest = hashlib.sha256()
        self._size = 0
        self._messages = 0
        self._announced = ""

    def feed(self, data: bytes, sha256: str) -> None:
        """Take one message. Raises `BundleError` as soon as the archive is larger than the limit."""
        self._messages += 1
        self._size += len(data)
        if self._size > self._limits.archive_bytes:
            raise BundleError(f"The tokenizer bundle is larger than {self._limits.archive_bytes} bytes")
        self._digest.update(data)
        self._output.write(data)
        self._announced = sha256

    def finish(self) -> None:
        """Take the end of the stream. Raises `BundleError` when nothing came or the digest is missing or wrong."""
        if not self._messages:
            raise BundleError("The worker sent no tokenizer bundle (the stream ended without a message)")
        if not self._announced:
            raise BundleError("The tokenizer bundle ended without a sha256 on its last message")
        received = self._digest.hexdigest()
        if self._announced.lower() != received:
            raise BundleError(
                f"The tokenizer bundle does not match its sha256: announced {self._announced[:64]!r}, "
                f"received {received}"
            )


def unpack(archive: BinaryIO, directory: Path, limits: BundleLimits = DEFAULT_LIMITS) -> list[str]:
    """Unpack the tokenizer files of `archive` into the empty `directory`; the names written, sorted.

    Raises `BundleError` for everything that no honest bundle contains. What was already written stays: the caller
    owns `directory` and removes it.
    """
    try:
        with zipfile.ZipFile(_BoundedReads(archive)) as bundle:
            entries = bundle.infolist()
            _check_directory(entries, limits)
            written = _unpack_entries(bundle, entries, directory, limits)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, ValueError) as error:
        raise BundleError(f"The tokenizer bundle is not a ZIP archive that can be read: {error}") from error
    if not written:
        raise BundleError("The tokenizer bundle has no tokenizer file at its root")
    return sorted(written)


def _check_directory(entries: list[zipfile.ZipInfo], limits: BundleLimits) -> None:
    if len(entries) > limits.entries:
        raise BundleError(f"The tokenizer bundle has {len(entries)} entries, more than {limits.entries}")
    seen: set[str] = set()
    for entry in entries:
        # ZipInfo.filename is cut at a NUL and rewritten on some platforms; what the worker sent is here.
        name = entry.orig_filename
        if problem := _name_problem(name) or _kind_problem(entry):
            raise BundleError(f"The tokenizer bundle has an entry {name!r}, {problem}")
        if name in seen:
            raise BundleError(f"The tokenizer bundle has two entries named {name!r}")
        seen.add(name)


def _name_problem(name: str) -> str:
    if name.startswith("/"):
        return "an absolute path"
    if "\\" in name:
        return "a name with a backslash"
    if name[1:2] == ":":
        return "a name with a drive"
    if ".." in name.split("/"):
        return "a path with '..'"
    if not name.isprintable() or any(part in ("", ".") for part in name.removesuffix("/").split("/")):
        return "which is no plain file name"
    return ""


def _kind_problem(entry: zipfile.ZipInfo) -> str:
    mode = entry.external_attr >> 16
    if stat.S_ISLNK(mode):
        return "a link"
    if entry.orig_filename.endswith("/") or (stat.S_IFMT(mode) and not stat.S_ISREG(mode)):
        return "not a plain file"
    if entry.flag_bits & 0x1:
        return "which is encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"compressed by method {entry.compress_type} (stored and deflated are read)"
    return ""


def _unpack_entries(
    bundle: zipfile.ZipFile, entries: list[zipfile.ZipInfo], directory: Path, limits: BundleLimits
) -> list[str]:
    """Inflate every entry, also those that are not kept, so that each one is counted and its checksum holds."""
    written: list[str] = []
    unpacked = 0
    for entry in entries:
        name = entry.orig_filename
        wanted = any(fnmatchcase(name, pattern) for pattern in TOKENIZER_FILES) and "/" not in name
        with bundle.open(entry) as source, _output(directory, name, wanted) as target:
            while piece := source.read(_PIECE):
                unpacked += len(piece)
                if unpacked > limits.unpacked_bytes:
                    raise BundleError(f"The tokenizer bundle unpacks to more than {limits.unpacked_bytes} bytes")
                if wanted:
                    target.write(piece)
        if wanted:
            written.append(name)
    return written


def _output(directory: Path, name: str, wanted: bool) -> BinaryIO:
    if not wanted:
        return io.BytesIO()
    try:
        return (directory / name).open("xb")
    except FileExistsError as error:  # two names that differ only in case, on a file system that ignores case
        raise BundleError(f"The tokenizer bundle has two entries named {name!r}") from error


class _BoundedReads(io.BufferedIOBase):
    """A view of a binary file that refuses to read much at once.

    `zipfile` reads the archive's directory in one call, as long as the archive says; it reads entries in pieces.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int | None = -1, /) -> bytes:
        asked = -1 if size is None else size
        data = self._file.read(min(asked, _MAXIMUM_SINGLE_READ + 1) if asked >= 0 else _MAXIMUM_SINGLE_READ + 1)
        if len(data) > _MAXIMUM_SINGLE_READ:
            raise zipfile.BadZipFile("its directory is too large")
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True
