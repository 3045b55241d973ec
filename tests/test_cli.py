"""The command line as a user meets it: results, messages, exit codes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

import ttastats as tta
from tests.conftest import ROOT, matches_accepted
from tests.programs import finish, python, start
from ttastats import api, cli
from ttastats.ingestion import containers
from ttastats.report import as_table

CONTENTS = {
    "a.tsv": b"epoch\thours\tf1Score\n1\t0.5\t0.8\n",
    "notes.md": b"nothing",
    "junk.bin": bytes(range(256)) * 50,
    "bad.txt": b':::MLLOG {"time_ms": 1, "key": "eval_accuracy", "value": 1, "metadata": {}}\n',
}
ONE, EIGHT = "one_gpu.parquet", "eight_gpus.parquet"
#: Commands of which each option changes the answer.
ANSWERED = f"""
runs {EIGHT}
runs {ONE} {EIGHT} -w 'system=eight*'
runs {ONE} {EIGHT} --sort epochs --top 1
runs {ONE} {EIGHT} --sort -epochs --top 1
summary {ONE} {EIGHT}
summary {ONE} {EIGHT} --by benchmark
summary {ONE} {EIGHT} --sort -epochs --top 1
summary {ONE} --target accuracy=0.9
summary {ONE} --ddof 0
summary {ONE} --confidence 80%
summary {ONE} --confidence 99.5%
variance {ONE} {EIGHT} --sort epochs --top 1
compare {ONE} {EIGHT}
compare {ONE} {EIGHT} -f md
compare {ONE} {EIGHT} --label '1 GPU' --label '8 GPUs'
compare {ONE} {EIGHT} --confidence 80%
compare {ONE} {EIGHT} --confidence 0.95
compare {ONE} {EIGHT} --confidence 97.5% --wide
compare {ONE} {EIGHT} --wide -v --margin 5% --fdr
compare {ONE} {EIGHT} --estimand geomean --same-convergence
targets {ONE}
targets {ONE} {EIGHT} -f md
power {ONE} -f md
power --cv 14% -n 5 --detect 3%
scaling {ONE} {EIGHT} -f md
"""
#: Commands whose words mean nothing, or may be meant otherwise.
REFUSED = f"""
compare {ONE}
compare {ONE} --a system=x
compare {ONE} {EIGHT} --a seed=1 --b seed=2
compare {ONE} --a 'seed>=0' --b system=one_gp
compare {ONE} --a baseline --b 'seed>=0'
compare {ONE} {EIGHT} --fail-on 2%
compare {ONE} {EIGHT} --fail-on slower:2
compare {ONE} {EIGHT} --margin 5
compare {ONE} {EIGHT} --margin 100%
compare {ONE} {EIGHT} --confidence 95
compare {ONE} {EIGHT} --confidence 50%
compare {ONE} {EIGHT} --label x
compare {ONE} {EIGHT} -w system=one_gpu
summary {ONE} --confidence 1
report {ONE} {EIGHT} --margin 5
power
power --cv 14
power --cv 14% --detect 5
power --cv 1400%
power --cv 14% --power 80
score {ONE} --sort tta
summary {ONE} --by colour
summary {ONE} --where colour=red
summary {ONE} --where benchmrk=x
summary {ONE} --where metric=accuracy
summary {ONE} --where 'cv>90%'
summary {ONE} --where nodes=99
summary {ONE} --target high
summary {ONE} --sort colour
summary {ONE} --at 3325
summary {ONE} --at step=-1
summary {ONE} --at hours=2
summary {ONE} --at step=50%
summary {ONE} --at step=nan
summary {ONE} --at step=1 --at-end
summary {ONE} --best
summary {ONE} --at-end --interpolate
summary {ONE} --at step=1 --best --interpolate
claim {ONE}
claim {ONE} --quality '<='
claim {ONE} --quality 'accuracy >= 970'
claim {ONE} --quality 'loss <= 3.28'
claim {ONE} --quality 0.9 --target 0.95
claim {ONE} --quality 0.9 --metric accuracy
claim {ONE} --seconds '>= 80'
claim {ONE} --steps ' -5'
compare {ONE} {EIGHT} --max-runs 8
"""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a command."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str | Path, cwd: Path | None = None) -> Result:
    """Run a command in this process, with pipes for its output, as a script would see it."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
        contextlib.chdir(cwd or Path.cwd()),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "argv", ["ttastats", *map(str, arguments)])
        patch.delenv("COLUMNS", raising=False)
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    assert "internal error" not in stderr.getvalue(), stderr.getvalue()
    return Result(code, stdout.getvalue(), stderr.getvalue())


def refusal(result: Result) -> str:
    """Check that a command refused as it should, and return its message."""
    assert result.returncode == 2, result
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture(scope="module")
def one_gpu(tables: Path) -> Path:
    return tables / "one_gpu.parquet"


@pytest.fixture(scope="module")
def eight_gpus(tables: Path) -> Path:
    return tables / "eight_gpus.parquet"


def rows(*arguments: str | Path) -> list[dict[str, Any]]:
    result = run(*arguments, "--format", "json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer["command"] == arguments[0]
    assert {"ttastats", "notes"} <= answer.keys()
    records: list[dict[str, Any]] = answer["rows"]
    return records


class TestAnswers:
    def test_what_options_ask_for_is_answered_as_accepted(self, tables: Path) -> None:
        lines = []
        for words in ANSWERED.strip().splitlines():
            result = run(*shlex.split(words), cwd=tables)
            assert result.returncode == 0, (words, result.stderr)
            assert "\x1b" not in result.stdout
            lines += [f"$ ttastats {words}\n", result.stderr, result.stdout]
        assert matches_accepted(ROOT / "tests" / "reference" / "answered.txt", "".join(lines))

    def test_one_file_is_compared_with_itself_by_conditions(self, tables: Path) -> None:
        (split,) = rows("compare", tables / ONE, tables / EIGHT)
        sides = ("--a", "system=one*", "--b", "system=eight*")
        (joined,) = rows("compare", tables / "both.parquet", *sides)
        assert joined["speedup"] == split["speedup"]
        assert (joined["a"], joined["b"]) == ("one*", "eight*")

    def test_a_narrow_screen_names_hidden_columns(self, one_gpu: Path, eight_gpus: Path) -> None:
        console = Console(width=80, file=io.StringIO(), force_terminal=False)
        as_table.print_report(api.compare(one_gpu, eight_gpus), console, width=80, verbose=True)
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert max(len(line) for line in text.splitlines()) <= 80
        for word in ("121 s ±10.1%", "1.741 [1.202, 2.523]", "hidden columns: reached"):
            assert word in text

    def test_a_long_table_is_cut_unless_all_rows_are_asked_for(self, tmp_path: Path) -> None:
        n = 201
        seconds = pl.Series(range(1, n + 1), dtype=pl.Float64)
        frame = pl.DataFrame({"run": range(n), "accuracy": [0.9] * n, "seconds": seconds})
        runs = tta.from_frame(frame, run="run", metric="accuracy", seconds="seconds")
        tta.filter(runs, output=tmp_path / "long.parquet")
        cut, whole = (run("runs", tmp_path / "long.parquet", *top) for top in ((), ("--top", "0")))
        assert "1 more row not shown: --top 0 shows all" in cut.stdout
        assert "not shown" not in whole.stdout

    @pytest.mark.parametrize("words", ["targets", "power", "runs"])
    def test_csv_has_a_header_and_one_line_per_row(self, words: str, one_gpu: Path) -> None:
        records = rows(words, one_gpu)
        lines = run(words, one_gpu, "-f", "csv").stdout.splitlines()
        assert len(lines) == 1 + len(records) > 1
        assert lines[0].startswith("run_id,source,dialect,suite" if words == "runs" else "suite,")


class TestIngest:
    def test_a_folder_gives_a_file_of_its_name(self, two_systems: Path, tmp_path: Path) -> None:
        result = run("ingest", two_systems / "one_gpu", cwd=tmp_path)
        assert (result.returncode, result.stdout) == (0, "")
        assert "10 logs read: 10 runs, 101 evaluations" in result.stderr
        assert (tmp_path / "one_gpu.parquet").exists()

    @pytest.mark.parametrize(
        ("files", "words", "code", "lines"),
        [
            (("a.tsv", "notes.md", "junk.bin"), ". -o x.parquet", 0,
             ["1 log read, 2 other files: 1 run, 1 evaluation"]),
            (("a.tsv",), "a.tsv", 0, []),
            (("a.tsv",), "a.tsv --strict", 1,
             ["warning: no_description (1)", "a.tsv: no JSON of the same name"]),
            (("a.tsv", "bad.txt"), ". -o x.parquet", 1,
             ["error: no_run_start (1)",
              "bad.txt: has evaluations or an end but no readable run_start"]),
        ],
    )  # fmt: skip
    def test_files_are_counted_and_their_problems_named(
        self, files: tuple[str, ...], words: str, code: int, lines: list[str], tmp_path: Path
    ) -> None:
        for name in files:
            (tmp_path / name).write_bytes(CONTENTS[name])
        result = run("ingest", *words.split(), cwd=tmp_path)
        assert result.returncode == code
        assert [line for line in lines if line not in result.stderr] == []
        assert len(list(tmp_path.glob("*.parquet"))) == 1

    def test_a_truncated_log_is_a_run_with_a_note(self, two_systems: Path, tmp_path: Path) -> None:
        whole = (two_systems / "one_gpu" / "digits" / "result_0.txt").read_bytes()
        (tmp_path / "cut.txt").write_bytes(whole[: len(whole) // 2])
        result = run("ingest", "cut.txt", cwd=tmp_path)
        assert result.returncode == 0
        assert "cut.txt: the log ends before run_stop: truncated" in result.stderr
        (row,) = rows("runs", tmp_path / "cut.parquet")
        assert (row["run_status"], row["reached"]) == ("truncated", False)


@pytest.fixture(scope="module")
def folder(one_gpu: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of files that no command takes, and a table."""
    folder = tmp_path_factory.mktemp("refused")
    shutil.copy(one_gpu, folder / "one.parquet")
    (folder / "empty").mkdir()
    (folder / "junk").mkdir()
    (folder / "junk" / "x").write_bytes(os.urandom(10_000))
    (folder / "mine.parquet").write_text("precious")
    pl.DataFrame({"a": [1]}).write_parquet(folder / "foreign.parquet")
    about = {"ttastats": json.dumps({"schema": 99, "writer": "ttastats 9.0"})}
    pl.read_parquet(one_gpu).write_parquet(folder / "newer.parquet", metadata=about)
    return folder


class TestRefusals:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("ingest none", "none: no such file or folder"),
            ("runs none.parquet", "none.parquet: no such file"),
            ("ingest empty", "empty: no logs found: the folder is empty"),
            ("ingest junk", "no logs found: none of 1 file(s) is a log"),
            ("ingest junk/x", "not a log of a known dialect"),
            ("ingest {logs} -o mine.parquet", "was not created by ttastats; refusing to overwrite"),
            ("summary foreign.parquet", "not written by ttastats"),
            ("runs newer.parquet", "Upgrade ttastats"),
            ("ingest {logs} -o -", "-o -: standard output is not supported here"),
            ("filter one.parquet -o -", "-o -: standard output is not supported here"),
            ("export one.parquet -o -", "-o -: standard output is not supported here"),
            ("summary one.parquet --format xml", "--format"),
            ("summary one.parquet --ddof 2", "--ddof"),
            ("summary one.parquet --top -1", "--top"),
        ],
    )
    def test_unusable_input_is_named_and_nothing_is_written(
        self, words: str, message: str, folder: Path, two_systems: Path
    ) -> None:
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        text = refusal(run(*words.format(logs=two_systems).split(), cwd=folder))
        assert message in text
        after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert after == before

    def test_an_unreadable_file_is_rejected(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(_disk: object, _name: str) -> bytes:
            raise PermissionError(13, "Permission denied")

        (tmp_path / "locked.txt").write_text("secret")
        monkeypatch.setattr(containers.Disk, "open", refuse)
        message = refusal(run("ingest", "locked.txt", cwd=tmp_path))
        assert "locked.txt: no run could be read: Permission denied" in message

    def test_words_that_mean_nothing_are_refused_as_accepted(self, tables: Path) -> None:
        text = "".join(
            f"$ ttastats {words}\n{refusal(run(*shlex.split(words), cwd=tables))}"
            for words in REFUSED.strip().splitlines()
        )
        assert matches_accepted(ROOT / "tests" / "reference" / "refused.txt", text)

    @pytest.mark.parametrize("command", ["runs", "summary", "variance", "score"])
    def test_every_column_that_the_help_of_sort_names_is_there(
        self, command: str, one_gpu: Path
    ) -> None:
        option = "--help" if command == "score" else "--help-all"  # it has few options
        help_text = " ".join(run(command, option).stdout.split())
        (columns,) = re.findall(r"a column such as ([\w, ]+);", help_text)
        for column in re.split(", | or ", columns):
            assert run(command, one_gpu, "--sort", f"-{column}").returncode == 0


#: Prints the names of all modules after each of five commands.
IMPORTED = """
import sys
from ttastats.cli import app
one, eight, logs = sys.argv[1:]
for commands in (
    [["score", "--help"]], [["--help"]], [["runs", one]],
    [["guess", logs], ["ingest", logs, "-o", "x.parquet"]], [["compare", one, eight]],
):
    for words in commands:
        try:
            app(words)
        except SystemExit as end:
            assert not end.code
    print("modules", *sys.modules)
"""


class TestStart:
    def test_a_command_imports_only_what_it_needs(
        self, one_gpu: Path, eight_gpus: Path, two_systems: Path, tmp_path: Path
    ) -> None:
        process = python("-c", IMPORTED, one_gpu, eight_gpus, two_systems, cwd=tmp_path)
        assert process.returncode == 0, process.stderr
        lines = [line for line in process.stdout.splitlines() if line.startswith("modules ")]
        of_score, help_, runs, logs, compared = map(str.split, lines)
        heavy = {"scipy", "statsmodels", "torch", "polars", "pyarrow"}
        assert not heavy & {*help_}
        commands = {f"ttastats.cli.{name}" for name in ("train", "drawing", "ingest")}
        assert "ttastats.cli.tables" in of_score
        assert not commands & {*of_score}
        readers = ("ttastats_parsers", "ttastats.ingestion.", "ttastats.answers.guessing")
        assert [n for n in runs if n.startswith(readers)] == ["ttastats.ingestion.given"]
        assert not {"scipy.stats", "statsmodels", "pyarrow", "torch"} & {*logs}
        assert not {"scipy.stats", "scipy.optimize", "statsmodels", "pandas"} & {*compared}
        assert "torch" not in compared
        assert "scipy.special" in compared
        assert not {"numpy.f2py.crackfortran", "numpy.testing._private"} & {*compared}

    def test_the_version_is_printed(self) -> None:
        assert run("--version").stdout.startswith("ttastats ")

    def test_a_closed_pipe_ends_quietly(self, one_gpu: Path) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        process = start("-m", "ttastats", "runs", one_gpu, stdout=writer)
        os.close(writer)
        assert "Traceback" not in finish(process)[2]


def test_a_table_whose_rows_are_damaged_is_named(tmp_path: Path, two_systems: Path) -> None:
    table = tmp_path / "runs.parquet"
    run("ingest", two_systems / "one_gpu", "-o", table)
    whole = table.read_bytes()
    codes = set()
    for at in range(8, len(whole) - 20_000, max(1, len(whole) // 25)):
        table.write_bytes(
            whole[:at] + bytes(b ^ 0xFF for b in whole[at : at + 40]) + whole[at + 40 :]
        )
        result = run("summary", table)
        codes.add(result.returncode)
        if result.returncode:
            assert str(table) in result.stderr
    assert 2 in codes


def test_files_of_a_user_beside_a_table_stay(tmp_path: Path, two_systems: Path) -> None:
    folder = tmp_path / "tab"
    assert run("ingest", two_systems / "one_gpu", "-o", f"{folder}/").returncode == 0
    (folder / "sub").mkdir()
    beside = [folder / "notes.txt", folder / "sub" / "b.csv", folder / "own.parquet"]
    for path in beside:
        path.write_text("mine")
    assert run("ingest", two_systems / "eight_gpus", "-o", f"{folder}/").returncode == 0
    table = tmp_path / "one.parquet"
    run("ingest", two_systems / "one_gpu", "-o", table)
    assert run("filter", table, "-o", f"{folder}/").returncode == 0
    assert [path.read_text() for path in beside] == ["mine"] * 3
    assert len(list(folder.iterdir())) == 3 + 2
    assert "one_gpu" in run("summary", folder).stdout
