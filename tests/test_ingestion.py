"""Ingest whatever is meant: archives, patterns, URLs, copies; survive kills and full disks."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import polars as pl
import pytest
import zstandard

from ttastats import api, ingestion, sources, store
from ttastats.errors import TtastatsError
from ttastats.ingestion import ingest

LOGS = 10  # in each of the two example systems


@pytest.fixture
def logs(two_systems: Path, tmp_path: Path) -> Path:
    """Give a copy of the example's logs that may be changed."""
    shutil.copytree(two_systems.parent, tmp_path / "Example")
    return tmp_path / "Example" / "results" / "one_gpu"


def read(path: Path) -> pl.DataFrame:
    return store.read([path]).collect()


def without_names(frame: pl.DataFrame) -> pl.DataFrame:
    named = ("run_id", "source", "source_digest", "entry")
    return frame.drop(named).sort("started_at", "eval_index")


class TestForms:
    @pytest.mark.parametrize(
        ("ending", "compress"),
        [
            (".gz", gzip.compress),
            (".xz", lzma.compress),
            (".bz2", bz2.compress),
            (".zst", zstandard.compress),
        ],
    )
    def test_a_compressed_log_reads_like_the_plain_one(
        self, ending: str, compress: Callable[[bytes], bytes], logs: Path, tmp_path: Path
    ) -> None:
        plain = ingest([logs], tmp_path / "plain.parquet")
        for path in sorted(logs.rglob("*.txt")):
            path.with_name(path.name + ending).write_bytes(compress(path.read_bytes()))
            path.unlink()
        packed = ingest([logs], tmp_path / "packed.parquet")
        assert packed.runs == LOGS
        assert without_names(read(packed.output)).equals(without_names(read(plain.output)))

    @pytest.mark.parametrize("kind", ["zip", "tar", "gztar", "xztar", "bztar"])
    def test_an_archive_reads_like_its_folder(self, kind: str, logs: Path, tmp_path: Path) -> None:
        shutil.make_archive(str(tmp_path / "all"), kind, tmp_path, "Example")
        (packed,) = tmp_path.glob("all.*")
        plain = ingest([tmp_path / "Example"], tmp_path / "plain.parquet")
        found = ingest([packed], tmp_path / "packed.parquet")
        assert found.runs == 2 * LOGS
        drop = ("run_id", "source", "source_digest")
        assert (read(found.output).drop(drop).sort("entry", "started_at", "eval_index")).equals(
            read(plain.output).drop(drop).sort("entry", "started_at", "eval_index")
        )

    def test_an_archive_is_read_in_a_folder_and_damaged_ones_are_named(
        self, logs: Path, tmp_path: Path
    ) -> None:
        shutil.make_archive(str(tmp_path / "many" / "all"), "zip", logs)
        assert ingest([tmp_path / "many"], tmp_path / "x.parquet").runs == LOGS
        (tmp_path / "bad.zip").write_bytes(b"PK no archive")
        with pytest.raises(TtastatsError, match="cannot be read as an archive"):
            ingest([tmp_path / "bad.zip"], tmp_path / "y.parquet")

    def test_a_pattern_means_the_files_it_matches(self, logs: Path, tmp_path: Path) -> None:
        account = ingest([f"{logs}/digits/result_[0-4].txt"], tmp_path / "x.parquet")
        assert (account.files, account.runs) == (5, 5)

    def test_a_file_meant_twice_is_read_once(self, logs: Path, tmp_path: Path) -> None:
        log = logs / "digits" / "result_0.txt"
        assert ingest([log, str(log)], tmp_path / "x.parquet").runs == 1

    def test_standard_input_is_a_log(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = (logs / "digits" / "result_0.txt").read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        account = ingest(["-"], tmp_path / "x.parquet")
        assert read(account.output)["source"].unique().to_list() == ["-"]

    def test_a_url_is_read_through_fsspec(self, logs: Path, tmp_path: Path) -> None:
        remote = fsspec.filesystem("memory")
        remote.put(str(logs.parent.parent), "/bucket/Example", recursive=True)
        account = ingest(["memory://bucket/Example"], tmp_path / "x.parquet")
        assert account.runs == 2 * LOGS
        entries = read(account.output)["entry"].unique().sort().to_list()
        assert entries == ["Example/eight_gpus", "Example/one_gpu"]
        with pytest.raises(TtastatsError, match="nothing lies there"):
            ingest(["memory://nothing/here"], tmp_path / "y.parquet")

    def test_a_damaged_compressed_log_is_named(self, logs: Path, tmp_path: Path) -> None:
        whole = gzip.compress((logs / "digits" / "result_0.txt").read_bytes())
        (logs / "cut.txt.gz").write_bytes(whole[: len(whole) // 2])
        account = ingest([logs], tmp_path / "x.parquet")
        assert account.runs == LOGS
        assert [problem.code for problem in account.rejected] == ["unreadable_file"]
        assert account.rejected[0].source == str(logs / "cut.txt.gz")


class TestHarm:
    def test_a_bomb_is_stopped_at_a_stated_limit(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sources, "_HARMLESS", 1_000_000)
        bomb = lzma.compress(b"\0" * 50_000_000)
        (logs / "bomb.txt.xz").write_bytes(bomb)
        account = ingest([logs], tmp_path / "x.parquet")
        (problem,) = account.rejected
        assert "grows more than 1,000 times" in problem.message
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

    def test_a_loop_of_links_ends(self, logs: Path, tmp_path: Path) -> None:
        (logs / "loop").symlink_to(logs, target_is_directory=True)
        (logs / "self").symlink_to("self")
        assert ingest([logs], tmp_path / "x.parquet").runs == LOGS

    def test_a_folder_that_cannot_be_listed_is_named(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = os.scandir

        def refuse(path: str) -> object:
            if str(path).endswith("locked"):
                raise PermissionError(13, "Permission denied")
            return whole(path)

        (logs / "locked").mkdir()
        monkeypatch.setattr(os, "scandir", refuse)
        account = ingest([logs], tmp_path / "x.parquet")
        (problem,) = account.rejected
        assert (problem.source, problem.message) == (str(logs / "locked"), "Permission denied")
        assert account.runs == LOGS

    def test_a_line_of_any_length_is_survived(self, logs: Path, tmp_path: Path) -> None:
        log = logs / "digits" / "result_0.txt"
        lines = log.read_bytes().split(b"\n")
        log.write_bytes(b"\n".join([*lines[:5], b"x" * 100_000_000, *lines[5:]]))
        account = ingest([log], tmp_path / "x.parquet")
        assert (account.runs, account.rejected) == (1, ())
        assert read(account.output)["line"].min() > 5

    def test_a_full_disk_leaves_the_old_file(self, logs: Path, tmp_path: Path) -> None:
        output = tmp_path / "x.parquet"
        ingest([logs], output)
        before = output.read_bytes()
        code = (
            "import resource, sys\n"
            "from pathlib import Path\n"
            "import signal\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            "from ttastats.cli import main\n"
            f"sys.argv = ['ttastats', 'ingest', {str(logs.parent)!r}, '-o', {str(output)!r}]\n"
            "main()\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 2, done.stderr
        assert "cannot write" in done.stderr
        assert "Traceback" not in done.stderr
        assert output.read_bytes() == before
        assert not list(tmp_path.glob(".x.parquet*"))


class TestCopies:
    def test_copies_are_marked_said_and_counted_once(self, logs: Path, tmp_path: Path) -> None:
        first = logs / "digits" / "result_0.txt"
        for name in ("result_7.txt", "result_90.txt"):
            shutil.copy(first, logs / "digits" / name)
        account = ingest([logs], tmp_path / "x.parquet")
        said = [problem for problem in account.problems if problem.code == "duplicate_run"]
        assert [problem.source for problem in said] == [
            str(logs / "digits" / name) for name in ("result_7.txt", "result_90.txt")
        ]
        assert all(str(first) in problem.message for problem in said)
        summary = api.summary(account.output)
        assert [row["n"] for row in summary.rows] == [LOGS - 1]
        assert [note.text[:6] for note in summary.notes if note.code == "copies"] == ["2 runs"]

    def test_a_copy_with_other_program_output_is_still_a_copy(
        self, logs: Path, tmp_path: Path
    ) -> None:
        first = logs / "digits" / "result_0.txt"
        (logs / "digits" / "raw_0.log").write_bytes(b"another header\n" + first.read_bytes())
        account = ingest([logs], tmp_path / "x.parquet")
        assert [p.code for p in account.problems] == ["duplicate_run"]

    def test_a_copy_under_another_system_counts_for_each_system_once(
        self, logs: Path, tmp_path: Path
    ) -> None:
        shutil.copytree(logs, logs.with_name("renamed"))
        account = ingest([logs.parent], tmp_path / "x.parquet")
        counts = {row["entry"]: row["n"] for row in api.summary(account.output).rows}
        assert counts == {"Example/one_gpu": 10, "renamed/digits": 10, "Example/eight_gpus": 10}

    def test_different_runs_are_no_copies(self, logs: Path, tmp_path: Path) -> None:
        account = ingest([logs.parent], tmp_path / "x.parquet")
        assert read(account.output)["duplicate_of"].null_count() == read(account.output).height


class TestAgain:
    def test_an_unchanged_tree_is_not_read_again(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = ingest([logs], tmp_path / "x.parquet")
        before = read(first.output)

        def refuse(*_: object) -> None:
            raise AssertionError("read again")

        monkeypatch.setattr(ingestion, "_read", refuse)
        again = ingest([logs], tmp_path / "x.parquet")
        assert (again.unchanged, again.runs) == (LOGS, LOGS)
        assert read(again.output).equals(before)

    def test_only_what_changed_is_read_again(self, logs: Path, tmp_path: Path) -> None:
        output = tmp_path / "x.parquet"
        ingest([logs], output)
        changed, gone = (logs / "digits" / f"result_{number}.txt" for number in (3, 4))
        changed.write_bytes(
            changed.read_bytes().replace(b'"seed", "value": 1003', b'"seed", "value": 7')
        )
        gone.unlink()
        shutil.copy(logs / "digits" / "result_5.txt", logs / "digits" / "result_77.txt")
        account = ingest([logs], output)
        assert (account.unchanged, account.runs) == (8, 10)
        ingest([logs], tmp_path / "fresh.parquet")
        assert read(output).equals(read(tmp_path / "fresh.parquet"))

    def test_another_description_means_reading_everything(self, logs: Path, tmp_path: Path) -> None:
        output = tmp_path / "x.parquet"
        ingest([logs.parent.parent], output)
        system = logs.parent.parent / "systems" / "one_gpu.json"
        system.write_text(
            system.read_text().replace('"accelerators_per_node": 1', '"accelerators_per_node": 4')
        )
        account = ingest([logs.parent.parent], output)
        assert account.unchanged == 0
        assert 4 in read(output)["accelerators"].to_list()

    def test_problems_are_said_again(self, logs: Path, tmp_path: Path) -> None:
        log = logs / "digits" / "result_0.txt"
        log.write_bytes(log.read_bytes()[:-200])
        first = ingest([logs], tmp_path / "x.parquet")
        again = ingest([logs], tmp_path / "x.parquet")
        assert again.unchanged == LOGS
        assert again.problems == first.problems != ()


class TestProcesses:
    def test_several_processes_give_the_same_file(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alone = ingest([logs.parent], tmp_path / "alone.parquet", workers=1)
        monkeypatch.setattr(ingestion, "_UNIT_FILES", 3)
        many = ingest([logs.parent], tmp_path / "many.parquet", workers=2)
        assert read(many.output).equals(read(alone.output))

    def test_units_bound_bytes_and_files(self) -> None:
        def source(size: int) -> sources.Source:
            return sources.Source(sources.Memory(b""), sources.File("x", size), "x", "e")

        packed = list(ingestion.units([source(6_000_000) for _ in range(10)]))
        assert [len(unit) for unit in packed] == [2, 2, 2, 2, 2]
        assert [len(unit) for unit in ingestion.units([source(10)] * 2_500)] == [1_000, 1_000, 500]
        assert [len(unit) for unit in ingestion.units([source(10**9)] * 2)] == [1, 1]

    @pytest.mark.skipif(os.name == "nt", reason="no SIGKILL here")
    def test_an_ingest_killed_at_any_moment_leaves_the_old_file(
        self, logs: Path, tmp_path: Path
    ) -> None:
        output = tmp_path / "x.parquet"
        ingest([logs], output)
        old = output.read_bytes()
        command = [sys.executable, "-m", "ttastats", "ingest", str(logs.parent), "-o", str(output)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        kept = 0
        for delay in _delays():
            process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if output.read_bytes() == old:
                kept += 1
            else:
                assert read(output)["source"].n_unique() == 2 * LOGS
                output.write_bytes(old)
        assert kept > 0

    def test_two_ingests_into_one_file_leave_one_whole_result(
        self, logs: Path, tmp_path: Path
    ) -> None:
        output = tmp_path / "x.parquet"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        base = [sys.executable, "-m", "ttastats", "ingest"]
        processes = [
            subprocess.Popen(
                [*base, str(path), "-o", str(output)], env=environment, stderr=subprocess.DEVNULL
            )
            for path in (logs, logs.with_name("eight_gpus"))
        ]
        assert [process.wait() for process in processes] == [0, 0]
        assert read(output)["source"].n_unique() == LOGS


def _delays() -> Iterator[float]:
    """Give moments from the start of the program to its end, closer where it writes."""
    yield from (0.05, 0.2)
    yield from (0.3 + 0.03 * step for step in range(8))
