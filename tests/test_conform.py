"""Tables made by others are used, or refused by the name of what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ttastats as tta
from tests.accepted import Case, cases
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.outcomes import at_budget
from ttastats.table import schema
from ttastats.table.conform import conform

SMALL = pl.DataFrame(
    {
        "run_id": ["a", "a", "b", "b"],
        "metric": ["acc"] * 4,
        "value": [0.5, 0.75, 0.25, 0.5],
        "seconds": [1.0, 2.0, 1.0, 2.0],
    }
)


@pytest.fixture(scope="module")
def file(tables: Path) -> Path:
    return tables / "both.parquet"


@pytest.fixture(scope="module")
def table(file: Path) -> pl.DataFrame:
    return pl.read_parquet(file)


def runs(source: api.Source) -> pl.DataFrame:
    return api.run_table(source).sort(schema.RUN)


KEPT = "Example/one_gpu"


class TestOtherPrograms:
    @pytest.mark.parametrize(
        "convert",
        [
            lambda table: table.to_pandas(),
            lambda table: table.to_arrow(),
            lambda table: table.lazy(),
            lambda made: duckdb.sql("SELECT * FROM made"),
        ],
    )
    def test_a_frame_of_another_library_gives_the_same_runs(
        self, convert: Callable[[pl.DataFrame], Any], file: Path, table: pl.DataFrame
    ) -> None:
        assert runs(convert(table)).equals(runs(file))

    @pytest.mark.parametrize(
        "write",
        [
            lambda file, path: duckdb.sql(f"FROM '{file}' WHERE entry = '{KEPT}'").write_parquet(
                path
            ),
            lambda file, path: pd.read_parquet(file).query("entry == @KEPT").to_parquet(path),
            lambda file, path: pq.write_table(
                pq.read_table(file, filters=[("entry", "=", KEPT)]), path
            ),
            lambda file, path: pl.read_parquet(file).filter(entry=KEPT).write_parquet(path),
        ],
    )
    def test_a_file_that_another_program_filtered_is_read(
        self, write: Callable[[Path, str], Any], file: Path, tmp_path: Path
    ) -> None:
        write(file, f"{tmp_path}/x.parquet")
        assert runs(tmp_path / "x.parquet").equals(runs(file).filter(entry=KEPT))

    def test_two_tables_put_together_count_every_run_once(
        self, file: Path, table: pl.DataFrame
    ) -> None:
        one, other = (table.filter(entry=f"Example/{name}") for name in ("one_gpu", "eight_gpus"))
        narrow = other.with_columns(pl.col("accelerators", "nodes").cast(pl.Int32))
        assert runs(pl.concat([one, narrow, narrow], how="vertical_relaxed")).equals(runs(file))
        assert runs(pl.concat([one, other, other])).equals(runs(file))
        diagonal = pl.concat([one, other.drop("seed")], how="diagonal")
        assert runs(diagonal).drop("seed").equals(runs(file).drop("seed"))


class TestTypes:
    @pytest.mark.parametrize(
        "casts",
        [
            {"accelerators": pl.Int32, "nodes": pl.UInt8, "seed": pl.Float64, "line": pl.UInt64},
            {"benchmark": pl.Categorical, "source": pl.Categorical},
            {"seed": pl.Decimal(20, 2), "step": pl.Int128, "higher_is_better": pl.Int8},
            {"started_at": pl.Datetime("ns", "Europe/Berlin")},
            {"started_at": pl.Datetime("ms", "UTC"), "run_status": pl.Enum(["success", "aborted"])},
            {"cost_per_hour": pl.Null, "duplicate_of": pl.Null},
        ],
    )
    def test_a_type_that_holds_the_same_is_cast(
        self, casts: dict[str, Any], file: Path, table: pl.DataFrame
    ) -> None:
        odd = table.with_columns(pl.col(name).cast(kind) for name, kind in casts.items())
        assert conform(odd, "x").collect().equals(table.select(schema.NAMES))
        assert runs(odd).equals(runs(file))

    def test_times_without_a_zone_are_utc(self, table: pl.DataFrame) -> None:
        naive = table.with_columns(pl.col("started_at").dt.replace_time_zone(None))
        assert conform(naive, "x").collect().equals(table)

    def test_strings_of_arrow_may_be_large_or_of_a_dictionary(self, table: pl.DataFrame) -> None:
        arrow = table.to_arrow()
        for name, kind in (("entry", pa.large_string()), ("metric", pa.string())):
            number = arrow.schema.get_field_index(name)
            column = arrow[name].cast(kind)
            column = column if name == "entry" else column.dictionary_encode()
            arrow = arrow.set_column(number, name, column)
        assert api.read(arrow).collect().equals(table)

    def test_durations_are_seconds(self) -> None:
        timed = SMALL.with_columns(pl.duration(seconds="seconds").alias("seconds"))
        assert conform(timed, "x").collect()["seconds"].to_list() == [1.0, 2.0, 1.0, 2.0]

    def test_nan_is_unknown(self) -> None:
        odd = SMALL.with_columns(epoch=pl.Series([1.0, float("nan"), 1.0, 2.0]))
        assert conform(odd, "x").collect()["epoch"].to_list() == [1.0, None, 1.0, 2.0]


def with_column(name: str, values: Any) -> pl.DataFrame:
    return SMALL.with_columns(pl.Series(name, values, strict=False))


TWICE = pl.concat([SMALL, SMALL.with_columns(value=pl.col("value") + 0.1)])
NAMELESS = SMALL.with_columns(run_id=pl.Series(["a", "a", None, None]))
SYSTEMS = SMALL.with_columns(system=pl.Series(["x", "y", "x", "x"]))
LETTERS = "abcdefghijklm"
LONG = pl.DataFrame(
    {
        "seed": [1, 1, 2, 2] * 2,
        "gpus": [1] * 4 + [8] * 4,
        "name": ["top1", "loss"] * 4,
        "measured": [0.7, 1.2, 0.8, 1.0, 0.9, 0.8, 0.6, 1.5],
        "wall": [10.0, 10.5, 12.0, 12.5, 3.0, 3.5, 4.0, 4.5],
        "at": [100] * 8,
        "model": "resnet",
    }
)
NAMED: dict[str, Any] = {
    "run": ["gpus", "seed"], "metric": "name", "value": "measured", "seconds": "wall", "step": "at",
}  # fmt: skip
#: Tables that none can be made of.
REFUSED: dict[str, Callable[[], Any]] = {
    "text for seconds": lambda: with_column("seconds", ["1", "2", "3", "4"]),
    "lists for values": lambda: with_column("value", [[1.0]] * 4),
    "parts of accelerators": lambda: with_column("accelerators", [1, 2.5, 2.5, 1]),
    "a large step": lambda: with_column("step", [2**63, 1, 2, 3]),
    "a number for a truth": lambda: with_column("higher_is_better", [0, 1, 2, 1]),
    "a number for a name": lambda: with_column("entry", [1.5, 1.5, 2.0, 2.0]),
    "a day for a time": lambda: with_column("started_at", [date(2020, 1, 1)] * 4),
    "a late time": lambda: with_column(
        "started_at", pl.Series([10**15] * 4).cast(pl.Datetime("ms"))
    ),
    "a duration for a seed": lambda: with_column("seed", [timedelta(1)] * 4),
    **{
        f"{count} columns": lambda count=count: pl.DataFrame(
            {name: [1] for name in LETTERS[:count]}
        )
        for count in (12, 13, 0)
    },
    "no metric": lambda: SMALL.drop("metric"),
    "no value": lambda: SMALL.drop("value"),
    "another name of time": lambda: SMALL.rename({"seconds": "time_seconds"}),
    "other names": lambda: pl.DataFrame({"time_seconds": [1.0], "accuracy": [0.5]}),
    "nothing": pd.DataFrame,
    "runs without a name": lambda: NAMELESS,
    "runs without a source": lambda: (
        conform(SMALL, "x").collect().with_columns(source=pl.lit(None, pl.String))
    ),
    "one name for two runs": lambda: TWICE,
    "two systems of a run": lambda: SYSTEMS,
    "no table": lambda: 3,
    "no files": list,
    "the rows of a report": lambda: api.runs(SMALL).frame,
    **{
        f"from_frame with {words}": lambda words=words: tta.from_frame(LONG, **(NAMED | words))
        for words in (
            {"run": "sed"}, {"seconds": "wal"}, {"target": 0.7}, {"target": {"top": 0.7}},
            {"acelerators": 3}, {"accelerators": "gpu"}, {"metric": ["a", "b"]},
            {"metric": ["a", "b"], "value": None}, {"run": "seed"}, {"accelerators": "measured"},
        )
    },
}  # fmt: skip


def of_refused() -> Iterator[Any]:
    for name, make in REFUSED.items():
        with pytest.raises(TtastatsError) as caught:
            api.summary(make())
        yield f"---------- {name}"
        yield str(caught.value)


@cases("pieces", of_refused_tables=of_refused)
def test_what_is_no_table_is_refused_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


@pytest.mark.parametrize("name", ["text for seconds", "a late time", "runs without a source"])
def test_a_file_is_refused_as_its_table_is(name: str, tmp_path: Path) -> None:
    odd = REFUSED[name]()
    odd.write_parquet(tmp_path / "x.parquet")
    for source in (odd.lazy(), tmp_path / "x.parquet"):
        with pytest.raises(TtastatsError):
            api.summary(source)


class TestColumns:
    def test_little_is_enough(self) -> None:
        table = conform(SMALL.with_columns(mine=1), "x").collect()
        assert table.schema == schema.POLARS
        assert table["source"].to_list() == ["a", "a", "b", "b"]
        assert table["eval_index"].to_list() == [0, 1, 0, 1]
        assert table["run_seconds"].unique().to_list() == [2.0]
        assert table["run_status"].unique().to_list() == ["unknown"]
        assert table["logged_value"].equals(table["value"].rename("logged_value"))
        assert [row["reached"] for row in api.runs(SMALL, target=["acc=0.7"]).rows] == [True, False]

    def test_a_table_without_a_target_says_so(self) -> None:
        notes = {note.code: note.text for note in api.summary(SMALL).notes}
        assert "(2 no target known)" in notes["failed_runs"]
        assert notes["no_target"].endswith(
            "no quality target is known: set one with --target METRIC=VALUE."
        )
        assert "no_target" not in {note.code for note in api.summary(SMALL, target=["0.9"]).notes}

    def test_a_frame_made_by_a_test_of_every_type_passes_as_it_is(self) -> None:
        odd = pl.DataFrame(schema=schema.POLARS)
        assert conform(odd, "x").collect().schema == schema.POLARS
        assert conform(SMALL.clear(), "x").collect().schema == schema.POLARS

    def test_a_table_may_have_no_time_but_none_under_another_name(self) -> None:
        untimed = conform(SMALL.drop("seconds"), "x").collect()
        assert untimed.get_column("seconds").null_count() == untimed.height

    def test_metrics_logged_one_after_the_other_share_their_step(self) -> None:
        rows = [("acc", 1.0, 10), ("loss", 1.1, 10), ("acc", 2.0, 20), ("loss", 2.1, 20)]
        frame = pl.DataFrame(
            [
                {"run_id": "a", "metric": m, "value": 0.5, "seconds": s, "step": k}
                for m, s, k in rows
            ]
        )
        assert conform(frame, "x").collect()["eval_index"].to_list() == [0, 0, 1, 1]
        assert conform(frame.drop("step"), "x").collect()["eval_index"].to_list() == [0, 1, 2, 3]

    def test_a_run_without_evaluations_is_kept(self) -> None:
        failed = pl.DataFrame({"run_id": ["c"], "run_seconds": [7.0]})
        table = conform(pl.concat([SMALL, failed], how="diagonal"), "x").collect()
        assert table.filter(source="c")["eval_index"].to_list() == [None]
        assert api.runs(table).rows[2]["run_seconds"] == 7.0

    @pytest.mark.parametrize("microseconds", [2**62, -(2**62)])
    def test_dates_of_years_that_python_does_not_know_are_refused(
        self, microseconds: int, table: pl.DataFrame, tmp_path: Path
    ) -> None:
        odd = table.with_columns(started_at=pl.lit(microseconds).cast(pl.Datetime("us", "UTC")))
        odd.write_parquet(tmp_path / "x.parquet")
        for source in (odd, tmp_path / "x.parquet"):
            with pytest.raises(
                TtastatsError, match=r"column started_at contains .*, which is not a date"
            ):
                runs(source)


class TestIdentity:
    def test_runs_of_one_name_in_two_tables_are_two(self) -> None:
        other = SMALL.with_columns(value=pl.col("value") + 0.1)
        ids = [set(conform(frame, "x").collect()["run_id"]) for frame in (SMALL, other)]
        assert not ids[0] & ids[1]
        again = conform(SMALL.sample(fraction=1.0, shuffle=True, seed=1), "x").collect()
        assert set(again["run_id"]) == ids[0]


class TestFromFrame:
    def test_a_column_of_pandas_may_have_any_type(self) -> None:
        columns = {"seed": [1, 1, 2, 2], "s": [1.0, 2.0, 1.0, 3.0], "v": [0.5, 0.9, 0.4, 0.9]}
        frame = pd.DataFrame(columns | {"entry": pd.Categorical(list("aabb"))})
        table = tta.from_frame(frame, run="seed", metric="v", seconds="s", entry="entry")
        assert table["entry"].to_list() == ["a", "a", "b", "b"]

    def test_columns_of_other_names_make_a_table(self) -> None:
        table = tta.from_frame(
            LONG,
            **NAMED,
            benchmark="model",
            target={"top1": 0.75},
            higher_is_better={"top1": True, "loss": False},
            accelerators="gpus",
            framework="mine",
        )
        assert table.schema == schema.POLARS
        assert table["source"].unique().sort().to_list() == [
            f"resnet/{gpus}/{seed}" for gpus in (1, 8) for seed in (1, 2)
        ]
        assert set(table["framework"]) == {"mine"}
        assert table.filter(metric="loss")["target_value"].null_count() == 4
        rows = tta.summary(table, by=["accelerators"]).rows
        assert [(row["n"], row["reached"]) for row in rows] == [(2, 1), (2, 1)]
        found = {row["accelerators"]: row["tta_mean_seconds"] for row in rows}
        assert found == {1: 12.5, 8: 3.5}  # when all metrics of the checkpoint were known

    def test_one_column_per_metric(self) -> None:
        wide = pd.DataFrame(
            {
                "seed": [1, 1, 1, 2, 2],
                "t": pd.to_timedelta([1, 2, 3, 1, 2], unit="s"),
                "acc": [None, 0.8, None, None, None],
                "loss": [None, 0.5, None, None, None],
            }
        )
        table = tta.from_frame(
            wide,
            run="seed",
            metric=["acc", "loss"],
            seconds="t",
            entry="mine",
            target={"acc": 0.75},
        )
        found = table.select("source", "metric", "value", "seconds", "run_seconds").rows()
        assert found == [
            ("1", "acc", 0.8, 2.0, 3.0),
            ("1", "loss", 0.5, 2.0, 3.0),
            ("2", None, None, None, 2.0),
        ]
        assert [row["reached"] for row in tta.runs(table).rows] == [True, False]

    def test_a_table_is_a_file_after_write_parquet(self, tmp_path: Path) -> None:
        table = tta.from_frame(
            LONG.filter(name="top1"),
            run=["gpus", "seed"],
            metric="top1",
            value="measured",
            seconds="wall",
            entry="gpus",
            target=0.75,
        )
        assert set(table["metric"]) == {"top1"}
        table.write_parquet(tmp_path / "x.parquet")
        assert tta.read(tmp_path / "x.parquet").collect().equals(table)
        assert tta.summary(tmp_path / "x.parquet").rows == tta.summary(table).rows

    def test_a_frame_that_no_table_can_hold_is_refused(self) -> None:
        odd = pd.DataFrame({"run_id": ["a", 1], "metric": ["acc", {}]})
        with pytest.raises(TtastatsError, match="a frame of pandas: cannot be read as a table"):
            api.summary(odd)

    def test_a_time_of_day_is_no_number_of_seconds(self) -> None:
        odd = SMALL.with_columns(seconds=pl.lit(datetime(2020, 1, 1, tzinfo=UTC)))
        with pytest.raises(TtastatsError, match="column seconds is Datetime"):
            tta.from_frame(odd, run="run_id", metric="metric", value="value", seconds="seconds")


def test_a_run_whose_values_are_all_nan_was_evaluated_and_gave_no_number() -> None:
    nan = float("nan")
    runs = {"diverged": (nan, nan), "silent": (None, None), "sparse": (nan, 0.9)}
    rows = [
        {"name": name, "step": step, "acc": value}
        for name, values in runs.items()
        for step, value in enumerate(values, start=1)
    ]
    table = tta.from_frame(pl.DataFrame(rows), run="name", metric="acc", step="step")
    evaluated = table.filter(pl.col("metric").is_not_null()).group_by("source").len()
    assert dict(evaluated.iter_rows()) == {"diverged": 2, "sparse": 1}
    at_end = {row["source"]: row["short"] for row in at_budget.runs(table).iter_rows(named=True)}
    assert at_end == {"diverged": "not_a_number", "silent": "never_evaluated", "sparse": None}
