"""Ingesting archives, patterns, URLs and copies; kills and full disks."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import fsspec
import polars as pl
import pytest

from tests import made_logs
from tests.programs import environment, finish, python, start, wait_until
from ttastats import api
from ttastats.base import streams
from ttastats.base.errors import TtastatsError
from ttastats.ingestion import containers, reading, registry, sources, workers
from ttastats.ingestion import ingest as ingestion
from ttastats.ingestion.ingest import ingest
from ttastats.table import store, tables

LOGS = 10  # in each of the two example systems
COMMAND = ("-m", "ttastats", "ingest")
ARCHIVES = ("zip", "tar", "gztar", "xztar", "bztar")


@pytest.fixture
def logs(two_systems: Path, tmp_path: Path) -> Path:
    """Return a copy of the example's logs that may be changed."""
    shutil.copytree(two_systems.parent, tmp_path / "Example")
    return tmp_path / "Example" / "results" / "one_gpu"


def read(path: Path) -> pl.DataFrame:
    return store.read_tables([path]).collect()


class TestForms:
    @pytest.mark.parametrize("form", [*made_logs.COMPRESSED, *ARCHIVES])
    def test_packed_logs_read_like_plain_ones(self, form: str, logs: Path, tmp_path: Path) -> None:
        tree = tmp_path / "Example"
        plain = ingest([tree], tmp_path / "plain.parquet")
        if form in ARCHIVES:
            tree = Path(shutil.make_archive(str(tmp_path / "all"), form, tmp_path, "Example"))
        else:
            for path in sorted(logs.rglob("*.txt")):
                content = made_logs.COMPRESSED[form](path.read_bytes())
                path.with_name(f"{path.name}.{form}").write_bytes(content)
                path.unlink()
        packed = ingest([tree], tmp_path / "packed.parquet")
        assert packed.runs == 2 * LOGS
        rows, expected = (
            read(account.output)
            .drop("run_id", "source", "source_digest")
            .sort("entry", "started_at", "eval_index")
            for account in (packed, plain)
        )
        assert rows.equals(expected)

    @pytest.mark.parametrize("ending", [".tar.gz", ".tgz"])
    def test_a_compressed_archive_is_decompressed_once_whatever_its_order(
        self, ending: str, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        packed = tmp_path / f"all{ending}"
        with tarfile.open(packed, "w:gz") as archive:
            for path in sorted(logs.rglob("*.txt"), reverse=True):
                archive.add(path, path.name)
        opened: list[object] = []

        def opener(raw: io.BytesIO) -> gzip.GzipFile:
            opened.append(raw)
            return gzip.GzipFile(fileobj=raw)

        monkeypatch.setitem(streams._OPENERS, ".gz", opener)
        assert ingest([packed], tmp_path / "x.parquet").runs == LOGS
        assert len(opened) == 1

    def test_an_archive_is_read_in_a_folder_and_damaged_ones_are_named(
        self, logs: Path, tmp_path: Path
    ) -> None:
        shutil.make_archive(str(tmp_path / "many" / "all"), "zip", logs)
        assert ingest([tmp_path / "many"], tmp_path / "x.parquet").runs == LOGS
        (tmp_path / "bad.zip").write_bytes(b"PK no archive")
        with pytest.raises(TtastatsError, match="cannot be read as an archive"):
            ingest([tmp_path / "bad.zip"], tmp_path / "y.parquet")

    def test_files_that_a_pattern_matches_or_that_are_meant_twice_are_read_once(
        self, logs: Path, tmp_path: Path
    ) -> None:
        pattern, log = f"{logs}/digits/result_[0-4].txt", logs / "digits" / "result_0.txt"
        account = ingest([log, pattern, str(log)], tmp_path / "x.parquet")
        assert (account.files, account.runs) == (5, 5)

    def test_standard_input_is_a_log(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = (logs / "digits" / "result_0.txt").read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        account = ingest(["-"], tmp_path / "x.parquet")
        assert read(account.output)["source"].unique().to_list() == ["-"]

    @pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
    def test_a_name_that_is_no_text_is_shown_by_its_bytes(self, logs: Path, tmp_path: Path) -> None:
        odd = os.fsencode(logs / "digits") + b"/caf\xe9.txt"
        Path(os.fsdecode(odd)).write_bytes((logs / "digits" / "result_0.txt").read_bytes())
        (logs / "digits").rename(os.fsdecode(os.fsencode(logs) + b"/\xff"))
        account = ingest([logs], tmp_path / "x.parquet")
        assert account.runs == LOGS + 1
        sources_read = read(account.output)["source"].unique().to_list()
        assert f"{logs}/\\xff/caf\\xe9.txt" in sources_read


class TestHarm:
    def test_a_bomb_is_stopped_at_a_stated_limit(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "HARMLESS", 1_000_000)
        bomb = lzma.compress(b"\0" * 10_000_000)
        (logs / "bomb.txt.xz").write_bytes(bomb)
        account = ingest([logs], tmp_path / "x.parquet")
        (problem,) = account.rejected
        assert "more than 1,000 times when decompressed" in problem.message
        assert account.runs == LOGS

    def test_a_member_that_points_outside_writes_nothing(self, tmp_path: Path, logs: Path) -> None:
        data = (logs / "digits" / "result_0.txt").read_bytes()
        with tarfile.open(tmp_path / "evil.tar", "w") as archive:
            for name in ("../../escaped.txt", "/tmp/escaped.txt", "a/../../b.txt"):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        with zipfile.ZipFile(tmp_path / "evil.zip", "w") as packed:
            packed.writestr("../../escaped.txt", data)
        before = set(tmp_path.rglob("*"))
        account = ingest([tmp_path / "evil.tar", tmp_path / "evil.zip"], tmp_path / "x.parquet")
        assert account.runs == 4
        assert set(tmp_path.rglob("*")) - before == {tmp_path / "x.parquet"}
        for place in (tmp_path.parent / "escaped.txt", Path("/tmp/escaped.txt")):
            assert not place.exists()

    def test_a_line_of_any_length_is_survived(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "BLOCK", 100_000)
        monkeypatch.setattr(streams, "LONGEST_LINE", 500_000)
        log = logs / "digits" / "result_0.txt"
        lines = log.read_bytes().split(b"\n")
        log.write_bytes(b"\n".join([*lines[:5], b"x" * 2_000_000, *lines[5:]]))
        account = ingest([log], tmp_path / "x.parquet")
        assert (account.runs, account.rejected) == (1, ())
        assert read(account.output)["line"].min() > 5

    def test_an_unwritable_place_is_refused_before_anything_is_read(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(workers, "read_unit", _refuse)
        for output in (tmp_path / "none" / "x.parquet", Path("/proc/x.parquet")):
            with pytest.raises(TtastatsError, match="cannot write") as caught:
                ingest([logs], output)
            assert str(output) in str(caught.value)

    @pytest.mark.parametrize("change", [b"one more line\n", b"", None])
    def test_a_log_that_changes_or_goes_while_it_is_read_is_named(
        self, change: bytes | None, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = logs / "digits" / "result_3.txt"
        recognise = registry.recognise
        content = log.read_bytes()

        def recognise_and_change(head: bytes, path: Any) -> Any:
            if change is None:
                log.unlink(missing_ok=True)
            elif head == content:
                log.write_bytes(content + change if change else content[:-20])
            return recognise(head, path)

        monkeypatch.setattr(registry, "recognise", recognise_and_change)
        account = ingest([logs], tmp_path / "x.parquet")
        (problem,) = account.problems if change is not None else account.rejected
        code = "unreadable_file" if change is None else "changed_file"
        assert (problem.code, problem.source) == (code, str(log))
        assert account.runs == LOGS - (change is None)
        again = ingest([logs], tmp_path / "x.parquet")
        assert again.unchanged == LOGS - 1
        assert "changed_file" not in again.problem_counts()

    @pytest.mark.parametrize("workers", [1, 2])
    def test_a_full_disk_leaves_the_old_file(
        self, workers: int, logs: Path, tmp_path: Path
    ) -> None:
        output = tmp_path / "x.parquet"
        ingest([logs], output)
        before = output.read_bytes()
        words = ("ingest", logs.parent, "-o", output, "--workers", str(workers))
        # Bytecode that the limit cuts would stay.
        process = python("-c", ON_A_FULL_DISK, *words, env=environment(PYTHONDONTWRITEBYTECODE="1"))
        assert process.returncode == 2, process.stderr
        assert f"{output}: cannot write" in process.stderr
        assert list(tmp_path.glob(".*")) == []
        assert "Traceback" not in process.stderr
        assert output.read_bytes() == before
        assert not list(tmp_path.glob(".x.parquet*"))


class TestCopies:
    def test_copies_are_marked_named_and_counted_once(self, logs: Path, tmp_path: Path) -> None:
        first = logs / "digits" / "result_0.txt"
        shutil.copy(first, logs / "digits" / "result_7.txt")
        # Other output of the program makes no other run.
        (logs / "digits" / "result_90.txt").write_bytes(b"another header\n" + first.read_bytes())
        account = ingest([logs], tmp_path / "x.parquet")
        copies = [problem for problem in account.problems if problem.code == "duplicate_run"]
        assert [problem.source for problem in copies] == [
            str(logs / "digits" / name) for name in ("result_7.txt", "result_90.txt")
        ]
        assert all(str(first) in problem.message for problem in copies)
        summary = api.summary(account.output)
        assert [row["n"] for row in summary.rows] == [LOGS - 1]
        assert [note.text[:6] for note in summary.notes if note.code == "copies"] == ["2 dupl"]

    def test_a_copy_under_another_system_counts_for_each_system_once(
        self, logs: Path, tmp_path: Path
    ) -> None:
        shutil.copytree(logs, logs.with_name("renamed"))
        account = ingest([logs.parent], tmp_path / "x.parquet")
        counts = {row["entry"]: row["n"] for row in api.summary(account.output).rows}
        assert counts == {"Example/one_gpu": 10, "renamed/digits": 10, "Example/eight_gpus": 10}

    def test_logs_without_dates_are_copies_where_their_numbers_say_so(self, tmp_path: Path) -> None:
        folder = tmp_path / "own"
        curve = "step,seconds,val_loss\n10,1.517,3.2781\n20,3.044,3.1415\n30,4.561,3.0127\n"
        coarse = "step,seconds,val_acc\n10,1,0.5\n20,2,0.6\n30,3,0.7\n"
        for name, text in {"train": curve, "seed1": curve, "a": coarse, "b": coarse}.items():
            (folder / name).mkdir(parents=True)
            (folder / name / "log.csv").write_text(text)
        account = ingest([folder], tmp_path / "x.parquet", block={"files": "{run}/log.csv"})
        copies = [p.source for p in account.problems if p.code == "duplicate_run"]
        assert copies == [str(folder / "train" / "log.csv")]


class TestAgain:
    def test_an_unchanged_tree_is_not_read_again(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = ingest([logs], tmp_path / "x.parquet")
        before = read(first.output)
        monkeypatch.setattr(workers, "read_unit", _refuse)
        written = first.output.stat().st_mtime_ns
        again = ingest([logs], tmp_path / "x.parquet")
        assert (again.unchanged, again.runs) == (LOGS, LOGS)
        assert (again.evaluations, again.problems) == (first.evaluations, first.problems)
        assert read(again.output).equals(before)
        assert again.output.stat().st_mtime_ns == written
        assert (first.written, again.written) == (True, False)

    def test_another_description_means_reading_everything(self, logs: Path, tmp_path: Path) -> None:
        output = tmp_path / "x.parquet"
        ingest([logs.parent.parent], output)
        system = logs.parent.parent / "systems" / "one_gpu.json"
        system.write_text(system.read_text().replace('s_per_node": 1', 's_per_node": 4'))
        account = ingest([logs.parent.parent], output)
        assert account.unchanged == 0
        assert 4 in read(output)["accelerators"].to_list()

    @pytest.mark.parametrize("name", ["x.parquet", "parts/"])
    @pytest.mark.parametrize("url", [None, "memory://bucket/logs"])
    def test_an_output_among_the_logs_is_none_of_them(
        self, url: str | None, name: str, logs: Path
    ) -> None:
        if url:
            fsspec.filesystem("memory").put(f"{logs}/", "/bucket/logs/", recursive=True)
        first, again = (ingest([url or logs], f"{url or logs}/{name}") for _ in range(2))
        if url:
            fsspec.filesystem("memory").rm("/bucket", recursive=True)
        assert (again.unchanged, again.files) == (LOGS, LOGS) == (first.files, first.runs)


class TestManyRows:
    @pytest.fixture(autouse=True)
    def _little_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ingestion, "_UNIT_FILES", 3)
        monkeypatch.setattr(reading, "_PIECE_ROWS", 7)
        monkeypatch.setattr(ingestion, "_HELD_BYTES", 60_000)

    @pytest.fixture
    def copies(self, logs: Path) -> Path:
        """Return the logs and their copies, in folders that are not sorted by name."""
        shutil.copytree(logs, logs.with_name("one"))
        return logs.parent

    @pytest.mark.parametrize("name", ["x.parquet", "parts/"])
    def test_rows_kept_in_files_give_the_same_table(
        self, name: str, copies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        account = ingest([copies], f"{tmp_path}/{name}")
        monkeypatch.setattr(ingestion, "_UNIT_FILES", 1_000)
        plain = ingest([copies], tmp_path / "plain.parquet")
        assert read(account.output).equals(read(plain.output))
        assert read(plain.output)["source"].is_sorted()
        assert account.problems == plain.problems
        assert account.problem_counts() == {"duplicate_run": LOGS}
        assert (account.runs, account.evaluations) == (plain.runs, plain.evaluations)
        assert list(tmp_path.glob(".*")) == []

    def test_the_files_of_an_ingest_that_ends_early_are_removed(
        self, copies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        output = tmp_path / "out" / "x.parquet"
        output.parent.mkdir()

        def interrupted(*_: object) -> None:
            (folder,) = output.parent.iterdir()
            assert len(list(folder.iterdir())) > 3
            raise KeyboardInterrupt

        monkeypatch.setattr(tables, "run_heads", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ingest([copies], output)
        assert list(output.parent.iterdir()) == []

    @pytest.mark.parametrize("name", ["x.parquet", "parts/"])
    def test_a_changed_log_takes_its_place_among_the_kept_rows(
        self, name: str, copies: Path, tmp_path: Path
    ) -> None:
        ingest([copies], f"{tmp_path}/{name}")
        logs = copies / "one" / "digits"
        for number in (0, 4, 9):
            log = logs / f"result_{number}.txt"
            log.write_bytes(log.read_bytes().replace(b'"seed", "value": 1', b'"seed", "value": 7'))
        (logs / "result_5.txt").unlink()
        shutil.copy(logs / "result_6.txt", logs / "result_77.txt")
        account = ingest([copies], f"{tmp_path}/{name}")
        ingest([copies], tmp_path / "fresh.parquet")
        assert (account.unchanged, account.runs) == (3 * LOGS - 4, 3 * LOGS)
        assert read(account.output).equals(read(tmp_path / "fresh.parquet"))


class TestProcesses:
    def test_units_bound_bytes_and_files(self) -> None:
        def source(size: int) -> sources.Source:
            return sources.Source(containers.Memory(b""), containers.File("x", size), "x", "e")

        packed = list(ingestion.units([source(12_000_000) for _ in range(10)]))
        assert [len(unit) for unit in packed] == [2, 2, 2, 2, 2]
        assert [len(unit) for unit in ingestion.units([source(10)] * 2_500)] == [1_000, 1_000, 500]
        assert [len(unit) for unit in ingestion.units([source(10**9)] * 2)] == [1, 1]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no SIGKILL and no fork here")
    @pytest.mark.parametrize("name", ["x.parquet", "parts"])
    def test_an_ingest_killed_at_any_moment_leaves_the_old_file(
        self, name: str, logs: Path, tmp_path: Path
    ) -> None:
        output = tmp_path / "tables" / name
        output.parent.mkdir()
        ingest([logs], f"{output}/" if name == "parts" else output)
        process = python("-c", KILLED_AT_EVERY_MOMENT, logs.parent, output)
        assert process.returncode == 0, process.stderr
        moments = process.stdout.splitlines()
        assert len(moments) > 3
        # Old as long as nothing stands in its place, new from then on, and never anything else.
        assert sorted(moments) == moments
        assert set(moments) == {f"{LOGS} logs", f"{2 * LOGS} logs"}

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_ctrl_c_leaves_the_old_file_with_a_message(self, logs: Path, tmp_path: Path) -> None:
        output, log = tmp_path / "x.parquet", tmp_path / "endless.txt"
        ingest([logs], output)
        old = output.read_bytes()
        os.mkfifo(log)
        process, writing = start(*COMMAND, log, "-o", output), []

        def opened_by_a_reader() -> bool:
            with suppress(OSError):  # nobody has opened it yet
                writing.append(os.open(log, os.O_WRONLY | os.O_NONBLOCK))
            return bool(writing)

        wait_until(opened_by_a_reader)
        process.send_signal(signal.SIGINT)
        os.close(writing[0])
        # The end of the log wakes a process whose read began just after the signal came.
        code, _, stderr = finish(process)
        assert code == 130
        assert stderr.strip() == "ttastats: interrupted; nothing was written"
        assert output.read_bytes() == old
        assert list(tmp_path.glob(".*")) == []

    @pytest.mark.skipif(os.name == "nt", reason="no process groups and no SIGKILL here")
    @pytest.mark.parametrize("moment", ["", "ahead[0][1].result()"], ids=["starting", "reading"])
    def test_several_processes_killed_leave_the_old_file_and_no_process(
        self, moment: str, logs: Path, tmp_path: Path
    ) -> None:
        output = tmp_path / "x.parquet"
        ingest([logs], output)
        old = output.read_bytes()
        words = ("ingest", logs.parent, "-o", output, "--workers", "2")
        code = KILLED_WITH_ANOTHER_PROCESS.format(moment=moment)
        process = start("-c", code, *words, stderr=subprocess.DEVNULL, start_new_session=True)
        assert finish(process)[0] == -signal.SIGKILL
        wait_until(lambda: not _is_there(process.pid))
        assert output.read_bytes() == old


#: Runs a command line that can write no file of more than four kilobytes.
ON_A_FULL_DISK = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
from ttastats.cli import main
main()
"""

#: Ingests, and is killed as soon as another process was started and, perhaps, has read something.
KILLED_WITH_ANOTHER_PROCESS = """
import os, signal
from ttastats import cli
from ttastats.ingestion import workers

def killed(ahead, *_):
    {moment}
    os.kill(os.getpid(), signal.SIGKILL)

workers._steal_work = killed
cli.main()
"""

#: Lets children of this process ingest, each killed at the next of the calls that touch the folder
#: of the result, and says after each how many logs the table there holds.
KILLED_AT_EVERY_MOMENT = """
import os, shutil, signal, sys
from pathlib import Path
from ttastats.ingestion.ingest import ingest
from ttastats.table import kind, store

kind._PART_ROWS, kind._GROUP_ROWS = 200, 100  # the new table has more parts than the old one
logs, output = map(Path, sys.argv[1:])
kept = output.parent.with_name("kept")
shutil.copytree(output.parent, kept)

def kill_at(moment):
    seen = 0
    def hook(_event, arguments):
        nonlocal seen
        for path in arguments:
            if isinstance(path, str) and path.startswith(f"{output.parent}/"):
                seen += 1
                if seen == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)

def in_a_child(work):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1]

def ingest_killed_at(moment):
    kill_at(moment)
    ingest([logs], f"{output}/" if output.is_dir() else output)

def say():
    print(store.read_tables([output]).collect()["source"].n_unique(), "logs", flush=True)

moment = 1
while in_a_child(lambda: ingest_killed_at(moment)):
    if in_a_child(say):
        sys.exit(f"killed at call {moment}, it left no table")
    shutil.rmtree(output.parent)
    shutil.copytree(kept, output.parent)
    moment += 1
"""


def _refuse(*_: object) -> None:
    raise AssertionError("read")


def _is_there(group: int) -> bool:
    """Return whether a process of a group is alive."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("name", ["x.parquet", "parts/"])
def test_a_table_is_no_log_and_is_named(name: str, logs: Path, tmp_path: Path) -> None:
    ingest([logs], f"{tmp_path}/{name}")
    for words in ([f"{tmp_path}/{name}"], [logs, f"{tmp_path}/{name}"]):
        with pytest.raises(TtastatsError, match="is already a table") as caught:
            ingest(words, tmp_path / "y.parquet")
        assert "ttastats runs" in str(caught.value)
        assert "ttastats filter" in str(caught.value)
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(TtastatsError, match="a Parquet file, not a log"):
        ingest([tmp_path / "other.parquet"], tmp_path / "y.parquet")
