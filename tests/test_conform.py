"""Tables of other programs are used, or refused with the reason."""

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
            lambda frame: duckdb.sql("SELECT * FROM frame"),
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
        small, large = (table.filter(entry=f"Example/{name}") for name in ("one_gpu", "eight_gpus"))
        narrow = large.with_columns(pl.col("accelerators", "nodes").cast(pl.Int32))
        assert runs(pl.concat([small, narrow, narrow], how="vertical_relaxed")).equals(runs(file))
        assert runs(pl.concat([small, large, large])).equals(runs(file))
        diagonal = pl.concat([small, large.drop("seed")], how="diagonal")
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
    "text for seconds": lambda: with_column("seconds", ["1", "2", "3 s", "4"]),
    "a fraction for a seed": lambda: with_column("seed", ["1", "2", "3.5", "4"]),
    "text for a truth": lambda: with_column("higher_is_better", ["true", "false", "no", "up"]),
    "text for a date": lambda: with_column("started_at", ["2026-01-01 10:00:00", "yesterday"] * 2),
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
    "a time of day for seconds": lambda: tta.from_frame(
        SMALL.with_columns(seconds=pl.lit(datetime(2020, 1, 1, tzinfo=UTC))),
        run="run_id", metric="metric", value="value", seconds="seconds",
    ),
    **{
        f"a year that Python does not know: {2**62 * sign}": lambda sign=sign: (
            conform(SMALL, "x").collect()
            .with_columns(started_at=pl.lit(2**62 * sign).cast(pl.Datetime("us", "UTC")))
        )
        for sign in (1, -1)
    },
    "runs without a name": lambda: NAMELESS,
    "runs without a source": lambda: (
        conform(SMALL, "x").collect().with_columns(source=pl.lit(None, pl.String))
    ),
    "one name for two runs": lambda: TWICE,
    "two systems of a run": lambda: SYSTEMS,
    "no table": lambda: 3,
    "no files": list,
    "no names of files": lambda: [b"x"],
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
def test_files_that_are_no_table_are_refused_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


REFUSED_FILES = [
    "text for seconds", "a late time", "runs without a source",
    *(name for name in REFUSED if name.startswith("a year")),
]  # fmt: skip


@pytest.mark.parametrize("name", REFUSED_FILES)
def test_a_file_is_refused_as_its_table_is(name: str, tmp_path: Path) -> None:
    odd = REFUSED[name]()
    odd.write_parquet(tmp_path / "x.parquet")
    for source in (odd.lazy(), tmp_path / "x.parquet"):
        with pytest.raises(TtastatsError):
            api.summary(source)


def test_a_frame_with_a_column_of_two_types_is_refused() -> None:
    odd = pd.DataFrame({"run_id": ["a", 1], "metric": ["acc", {}]})
    with pytest.raises(TtastatsError, match="a frame of pandas: cannot be read as a table"):
        api.summary(odd)


NAN = float("nan")
FRAME = {"seed": [1, 1, 2, 2], "s": [1.0, 2.0, 1.0, 3.0], "v": [0.5, 0.9, 0.4, 0.9]}
WIDE = {
    "seed": [1, 1, 1, 2, 2],
    "t": pd.to_timedelta([1, 2, 3, 1, 2], unit="s"),
    "acc": [None, 0.8, None, None, None],
    "loss": [None, 0.5, None, None, None],
}
BY_STEP = pl.DataFrame(
    {
        "run_id": "a", "metric": ["acc", "loss"] * 2, "value": 0.5,
        "seconds": [1.0, 1.1, 2.0, 2.1], "step": [10, 10, 20, 20],
    }
)  # fmt: skip
#: A run all of whose values are NaN, and not missing, was evaluated and gave no number.
NO_NUMBERS = pl.DataFrame(
    {
        "name": ["diverged"] * 2 + ["silent"] * 2 + ["sparse"] * 2, "step": [1, 2] * 3,
        "acc": [NAN, NAN, None, None, NAN, 0.9],
    }
)  # fmt: skip
#: Frames of which a table can be made.
MADE: dict[str, Callable[[], pl.DataFrame | pl.LazyFrame]] = {
    "little is enough": lambda: conform(SMALL.with_columns(mine=1), "x"),
    "no rows": lambda: conform(SMALL.clear(), "x"),
    "no rows of every column": lambda: conform(pl.DataFrame(schema=schema.POLARS), "x"),
    "durations for seconds": lambda: conform(
        SMALL.with_columns(pl.duration(seconds="seconds").alias("seconds")), "x"
    ),
    "NaN is unknown": lambda: conform(with_column("epoch", [1.0, NAN, 1.0, 2.0]), "x"),
    "no time": lambda: conform(SMALL.drop("seconds"), "x"),
    "metrics one after the other share their step": lambda: conform(BY_STEP, "x"),
    "metrics one after the other": lambda: conform(BY_STEP.drop("step"), "x"),
    "a run without evaluations": lambda: conform(
        pl.concat([SMALL, pl.DataFrame({"run_id": ["c"], "run_seconds": [7.0]})], how="diagonal"),
        "x",
    ),
    "a column of pandas of any type": lambda: tta.from_frame(
        pd.DataFrame(FRAME | {"entry": pd.Categorical(list("aabb"))}),
        run="seed", metric="v", seconds="s", entry="entry",
    ),
    "columns of other names": lambda: tta.from_frame(
        LONG, **NAMED, benchmark="model", target={"top1": 0.75},
        higher_is_better={"top1": True, "loss": False}, accelerators="gpus", framework="mine",
    ),
    "one column per metric": lambda: tta.from_frame(
        pd.DataFrame(WIDE), run="seed", metric=["acc", "loss"], seconds="t", entry="mine",
        target={"acc": 0.75},
    ),
    "no numbers": lambda: tta.from_frame(NO_NUMBERS, run="name", metric="acc", step="step"),
}  # fmt: skip


def of_made() -> Iterator[Any]:
    for name, make in MADE.items():
        table = make().lazy().collect()
        assert table.schema == schema.POLARS
        plain = table.drop("run_id", "source_digest")
        known = plain.select(column for column in plain if column.null_count() < len(column))
        yield f"---------- {name}"
        yield known.columns
        yield from known.rows()
        if table.is_empty():
            continue
        if name == "no numbers":
            yield from at_budget.runs(table).select("source", "short").rows()
        for row in api.runs(table, target=["acc=0.7"] if name.startswith("little") else ()).rows:
            yield row["source"], row["reached"], row["run_seconds"], row["tta_seconds"]


@cases("pieces", of_made_tables=of_made)
def test_what_is_made_of_frames_is_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_runs_of_one_name_in_two_tables_are_two() -> None:
    other = SMALL.with_columns(value=pl.col("value") + 0.1)
    ids = [set(conform(frame, "x").collect()["run_id"]) for frame in (SMALL, other)]
    assert not ids[0] & ids[1]
    again = conform(SMALL.sample(fraction=1.0, shuffle=True, seed=1), "x").collect()
    assert set(again["run_id"]) == ids[0]


def test_a_table_is_a_file_after_write_parquet(tmp_path: Path) -> None:
    table = tta.from_frame(LONG.filter(name="top1"), **NAMED, entry="gpus", target=0.75)
    assert set(table["metric"]) == {"top1"}
    table.write_parquet(tmp_path / "x.parquet")
    assert tta.read(tmp_path / "x.parquet").collect().equals(table)
    assert tta.summary(tmp_path / "x.parquet").rows == tta.summary(table).rows
