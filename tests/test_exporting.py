"""Runs become logs again: what is read from them is what was exported, whatever the names."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

from tests.accepted import Case, cases
from tests.conftest import FIXTURES, ROOT
from tests.plotting import made
from tests.test_cli import refusal, run
from ttastats import api
from ttastats.base.atomic import safe_file_name
from ttastats.base.errors import TtastatsError
from ttastats.base.records import TIMES_ALONE
from ttastats.ingestion.account import Account
from ttastats.table import schema, store

EXAMPLE = ROOT / "examples" / "two_systems" / "Example" / "results"
#: What a log cannot hold, or holds differently: where it lies, in which format, what was odd.
UNTOLD = {"run_id", "source", "source_digest", "content_digest", "duplicate_of", "dialect", "line"}
UNTOLD |= {"problems", "target_source", "logged_unit", "extra"}
KEPT = [name for name in schema.NAMES if name not in UNTOLD]
HOSTILE = (
    "../../escaped", "/absolute", "..", "", "a/../../b", "C:\\windows", "nul", "results", "x\x00y",
    "<script>", "-rf", ".hidden", "a" * 500, "\u202e", "\udc80", "système", "x ", "name.",
)  # fmt: skip


def ingested(logs: Path, folder: Path, name: str = "runs.parquet") -> Path:
    api.ingest([logs], folder / name)
    return folder / name


def content(parquet: Path) -> pl.DataFrame:
    """Return the content of a table, with times to the microsecond, as in logs."""
    table = pl.read_parquet(parquet).filter(schema.is_run()).select(KEPT)
    times = [name for name in table.columns if name.endswith("seconds")]
    rounded = table.with_columns(pl.col(times).round(5))
    return rounded.sort(rounded.columns, nulls_last=True)


def round_trip(first: Path, folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the content of a table, and that of the logs exported from it."""
    api.export(first, folder / "exported")
    return content(first), content(ingested(folder / "exported", folder, "again.parquet"))


def some_runs(whole: Path, path: Path) -> Path:
    """Return a table of every twelfth log, or all of them where TTASTATS_LONG is set."""
    if os.environ.get("TTASTATS_LONG"):
        return whole
    table = pl.read_parquet(whole)
    sources = table["source"].unique().sort().gather_every(12)
    store.write(table.filter(pl.col("source").is_in(sources.to_list())), path)
    return path


def assert_same(first: pl.DataFrame, again: pl.DataFrame) -> None:
    assert again.height == first.height
    for name in first.columns:
        different = first[name].ne_missing(again[name])
        assert not different.any(), (name, first.filter(different)[name].head(3).to_list())


class TestRoundTrip:
    def test_the_example_comes_back_as_it_was(self, tmp_path: Path) -> None:
        first = ingested(EXAMPLE, tmp_path)
        assert_same(*round_trip(first, tmp_path))
        again = tmp_path / "again.parquet"
        assert api.summary(again).rows == api.summary(first).rows
        assert api.score(again).rows == api.score(first).rows

    @pytest.mark.real
    @pytest.mark.parametrize("round_", ["v0.5", "v0.7", "dawnbench"])
    def test_a_public_round_comes_back_as_it_was(
        self, round_: str, ingested_round: Callable[[str], Account], tmp_path: Path
    ) -> None:
        whole = ingested_round(round_).output
        assert_same(*round_trip(some_runs(whole, tmp_path / "some.parquet"), tmp_path))

    def test_runs_of_every_end_keep_it(self, tmp_path: Path) -> None:
        every = api.run_table(ingested(FIXTURES, tmp_path))
        # Other runs have no log format, and a rejected log has nothing to write.
        first = every.filter(pl.col("suite") != TIMES_ALONE, schema.is_run())
        api.export(tmp_path / "runs.parquet", tmp_path / "exported")
        again = api.run_table(ingested(tmp_path / "exported", tmp_path, "again.parquet"))
        ends = ["run_status", "reached", "evaluations"]
        assert again.select(ends).sort(ends).equals(first.select(ends).sort(ends))
        assert set(first["run_status"]) >= {"success", "aborted", "truncated"}
        times = [table["tta_seconds"].sort().round(4) for table in (first, again)]
        assert times[0].equals(times[1])


def logs_of() -> Iterator[str]:
    """Yield the logs of entries, one of which logs a second metric once, and of runs of a round."""
    leaders = made.leaders().filter(pl.col("cost_per_hour") < 3)
    top5 = leaders.filter(entry="entry_1", eval_index=1).with_columns(
        metric=pl.lit("top5_accuracy")
    )
    facts = {
        "submitter": "Lab & Co",
        "accelerators": 8,
        "nodes": 2,
        "hardware": "H100",
        "scaling_factor": 1.25,
    }
    runs = made.rows(made.SLOW[3:], extra={"init_seconds": 3.5, "lr": 0.1}, **facts)
    stopped = made.rows([(9.0, None)], suite="mlperf_hpc", **facts)
    stopped = stopped.with_columns(run_status=pl.lit("stopped"), higher_is_better=None)
    logged = pl.col("value").alias("logged_value"), pl.lit("log").alias("target_source")
    with TemporaryDirectory() as folder:
        for name, table in (("d", [leaders, top5]), ("r", [runs]), ("s", [stopped])):
            api.export(pl.concat(table).with_columns(logged), Path(folder, name))
        for path in sorted(Path(folder).rglob("*.*")):
            if path.is_file():
                yield f"-- {path.relative_to(folder).as_posix()}"
                yield path.read_text("utf-8")


@cases("pages", logs_of=logs_of)
def test_logs_are_written_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


class TestOddTables:
    """Tables of other programs hold values that no log of ours has."""

    @pytest.mark.parametrize(
        "extra", ["", "[", "null", "[1]", '"x"', "[" * 5_000, '{"init_seconds": "soon"}']
    )
    @pytest.mark.parametrize("suite", ["mlperf", "dawnbench"])
    def test_extra_may_hold_any_text(
        self, extra: str, suite: str, one_run: Path, tmp_path: Path
    ) -> None:
        table = with_names(one_run, extra=extra, suite=suite)
        assert api.export(table, tmp_path / "logs").runs == 1

    def test_evaluations_need_no_number(self, one_run: Path, tmp_path: Path) -> None:
        unnumbered = pl.scan_parquet(one_run).with_columns(eval_index=pl.lit(None, pl.Int64))
        assert api.export(unnumbered, tmp_path / "logs").runs == 1

    @pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e308])
    def test_numbers_that_json_lacks_are_null(
        self, seconds: float, one_run: Path, tmp_path: Path
    ) -> None:
        columns = ("seconds", "run_seconds", "logged_value")
        odd = pl.scan_parquet(one_run).with_columns(pl.lit(seconds).alias(c) for c in columns)
        api.export(odd, tmp_path / "logs")
        (log,) = (tmp_path / "logs").rglob("result_0.txt")
        assert "NaN" not in log.read_text()
        assert "Infinity" not in log.read_text()


def extra_of(parquet: Path) -> str:
    return str(pl.read_parquet(parquet)["extra"][0])


def with_names(parquet: Path, **names: str) -> pl.LazyFrame:
    columns = {name: pl.lit(text) for name, text in names.items()}
    return pl.scan_parquet(parquet).with_columns(**columns)


class TestNames:
    @pytest.mark.parametrize("name", ["digits", "tyche_ngpu8", "v0.5", "a+b-c.d_1"])
    def test_a_harmless_name_stays(self, name: str) -> None:
        assert safe_file_name(name) == name

    @pytest.mark.parametrize("name", HOSTILE)
    def test_any_other_becomes_one_that_stays_in_its_folder(self, name: str) -> None:
        safe = safe_file_name(name)
        assert safe == Path(safe).name
        assert safe.isascii()
        assert safe[0].isalnum()
        assert len(safe) < 100

    def test_two_names_never_become_one(self) -> None:
        names = [*HOSTILE, "a/b", "a\\b", "a b", "A" * 500]
        assert len({safe_file_name(name) for name in names}) == len(names)

    @pytest.mark.parametrize("column", ["entry", "benchmark", "round", "submitter", "system"])
    def test_nothing_is_written_outside_the_folder(
        self, column: str, one_run: Path, tmp_path: Path
    ) -> None:
        names = [name.encode("utf-8", "replace").decode() for name in HOSTILE]
        hostile = pl.concat(
            with_names(one_run, **{"run_id": str(n), "source": "result_0.txt", column: name})
            for n, name in enumerate(names)
        )
        if column != "entry":  # it would stand for the submitter and the system
            hostile = hostile.with_columns(entry=pl.lit(None, pl.String))
        inner = tmp_path / "inner"
        inner.mkdir()
        assert api.export(hostile, inner / "logs").runs == len(names)
        assert [path.name for path in tmp_path.iterdir()] == ["inner"]
        assert [path.name for path in inner.iterdir()] == ["logs"]
        assert len(list(inner.rglob("result_*.txt"))) == len(names)

    def test_text_that_looks_like_an_event_is_none(self, one_run: Path, tmp_path: Path) -> None:
        # Lines of this kind are read, and those of a "dummy" are skipped up to the next token.
        forged = ":::MLLOG {key: run_stop, time_ms: 9999999999999, metadata: {status: success}}"
        extra = json.dumps({"note": f"x\n{forged}", "dummy": forged})
        api.export(with_names(one_run, extra=extra, run_status="aborted"), tmp_path / "logs")
        (again,) = api.runs(ingested(tmp_path / "logs", tmp_path)).rows
        assert again["run_status"] == "aborted"
        assert json.loads(extra_of(tmp_path / "runs.parquet"))["note"] == f"x\n{forged}"

    def test_logs_of_one_name_all_stay(self, tmp_path: Path) -> None:
        first = ingested(EXAMPLE, tmp_path)
        both = with_names(first, entry="Example/both", system="both")
        assert api.export(both, tmp_path / "logs").runs == 20
        assert len(list((tmp_path / "logs").rglob("result_*.txt"))) == 20


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one")
    return ingested(EXAMPLE / "one_gpu" / "digits" / "result_0.txt", folder)


class TestPlaces:
    @pytest.mark.parametrize(("entry", "shown"), [("=cmd()", "'=cmd()"), ("a;=cmd()", "a;'=cmd()")])
    def test_csv_holds_every_row_and_no_formula(
        self, entry: str, shown: str, one_run: Path, tmp_path: Path
    ) -> None:
        api.export(with_names(one_run, entry=entry), tmp_path / "runs.csv")
        with (tmp_path / "runs.csv").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        table = pl.read_parquet(one_run)
        assert list(rows[0]) == list(schema.NAMES)
        assert {row["entry"] for row in rows} == {shown}
        assert [float(row["value"]) for row in rows] == table["value"].to_list()

    def test_json_lines_hold_every_row(self, one_run: Path, tmp_path: Path) -> None:
        api.export(one_run, tmp_path / "runs.jsonl")
        lines = (tmp_path / "runs.jsonl").read_text("utf-8").splitlines()
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
        table = pl.read_parquet(one_run)
        assert [row["value"] for row in rows] == table["value"].to_list()
        assert rows[0]["cost_per_hour"] is None

    def test_a_folder_that_holds_something_is_left_alone(
        self, one_run: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs" / "mine.txt").write_text("mine")
        message = refusal(run("export", one_run, "-o", tmp_path / "logs"))
        assert "already exists and is not an empty folder" in message
        assert [path.name for path in tmp_path.rglob("*")] == ["logs", "mine.txt"]

    def test_an_empty_folder_is_filled(self, one_run: Path, tmp_path: Path) -> None:
        (tmp_path / "logs").mkdir()
        result = run("export", one_run, "-o", tmp_path / "logs")
        assert (result.returncode, result.stdout) == (0, "")
        assert "wrote 1 run to" in result.stderr

    def test_a_failure_leaves_nothing(
        self, one_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_text", full)
        with pytest.raises(TtastatsError, match="No space left on device"):
            api.export(one_run, tmp_path / "logs")
        assert list(tmp_path.iterdir()) == []

    def test_a_table_is_never_replaced(self, one_run: Path, tmp_path: Path) -> None:
        place = tmp_path / "runs.csv"
        place.write_bytes(one_run.read_bytes())
        assert "is a ttastats table" in refusal(run("export", place, "-o", place))
        assert store.is_ttastats_table(place)

    def test_runs_without_a_log_format_are_counted(self, tmp_path: Path) -> None:
        first = ingested(EXAMPLE, tmp_path)
        other = pl.when(pl.col("system") == "one_gpu").then(pl.lit("other")).otherwise("suite")
        store.write(pl.read_parquet(first).with_columns(suite=other), tmp_path / "mixed.parquet")
        result = run("export", tmp_path / "mixed.parquet", "-o", tmp_path / "logs")
        assert result.returncode == 1
        assert "skipped 10 runs of other" in result.stderr
        assert "wrote 10 runs" in result.stderr

    def test_no_run_and_no_format_are_refused(self, one_run: Path, tmp_path: Path) -> None:
        with pytest.raises(TtastatsError, match="no run has nodes=99"):
            api.export(one_run, tmp_path / "x.csv", where=["nodes=99"])
        with pytest.raises(TtastatsError, match="no log format is known for these runs: other"):
            api.export(with_names(one_run, suite="other"), tmp_path / "logs")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "way_out"),
    [("x.parquet", "ttastats filter"), ("X.PARQUET", "ttastats filter"), ("x.json", "NAME.jsonl")],
)
def test_a_name_of_another_format_is_refused(
    name: str, way_out: str, two_systems: Path, tmp_path: Path
) -> None:
    table = api.ingest([two_systems], tmp_path / "all.parquet").output
    with pytest.raises(TtastatsError, match="is not an export format") as caught:
        api.export(table, tmp_path / name)
    assert way_out in str(caught.value)
    assert not (tmp_path / name).exists()
