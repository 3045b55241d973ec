"""One bad file of a tree is named and never ends an ingest; the rest is read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import socket
import struct
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from ttastats.base.errors import TtastatsError
from ttastats.base.records import Run
from ttastats.ingestion import registry
from ttastats.ingestion.ingest import Account, ingest
from ttastats.table import store

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LOGS = 10


@pytest.fixture
def tree(two_systems: Path, tmp_path: Path) -> Path:
    """Return a folder with ten good logs, to which a test adds a bad one."""
    shutil.copytree(two_systems / "one_gpu", tmp_path / "tree" / "one_gpu")
    return tmp_path / "tree"


@pytest.fixture
def log(tree: Path) -> bytes:
    return (tree / "one_gpu" / "digits" / "result_0.txt").read_bytes()


def read(tree: Path) -> Account:
    return ingest([tree], tree.parent / "out.parquet", workers=1)


def rejected(account: Account) -> dict[str, str]:
    """Return the messages by the names of the files."""
    return {str(p.source).rsplit("/", 1)[-1]: p.message for p in account.rejected}


def a_tar(log: bytes, names: tuple[str, ...], form: int = tarfile.PAX_FORMAT) -> bytearray:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for number, name in enumerate(names):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(log), 1.5  # a fraction makes a pax header
            archive.addfile(member, io.BytesIO(log.replace(b"1000", b"2%03d" % number)))
    return bytearray(buffer.getvalue())


class TestArchives:
    @pytest.mark.parametrize("record", [b"00 mtime=1.5\n", b"22 GNU.sparse.map=a,b\n"])
    def test_a_tar_with_a_broken_pax_header_is_read_up_to_there(
        self, record: bytes, tree: Path, log: bytes
    ) -> None:
        packed = a_tar(log, ("a/result_0.txt", "a/result_1.txt", "a/result_2.txt"))
        start = packed.rindex(b"mtime=") - 3
        size = (
            packed.rindex(b"PaxHeader") // 512 * 512 + 124
        )  # where the header says how long the records are
        packed[size : size + 12] = b"%011o\0" % len(record)
        header = size - 124
        packed[header + 148 : header + 156] = b" " * 8
        packed[header + 148 : header + 156] = b"%06o\0 " % sum(packed[header : header + 512])
        packed[start : start + len(record)] = record
        (tree / "all.tar").write_bytes(packed)
        account = read(tree)
        assert account.runs == LOGS + 2
        assert "is corrupt" in rejected(account)["all.tar"]
        assert "only 2 of its files" in rejected(account)["all.tar"]

    def test_a_tar_whose_header_is_garbage_does_not_seem_complete(
        self, tree: Path, log: bytes
    ) -> None:
        packed = a_tar(log, ("a/result_0.txt", "a/result_1.txt"), tarfile.GNU_FORMAT)
        header = packed.index(b"a/result_1.txt")
        packed[header : header + 512] = b"#" * 512
        (tree / "all.tar").write_bytes(packed)
        account = read(tree)
        assert account.runs == LOGS + 1
        assert "a header is corrupt" in rejected(account)["all.tar"]

    def test_a_tar_that_was_cut_is_read_up_to_there(self, tree: Path, log: bytes) -> None:
        names = tuple(f"a/result_{number}.txt" for number in range(20))
        packed = bytes(a_tar(log, names))
        (tree / "all.tar").write_bytes(packed[: len(packed) // 2])
        account = read(tree)
        assert LOGS + 8 <= account.runs < LOGS + 20
        assert any("is corrupt" in message for message in rejected(account).values())

    @pytest.mark.parametrize(
        ("ending", "compress"),
        [("gz", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress)],
    )
    def test_a_compressed_tar_that_was_cut_is_named(
        self, ending: str, compress: Callable[[bytes], bytes], tree: Path, log: bytes
    ) -> None:
        packed = compress(bytes(a_tar(log, ("a/result_0.txt", "a/result_1.txt"))))
        (tree / f"all.tar.{ending}").write_bytes(packed[: len(packed) * 3 // 4])
        account = read(tree)
        assert account.runs >= LOGS
        assert f"all.tar.{ending}" in rejected(account)

    def test_an_encrypted_member_is_named(self, tree: Path, log: bytes) -> None:
        _zip(tree / "all.zip", log, encrypted=True)
        account = read(tree)
        assert account.runs == LOGS + 1
        assert "encrypted" in rejected(account)["result_0.txt"]

    def test_a_member_of_an_unknown_method_is_named(self, tree: Path, log: bytes) -> None:
        _zip(tree / "all.zip", log, method=99)
        account = read(tree)
        assert account.runs == LOGS + 1
        assert "compression method" in rejected(account)["result_0.txt"]

    def test_a_bad_archive_in_a_tree_ends_nothing(self, tree: Path) -> None:
        for name in ("a.zip", "b.tar", "c.tar.gz", "d.tar.zst", "e.tgz"):
            (tree / name).write_bytes(b"PK no archive")
        (tree / "empty.tar").write_bytes(b"")
        account = read(tree)
        assert account.runs == LOGS
        assert len(account.rejected) == 6
        assert all("cannot be read as an archive" in p.message for p in account.rejected)


def _zip(path: Path, log: bytes, *, encrypted: bool = False, method: int = 0) -> None:
    """Write an archive with a log that cannot be read, one that can, and a bad description."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a/result_0.txt", "a/systems.json", "a/result_1.txt"):
            archive.writestr(name, log)
    data = bytearray(path.read_bytes())
    for name in (b"a/result_0.txt", b"a/systems.json"):
        for magic, flags, of_method, length in ((b"PK\3\4", 6, 8, 30), (b"PK\1\2", 8, 10, 46)):
            start = _header(data, magic, length, name)
            if encrypted:
                data[start + flags] |= 1
            if method:
                struct.pack_into("<H", data, start + of_method, method)
    path.write_bytes(data)


def _header(data: bytearray, magic: bytes, length: int, name: bytes) -> int:
    start = data.find(magic)
    while data[start + length : start + length + len(name)] != name:
        start = data.find(magic, start + 1)
    return start


class TestFiles:
    @pytest.mark.parametrize(
        ("ending", "compress"),
        [
            ("gz", gzip.compress),
            ("xz", lzma.compress),
            ("bz2", bz2.compress),
            ("zst", zstd.compress),
        ],
    )
    def test_a_compressed_log_that_was_cut_is_named(
        self, ending: str, compress: Callable[[bytes], bytes], tree: Path, log: bytes
    ) -> None:
        whole = compress(log)
        (tree / f"cut.txt.{ending}").write_bytes(whole[: len(whole) // 2])
        account = read(tree)
        assert account.runs == LOGS
        (message,) = rejected(account).values()
        assert "end-of-stream marker" in message or "Compressed file ended" in message

    def test_a_link_that_leads_nowhere_is_named(self, tree: Path) -> None:
        (tree / "gone.txt").symlink_to("nowhere.txt")
        (tree / "self.txt").symlink_to("self.txt")
        account = read(tree)
        assert account.runs == LOGS
        assert rejected(account) == {
            "gone.txt": "broken link",
            "self.txt": "broken link",
        }

    def test_a_link_that_is_named_and_leads_nowhere_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "gone.txt").symlink_to("nowhere.txt")
        with pytest.raises(TtastatsError, match="No such file"):
            ingest([tmp_path / "gone.txt"], tmp_path / "out.parquet")

    def test_a_file_that_may_not_be_read_is_named(
        self, tree: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = open

        def refuse(path: str, *words: Any, **more: Any) -> Any:
            if str(path).endswith("result_3.txt"):
                raise PermissionError(13, "Permission denied")
            return whole(path, *words, **more)

        monkeypatch.setattr("builtins.open", refuse)
        account = read(tree)
        assert account.runs == LOGS - 1
        assert rejected(account) == {"result_3.txt": "Permission denied"}

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_pipes_and_sockets_in_a_tree_are_no_logs(
        self, tree: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        os.mkfifo(tree / "pipe.txt")
        os.mkfifo(tree / "one_gpu" / "systems.json")
        monkeypatch.chdir(tree)  # the name of a socket must be short
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket.txt")
            account = read(tree)
        assert (account.runs, account.problems) == (LOGS, ())

    def test_a_folder_may_be_named_like_a_log_or_an_archive(self, tree: Path, log: bytes) -> None:
        for name in ("x.txt", "y.zip", "z.tar.gz"):
            (tree / name).mkdir()
            (tree / name / f"result_{name[0]}.txt").write_bytes(log.replace(b"1000", name.encode()))
        account = read(tree)
        assert (account.runs, account.rejected) == (LOGS + 3, ())

    def test_marks_nul_bytes_and_nothing_at_all_end_nothing(self, tree: Path, log: bytes) -> None:
        (tree / "marked.txt").write_bytes(b"\xef\xbb\xbf" + log.replace(b"1000", b"3000"))
        (tree / "nul.txt").write_bytes(b"\0" * 5_000 + log.replace(b"1000", b"3001"))
        (tree / "nothing.txt").write_bytes(b"")
        account = read(tree)
        assert (account.runs, account.other_files) == (LOGS + 2, 1)
        assert account.rejected == ()
        for name in ("nothing.txt", "only.txt"):
            (tree / name).write_bytes(b"" if name == "nothing.txt" else b"\0" * 100)
            with pytest.raises(TtastatsError, match="not a log of a known dialect"):
                ingest([tree / name], tree.parent / "other.parquet")

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
    def test_a_log_in_utf_16_is_named(self, encoding: str, tree: Path, log: bytes) -> None:
        mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
        (tree / "wide.txt").write_bytes(mark + log.decode().encode(encoding))
        (tree / "other.txt").write_bytes("no log".encode("utf-16"))
        account = read(tree)
        assert (account.runs, account.other_files) == (LOGS, 1)
        assert rejected(account) == {"wide.txt": "a log in UTF-16; convert it to UTF-8"}

    @pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
    def test_an_archive_with_names_that_are_no_text_is_read(self, tree: Path, log: bytes) -> None:
        odd = os.fsdecode(os.fsencode(tree) + b"/caf\xe9.tar")
        Path(odd).write_bytes(a_tar(log, ("a\udce9/result_0.txt",), tarfile.GNU_FORMAT))
        account = read(tree)
        assert (account.runs, account.rejected) == (LOGS + 1, ())
        sources = store.read_tables([account.output]).select("source").unique().collect()
        assert f"{tree}/caf\\xe9.tar/a\\xe9/result_0.txt" in sources.to_series().to_list()


class TestDialects:
    """A dialect of another package may do anything; its file is named and the others are read."""

    @pytest.fixture(params=["raises", "misfits"])
    def account(self, request: Any, tree: Path, monkeypatch: pytest.MonkeyPatch) -> Account:
        def parse(log: Any) -> list[Run]:
            if request.param == "raises":
                raise KeyError("never thought of")
            return [Run(seed=10**30), Run(suite=log.name)]

        other = SimpleNamespace(name="other", recognises=lambda h: h[:5] == b"other", parse=parse)
        known = dict(registry.dialects())
        monkeypatch.setattr(registry, "dialects", lambda: {**known, "other": other})
        monkeypatch.setattr(registry, "_recognisers", registry._recognisers.__wrapped__)
        (tree / "other.txt").write_bytes(b"other")
        return read(tree)

    def test_one_that_fails_is_named_with_its_file(self, account: Account) -> None:
        (problem,) = account.rejected
        assert problem.code == "dialect_failed"
        assert str(problem.source).endswith("other.txt")
        assert problem.message.startswith("the dialect other failed: ")
        assert account.runs >= LOGS
        assert pl.read_parquet(account.output)["source"].n_unique() >= LOGS
