"""No file takes more memory than its limit, whatever it lies in; what exceeds it is named."""

from __future__ import annotations

import base64
import gzip
import io
import json
import lzma
import re
import sqlite3
import sys
import tarfile
import tracemalloc
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests import made_stores as stores
from tests.programs import python
from ttastats.base import stores as base_stores
from ttastats.base import streams
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import tracking
from ttastats.ingestion.containers import opened
from ttastats.ingestion.ingest import Account, ingest
from ttastats.ingestion.registry import named
from ttastats.table import schema, store
from ttastats_parsers import mlflow_db, mlperf_layout

MB = streams.MEGABYTE
#: Runs a command line under a limit on its address space and prints its peak in MB at the end.
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
sys.argv = ["ttastats", *sys.argv[1:]]
from ttastats import cli
try:
    cli.main()
finally:
    lines = open("/proc/self/status").read().splitlines()
    print("peak", next(int(line.split()[1]) // 1024 for line in lines if "VmHWM" in line))
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")


def limited(*words: str | Path) -> tuple[int, str, int]:
    """Return the exit code of a command, what it wrote on stderr, and its peak in MB."""
    ended = python("-c", LIMITED, *words)
    return ended.returncode, ended.stderr, int(ended.stdout.split()[-1])


@pytest.fixture
def log(two_systems: Path) -> bytes:
    return (two_systems / "one_gpu" / "digits" / "result_0.txt").read_bytes()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the limit to 1 MB of a file, so a quarter of a document."""
    monkeypatch.setenv(streams.VARIABLE, "1")


def pieces(piece: bytes, megabytes: int) -> Iterator[bytes]:
    for _ in range(megabytes):
        yield piece * (MB // len(piece))


def add(archive: zipfile.ZipFile, name: str, content: Iterable[bytes]) -> None:
    with archive.open(name, "w", force_zip64=True) as member:
        for piece in content:
            member.write(piece)


# --------------------------------------------------------------------------------- bounded memory


def mlflow(generated: str) -> bytes:
    """Return a database of twenty runs with one more column, which is computed."""
    with closing(sqlite3.connect(":memory:")) as connection:
        runs = [{"run_uuid": f"{n:032x}", "name": "a", "start_time": n} for n in range(20)]
        connection.deserialize(stores.mlflow_database(runs, [], []))
        connection.execute(f"ALTER TABLE runs ADD COLUMN more {generated}")
        connection.commit()
        return connection.serialize()


@linux
def test_a_generated_column_of_a_database_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_bytes(mlflow("TEXT GENERATED ALWAYS AS (hex(zeroblob(1e8)))"))
    code, stderr, peak = limited("ingest", tmp_path / "mlflow.db", "-o", tmp_path / "x.parquet")
    assert code == 2
    assert peak < 300
    assert f"{tmp_path}/mlflow.db: no run could be read" in stderr
    assert "a value is longer than 1,024 KiB" in stderr


@linux
def test_a_member_that_unpacks_to_more_than_the_limit_is_named(tmp_path: Path, log: bytes) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
        add(z, "a/trainer_state.json", [b'{"log_history": [', *pieces(b"[],", 300)])
        add(z, "b/systems/one.json", [b'{"a": [', *pieces(b"[],", 70)])
        z.writestr("b/results/one/digits/result_0.txt", log)
    code, stderr, peak = limited("ingest", tmp_path / "all.zip", "-o", tmp_path / "x.parquet")
    assert code == 1
    assert peak < 500
    assert "all.zip/a/trainer_state.json: larger than 64 MB" in stderr
    assert "result_0.txt: read without" in stderr
    assert "b/systems/one.json: larger than 64 MB" in stderr
    runs = pl.read_parquet(tmp_path / "x.parquet").group_by("source").first()
    assert sorted(runs["run_status"]) == ["success", "unreadable"]


def packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 1)).decode()


@linux
def test_a_footer_that_unpacks_to_more_than_the_limit_is_named(
    two_systems: Path, tmp_path: Path
) -> None:
    ingest([two_systems], tmp_path / "x.parquet", workers=1)
    bomb = packed(b"[" + b"[]," * (100 * MB) + b"[]]")
    edited(tmp_path / "x.parquet", {"ttastats.problems": bomb, "ttastats.ledger": bomb})
    code, stderr, peak = limited("problems", tmp_path / "x.parquet")
    assert code == 2
    assert peak < 600
    assert f"{tmp_path}/x.parquet: the problems in its footer cannot be read: larger than" in stderr
    # A list of what was read that cannot be used is none: everything is read again.
    assert ingest([two_systems], tmp_path / "x.parquet", workers=1).unchanged == 0


def test_other_methods_of_a_zip_are_unpacked_in_small_pieces(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_LZMA) as archive:
        add(archive, "result_0.txt", pieces(b"\0", 100))
    tracemalloc.start()
    with opened(str(tmp_path / "a.zip")).open("result_0.txt") as member:
        assert member.read(10) == bytes(10)
        assert len(member.read(3 * MB)) == 3 * MB
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80 * MB


def a_bomb_in_a_zip(log: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        add(archive, "result_0.txt", [log, *pieces(b"\0", 30)])
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.zip", a_bomb_in_a_zip), ("a.tar.xz", lambda _: lzma.compress(bytes(30 * MB)))],
)
def test_an_archive_grows_no_more_than_a_compressed_log(
    name: str,
    content: Callable[[bytes], bytes],
    tmp_path: Path,
    log: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "HARMLESS", MB)
    (tmp_path / name).write_bytes(content(log))
    with pytest.raises(TtastatsError, match="more than 1,000 times when decompressed"):
        ingest([tmp_path / name], tmp_path / "x.parquet", workers=1)


# ----------------------------------------------------------------------------------- the one budget


def parquet() -> bytes:
    buffer = io.BytesIO()
    frame = pl.DataFrame({"seconds": pl.repeat(1.0, 200_000, eager=True), "acc": 0.5})
    frame.write_parquet(buffer)
    return buffer.getvalue()


def arrays() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, timesteps=np.arange(9**6), results=np.zeros((9**6, 1)))
    return buffer.getvalue()


def a_long_header() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("result_0.txt")
        member.pax_headers = {"comment": "a" * (2 * MB)}
        archive.addfile(member)
    return buffer.getvalue()


#: Files that are too large where the limit is 1 MB, and what is said of them.
TOO_LARGE: list[tuple[str, Callable[[], bytes], str]] = [
    ("trainer_state.json", lambda: b'{"log_history": [%s]}' % (b" " * (MB // 4)),
     "larger than 0.25 MB, the limit for a file of this kind that is read whole"),
    ("run-a.wandb", lambda: b":W&B\xe1\xbe\x00" + bytes(MB),
     "(stopped at 1 MB; TTASTATS_LIMIT_MB=1 sets it)"),
    ("mlflow.db", lambda: b"SQLite format 3\0latest_metrics" + bytes(MB), "larger than 1 MB"),
    ("0.monitor.csv", lambda: b'#{"t_start": 1.5}\nr,l,t\n' + b"1,1,1\n" * 200_000, "than 1 MB"),
    ("evaluations.npz", arrays, "its arrays are larger"),
    ("log.parquet", parquet, "cells are larger than 1 MB"),
    ("mlflow.db", lambda: mlflow("TEXT GENERATED ALWAYS AS (hex(zeroblob(4e5)))"),
     "the values in its tables are larger"),
    ("a.tar.gz", a_long_header, "larger than 1 MB"),
]  # fmt: skip


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("name", "content", "message"), TOO_LARGE)
def test_a_file_that_is_too_large_is_refused(
    name: str, content: Callable[[], bytes], message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content())
    block = {"metric": "acc", "seconds": "seconds s"} if name == "log.parquet" else None
    with pytest.raises(TtastatsError) as error:
        ingest([tmp_path / name], tmp_path / "x.parquet", block=block, workers=1)
    assert str(error.value.where).startswith(str(tmp_path / name))
    assert message in error.value.what


@pytest.mark.usefixtures("small")
def test_a_description_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ttastats.toml").write_bytes(b"#" * MB)
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    for path in (tmp_path, tmp_path / "a.csv"):
        with pytest.raises(TtastatsError, match=r"cannot be read: larger than 0\.25 MB") as error:
            ingest([path], tmp_path / "x.parquet", workers=1)
        assert error.value.where == str(tmp_path / "ttastats.toml")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("length", "why"), [(2 * MB, ": larger than 1 MB"), (None, " is closed")])
def test_a_standard_input_that_is_too_large_or_closed_is_refused(
    length: int | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = None if length is None else io.TextIOWrapper(io.BytesIO(bytes(length)))
    monkeypatch.setattr(sys, "stdin", stream)  # None where a shell has closed it
    with pytest.raises(TtastatsError, match=f"standard input{why}"):
        ingest(["-"], tmp_path / "x.parquet")


@pytest.mark.parametrize("setting", ["0", "-1", "1e3", "many"])
def test_a_limit_that_is_no_number_is_an_error(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(streams.VARIABLE, setting)
    with pytest.raises(TtastatsError, match="is not a positive whole number"):
        ingest([tmp_path], tmp_path / "x.parquet")


def stated(what: str) -> list[float]:
    """Return the numbers in the row of a limit in SECURITY.md, which begins with some words."""
    text = (Path(__file__).parents[1] / "SECURITY.md").read_text("utf-8")
    (row,) = (line for line in text.splitlines() if line.startswith(f"| {what}"))
    return [float(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", row.split("|")[2])]


#: Rows of SECURITY.md, and the limits that the code has, in the units of the row.
STATED: dict[str, Callable[[], list[float]]] = {
    "a file that is read whole": lambda: [streams.whole_file_limit() / MB],
    "a JSON, YAML or TOML document": lambda: [streams.document_limit() / MB],
    "the values of a database": lambda: [streams.whole_file_limit() / MB],
    "the evaluations of a table": lambda: [streams.EVALUATIONS],
    "a value or a row of a database": lambda: [mlflow_db._LONGEST / MB],
    "an answer of an MLflow server; a run": lambda: [
        streams.document_limit() / 4 / MB, streams.document_limit() / MB
    ],
    "the pages of an answer": lambda: [tracking._PAGES],
    "a page of a web server": lambda: [streams.whole_file_limit() / MB],
    "time in which a server": lambda: [base_stores.PATIENCE],
    "bytes that are decompressed": lambda: [streams.HARMLESS / MB, streams.MOST_GROWTH],
}  # fmt: skip


class TestStatedLimits:
    """Each number of SECURITY.md is that of the code; what meets it is read, and no more."""

    @pytest.mark.parametrize("what", STATED)
    def test_are_those_of_the_code(self, what: str) -> None:
        assert stated(what) == STATED[what]()
        assert mlperf_layout._LARGEST == mlflow_db._LONGEST

    def test_are_all_tested(self) -> None:
        text = (Path(__file__).parents[1] / "SECURITY.md").read_text("utf-8")
        rows = re.findall(r"^\| (?!what|---)(.*?) \|", text, re.MULTILINE)
        assert len(rows) == len(STATED)
        assert all(row.startswith(tuple(STATED)) for row in rows)
        for words in (streams.VARIABLE, f"{base_stores.PROGRESS // 1024} KB",
                      f"{streams.LONGEST_LINE // MB} MB of a line"):  # fmt: skip
            assert words in text

    @pytest.fixture(params=[0, 1], ids=["at the limit", "above it"])
    def more(self, request: pytest.FixtureRequest) -> int:
        """Return by how much a limit is exceeded."""
        more: int = request.param
        return more

    def expect(self, more: int, act: Callable[[], object], what: str = "larger than") -> None:
        """Expect an answer at the limit, and an error above it."""
        if not more:
            assert act()
            return
        with pytest.raises((TtastatsError, streams.TooLargeError), match=what):
            act()

    def ingested(self, path: Path, content: bytes, **words: Any) -> Account:
        path.write_bytes(content)
        return ingest([path], path.with_name("x.parquet"), workers=1, **words)

    @pytest.mark.usefixtures("small")
    def test_of_files(self, more: int, tmp_path: Path, log: bytes, monkeypatch: Any) -> None:
        whole = log.ljust(MB + more, b"\n")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(whole)))
        self.expect(more, lambda: ingest(["-"], tmp_path / "x.parquet").runs)
        monitor = b'#{"t_start": 1.5}\nr,l,t\n1,1,1\n'.ljust(MB + more, b"\n")
        self.expect(more, lambda: self.ingested(tmp_path / "0.monitor.csv", monitor).runs)

    @pytest.mark.usefixtures("small")
    def test_of_documents(self, more: int, tmp_path: Path) -> None:
        steps = b'{"log_history": [{"step": 1, "eval_loss": 2.5}]}'.ljust(MB // 4 + more)
        self.expect(more, lambda: self.ingested(tmp_path / "trainer_state.json", steps).runs)
        toml = b'[[logs]]\nfiles = "*"\nmetric = "acc"\n#'.ljust(MB // 4 + more, b"#")
        (tmp_path / "ttastats.toml").write_bytes(toml)
        self.expect(more, lambda: self.ingested(tmp_path / "a.csv", b"step,acc\n1,2\n").runs)

    @pytest.mark.usefixtures("small")
    def test_of_cells(self, more: int, tmp_path: Path) -> None:
        rows = MB // 8 // 4 + more
        block = {"metric": "acc", "step": "s"}
        lines = b"".join(b'{"s":%d,"acc":2,"a":3,"b":4}\n' % n for n in range(rows))
        self.expect(more, lambda: self.ingested(tmp_path / "a.jsonl", lines, block=block).runs)
        buffer = io.BytesIO()
        numbers = pl.int_range(rows, eager=True)
        columns = dict.fromkeys(("s", "acc", "a", "b"), numbers)
        pl.DataFrame(columns).write_parquet(buffer)
        parquet = buffer.getvalue()
        self.expect(more, lambda: self.ingested(tmp_path / "a.parquet", parquet, block=block).runs)

    @pytest.mark.usefixtures("small")
    def test_of_arrays(self, more: int, tmp_path: Path) -> None:
        size = MB // 4 // 8 + more
        buffer = io.BytesIO()
        np.savez_compressed(buffer, timesteps=np.arange(size), results=np.zeros((size, 1)))
        arrays = buffer.getvalue()
        self.expect(more, lambda: self.ingested(tmp_path / "evaluations.npz", arrays).runs)

    @pytest.mark.parametrize("name", ["a.csv", "0.monitor.csv", "a.jsonl"])
    def test_of_evaluations(
        self, name: str, more: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "EVALUATIONS", 9)
        head = '#{"t_start": 1.5}\nr,l,t\n' if "monitor" in name else "acc,step,x\n"
        line = '{{"acc": 0.{0}, "step": {0}}}\n' if "jsonl" in name else "0.{0},{0},{0}\n"
        rows = "".join(line.format(n) for n in range(9 + more))
        block = None if "monitor" in name else {"metric": "acc", "step": "step"}
        text = (rows if "jsonl" in name else head + rows).encode()
        self.expect(more, lambda: self.ingested(tmp_path / name, text, block=block).runs,
                    "are more than 9, the limit for a file")  # fmt: skip

    def test_of_values(self, more: int, tmp_path: Path, log: bytes) -> None:
        size = int(stated("a value or a row of a database")[0]) * MB + more
        others = 0 if more else 64  # bytes of the other values of the row
        value = mlflow(f"TEXT GENERATED ALWAYS AS (hex(zeroblob({(size - others) // 2})))")
        self.expect(more, lambda: self.ingested(tmp_path / "mlflow.db", value).runs, "is longer")
        place = tmp_path / "v5.0" / "Org"
        for name, content in (
            ("results/one/digits/result_0.txt", log),
            ("systems/one.json", b'{"accelerator_model_name": "H9"}'.ljust(size)),
        ):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
        account = ingest([tmp_path / "v5.0"], tmp_path / "x.parquet", workers=1)
        read = store.read_tables([account.output]).select("hardware").collect().item(0, 0)
        assert (read is None) == bool(more)

    @pytest.mark.parametrize("ending", [".gz", ".xz"])
    def test_of_what_is_decompressed(
        self, ending: str, more: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "HARMLESS", MB)
        packed = {".gz": gzip.compress, ".xz": lzma.compress}[ending](bytes(4 * MB))
        grown = max(MB, int(stated("bytes that are decompressed")[1]) * len(packed))
        monkeypatch.setattr(streams, "HARMLESS", max(MB, grown))
        packed = {".gz": gzip.compress, ".xz": lzma.compress}[ending](bytes(grown + more))
        monkeypatch.setattr(streams, "MOST_GROWTH", 10)
        read = streams.decompressed(io.BytesIO(packed), f"a{ending}", len(packed))
        self.expect(more, lambda: deque(read, maxlen=1), "it expands to more than")


# ---------------------------------------------------------------------------------- nothing is lost


def test_a_description_of_a_system_is_not_read_where_it_is_none(tmp_path: Path, log: bytes) -> None:
    place = tmp_path / "v5.0" / "Org"
    for name, content in (
        ("results/one/digits/result_0.txt", log),
        ("systems/one.json", b'{"a": 1}' + b" " * MB),
        ("results/one/digits/scaling.json", b'{"scaling_factor": 2}' + b" " * MB),
    ):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    account = ingest([tmp_path / "v5.0"], tmp_path / "x.parquet", workers=1)
    messages = {problem.code: problem.message for problem in account.problems}
    assert messages["bad_system_file"] == "one.json is not read: larger than 1 MB"
    assert store.read_tables([account.output]).select("scaling_factor").collect().item(0, 0) is None


@pytest.mark.parametrize("ending", ["zip", "tar"])
def test_two_members_of_one_name_are_a_problem(ending: str, log: bytes, tmp_path: Path) -> None:
    packed = tmp_path / f"all.{ending}"
    if ending == "zip":
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("a/result_0.txt", log)
            with pytest.warns(UserWarning, match="Duplicate name"):
                archive.writestr("a/result_0.txt", log.replace(b"1000", b"2000"))
    else:
        with tarfile.open(packed, "w") as tar:
            for _ in range(2):
                member = tarfile.TarInfo("a/result_0.txt")
                member.size = len(log)
                tar.addfile(member, io.BytesIO(log))
    account = ingest([packed], tmp_path / "x.parquet", workers=1)
    assert account.runs == 1
    (error,) = account.rejected
    assert "contains several files named a/result_0.txt; the last of each is read" in error.message


@pytest.mark.parametrize(
    ("summary", "values", "problem"),
    [
        ({"_wandb": {"runtime": 3}}, [], "no_evaluation"),
        ({"val/acc": 0.5, "_runtime": 3.0}, [0.5], "summary_is_later"),  # it tells no step
    ],
)
def test_a_wandb_run_killed_before_its_first_row_has_what_its_summary_says(
    summary: dict[str, Any], values: list[float], problem: str
) -> None:
    store = stores.wandb_store([stores.run_record("abc", "proj", {"lr": 0.1}, 1_700_000_000, 0)])
    beside = {"/w/files/wandb-summary.json": json.dumps(summary).encode()}
    (run,) = named("wandb").parse(log_from_bytes(store, "/w/run-abc.wandb", beside))
    assert isinstance(run, Run)
    assert (run.run_status, run.run_seconds) == ("truncated", 3.0)
    assert [evaluation.value for evaluation in run.evaluations] == values
    assert [problem.code for problem in run.problems] == ["no_exit_record", problem]


def test_too_little_memory_is_a_reason(
    log: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "result_0.txt").write_bytes(log)

    def fail(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("ttastats_parsers.mlperf_mllog.parse", fail)
    with pytest.raises(TtastatsError, match="not enough memory to read it"):
        ingest([tmp_path / "result_0.txt"], tmp_path / "x.parquet", workers=1)


# ----------------------------------------------------------------------------- tables made by hand


def edited(path: Path, metadata: dict[str, str], **columns: pl.Expr) -> None:
    """Write a table of ours again with another footer, and with other columns."""
    rows, before = pl.read_parquet(path), pl.read_parquet_metadata(path)
    before.pop("ARROW:schema")
    rows.with_columns(**columns).write_parquet(path, metadata=before | metadata)


class TestTablesMadeByHand:
    @pytest.fixture
    def table(self, two_systems: Path, tmp_path: Path) -> Path:
        return ingest([two_systems], tmp_path / "x.parquet", workers=1).output

    @pytest.mark.parametrize(
        "problems", [[None], {"a": 1}, 7, [[1, 2]], [["a", "b", "c", "odd", None]]]
    )
    def test_problems_that_are_none_are_an_error(self, problems: Any, table: Path) -> None:
        edited(table, {"ttastats.problems": packed(json.dumps(problems).encode())})
        with pytest.raises(TtastatsError, match=r"x\.parquet: the problems in its footer"):
            store.read_problems(table)

    def test_problems_of_no_file_are_read(self, table: Path) -> None:
        of_no_file = [[None, "odd", "text", "info", None]]
        edited(table, {"ttastats.problems": packed(json.dumps(of_no_file).encode())})
        assert store.read_problems(table) == [Problem("odd", "text", "info", None, None)]

    @pytest.mark.parametrize("column", schema.RUN)
    def test_a_run_without_a_name_is_an_error(self, column: str, table: Path) -> None:
        edited(table, {}, **{column: pl.when(pl.int_range(pl.len()) > 2).then(column)})
        with pytest.raises(TtastatsError, match=f"column {column} is null in 3 rows"):
            store.read_tables([table])

    @pytest.mark.parametrize("manifest", [None, 7, [1], {"files": [1]}, {"files": {"a": 1}}])
    def test_a_list_of_what_was_read_that_is_none_is_not_used(
        self, manifest: Any, table: Path, two_systems: Path
    ) -> None:
        edited(table, {"ttastats.ledger": packed(json.dumps(manifest).encode())})
        assert ingest([two_systems], table, workers=1).unchanged == 0
