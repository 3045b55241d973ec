"""Is a table made by others one of ours, and if not, what is missing?

A table that `ingest` wrote passes as it is. Any other, say one that pandas or duckdb wrote, a frame
that lacks columns, or two rounds put together by polars, is used if it identifies its runs and says
what was measured when; where that cannot be, the error names the columns and their types.
"""

from __future__ import annotations

import polars as pl
import xxhash
from polars import selectors

from ttastats.base import errors, units
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.table import schema

#: What a table must say of an evaluation. What must be said of a run is `run_id` or `source`.
REQUIRED = ("metric", "value")
#: Runs whose rows are text at one time.
_RUNS_AT_ONCE = 5_000
_REMEDY = (
    "A table needs run_id or source, metric and value, one row per run, evaluation and metric, and "
    "seconds unless its runs have no time (docs/columns.md); `ttastats.from_frame` makes one from "
    "columns of other names."
)


def conform(frame: pl.DataFrame | pl.LazyFrame, where: str) -> pl.LazyFrame:
    """Return a table with the columns and types of the schema, in its order, or raise an error.

    A frame that has them is given as it is. Of any other, columns that are missing are null, but
    `source` or `run_id` (each stands for the other), `eval_index` (the order of the evaluations),
    `logged_value` (the value), `run_status` (unknown) and `run_seconds` (until the last
    evaluation). Types are cast where nothing is lost; times without a zone are taken for UTC, NaN
    is unknown. Runs of a table that has no `source_digest` get a `run_id` that tells them from runs
    of the same name in other tables. Columns that are not of the schema are left out. Errors
    call the table `where`.
    """
    types = frame.lazy().collect_schema()
    if dict(types.items()).items() >= dict(schema.POLARS.items()).items():
        _expect_names(frame.lazy().select(schema.RUN), where)
        # Python knows no other years.
        is_odd = ~pl.col("started_at").dt.year().is_between(1, 9999)
        bad_values = frame.lazy().select("started_at").filter(is_odd).head(1).collect()
        if not bad_values.is_empty():
            message = f"column started_at contains {bad_values.to_series().cast(pl.String)[0]}"
            remedy = "Correct or remove the value."
            raise TtastatsError(f"{message}, which is not a date", where=where, remedy=remedy)
        return frame.lazy().select(schema.NAMES)
    _expect_columns(types, where)
    columns = [name for name in schema.NAMES if name in types]
    # What others made is small beside what `ingest` writes, and is looked at as a whole.
    rows = _typed_blanks(frame.lazy().select(columns).unique(maintain_order=True).collect())
    faults = [
        f"column {name} is {types[name]}, {schema.POLARS[name]} is needed"
        for name in columns
        if not _is_castable(rows.schema[name], schema.POLARS[name])
    ]
    raise_if(faults, "; ".join(faults), where, "Cast it first.")
    rows = _cast_columns(rows, where)
    names = [name for name in schema.RUN if name in rows.columns]
    _expect_names(rows.lazy().select(names), where)
    missing = [name for name in schema.RUN if name not in rows.columns]
    rows = _with_evaluation_numbers(
        rows.with_columns(pl.col(names[0]).alias(name) for name in missing)
    )
    _expect_unique_values(rows, where)
    rows = _with_run_ids(rows)
    derived = {"logged_value": pl.col("value"), "run_status": pl.lit("unknown")}
    if "seconds" in rows.columns:
        derived["run_seconds"] = pl.col("seconds").max().over(schema.RUN)
    absent = [name for name in schema.NAMES if name not in rows.columns]
    rows = rows.with_columns(derived.get(name, pl.lit(None)).alias(name) for name in absent)
    return rows.select(schema.NAMES).cast(schema.POLARS).lazy()


def _typed_blanks(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose columns without a value have their types: others cannot tell them."""
    other_types = [name for name in frame.columns if frame.schema[name] != schema.POLARS[name]]
    without_nan = frame.select(other_types).with_columns(
        pl.col(pl.Float32, pl.Float64).fill_nan(None)
    )
    blank = [name for name in other_types if not without_nan[name].count()]
    return frame.with_columns(pl.lit(None, schema.POLARS[name]).alias(name) for name in blank)


def _expect_columns(types: pl.Schema, where: str) -> None:
    """Raise an error for columns that a table needs and lacks."""
    missing = [name for name in REQUIRED if name not in types]
    if not {"run_id", "source"} & types.keys():
        missing.insert(0, "run_id (or source)")
    if "seconds" not in types and errors.nearest_names("seconds", types):
        missing.append("seconds")  # a time under another name is no table without a time
    if missing:
        close = errors.nearest_names(missing[-1], types)
        hint = f" Is {missing[-1]} its {close[0]}?" if close else ""
        has = units.join_names(list(types), 12) or "none"
        message = f"lacks columns: {', '.join(missing)}; its columns are: {has}"
        remedy = f"{_REMEDY}{hint}"
        raise TtastatsError(f"not written by ttastats and {message}", where=where, remedy=remedy)


def _is_castable(has: pl.DataType, needs: pl.DataType) -> bool:
    """Return whether values of one type may all be valid in another."""
    if has in (needs, pl.Null, pl.String):  # a text may be read
        return True
    if needs == pl.String:
        return has.is_integer() or isinstance(has, pl.Categorical | pl.Enum)
    if needs == pl.Boolean:
        return has.is_integer()
    if isinstance(needs, pl.Datetime):
        return isinstance(has, pl.Datetime)
    return has.is_numeric() or (needs == pl.Float64 and isinstance(has, pl.Duration))


def _cast_columns(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Return the table with every column cast; raise an error for a value that would be lost.

    Nanoseconds do not count. Empty text is no value.
    """
    cleaned = frame.with_columns(
        pl.col(pl.Float32, pl.Float64).exclude("logged_value").fill_nan(None),
        pl.col(pl.Duration).dt.total_microseconds() / 1e6,
        pl.col(pl.String).exclude(schema.RUN).replace("", None),
    )
    cleaned = cleaned.with_columns(
        _read_text(name, schema.POLARS[name])
        for name, dtype in cleaned.schema.items()
        if dtype == pl.String and schema.POLARS[name] != pl.String
    )
    zoned = cleaned.with_columns(selectors.datetime(time_zone=None).dt.replace_time_zone("UTC"))
    cast = zoned.cast(
        pl.Schema({name: schema.POLARS[name] for name in cleaned.columns}), strict=False
    )
    for source, result in zip(frame, cast, strict=True):
        has_value = source.is_not_null()
        if source.dtype.is_float() and source.name != "logged_value":
            has_value &= source.is_not_nan()
        loss = has_value & result.is_null()
        if result.dtype.is_temporal():  # Python knows no other years
            loss |= ~result.dt.year().is_between(1, 9999).fill_null(value=True)
        if source.dtype.is_numeric() and result.dtype != pl.String:
            loss |= (result.cast(source.dtype, strict=False) != source).fill_null(value=False)
        if loss.any():
            example = source.filter(loss).cast(pl.String)[0]
            types = f"column {source.name} is {frame.schema[source.name]}, {result.dtype} is needed"
            remedy = "Correct the value, or cast the column before."
            message = f"{types}, and {example} cannot be converted"
            raise TtastatsError(message, where=where, remedy=remedy)
    return cast


_TRUTH = {"true": True, "false": False}


def _read_text(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a column of texts, as CSV and JSON have them, with the values that they say."""
    text = pl.col(name).str.strip_chars()
    if dtype == pl.Boolean:
        return text.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=dtype)
    if dtype.is_temporal():
        iso = text.str.replace(" ", "T", literal=True).str.replace(r"(Z|[+-]00:?00)$", "")
        return iso.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
    number = text.cast(pl.Float64, strict=False)
    if not dtype.is_integer():
        return number
    integer = pl.when(number == number.floor()).then(number).cast(pl.Int64, strict=False)
    return pl.coalesce(text.cast(pl.Int64, strict=False), integer)


def _expect_names(names: pl.LazyFrame, where: str) -> None:
    """Raise an error for rows without the name of their run."""
    for name, nameless in names.null_count().collect().row(0, named=True).items():
        message = f"column {name} is null in {units.plural(nameless, 'row')}"
        raise_if(nameless, message, where, "Set it in every row, or remove these rows.")


def _with_evaluation_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table in order, with numbered evaluations unless all have numbers.

    A number is the place of a value in a column that is equal for all metrics of one checkpoint,
    which may be logged one after the other; a single metric needs none but the time. Without a time
    it is what had been trained. Without that the rows are in order, and each metric counts its own.
    """
    evaluated = pl.col("metric").is_not_null()
    rows = frame.filter(evaluated)
    if "eval_index" not in frame.columns or rows["eval_index"].null_count():
        timed = "seconds" in rows.columns and bool(rows["seconds"].count())
        trained = ("step", "samples") if timed else ("step", "samples", "epoch")
        names = ("seconds",) if timed and rows["metric"].n_unique() == 1 else trained
        complete = {name for name in rows.columns if not rows[name].null_count()}
        ordering = next((name for name in names if name in complete), "seconds" if timed else None)
        order = pl.int_range(pl.len()).over(*schema.RUN, "metric")
        position = (pl.col(ordering) if ordering else order).cast(pl.Float64)
        rank = position.fill_null(float("inf")).rank("dense").over(*schema.RUN, evaluated)
        frame = frame.with_columns(eval_index=pl.when(evaluated).then(rank.cast(pl.Int64) - 1))
    return frame.sort(schema.ORDER, maintain_order=True)


def _expect_unique_values(frame: pl.DataFrame, where: str) -> None:
    """Raise an error if a run of an ordered table has two values for one metric at once.

    Most often one name stands for several runs, such as a seed for a run of each system.
    """
    remedy = "Give every run a unique run_id, such as system and seed."
    is_repeated = pl.all_horizontal(
        pl.col(name).eq_missing(pl.col(name).shift(-1)) for name in schema.ROW
    )
    duplicates = frame.filter(pl.col("metric").is_not_null() & is_repeated)
    if not duplicates.is_empty():
        row = duplicates.row(0, named=True)
        progress = ("step", "samples", "epoch")
        positions = [f"{name} {row[name]}" for name in progress if row.get(name) is not None]
        position = next(iter(positions), f"evaluation {row['eval_index']}")
        if row.get("seconds") is not None:
            position = f"{row['seconds']} s"
        message = f"run {row['source']} has {row['metric']} twice at {position}"
        raise TtastatsError(message, where=where, remedy=remedy)
    of_run = [name for name in schema.RUN_NAMES if name in frame.columns and name not in schema.RUN]
    counts = frame.group_by(schema.RUN).agg(pl.col(of_run).n_unique()).sort("source", "run_id")
    for name in of_run:
        if (counts[name] > 1).any():
            run = counts.filter(pl.col(name) > 1)["source"][0]
            values = frame.filter(pl.col("source") == run)[name].unique().sort()[:2]
            examples = " and ".join(values.cast(pl.String).fill_null("unknown"))
            message = f"run {run} has several values of {name}, such as {examples}"
            raise TtastatsError(message, where=where, remedy=remedy)


def _with_run_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with a `run_id` for every run, a digest of its rows if it had none."""
    if "source_digest" in frame.columns:
        return frame
    rows = pl.struct(name for name in frame.columns if name != "run_id").struct.json_encode()
    text = rows.str.join("\n").alias("source_digest")
    # All rows as text would take several times the memory of the table.
    numbers = frame.select(pl.struct(schema.RUN).rle_id()).to_series()
    digests, start = list[str](), 0
    for size in (numbers // _RUNS_AT_ONCE).rle().struct.field("len"):
        runs = frame.slice(start, size).group_by(schema.RUN, maintain_order=True).agg(text)
        digests += [xxhash.xxh3_128_hexdigest(text.encode()) for text in runs["source_digest"]]
        start += size
    digest = pl.Series("source_digest", digests, pl.String)
    return frame.with_columns(
        digest.gather(numbers), (digest.str.head(16) + "-0").gather(numbers).alias("run_id")
    )
