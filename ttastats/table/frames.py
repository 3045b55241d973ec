"""How does anybody's frame become a table of runs and evaluations?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Protocol, runtime_checkable

import polars as pl

from ttastats.base import arguments, errors, units
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.forks import expect_threads
from ttastats.base.metrics import parse_goal
from ttastats.table import schema
from ttastats.table.conform import conform

_CALL = "from_frame"


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
        message = f"cannot be read as a table: {error}".partition("\n")[0]
        kind = f"a frame of {type(frame).__module__.partition('.')[0]}"
        raise TtastatsError(message, where=kind, remedy="Give every column one type.") from error


def _column(name: str, value: Any) -> Any:
    """Take a column, or one value for all rows."""
    is_whole = isinstance(value, int) and -(2**63) <= value < 2**63  # as a column holds them
    if arguments.is_text(value) or is_whole or isinstance(value, float | datetime | date):
        return value
    raise arguments.refusal(name, value, "Give a column, or one value for all rows.")


def _for_each(take: arguments.Taken) -> arguments.Taken:
    """Take a column or one value for all rows, or a mapping of metrics to values."""

    def take_each(name: str, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value if isinstance(value, str) else take(name, value)
        return {metric: take(name, item) for metric, item in value.items()}

    return take_each


_COLUMNS = ("seconds", "epoch", "step", "samples", "benchmark", "entry")


@arguments.checked(
    {
        **dict.fromkeys(("run", "metric"), arguments.texts("'seed'")),
        **dict.fromkeys(_COLUMNS, _column),
        "value": arguments.text("'value'"),
        "target": _for_each(arguments.a_goal),
        "higher_is_better": _for_each(arguments.truth),
    }
)
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
    target: float | str | Mapping[str, float | str] | None = None,
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
        The quality target and direction: a column, one for all rows, or one for each metric. The
        sign of a target such as `">=0.75"` is the direction.
    others
        Any other column of the schema (docs/columns.md): the column that holds it, or a value for
        all rows, such as `accelerators=8` or `run_seconds="total"`.
    """
    rows = to_polars(frame).lazy().collect()
    columns = {"seconds": seconds, "epoch": epoch, "step": step, "samples": samples}
    columns |= {"benchmark": benchmark, "entry": entry}
    columns |= {
        name: _column(name, argument) for name, argument in others.items() if argument is not None
    }
    goals = {"target_value": target, "higher_is_better": higher_is_better}
    is_column = {name: isinstance(argument, str) for name, argument in goals.items()}
    is_column["target_value"] &= target in rows.columns
    columns |= {name: str(argument) for name, argument in goals.items() if is_column[name]}
    runs = [run] if isinstance(run, str) else list(run)
    raise_if(not runs, "no column identifies a run", "run=", "Name one, such as 'seed'.")
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
    if seconds is not None:
        _expect_seconds(table["seconds"], f"seconds={seconds!r}")
    table = _with_metrics(table, rows, metric, value)
    values = [None if is_column[name] else argument for name, argument in goals.items()]
    table = table.with_columns(*_goals(table["metric"], *values))
    return conform(_with_run_lengths(table), _CALL).collect()


def _expect_known(name: object, names: Sequence[str], message: str, kind: str = "Columns") -> None:
    """Raise an error that suggests the nearest names for one that is not known."""
    if name not in names:
        remedy = errors.suggestion(str(name), names, kind)
        raise TtastatsError(message, where=_CALL, remedy=remedy)


def _column_or_constant(rows: pl.DataFrame, name: str, value: Any) -> pl.Expr:
    """Return a column of the schema from a column of the frame, or from one value for all rows."""
    _expect_known(name, schema.NAMES, f"{name} is not a column of the schema")
    if isinstance(value, str) and (value in rows.columns or schema.POLARS[name] != pl.String):
        _expect_known(value, rows.columns, f"{name}={value!r}: no such column")
        return pl.col(value).alias(name)
    return pl.lit(value).alias(name)


def _expect_seconds(times: pl.Series, where: str) -> None:
    """Raise an error for times that are no seconds, such as stamps, and say how to give them."""
    if times.dtype == pl.String:
        text = times.str.strip_chars().replace("", None)
        is_odd = bool((text.is_not_null() & text.cast(pl.Float64, strict=False).is_null()).any())
    else:
        is_odd = not (times.dtype.is_numeric() or isinstance(times.dtype, pl.Duration | pl.Null))
    remedy = (
        "Give seconds or durations since the start of the run, such as time - start as datetimes."
    )
    raise_if(is_odd, f"the column is {times.dtype}, not seconds", where, remedy)


def _with_metrics(
    table: pl.DataFrame, rows: pl.DataFrame, metric: str | Sequence[str], value: str | None
) -> pl.DataFrame:
    """Return the table with `metric` and `value`, with one row for each metric column."""
    if value is not None:
        is_wide = not isinstance(metric, str) and len(metric) > 1
        remedy = "List the value columns in metric=[...] and omit value."
        raise_if(is_wide, "several metrics but one value column", _CALL, remedy)
        columns = {"metric": "".join(metric), "value": value}
        return table.hstack(
            rows.select(_column_or_constant(rows, *column) for column in columns.items())
        )
    names = [metric] if isinstance(metric, str) else list(metric)
    raise_if(not names, "no column holds a metric", "metric=", "Name one, such as 'accuracy'.")
    for name in names:
        _expect_known(name, rows.columns, f"metric={name!r}: no such column")
    return pl.concat(
        [table.with_columns(rows[name].alias("value"), metric=pl.lit(name)) for name in names],
        how="vertical_relaxed",
    )


def _by_metric(metrics: Sequence[str], value: Any) -> Mapping[str, Any]:
    """Return the value of each metric, from a mapping or one value for all."""
    if isinstance(value, Mapping):
        return value
    return {} if value is None else dict.fromkeys(metrics, value)


def _goals(metrics: pl.Series, target: Any, direction: Any) -> Iterator[pl.Series]:
    """Yield the target and the direction of each row's metric, as far as they are stated."""
    metrics = metrics.cast(pl.String)
    names = metrics.drop_nulls().unique().sort().to_list()
    is_ambiguous = len(names) > 1 and not isinstance(target, Mapping | None)
    error = f"one target for {len(names)} metrics: {units.join_names(names, 5)}"
    raise_if(
        is_ambiguous,
        error,
        _CALL,
        f"Assign it to a metric: target={{{''.join(names[:1])!r}: {target}}}.",
    )
    targets, directions = _by_metric(names, target), _by_metric(names, direction)
    for metric in (*targets, *directions):
        _expect_known(metric, names, f"unknown metric {metric!r}", "Metrics")
    parsed = {
        metric: parse_goal(metric, goal, directions.get(metric)) for metric, goal in targets.items()
    }
    signs = {metric: sign for metric, (_, sign) in parsed.items() if sign is not None}
    values = {metric: value for metric, (value, _) in parsed.items()}
    for name, by_metric in (
        ("target_value", values),
        ("higher_is_better", {**directions, **signs}),
    ):
        if by_metric:
            column = metrics.replace_strict(
                by_metric, default=None, return_dtype=schema.POLARS[name]
            )
            yield column.alias(name)


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
