"""Every command answers about any table or says why not; none ends in a traceback."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import ttastats as tta
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.output.plots.kinds import KINDS
from ttastats.table import schema, store

#: Every command that reads a table. F is the table, O the place for what it writes.
COMMANDS = (
    "runs F",
    "runs F --target 0.9",
    "summary F -v",
    "summary F --at-end",
    "runs F --at step=100",
    "runs F --at epoch=2 --interpolate",
    "claim F --quality 0.5",
    "claim F --seconds 100",
    "record F F --rules plain",
    "record F --rules plain --target 0.5 --against 10",
    "record F --a seed=1000 --b seed!=1000 --rules plain --target 0.5",
    "record F --rules algoperf",
    "compare F F --at-end --best",
    "compare F --a seed=1000 --b seed!=1000 --at epoch=3",
    "compare F --a seed=1000 --b seed!=1000 --also eval_accuracy",
    "summary F --by benchmark --ddof 0",
    "variance F",
    "history F",
    "history F --order seed --fail-on slower:2%",
    "variance F --sources seed --by benchmark",
    "effects F --on system,seed --interactions",
    "effects F --on system=other --block day",
    "compare F F",
    "compare F F --fail-on slower:2% --estimand geomean",
    "compare F --a seed=1000 --b seed!=1000",
    "targets F",
    "targets F F",
    "power F",
    "power F --runs 5 --detect 5%",
    "scaling F",
    "score F",
    "rcp F",
    "problems F",
    "report F -o O.html",
    "report F F -o O.html",
    "filter F -o O.parquet",
    "filter F F -o O/",
    "export F -o O.csv",
    "export F -o O.jsonl",
    "export F -o O",
    *(f"plot {kind} F -o O.html" for kind in KINDS),
)
#: Plots of two sides, where both lack what they show.
OF_TWO = tuple(f"plot {kind} F F -o O.html" for kind in KINDS)
ENDINGS = ("", "/", ".html", ".parquet", ".csv", ".jsonl")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same log in two folders of different systems."""
    example = Path(__file__).parent.parent / "examples" / "two_systems" / "Example" / "results"
    folder = tmp_path_factory.mktemp("every") / "logs"
    for name in ("one", "other"):
        (folder / name).mkdir(parents=True)
        shutil.copy(example / "one_gpu" / "digits" / "result_0.txt", folder / name)
    return folder


Make = Callable[[pl.DataFrame], pl.DataFrame]

TABLES: dict[str, Make] = {
    "without rows": lambda whole: whole.clear(),
    "of one run twice": lambda whole: whole,
    "without evaluations": lambda whole: whole.unique("source", maintain_order=True).with_columns(
        pl.lit(None, schema.POLARS[name]).alias(name) for name in schema.EVALUATION_NAMES
    ),
    "of almost nothing": lambda whole: whole.select("run_id", "metric", "value", "seconds").unique(
        maintain_order=True
    ),
}


@pytest.fixture(scope="module", params=TABLES)
def table(request: pytest.FixtureRequest, logs: Path) -> Path:
    whole = tta.ingest([logs], logs.parent / "whole.parquet").output
    frame = TABLES[request.param](store.read_tables([whole]).collect())
    path = logs.parent / f"{request.param.replace(' ', '_')}.parquet"
    if set(frame.columns) == set(schema.NAMES):
        store.write(frame, path)
    else:
        frame.write_parquet(path)
    return path


def run(command: str, table: Path, place: Path) -> str:
    """Run a command and return its output; a traceback fails the test."""
    places = {"F": str(table)} | {f"O{end}": f"{place}/O{end}" for end in ENDINGS}
    result = CliRunner().invoke(app, [places.get(word, word) for word in command.split()])
    if isinstance(result.exception, TtastatsError):
        return str(result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit), command
    assert result.exit_code in {0, 1, 3}
    return result.stdout + result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_answers_of_every_table(command: str, table: Path, tmp_path: Path) -> None:
    assert run(command, table, tmp_path).strip()


@pytest.mark.parametrize("table", ["without evaluations", "of one run twice"], indirect=True)
@pytest.mark.parametrize("command", OF_TWO)
def test_every_plot_of_two_sides_is_drawn_or_refused(
    command: str, table: Path, tmp_path: Path
) -> None:
    assert run(command, table, tmp_path).strip()


class TestEqualLogs:
    """Equal logs in two places have one `run_id`, and still count as two runs, not one or four."""

    @pytest.fixture
    def twice(self, logs: Path, tmp_path: Path) -> Path:
        path = tta.ingest([logs], tmp_path / "twice.parquet").output
        assert store.read_tables([path]).select("run_id").unique().collect().height == 1
        return path

    def test_each_is_a_run_and_counts_once_in_each_group(self, twice: Path) -> None:
        rows = tta.runs(twice).rows
        assert [(row["entry"], row["epochs"]) for row in rows] == [("one", 9), ("other", 9)]
        assert store.read_tables([twice]).collect().height == 2 * 9
        assert [row["n"] for row in tta.summary(twice).rows] == [1, 1]
        assert [row["n"] for row in tta.summary(twice, by=["benchmark"]).rows] == [1]
        assert "2 runs" in tta.html_report(twice).html

    def test_exports_hold_both(self, twice: Path, tmp_path: Path) -> None:
        assert tta.export(twice, tmp_path / "x.csv").runs == 2
        assert pl.read_csv(tmp_path / "x.csv").height == 2 * 9
        tta.export(twice, tmp_path / "back")
        back = tta.ingest([tmp_path / "back"], tmp_path / "back.parquet")
        assert (back.runs, back.evaluations) == (2, 2 * 9)

    def test_rows_in_another_order_are_the_same_logs(self, twice: Path, tmp_path: Path) -> None:
        mixed = store.read_tables([twice]).collect().sort("eval_index", "source")
        tta.export(mixed, tmp_path / "mixed")
        tta.export(twice, tmp_path / "plain")
        for path in (tmp_path / "plain").rglob("*.txt"):
            other = tmp_path / "mixed" / path.relative_to(tmp_path / "plain")
            assert other.read_text() == path.read_text()

    def test_a_part_and_a_merge_keep_both(self, twice: Path, tmp_path: Path) -> None:
        part = tta.filter(twice, output=tmp_path / "part.parquet", where=["entry=other"])
        assert (part.runs, part.evaluations) == (1, 9)
        whole = tta.filter(part.output, twice, output=tmp_path / "whole.parquet")
        assert (whole.runs, whole.copies, whole.evaluations) == (2, 1, 2 * 9)
