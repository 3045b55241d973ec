"""How does anybody's frame become a table of runs and evaluations?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import polars as pl

from ttastats.base import errors, units
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.forks import expect_threads
from ttastats.table import schema
from ttastats.table.conform import conform

_HERE = "from_frame"


@runtime_checkable
class Frame(Protocol):
    """A table in memory that gives its columns to other libraries: of pandas, pyarrow, duckdb."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the columns as Arrow's C interface has them."""


def is_frame(source: object) -> bool:
    """Return whether an object is a DataFrame of polars or of another library."""
    return isinstance(source, pl.DataFrame | pl.LazyFrame | Frame) or hasattr(
        source, "__dataframe__"
    )


def to_polars(frame: Any) -> pl.DataFrame | pl.LazyFrame:
    """Return a DataFrame of pandas, pyarrow, duckdb or another library as one of polars."""
    expect_threads()
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame
    try:
        if hasattr(frame, "__arrow_c_stream__"):
            return pl.DataFrame(frame)
        return pl.from_dataframe(frame)
    except (TypeError, ValueError, ArithmeticError, pl.exceptions.PolarsError) as error:
        what = f"cannot be read as a table: {error}".partition("\n")[0]
        where = f"a frame of {type(frame).__module__.partition('.')[0]}"
        raise TtastatsError(what, where=where, remedy="Give every column one type.") from error


def from_frame(
    frame: Any,
    *,
    run: str | Sequence[str],
    metric: str | Sequence[str],
    seconds: str | None = None,
    value: str | None = None,
    epoch: str | None = None,
    step: str | None = None,
    samples: str | None = None,
    benchmark: str | None = None,
    entry: str | None = None,
    target: float | str | Mapping[str, float] | None = None,
    higher_is_better: bool | str | Mapping[str, bool] | None = None,
    **others: Any,
) -> pl.DataFrame:
    """Create a table from a frame with one row per evaluation; other rows are allowed.

    Every function accepts the table; after `write_parquet`, every command reads it.

    Parameters
    ----------
    frame
        A polars, pandas, pyarrow or duckdb frame, or one that supports their exchange protocol.
    run
        One or several columns that identify a run, such as a seed. Runs of different benchmarks or
        entries may have the same value.
    metric, value
        With one row per metric: the column with the name of the metric (or the name itself), and
        the column with its value. With one column per metric: the names of these columns, without
        `value`. Rows without a value are not evaluations, but extend the run; of a run all of
        whose values are NaN, and not missing, every one is an evaluation that gave no number.
    seconds
        Column of seconds (or durations) since the start of the run; without it, results are in
        epochs, steps or samples.
    epoch, step, samples
        Columns of epochs, steps or samples.
    benchmark, entry
        A column, or a name for all rows. An entry is shared by repeated runs of one setup.
    target, higher_is_better
        The quality target and direction: a column, one for all rows, or one for each metric.
    others
        Any other column of the schema (docs/columns.md): the column that holds it, or a value for
        all rows, such as `accelerators=8` or `run_seconds="total"`.
    """
    rows = to_polars(frame).lazy().collect()
    columns = {"seconds": seconds, "epoch": epoch, "step": step, "samples": samples}
    columns |= {"benchmark": benchmark, "entry": entry, **others}
    goals = {"target_value": target, "higher_is_better": higher_is_better}
    columns |= {name: what for name, what in goals.items() if isinstance(what, str)}
    runs = [run] if isinstance(run, str) else list(run)
    for column in runs:
        _expect_known(column, rows.columns, f"run={column!r}: no such column")
    shared = [name for name in (benchmark, entry) if name in rows.columns]
    table = rows.select(
        pl.concat_str(
            pl.col(shared).cast(pl.String).fill_null("unknown"),
            pl.col(runs).cast(pl.String),
            separator="/",
        ).alias("source"),
        *(
            _column_or_constant(rows, *column)
            for column in columns.items()
            if column[1] is not None
        ),
    )
    table = _with_metrics(table, rows, metric, value)
    for name, what in goals.items():
        if what is not None and not isinstance(what, str):
            table = table.with_columns(_by_metric(table["metric"], name, what))
    return conform(_with_run_lengths(table), _HERE).collect()


def _expect_known(name: object, known: Sequence[str], what: str, kind: str = "Columns") -> None:
    """Raise an error that suggests the nearest names for one that is not known."""
    if name not in known:
        remedy = errors.suggestion(str(name), known, kind)
        raise TtastatsError(what, where=_HERE, remedy=remedy)


def _column_or_constant(rows: pl.DataFrame, name: str, what: Any) -> pl.Expr:
    """Return a column of the schema from a column of the frame, or from one value for all rows."""
    _expect_known(name, schema.NAMES, f"{name} is not a column of the schema")
    if isinstance(what, str) and (what in rows.columns or schema.POLARS[name] != pl.String):
        _expect_known(what, rows.columns, f"{name}={what!r}: no such column")
        return pl.col(what).alias(name)
    return pl.lit(what).alias(name)


def _with_metrics(
    table: pl.DataFrame, rows: pl.DataFrame, metric: str | Sequence[str], value: str | None
) -> pl.DataFrame:
    """Return the table with `metric` and `value`, with one row for each metric column."""
    if value is not None:
        several = not isinstance(metric, str)
        remedy = "List the value columns in metric=[...] and omit value."
        raise_if(several, "several metrics but one value column", _HERE, remedy)
        columns = {"metric": metric, "value": value}
        return table.hstack(
            rows.select(_column_or_constant(rows, *column) for column in columns.items())
        )
    names = [metric] if isinstance(metric, str) else list(metric)
    for name in names:
        _expect_known(name, rows.columns, f"metric={name!r}: no such column")
    return pl.concat(
        [table.with_columns(rows[name].alias("value"), metric=pl.lit(name)) for name in names],
        how="vertical_relaxed",
    )


def _by_metric(metrics: pl.Series, name: str, what: Any) -> pl.Series:
    """Return the target, or the direction, of each row's metric."""
    known = metrics.cast(pl.String).drop_nulls().unique().sort().to_list()
    if isinstance(what, Mapping):
        for metric in what:
            _expect_known(metric, known, f"unknown metric {metric!r}", "Metrics")
        wanted = metrics.cast(pl.String).replace_strict(dict(what), default=None)
        return wanted.cast(schema.POLARS[name]).alias(name)
    if name == "target_value" and len(known) > 1:
        error = f"one target for {len(known)} metrics: {units.join_names(known, 5)}"
        remedy = f"Assign it to a metric: target={{{known[0]!r}: {what}}}."
        raise TtastatsError(error, where=_HERE, remedy=remedy)
    return pl.Series(name, [what]).new_from_index(0, len(metrics))


def _with_run_lengths(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that have a value, or one row of a run without any, with run lengths.

    Metrics that are logged in rows of their own leave the others empty there, as training does.
    A run whose values are all NaN, and not missing, diverged: its evaluations have no value.
    """
    measured = pl.col("value").is_not_null()
    if table.schema["value"].is_float():
        number = measured & pl.col("value").is_not_nan()
        measured &= number | ~number.any().over("source", "metric")
    if "run_seconds" not in table.columns and "seconds" in table.columns:
        table = table.with_columns(run_seconds=pl.col("seconds").max().over("source"))
    if "target_value" in table.columns:
        table = table.with_columns(target_source=pl.lit("user"))
    if table.select(measured.all()).item():
        return table
    only = ~measured.any().over("source") & pl.int_range(pl.len()).over("source").eq(0)
    of_evaluation = [name for name in table.columns if name in schema.EVALUATION_NAMES]
    return table.filter(measured | only).with_columns(
        pl.when(measured).then(name).alias(name) for name in of_evaluation
    )
