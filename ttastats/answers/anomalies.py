"""Which runs of a table need a second look: copies, runs that stood still, runs unlike others?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from operator import itemgetter
from typing import Annotated, Any

import numpy as np
import polars as pl

from ttastats.base import benchmarks
from ttastats.base.note import Note, note, wording
from ttastats.outcomes import time_to_target
from ttastats.outcomes.counted import RESULT, counted, standing
from ttastats.outcomes.time_to_target import PROGRESS
from ttastats.report.grouping import ENTRY, in_order
from ttastats.report.keys import Benchmark, Entry, Round, Suite
from ttastats.report.row import Key, Row
from ttastats.stats import outliers
from ttastats.table import schema


class ProblemRow(Row, frozen=True):
    """One problem of a log, of a run or of an entry."""

    code: Annotated[str, Key("code of the problem (`--code`)")]
    severity: Annotated[str, Key("error, warning or info")]
    source: Annotated[str | None, Key("path of the log; none where it is of an entry")]
    line: Annotated[int | None, Key("number of the line in the log, from 1")]
    message: Annotated[str, Key("what is wrong")]
    suite: Suite
    round: Round
    benchmark: Benchmark
    entry: Entry


#: A run stands still where its evaluations are this many times as far apart as is usual, if what
#: is unusual about it is at least this share of its length.
_STALL, _SHARE = 3.0, 0.05
#: So many spans in a run, and so many runs with a span at one place, tell what is usual.
_SPANS, _RUNS = 3, 3


def findings(
    runs: pl.DataFrame, rows: pl.LazyFrame, silent: Collection[str | None] = ()
) -> Iterator[ProblemRow]:
    """Return what no log tells of a table of runs (`time_to_target.runs`) and its tidy `rows`.

    A column `table` of the runs names their tables. Of the logs in `silent` it is known that they
    were never evaluated.
    """
    yield from _copies(runs)
    yield from _never_evaluated(runs, silent)
    yield from _stalls(runs, rows)
    once = runs.unique(schema.RUN, keep="first", maintain_order=True)
    yield from _of_entries(once)
    yield from _run_counts(once)


def problem(
    code: str,
    severity: str,
    message: str,
    about: Mapping[str, Any],
    *,
    source: str | None = None,
    line: int | None = None,
) -> ProblemRow:
    """Return a problem of the entry that `about` names."""
    return ProblemRow(code, severity, source, line, message, *map(about.get, ENTRY))


def _worded(key: str, severity: str, row: Mapping[str, Any], **fields: object) -> ProblemRow:
    """Return what was found in words of the table of codes, filled from a row and other fields."""
    code = key.partition(".")[0]
    return problem(code, severity, wording(key, **row, **fields), row, source=row.get("source"))


def _copies(runs: pl.DataFrame) -> Iterator[ProblemRow]:
    """Name every run but the first of those that are the same, in one table or in several."""
    several = runs["table"].n_unique() > 1
    same = runs.with_columns(content=pl.coalesce("content_digest", "run_id"))
    for name in ("source", "table"):
        same = same.with_columns(pl.col(name).first().over("content").alias(f"first_{name}"))
    copies = same.filter(
        (pl.col("source") != pl.col("first_source")) | (pl.col("table") != pl.col("first_table"))
    )
    shown = copies.select("source", "table", "first_source", "first_table", *ENTRY)
    for row in shown.iter_rows(named=True):
        where = f" in {row['first_table']}" if several else ""
        here = f" ({row['table']})" if several else ""
        yield _worded("duplicate_run", "warning", row, where=where, here=here)


def _never_evaluated(runs: pl.DataFrame, silent: Collection[str | None]) -> Iterator[ProblemRow]:
    never = standing(runs).filter(pl.col("evaluations").is_null()).select("source", *ENTRY)
    for row in never.iter_rows(named=True):
        if row["source"] not in silent:
            yield _worded("no_evaluation", "warning", row)


def stalls(runs: pl.DataFrame, rows: pl.LazyFrame) -> pl.DataFrame:
    """Return where runs stood still: two evaluations much further apart than is usual.

    Usual is the median of the run; where other runs of its entry have evaluations at that place,
    theirs too, as a slow part of the schedule is no stall; where none have, its next longest span.
    Columns: those that name the run, its `source` and entry; `seconds` between the evaluations,
    `since` and `at` seconds after the start, `times` as long as usual.
    """
    chosen = counted(runs).lazy().select(*schema.RUN, "run_seconds").unique(schema.RUN)
    spans = _spans(rows.join(chosen.select(schema.RUN), on=schema.RUN, how="semi"))
    times = pl.min_horizontal(*(pl.col(name) / _usual(name) for name in ("pace", "seconds")))
    still = pl.col("seconds") * (1 - 1 / pl.col("times"))
    return (
        spans.with_columns(times=times, known=pl.len().over(schema.RUN))
        .join(chosen, on=schema.RUN, how="left")
        .filter(pl.col("known") >= _SPANS, pl.col("times") > _STALL)
        .filter(still > _SHARE * pl.max_horizontal("run_seconds", "at"))
        .sort(*schema.RUN, "at")
        .collect()
    )


def _stalls(runs: pl.DataFrame, rows: pl.LazyFrame) -> Iterator[ProblemRow]:
    for row in stalls(runs, rows).iter_rows(named=True):
        yield _worded("stall.problem", "info", row, usual=row["seconds"] / row["times"])


def _spans(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the spans between the checkpoints that runs evaluated while they trained.

    `place` is the number of a span in its run, `pace` its seconds over what was trained meanwhile.
    """
    trained = [pl.col(name).cast(pl.Float64) for name in ("epoch", "samples", "step")]
    at, run = pl.col("at"), schema.RUN
    return (
        rows.filter(schema.of_evaluations())
        .group_by(*run, *ENTRY, "eval_index")
        .agg(at=time_to_target.evaluated_at().max(), end=pl.col("run_seconds").first(),
             trained=pl.coalesce(*trained).first())
        .filter(at.is_between(0.0, pl.col("end").fill_null(float("inf"))))
        .sort(*run, "eval_index")
        .with_columns(
            since=at.shift().over(run), seconds=at.diff().over(run),
            meanwhile=pl.col("trained").diff().over(run), place=pl.int_range(pl.len()).over(run),
        )
        .filter(pl.col("seconds") > 0)
        .with_columns(
            pace=pl.when(pl.col("meanwhile") > 0)
            .then(pl.col("seconds") / pl.col("meanwhile"))
            .otherwise("seconds")
        )
    )  # fmt: skip


def _usual(name: str) -> pl.Expr:
    """Return what is usual of a span, of which `name` is its length."""
    value, place = pl.col(name), (*ENTRY, "place")
    others = pl.when(pl.len().over(place) >= _RUNS).then(value.median().over(place))
    return pl.max_horizontal(
        value.median().over(schema.RUN), others.otherwise(value.top_k(2).min().over(schema.RUN))
    )


def _of_entries(runs: pl.DataFrame) -> Iterator[ProblemRow]:
    """Name what is odd about the runs of each entry, entry by entry: all of them at once."""
    kept = _with_progress(in_order(runs, ENTRY))
    trained = kept.filter(pl.col("progress") > 0)
    # One evaluation more or less is the least that there is between two runs.
    away = (pl.col("progress") - pl.col("progress").median().over("group")).abs()
    reached = trained.filter("reached").with_columns(
        value="progress",
        beyond=away > pl.col("interval").fill_null(0.0),
        what=pl.format("{} to the target", "unit"),
    )
    paced = trained.filter(pl.col("observed_seconds") > 0).with_columns(
        value=pl.col("observed_seconds") / pl.col("progress"),
        beyond=True,
        what=pl.format("s per {}", pl.col("unit").str.strip_suffix("s")),
    )
    found = [
        *_far(reached, "epochs_outlier"),
        *_far(paced, "epoch_time_outlier"),
        *_alike(kept.filter("reached")),
    ]
    yield from (one for _, one in sorted(found, key=itemgetter(0)))


def _with_progress(runs: pl.DataFrame) -> pl.DataFrame:
    """Add to runs, sorted by entry, the number of theirs and their progress in its common unit.

    That unit is the one `time_to_target.common_progress` gives.
    """
    lacks = {name: pl.col(name).is_null() & pl.col("reached") for name, _ in PROGRESS}
    unit = pl.coalesce(
        pl.when(~lacking.any().over("group")).then(pl.lit(name)) for name, lacking in lacks.items()
    )
    numbered = runs.with_columns(group=pl.struct(ENTRY).rle_id()).with_columns(unit=unit)
    return numbered.with_columns(
        progress=_of_unit({name: name for name, _ in PROGRESS}),
        interval=_of_unit(dict(PROGRESS)),
    )


def _of_unit(columns: Mapping[str, str]) -> pl.Expr:
    """Return of each run the column that belongs to its unit."""
    return pl.coalesce(
        pl.when(pl.col("unit") == unit).then(pl.col(column).cast(pl.Float64))
        for unit, column in columns.items()
    )


def _far(runs: pl.DataFrame, code: str) -> Iterator[tuple[int, ProblemRow]]:
    """Name the runs whose value is far from, and `beyond`, those of the others of their group."""
    sized = runs.with_columns(n=pl.len().over("group")).filter(pl.col("n") >= outliers.LEAST)
    for same in sized.partition_by("n"):
        values = same["value"].to_numpy().reshape(-1, same["n"][0])
        scored = same.with_columns(
            far=outliers.outliers(values).ravel(),
            z=outliers.modified_z(values).ravel(),
            median=np.median(values, axis=-1).repeat(values.shape[1]),
        )
        for row in scored.filter(pl.col("far") & pl.col("beyond")).iter_rows(named=True):
            yield row["group"], _worded(code, "info", row)


def _alike(reached: pl.DataFrame) -> Iterator[tuple[int, ProblemRow]]:
    """Name entries whose runs all took as many epochs: how much they would differ is not seen."""
    entries = reached.filter(pl.col("unit").is_not_null()).group_by("group", maintain_order=True)
    told = entries.agg(
        pl.col(*ENTRY, "unit", "progress").first(),
        n=pl.len(),
        values=pl.col("progress").n_unique(),
    )
    alike = told.filter(pl.col("n") >= outliers.LEAST, pl.col("values") == 1)
    for row in alike.iter_rows(named=True):
        yield row["group"], _worded("constant_epochs.problem", "info", row)


def _run_counts(runs: pl.DataFrame) -> Iterator[ProblemRow]:
    """Name the results with more or fewer runs than the rules require."""
    results = in_order(runs, RESULT).group_by(RESULT, maintain_order=True).len(name="n")
    known = results.filter(pl.col("suite").is_not_null() & pl.col("benchmark").is_not_null())
    for row in known.iter_rows(named=True):
        rules = benchmarks.scoring(row["suite"], row["benchmark"], row["round"], row["division"])
        if rules is not None and row["n"] != rules.runs:
            yield _worded("run_count.problem", "warning", row, required=rules.runs)


def rules(codes: Collection[str]) -> Iterator[Note]:
    """Yield by which rules problems with these codes were found."""
    if {"epochs_outlier", "epoch_time_outlier"} & set(codes):
        least, limit, away = outliers.LEAST, outliers.LIMIT, outliers.LEAST_AWAY
        yield note("outliers", least=least, limit=limit, away=away)
    if "stall" in codes:
        yield note("stall", times=_STALL, share=_SHARE)
