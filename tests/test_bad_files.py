"""One bad file of a tree is named and never ends an ingest; the rest is read."""

from __future__ import annotations

import io
import os
import re
import shutil
import socket
import struct
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from tests import made_logs
from tests.accepted import Case, cases
from tests.conftest import ROOT
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Run
from ttastats.ingestion import registry
from ttastats.ingestion.ingest import Account, ingest
from ttastats.table import store

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
    """Return the messages by file."""
    return {str(p.source).rsplit("/", 1)[-1]: p.message for p in account.rejected}


def a_tar(log: bytes, names: tuple[str, ...], form: int = tarfile.PAX_FORMAT) -> bytearray:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for number, name in enumerate(names):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(log), 1.5  # a fraction makes a pax header
            archive.addfile(member, io.BytesIO(log.replace(b"1000", b"2%03d" % number)))
    return bytearray(buffer.getvalue())


def with_a_pax_header(log: bytes, record: bytes) -> bytes:
    """Return an archive of three logs, the records of the last of which are something else."""
    packed = a_tar(log, ("a/result_0.txt", "a/result_1.txt", "a/result_2.txt"))
    start = packed.rindex(b"mtime=") - 3
    header = packed.rindex(b"PaxHeader") // 512 * 512
    packed[header + 124 : header + 136] = b"%011o\0" % len(record)
    packed[header + 148 : header + 156] = b" " * 8
    packed[header + 148 : header + 156] = b"%06o\0 " % sum(packed[header : header + 512])
    packed[start : start + len(record)] = record
    return bytes(packed)


def with_a_garbled_header(log: bytes) -> bytes:
    packed = a_tar(log, ("a/result_0.txt", "a/result_1.txt"), tarfile.GNU_FORMAT)
    header = packed.index(b"a/result_1.txt")
    packed[header : header + 512] = b"#" * 512
    return bytes(packed)


def a_cut_tar(log: bytes) -> bytes:
    packed = bytes(a_tar(log, tuple(f"a/result_{number}.txt" for number in range(20))))
    return packed[: len(packed) // 2]


def a_zip(log: bytes, *, encrypted: bool = False, method: int = 0) -> bytes:
    """Return an archive with a log that cannot be read, one that can, and a bad description."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("a/result_0.txt", "a/systems.json", "a/result_1.txt"):
            archive.writestr(name, log)
    data = bytearray(buffer.getvalue())
    for name in (b"a/result_0.txt", b"a/systems.json"):
        for magic, flags, of_method, length in ((b"PK\3\4", 6, 8, 30), (b"PK\1\2", 8, 10, 46)):
            start = data.find(magic)
            while data[start + length : start + length + len(name)] != name:
                start = data.find(magic, start + 1)
            if encrypted:
                data[start + flags] |= 1
            if method:
                struct.pack_into("<H", data, start + of_method, method)
    return bytes(data)


#: Files beside ten good logs, made of one of them.
BAD: dict[str, Callable[[bytes], dict[str, bytes]]] = {
    "a number in a pax header": lambda log: {"all.tar": with_a_pax_header(log, b"00 mtime=1.5\n")},
    "a map of GNU in it": lambda log: {
        "all.tar": with_a_pax_header(log, b"22 GNU.sparse.map=a,b\n")
    },
    "a header of garbage": lambda log: {"all.tar": with_a_garbled_header(log)},
    "a tar file that was cut": lambda log: {"all.tar": a_cut_tar(log)},
    "an encrypted member": lambda log: {"all.zip": a_zip(log, encrypted=True)},
    "a member of an unknown method": lambda log: {"all.zip": a_zip(log, method=99)},
    "no archives": lambda _: {
        "empty.tar": b"",
        **dict.fromkeys(("a.zip", "b.tar", "c.tar.gz", "d.tar.zst", "e.tgz"), b"PK no archive"),
    },
    "folders named like logs and archives": lambda log: {
        f"{name}/result_{name[0]}.txt": log.replace(b"1000", name.encode())
        for name in ("x.txt", "y.zip", "z.tar.gz")
    },
    "marks, bytes of zero and nothing": lambda log: {
        "marked.txt": b"\xef\xbb\xbf" + log.replace(b"1000", b"3000"),
        "nul.txt": b"\0" * 5_000 + log.replace(b"1000", b"3001"),
        "nothing.txt": b"",
    },
    "logs in UTF-16": lambda log: {
        "wide.txt": log.decode().encode("utf-16"),
        "other_end.txt": b"\xfe\xff" + log.decode().encode("utf-16-be"),
        "other.txt": "no log".encode("utf-16"),
    },
}


#: What Python says of a file, in other words from version to version.
OF_PYTHON = re.compile(r" \(.*?\)|: .*|<.*>")


def of_bad_files() -> Iterator[Any]:
    example = ROOT / "examples" / "two_systems" / "Example" / "results" / "one_gpu"
    log = (example / "digits" / "result_0.txt").read_bytes()
    for name, make in BAD.items():
        with TemporaryDirectory() as place:
            shutil.copytree(example, Path(place) / "tree" / "one_gpu")
            made_logs.write(Path(place) / "tree", make(log))
            account = read(Path(place) / "tree")
            texts = {file: OF_PYTHON.sub("", text) for file, text in rejected(account).items()}
            yield name, account.runs, account.other_files, texts


@cases("pieces", of_bad_files=of_bad_files)
def test_bad_files_are_named_and_the_others_read_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


@pytest.mark.parametrize(("ending", "compress"), made_logs.COMPRESSED.items())
def test_truncated_files_are_named(
    ending: str, compress: Callable[[bytes], bytes], tree: Path, log: bytes
) -> None:
    alone = compress(log)
    (tree / f"cut.txt.{ending}").write_bytes(alone[: len(alone) // 2])
    archive = compress(bytes(a_tar(log, ("a/result_0.txt", "a/result_1.txt"))))
    (tree / f"all.tar.{ending}").write_bytes(archive[: len(archive) * 3 // 4])
    account = read(tree)
    assert account.runs >= LOGS
    assert {f"all.tar.{ending}", f"cut.txt.{ending}"} <= rejected(account).keys()


def test_a_named_file_of_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "zeros.txt").write_bytes(b"\0" * 100)
    (tmp_path / "gone.txt").symlink_to("nowhere.txt")
    unknown = "not a log of a known dialect"
    for name, why in (("empty", unknown), ("zeros", unknown), ("gone", "No such file")):
        with pytest.raises(TtastatsError, match=why):
            ingest([tmp_path / f"{name}.txt"], tmp_path / "x.parquet")


def test_a_link_that_leads_nowhere_is_named_and_a_loop_ends(tree: Path) -> None:
    (tree / "loop").symlink_to(tree, target_is_directory=True)
    (tree / "gone.txt").symlink_to("nowhere.txt")
    (tree / "self.txt").symlink_to("self.txt")
    account = read(tree)
    assert account.runs == LOGS
    assert rejected(account) == {"gone.txt": "broken link", "self.txt": "broken link"}


@pytest.mark.parametrize(
    ("call", "name", "lost"), [("builtins.open", "result_3.txt", 1), ("os.scandir", "locked", 0)]
)
def test_a_file_or_folder_that_may_not_be_read_is_named(
    call: str, name: str, lost: int, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = resolve_name(call)

    def refuse(path: str, *words: Any, **more: Any) -> Any:
        if str(path).endswith(name):
            raise PermissionError(13, "Permission denied")
        return whole(path, *words, **more)

    (tree / "locked").mkdir()
    monkeypatch.setattr(call, refuse)
    account = read(tree)
    assert account.runs == LOGS - lost
    assert rejected(account) == {name: "Permission denied"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_and_sockets_in_a_tree_are_no_logs(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tree / "pipe.txt")
    os.mkfifo(tree / "one_gpu" / "systems.json")
    monkeypatch.chdir(tree)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.txt")
        account = read(tree)
    assert (account.runs, account.problems) == (LOGS, ())


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_an_archive_with_names_that_are_no_text_is_read(tree: Path, log: bytes) -> None:
    odd = os.fsdecode(os.fsencode(tree) + b"/caf\xe9.tar")
    Path(odd).write_bytes(a_tar(log, ("a\udce9/result_0.txt",), tarfile.GNU_FORMAT))
    account = read(tree)
    assert (account.runs, account.rejected) == (LOGS + 1, ())
    sources = store.read_tables([account.output]).select("source").unique().collect()
    assert f"{tree}/caf\\xe9.tar/a\\xe9/result_0.txt" in sources.to_series().to_list()


def raising(log: Any) -> list[Run]:
    raise KeyError("never thought of")


def misfitting(log: Any) -> list[Run]:
    return [Run(seed=10**30), Run(suite=log.name)]


@pytest.mark.parametrize("parse", [raising, misfitting])
def test_a_dialect_of_others_that_fails_is_named_with_its_file(
    parse: Callable[[Any], list[Run]], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SimpleNamespace(name="other", recognises=lambda h: h[:5] == b"other", parse=parse)
    known = {**registry.dialects(), "other": other}
    monkeypatch.setattr(registry, "dialects", lambda: known)
    monkeypatch.setattr(registry, "_recognisers", registry._recognisers.__wrapped__)
    (tree / "other.txt").write_bytes(b"other")
    account = read(tree)
    (problem,) = account.rejected
    assert (problem.code, Path(str(problem.source)).name) == ("dialect_failed", "other.txt")
    assert problem.message.startswith("the dialect other failed: ")
    assert account.runs >= LOGS
    assert pl.read_parquet(account.output)["source"].n_unique() >= LOGS
