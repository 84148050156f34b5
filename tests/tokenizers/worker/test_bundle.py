"""Hostile and honest tokenizer bundles."""

from __future__ import annotations

import hashlib
import io
import itertools
import stat
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.tokenizers.worker.bundle import BundleLimits, BundleReceiver, unpack
from sluicegate.tokenizers.worker.errors import BundleError


def archive(*entries: tuple[str | zipfile.ZipInfo, bytes], compression: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as target:
        for name, content in entries:
            target.writestr(name, content)
    return buffer


def special(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info


def receive(messages: list[tuple[bytes, str]], limits: BundleLimits | None = None) -> bytes:
    output = io.BytesIO()
    receiver = BundleReceiver(output, limits or BundleLimits())
    for data, sha256 in messages:
        receiver.feed(data, sha256)
    receiver.finish()
    return output.getvalue()


DIGEST = hashlib.sha256(b"abcdef").hexdigest()


@pytest.mark.parametrize(
    "messages",
    [
        [(b"abcdef", DIGEST)],
        [(b"abc", ""), (b"def", DIGEST.upper())],
        [(b"abcdef", ""), (b"", DIGEST)],
        [(b"abc", "wrong, but not on the last message"), (b"def", DIGEST)],
    ],
)
def test_the_digest_stands_on_the_last_message(messages: list[tuple[bytes, str]]) -> None:
    assert receive(messages) == b"abcdef"


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "without a message"),
        ([(b"abcdef", "")], "without a sha256"),
        ([(b"abc", DIGEST), (b"def", "")], "without a sha256"),
        ([(b"abcdeg", DIGEST)], "does not match its sha256"),
        ([(b"abcdef", "ü" * 64)], "does not match its sha256"),
        ([(b"abcdef", DIGEST + "00")], "does not match its sha256"),
    ],
)
def test_a_stream_that_cannot_be_verified_is_refused(messages: list[tuple[bytes, str]], reason: str) -> None:
    with pytest.raises(BundleError, match=reason):
        receive(messages)


def test_the_size_is_counted_while_receiving() -> None:
    limits = BundleLimits(archive_bytes=6)
    assert receive([(b"abcdef", DIGEST)], limits) == b"abcdef"
    receiver = BundleReceiver(io.BytesIO(), limits)
    receiver.feed(b"abcdef", "")
    with pytest.raises(BundleError, match="larger than 6 bytes"):
        receiver.feed(b"g", "")


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_any_division_into_messages_gives_the_archive(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    messages = [(data[start:end], "") for start, end in itertools.pairwise(edges)]
    messages.append((b"", hashlib.sha256(data).hexdigest()))
    assert receive(messages) == data


def test_only_tokenizer_files_at_the_root_are_written(tmp_path: Path) -> None:
    names = ["tokenizer.json", "x.tiktoken", "chat.jinja", "a.model", "config.json"]
    others = ["weights.bin", "sub/tokenizer.json", "Tokenizer.JSON", "tokenizer.json.bak", "run.py"]
    bundle = archive(*[(name, name.encode()) for name in names + others])
    assert unpack(bundle, tmp_path) == sorted(names)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: name for name in names}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("/etc/tokenizer.json", "absolute"),
        ("../tokenizer.json", r"'\.\.'"),
        ("a/../tokenizer.json", r"'\.\.'"),
        ("..\\tokenizer.json", "backslash"),
        ("C:tokenizer.json", "drive"),
        ("C:/tokenizer.json", "drive"),
        ("./tokenizer.json", "no plain file name"),
        ("a//tokenizer.json", "no plain file name"),
        ("tokenizer\n.json", "no plain file name"),
        ("sub/", "not a plain file"),
        (special("tokenizer.json", stat.S_IFLNK | 0o777), "a link"),
        (special("tokenizer.json", stat.S_IFIFO | 0o600), "not a plain file"),
        (special("tokenizer.json", stat.S_IFDIR | 0o700), "not a plain file"),
        (special("tokenizer.json", stat.S_IFCHR | 0o600), "not a plain file"),
    ],
)
def test_entries_that_no_honest_bundle_has(tmp_path: Path, entry: str | zipfile.ZipInfo, reason: str) -> None:
    with pytest.raises(BundleError, match=reason):
        unpack(archive(("config.json", b"{}"), (entry, b"target")), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_name_cut_by_nul_is_seen_whole(tmp_path: Path) -> None:
    bundle = archive(("tokenizer.json#", b"x")).getvalue().replace(b"tokenizer.json#", b"tokenizer.json\0")
    with pytest.raises(BundleError, match="no plain file name"):
        unpack(io.BytesIO(bundle), tmp_path)


def test_two_entries_of_one_name(tmp_path: Path) -> None:
    bundle = archive(("tokenizer.json", b"1"), ("tokenizer.jsoX", b"2")).getvalue()
    with pytest.raises(BundleError, match=r"two entries named 'tokenizer\.json'"):
        unpack(io.BytesIO(bundle.replace(b"tokenizer.jsoX", b"tokenizer.json")), tmp_path)


def test_the_number_of_entries_is_bounded(tmp_path: Path) -> None:
    fifty = [(f"{index}.model", b"") for index in range(50)]
    assert len(unpack(archive(*fifty), tmp_path)) == 50
    with pytest.raises(BundleError, match="51 entries, more than 50"):
        unpack(archive(*fifty, ("one-more.bin", b"")), tmp_path)


def test_a_huge_directory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    bundle = archive(*[(f"{index:0100}", b"") for index in range(8000)], compression=zipfile.ZIP_STORED)
    with pytest.raises(BundleError, match="its directory is too large"):
        unpack(bundle, tmp_path)


@pytest.mark.parametrize("name", ["tokenizer.json", "not-wanted.bin"])
def test_a_bomb_is_counted_while_inflating(tmp_path: Path, name: str) -> None:
    limits = BundleLimits(unpacked_bytes=1 << 20)
    assert unpack(archive(("config.json", b"{}"), ("vocab.json", bytes(limits.unpacked_bytes - 2))), tmp_path, limits)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    with pytest.raises(BundleError, match="unpacks to more than 1048576 bytes"):
        unpack(archive(("config.json", b"{}"), (name, bytes(limits.unpacked_bytes))), elsewhere, limits)
    assert sum(path.stat().st_size for path in elsewhere.iterdir()) <= limits.unpacked_bytes


def test_a_declared_size_is_not_believed(tmp_path: Path) -> None:
    content = bytes(100_000)
    honest = archive(("tokenizer.json", content)).getvalue()
    with pytest.raises(BundleError):
        unpack(io.BytesIO(honest.replace(len(content).to_bytes(4, "little"), (10).to_bytes(4, "little"))), tmp_path)


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\x03\x04" + bytes(100)])
def test_what_is_no_archive(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BundleError, match="not a ZIP archive"):
        unpack(io.BytesIO(data), tmp_path)


@pytest.mark.parametrize("bundle", [archive(), archive(("README.md", b"")), archive(("a/tokenizer.json", b"{}"))])
def test_an_archive_without_tokenizer_files(tmp_path: Path, bundle: io.BytesIO) -> None:
    with pytest.raises(BundleError, match="no tokenizer file at its root"):
        unpack(bundle, tmp_path)


def test_a_damaged_entry(tmp_path: Path) -> None:
    bundle = bytearray(archive(("tokenizer.json", bytes(range(256)) * 40), compression=zipfile.ZIP_STORED).getvalue())
    bundle[500] ^= 1
    with pytest.raises(BundleError, match="CRC"):
        unpack(io.BytesIO(bytes(bundle)), tmp_path)


def test_other_compressions_and_encryption_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="compressed by method 14"):
        unpack(archive(("tokenizer.json", b"x"), compression=zipfile.ZIP_LZMA), tmp_path)
    bundle = bytearray(archive(("tokenizer.json", b"x")).getvalue())
    bundle[bundle.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(BundleError, match="encrypted"):
        unpack(io.BytesIO(bytes(bundle)), tmp_path)


@given(st.integers(0, 400), st.binary(min_size=1, max_size=4))
def test_any_damage_ends_in_a_bundle_error_or_in_whole_files(
    tmp_path_factory: pytest.TempPathFactory, at: int, damage: bytes
) -> None:
    bundle = bytearray(archive(("tokenizer.json", b"{}" * 30), ("vocab.json", b"[]")).getvalue())
    bundle[at : at + len(damage)] = damage
    try:
        names = unpack(io.BytesIO(bytes(bundle)), directory := tmp_path_factory.mktemp("bundle"))
    except BundleError:
        return
    assert [path.name for path in sorted(directory.iterdir())] == names
    assert {path.read_bytes() for path in directory.iterdir()} <= {b"{}" * 30, b"[]"}
