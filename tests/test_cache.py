"""Every command takes logs where it takes tables: read once, kept while they do not change."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import fsspec
import pytest

import ttastats as tta
from tests import made_logs
from tests.conftest import FIXTURES
from tests.made_traces import steps_on_a_device, trace
from tests.programs import environment, python
from tests.test_cli import Result, refusal, run
from tests.test_every_command import COMMANDS, ENDINGS
from ttastats.base.atomic import user_folder
from ttastats.ingestion import cache
from ttastats.ingestion.workers import Unit, Workers

#: Kinds of logs that no ttastats.toml needs to describe.
KINDS = [kind.name for kind in sorted(FIXTURES.iterdir()) if not (kind / "ttastats.toml").exists()]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cache._process_folder.cache_clear()  # each test is a process of its own
    return tmp_path / "cache" / "ttastats"


@pytest.fixture
def logs(two_systems: Path, tmp_path: Path) -> Path:
    """Return a folder with folders of logs, `a` and `b`, which tests may change."""
    shutil.copytree(two_systems / "one_gpu", tmp_path / "a")
    shutil.copytree(two_systems / "eight_gpus", tmp_path / "b")
    return tmp_path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect the number of logs that each ingest reads, without checks for changes."""
    numbers: list[int] = []
    read = Workers.read

    def counting(self: Workers, work: Sequence[Unit], *others: Any) -> Iterator[Any]:
        numbers.append(sum(map(len, work)))
        return read(self, work, *others)

    monkeypatch.setattr(Workers, "read", counting)
    return numbers


def tables(cache: Path) -> list[Path]:
    return sorted(cache.glob("*/*"))


@pytest.mark.parametrize("kind", KINDS)
def test_logs_of_every_kind_answer_as_their_table_does(kind: str, tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("*.expected.jsonl")
    shutil.copytree(FIXTURES / kind, tmp_path / "a", ignore=ignored)
    rejected = run("ingest", "a", cwd=tmp_path).returncode
    of_table, of_logs, again = (
        run("runs", source, "--format", "json", cwd=tmp_path) for source in ("a.parquet", "a", "a")
    )
    assert of_table.returncode == 0, of_table.stderr
    assert json.loads(of_logs.stdout)["rows"]
    assert of_logs.stdout == of_table.stdout == again.stdout
    assert of_logs.returncode == again.returncode == rejected


#: Commands that take runs, each once; F is what they are about, O the place for what they write.
ONCE = {command.split()[0]: command for command in reversed(COMMANDS)}


#: All commands take their inputs the same way: two show it of archives and of single logs.
ASKED = [
    *((command, "folder") for command in ONCE),
    *product(("summary", "compare"), ("archive", "log")),
]


@pytest.mark.parametrize(("command", "form"), ASKED)
def test_every_command_answers_from_logs_as_from_their_table(
    command: str, form: str, logs: Path
) -> None:
    (logs / "a").rename(logs / "adam_logs")
    forms = {
        "folder": "adam_logs",
        "archive": "adam_logs.tar.gz",
        "log": "adam_logs/digits/result_0.txt",
    }
    with tarfile.open(logs / forms["archive"], "w:gz") as archive:
        archive.add(logs / forms["folder"], "adam_logs")
    run("ingest", forms[form], "-o", "a.parquet", cwd=logs)

    def answer(source: str, place: str) -> Result:
        places = {"F": source} | {f"O{end}": f"{place}{end}" for end in ENDINGS}
        return run(*(places.get(word, word) for word in ONCE[command].split()), cwd=logs)

    of_table, of_logs = answer("a.parquet", "out_x"), answer(forms[form], "out_y")
    assert of_logs.returncode == of_table.returncode
    assert of_logs.stdout.replace(forms[form], "a.parquet") == of_table.stdout
    stderr = of_logs.stderr.replace("out_y", "out_x").replace(forms[form], "a.parquet")
    if ".html" not in ONCE[command]:
        assert stderr.endswith(of_table.stderr)


def test_a_second_command_reads_no_log(logs: Path, own_cache: Path, reads: list[int]) -> None:
    first = run("compare", "a", "b", cwd=logs)
    assert first.stderr == (
        "a: 10 logs read: 10 runs, 101 evaluations\nb: 10 logs read: 10 runs, 208 evaluations\n"
    )
    cached = tables(own_cache)
    second = run("compare", "a", "b", cwd=logs)
    assert second == Result(first.returncode, first.stdout, "")
    assert run("summary", "a", cwd=logs).stderr == ""
    assert reads == [10, 10]
    assert tables(own_cache) == cached


def test_a_second_command_imports_no_reader(logs: Path) -> None:
    run("runs", "a", cwd=logs)
    code = """
import sys
from ttastats.cli import app
try:
    app(["runs", "a"])
except SystemExit as end:
    assert not end.code
print([name for name in sys.modules if name.startswith(("ttastats_", "ttastats.ingestion."))])
"""
    process = python("-c", code, cwd=logs)
    light = [f"ttastats.ingestion.{name}" for name in ("cache", "containers", "given", "sources")]
    assert sorted(eval(process.stdout.splitlines()[-1])) == sorted(light), process.stderr


def test_of_changed_logs_only_those_are_read(logs: Path, reads: list[int]) -> None:
    run("runs", "a", cwd=logs)
    log = logs / "a" / "digits" / "result_0.txt"
    log.write_bytes(log.read_bytes() + b"\n")
    shutil.copy(logs / "b" / "digits" / "result_1.txt", logs / "a" / "digits" / "new.txt")
    assert "11 runs" in run("runs", "a", cwd=logs).stderr
    log.unlink()
    assert "10 runs" in run("runs", "a", cwd=logs).stderr
    assert reads == [10, 2, 0]


def test_a_description_of_logs_above_them_counts(tmp_path: Path) -> None:
    made_logs.write(tmp_path, {f"logs/{seed}.csv": "step,acc\n1,0.5\n2,0.9\n" for seed in (1, 2)})
    for target in (0.6, 0.8):
        block = (
            f'[[logs]]\nfiles = "logs/{{seed}}.csv"\nmetric = "acc >= {target}"\nstep = "step"\n'
        )
        (tmp_path / "ttastats.toml").write_text(block)
        assert tta.runs(tmp_path / "logs").rows[0]["target_value"] == target


def test_an_archive_that_has_changed_is_read_anew(logs: Path, reads: list[int]) -> None:
    for names in (["a"], ["a", "b"]):
        with tarfile.open(logs / "x.tar.gz", "w:gz") as archive:
            for name in names:
                archive.add(logs / name, name)
        assert run("runs", "x.tar.gz", cwd=logs).returncode == 0
        assert run("runs", "x.tar.gz", cwd=logs).stderr == ""
    assert reads[0] == 10
    assert len(reads) == 2


def test_the_sources_of_runs_are_named_as_the_logs_were(logs: Path) -> None:
    here = json.loads(run("runs", "a", "--format", "json", cwd=logs).stdout)["rows"]
    below = json.loads(run("runs", "../a", "--format", "json", cwd=logs / "b").stdout)["rows"]
    assert here[0]["source"] == "a/digits/result_0.txt"
    assert below[0]["source"] == "../a/digits/result_0.txt"


def test_no_cache_leaves_nothing_and_reads_all(
    logs: Path, own_cache: Path, reads: list[int]
) -> None:
    run("compare", "a", "b", "--no-cache", cwd=logs)
    assert not own_cache.exists()
    cache._process_folder.cache_clear()
    for option in ((), ("--no-cache",), ()):
        assert run("problems", "a", *option, cwd=logs).returncode == 0
    assert reads == [10, 10, 10, 10]


@pytest.mark.skipif(os.name == "nt", reason="no locks and no SIGKILL here")
def test_the_next_call_removes_what_a_killed_one_left(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of a question, and the new file of an export; those of the living stay."""
    (folder := tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    mine = cache._process_folder()
    assert mine.stat().st_mode & 0o777 == 0o700
    code = "import os, signal; from ttastats.base import atomic; from ttastats.ingestion import "
    code += "cache; from pathlib import Path; cache._process_folder(); "
    code += "held = atomic.replacing(Path('a.csv')); held.__enter__(); "
    code += "os.kill(os.getpid(), signal.SIGKILL)"
    python("-c", code, cwd=logs, env=environment(TMPDIR=str(folder)))
    assert len([*folder.iterdir()]) == 2
    assert [*logs.glob(".a.csv.*")]
    cache._process_folder.cache_clear()
    mine_too = cache._process_folder()
    assert {*folder.iterdir()} == {mine, mine_too}
    run("ingest", "a", "-o", "x.parquet", cwd=logs)
    assert run("export", "x.parquet", "-o", "a.csv", cwd=logs).returncode == 0
    assert not [*logs.glob(".a.csv.*")]


@pytest.mark.parametrize("fault", ["it is a file", "it is full", "there is no home folder"])
def test_a_cache_that_cannot_be_written_is_no_error(
    fault: str, logs: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "it is a file":
        own_cache.parent.write_text("")
    elif fault == "it is full":
        replace, full = Path.replace, Mock(side_effect=OSError(28, "No space left on device"))
        monkeypatch.setattr(
            Path, "replace", lambda *of: (full if own_cache in of[0].parents else replace)(*of)
        )
    else:
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setattr(Path, "home", Mock(side_effect=RuntimeError))
    result = run("summary", "a", cwd=logs)
    assert result.returncode == 0
    assert "10/10" in result.stdout
    assert tables(own_cache) == []


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("linux", ".cache/ttastats"),
        ("darwin", "Library/Caches/ttastats"),
        ("win32", "local/ttastats/cache"),
    ],
)
def test_tables_are_kept_where_the_platform_keeps_caches(
    platform: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr(sys, "platform", platform)
    folder = user_folder()
    monkeypatch.undo()
    assert folder == tmp_path / place


def test_a_log_is_known_to_have_a_table_until_it_changes(logs: Path) -> None:
    log = logs / "a" / "digits" / "result_0.txt"
    assert not cache.is_cached(str(log))
    run("runs", str(log))
    assert cache.is_cached(str(log))
    log.write_bytes(log.read_bytes() + b"\n")
    assert not cache.is_cached(str(log))


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_a_link_whose_file_appears_changes_the_state_of_logs(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "run.txt").symlink_to(tmp_path / "run.txt")
    before = cache._state([str(tmp_path / "logs")])
    assert cache._state([str(tmp_path / "logs")]) == before
    (tmp_path / "run.txt").write_text("x")
    assert cache._state([str(tmp_path / "logs")]) != before


def test_a_damaged_table_or_one_of_another_version_is_made_anew(
    logs: Path, own_cache: Path, reads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = run("summary", "a", cwd=logs).stdout
    for damaged in (lambda data: data[:1000], lambda data: data[:1000] + b"x" + data[1001:]):
        for table in tables(own_cache):
            table.write_bytes(damaged(table.read_bytes()))
        assert run("summary", "a", cwd=logs).stdout == before
    monkeypatch.setattr("ttastats.ingestion.cache.__version__", "99.0")
    assert run("summary", "a", cwd=logs).stdout == before
    assert reads == [10, 10, 10, 10]


def test_tables_that_nobody_used_for_a_month_are_removed(logs: Path, own_cache: Path) -> None:
    run("runs", "a", cwd=logs)
    run("runs", "b", cwd=logs)
    for table, days in zip(tables(own_cache), (29, 31), strict=True):
        used = time.time() - days * 24 * 3600
        os.utime(table, (used, used))
    recent, old = tables(own_cache)
    run("runs", "a/digits/result_0.txt", cwd=logs)
    assert recent.exists()
    assert not old.parent.exists()


def test_tables_of_logs_as_they_were_are_removed_after_an_hour(logs: Path, own_cache: Path) -> None:
    log = logs / "a" / "digits" / "result_0.txt"
    for hours in (0.5, 2, 0):
        run("runs", "a", cwd=logs)
        for table in tables(own_cache):
            written = time.time() - hours * 3600
            os.utime(table, (written, written))
        log.write_bytes(log.read_bytes() + b"\n")
    assert len(tables(own_cache)) == 1


class TestRejectedLogs:
    @pytest.fixture
    def bad(self, logs: Path) -> Path:
        for number in range(7):
            log = logs / "a" / "digits" / f"result_{number}.txt"
            lines = [line for line in log.read_text().splitlines() if "run_start" not in line]
            log.write_text("\n".join(lines))
        return logs

    def test_rejected_logs_are_named_and_set_the_exit_status(self, bad: Path) -> None:
        first, second = (run("compare", "a", "b", cwd=bad) for _ in range(2))
        listing = "7 errors (ttastats problems a)"
        assert first.stderr.splitlines()[0] == f"a: 10 logs read: 3 runs, 30 evaluations; {listing}"
        assert second.stderr.splitlines()[0] == f"a: {listing}"
        for result in (first, second):
            assert result.returncode == 1
            lines = result.stderr.splitlines()
            assert lines[1].startswith("  a/digits/result_0.txt: has evaluations or an end but")
            assert lines[6] == "  and 2 more: ttastats problems a"
        assert "FASTER" in first.stdout or "UNDECIDED" in first.stdout
        assert run("compare", "b", "a", "--fail-on", "slower:1%", cwd=bad).returncode == 3
        result = run("problems", "a", cwd=bad)
        assert result.returncode == 1
        assert "no_run_start  error            7" in result.stdout

    def test_python_warns_of_them(self, bad: Path) -> None:
        with pytest.warns(UserWarning, match=r"7 errors \(ttastats problems"):
            rows = tta.runs(bad / "a").rows
        unreadable = [row for row in rows if row["run_status"] == "unreadable"]
        assert (len(rows), len(unreadable)) == (10, 7)


class TestNoLogs:
    def test_an_undescribed_folder_ends_with_a_hint_of_guess(self, tmp_path: Path) -> None:
        (tmp_path / "my logs").mkdir()
        (tmp_path / "my logs" / "x.txt").write_text("nothing")
        message = refusal(run("summary", "my logs", cwd=tmp_path))
        assert "my logs: no logs found: none of 1 file(s) is a log" in message
        guess = "`ttastats guess 'my logs'` says what other files are taken for."
        assert guess in message
        message = refusal(run("summary", "my logs/x.txt", cwd=tmp_path))
        assert "`ttastats guess 'my logs/x.txt'`" in message
        assert tables(tmp_path / "cache" / "ttastats") == []

    def test_missing_files_are_named(self, tmp_path: Path) -> None:
        assert "none: no such file" in refusal(run("summary", "none", cwd=tmp_path))
        assert "no*: no such file or folder" in refusal(run("summary", "no*", cwd=tmp_path))

    def test_traces_are_no_runs(self, tmp_path: Path) -> None:
        (tmp_path / "traces").mkdir()
        (tmp_path / "traces" / "x.json").write_bytes(trace(steps_on_a_device()))
        message = refusal(run("summary", "traces", cwd=tmp_path))
        assert "traces: contains traces of a profiler, not logs of runs" in message
        assert "ttastats profile traces" in message
        assert run("profile", "traces", cwd=tmp_path).returncode == 0


def test_a_table_among_logs_is_no_log(logs: Path) -> None:
    alone = run("summary", "a", "--format", "json", cwd=logs)
    run("ingest", "b", "-o", "a/b.parquet", cwd=logs)
    beside = run("summary", "a", "--format", "json", cwd=logs)
    assert beside.stdout == alone.stdout
    assert "10 logs read, 1 other files" in beside.stderr


def test_tables_and_logs_can_be_mixed(logs: Path, reads: list[int]) -> None:
    run("ingest", "b", cwd=logs)
    several = ("a/digits/result_0.txt", "b.parquet", "a/digits/result_1.txt")
    result = run("summary", *several, "--format", "json", cwd=logs)
    assert [row["n"] for row in json.loads(result.stdout)["rows"]] == [12]
    assert reads == [10, 2]
    assert run("problems", *several, cwd=logs).returncode == 0


def test_a_pattern_and_a_url_are_logs(logs: Path, own_cache: Path, reads: list[int]) -> None:
    with fsspec.open("memory://logs/result_0.txt", "wb") as file:
        file.write((logs / "a" / "digits" / "result_0.txt").read_bytes())
    assert "10 runs" in run("runs", "a/*/*.txt", cwd=logs).stderr
    cached = tables(own_cache)
    result = run("compare", "memory://logs", "b", cwd=logs)
    assert re.search(r"^ logs .*\n b ", result.stdout, re.MULTILINE)
    assert len(tables(own_cache)) == len(cached) + 2
    assert reads == [10, 1, 10]


def test_parts_of_one_folder_are_compared(logs: Path) -> None:
    sides = ("--a", "global_batch_size=64", "--b", "global_batch_size=512")
    result = run("compare", ".", *sides, cwd=logs)
    rows = r"^ global_batch_size=64 .*\n global_batch_size=512 "
    assert re.search(rows, result.stdout, re.MULTILINE)


def test_a_page_calls_folders_by_their_names(logs: Path) -> None:
    (logs / "a").rename(logs / "lr0.1")
    (logs / "b").rename(logs / "lr0.2")
    page = tta.html_report(logs / "lr0.1", logs / "lr0.2")
    assert "lr0.1" in page.html
    assert "lr0.2" in page.html
    assert str(logs) not in page.html


def test_concurrent_processes_agree(logs: Path, own_cache: Path) -> None:
    words = ("-m", "ttastats", "summary", "a", "--format", "json")
    with ThreadPoolExecutor(2) as threads:
        processes = list(threads.map(lambda _: python(*words, cwd=logs), range(2)))
    assert {process.returncode for process in processes} == {0}
    assert len({process.stdout for process in processes}) == 1
    assert all(table.suffix == ".parquet" for table in tables(own_cache))
