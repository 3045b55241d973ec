"""What was wrong with the logs of a table, and which of its runs need a second look?

Copies, runs that stood still and runs unlike others are found in the table, whatever the logs say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any

import numpy as np
import polars as pl

from ttastats.base import benchmarks, errors
from ttastats.base.codes import note, wording
from ttastats.base.errors import TtastatsError
from ttastats.base.records import TIMES_ALONE, Problem
from ttastats.outcomes import pace
from ttastats.outcomes.left_out import RESULT, counted, standing
from ttastats.outcomes.time_to_target import PROGRESS
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Quantity, Table, Text
from ttastats.report.grouping import ENTRY, in_group_order
from ttastats.report.keys import Benchmark, Entry, Round, Suite
from ttastats.report.row import Key, Row
from ttastats.stats import moments
from ttastats.table import schema

_SEVERITIES = ("error", "warning", "info")
#: Problems of a code that are shown before the rest is only counted; one code alone is shown whole.
_SHOWN = 5
#: A run stands still where its evaluations are this many times as far apart as is usual, if what
#: is unusual about it is at least this share of its length.
_STALL, _SHARE = 3.0, 0.05
#: The fewest spans in a run, and runs with a span at one position, for a usual length.
_SPANS, _RUNS = 3, 3


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


def report(
    problems: Sequence[Problem],
    runs: pl.DataFrame,
    all_runs: pl.DataFrame,
    rows: pl.LazyFrame,
    codes: Sequence[str] = (),
) -> Report:
    """Return the report of problems, the most serious first.

    `problems` are those of the logs, and `codes` the only ones that are shown. `runs` is a table of
    runs (`time_to_target.runs`), with the name of its table in a column `table`; `rows` is the tidy
    table of all. Of `all_runs` some may not be chosen: nobody knows whether files without a run
    would have been, and their problems are counted only.
    """
    of_logs, left_out = list(dict.fromkeys(problems)), 0
    if runs.height < all_runs.height:
        chosen_sources, known_sources = set(runs["source"]), set(all_runs["source"])
        left_out = sum(problem.source not in known_sources for problem in of_logs)
        of_logs = [problem for problem in of_logs if problem.source in chosen_sources]
    silent = {problem.source for problem in of_logs if problem.code == "no_evaluation"}
    first = runs.select("source", *ENTRY).unique("source", keep="first")
    heads = {row["source"]: row for row in first.iter_rows(named=True)}
    problem_rows = [
        ProblemRow(
            problem.code, problem.severity, problem.source, problem.line, problem.message,
            *map(heads.get(problem.source, {}).get, ENTRY),
        ) for problem in of_logs
    ]  # fmt: skip
    problem_rows += findings(runs, rows, silent)
    problem_rows.sort(
        key=lambda row: (
            _SEVERITIES.index(row.severity), row.code, row.source or "", row.line or 0,
            row.entry or "",
        )
    )  # fmt: skip
    every_code = sorted({row.code for row in problem_rows})
    if unknown := [code for code in codes if code not in every_code]:
        remedy = errors.suggestion(unknown[0], every_code, "Known codes") if every_code else None
        raise TtastatsError(f"unknown problem code {unknown[0]!r}", where="--code", remedy=remedy)
    problem_rows = [row for row in problem_rows if not codes or row.code in codes]
    tables = tuple(_problem_tables(problem_rows, in_full=bool(codes)))
    counts = Counter(row.code for row in problem_rows)
    notes = []
    if {"epochs_outlier", "epoch_time_outlier"} & counts.keys():
        least, limit, least_distance = moments.LEAST, moments.LIMIT, moments.LEAST_AWAY
        notes.append(note("outliers", least=least, limit=limit, away=least_distance))
    if "stall" in counts:
        notes.append(note("stall", times=_STALL, share=_SHARE))
    if len(counts) > 1 and max(counts.values()) > _SHOWN:
        notes.append(note("more.problems"))
    if left_out:
        notes.append(note("left_out", n=left_out))
    close = "" if problem_rows else "No problems found."
    return Report("problems", tuple(problem_rows), tables, tuple(notes), close)


def _problem_tables(rows: Sequence[ProblemRow], *, in_full: bool) -> Iterator[Table]:
    by_code: dict[str, list[ProblemRow]] = {}
    for row in rows:
        by_code.setdefault(row.code, []).append(row)
    if rows:
        counts = []
        for kind, n in Counter((row.severity, row.code) for row in rows).items():
            files = {row.source for row in rows if (row.severity, row.code) == kind} - {None}
            names = (Text(name) for name in reversed(kind))
            counts.append(Line((*names, Quantity(n, "count"), Quantity(len(files), "count"))))
        numbers = (Column(name, "right") for name in ("problems", "files"))
        yield Table((Column("code"), Column("severity"), *numbers), tuple(counts))
    for code, code_rows in by_code.items():
        lines = []
        for row in code_rows if in_full else code_rows[:_SHOWN]:
            position = f"{row.source}{'' if row.line is None else f':{row.line}'}"
            if row.source is None:
                position = " ".join(filter(None, (row.round, row.benchmark, row.entry)))
            lines.append(Line((Text(position), Text(row.message.replace("\n", "; ")))))
        suffix = f", {_SHOWN} of {len(code_rows):,}" if len(lines) < len(code_rows) else ""
        yield Table((Column("where", names=True), Column("what")), tuple(lines), f"{code}{suffix}")


def findings(
    runs: pl.DataFrame, rows: pl.LazyFrame, silent: Collection[str | None] = ()
) -> Iterator[ProblemRow]:
    """Yield suspicions about runs without a problem in their logs.

    A column `table` of the runs names their tables. Of the logs in `silent` it is known that they
    were never evaluated.
    """
    several_tables = runs["table"].n_unique() > 1
    with_originals = runs.with_columns(content=pl.coalesce("content_digest", "run_id"))
    names = ("source", "table")
    with_originals = with_originals.with_columns(
        first_source=pl.coalesce("duplicate_of", "source").first().over("content"),
        first_table=pl.col("table").first().over("content"),
    )
    is_copy = pl.any_horizontal(pl.col(name) != pl.col(f"first_{name}") for name in names)
    copies = with_originals.filter(is_copy).select(*names, "first_source", "first_table", *ENTRY)
    for row in copies.iter_rows(named=True):
        original_table = f" in {row['first_table']}" if several_tables else ""
        own_table = f" ({row['table']})" if several_tables else ""
        yield _problem_row("duplicate_run", "warning", row, where=original_table, here=own_table)
    never_evaluated = pl.col("evaluations").is_null() & pl.col("suite").ne_missing(
        pl.lit(TIMES_ALONE)
    )
    never = standing(runs).filter(never_evaluated).select("source", *ENTRY)
    for row in never.iter_rows(named=True):
        if row["source"] not in silent:
            yield _problem_row("no_evaluation", "warning", row)
    for row in stalls(runs, rows).iter_rows(named=True):
        yield _problem_row("stall.problem", "info", row, usual=row["seconds"] / row["times"])
    changed = pace.of_runs(counted(runs), rows).filter(pl.col("clock_jump_seconds") != 0)
    for row in changed.sort("source").iter_rows(named=True):
        yield _problem_row("clock_changed.problem", "warning", row)
    distinct_runs = runs.unique(schema.RUN, keep="first", maintain_order=True)
    yield from _entry_problems(distinct_runs)
    results = (
        in_group_order(distinct_runs, RESULT).group_by(RESULT, maintain_order=True).len(name="n")
    )
    known_results = results.filter(
        pl.col("suite").is_not_null() & pl.col("benchmark").is_not_null()
    )
    for row in known_results.iter_rows(named=True):
        scoring = benchmarks.scoring(row["suite"], row["benchmark"], row["round"], row["division"])
        if scoring is not None and row["n"] != scoring.runs:
            yield _problem_row("run_count.problem", "warning", row, required=scoring.runs)


def _problem_row(key: str, severity: str, row: Mapping[str, Any], **fields: object) -> ProblemRow:
    """Return a problem in the words of the table of codes, filled from a row and fields."""
    code, words = key.partition(".")[0], wording(key, **row, **fields)
    return ProblemRow(code, severity, row.get("source"), None, words, *map(row.get, ENTRY))


def stalls(runs: pl.DataFrame, rows: pl.LazyFrame) -> pl.DataFrame:
    """Return the stalls of runs: two evaluations much further apart than usual.

    Usual is the median of the run; where other runs of its entry have evaluations at that place,
    theirs too, as a slow part of the schedule is no stall; where none have, or all are there at
    the same time, its next longest span.
    Columns: those that name the run, its `source` and entry; `seconds` between the evaluations,
    `since` and `at` seconds after the start, `times` as long as usual, `together`: in all at once.
    """
    run, position, times = "number", (*ENTRY, "place"), []
    distinct_runs = counted(runs).unique(schema.RUN, keep="first", maintain_order=True)
    names = (*schema.RUN, *ENTRY, "run_seconds")
    started = pl.col("started_at").dt.epoch("s").alias("start")
    facts = distinct_runs.lazy().select(*names, started).with_row_index(run)
    end = pl.col("run_seconds").fill_null(float("inf"))
    spans = (
        pace.spans(distinct_runs, rows)
        .with_columns(place=pl.int_range(pl.len()).over(run))
        .join(facts, on=run, how="left")
        .filter(pl.col("at").is_between(0.0, end), pl.col("seconds") > 0)
    )
    steps = pl.when(pl.col("meanwhile") > 0).then(pl.col("seconds") / pl.col("meanwhile"))
    moment = pl.col("start") + pl.col("since")
    range_of_starts = (moment.max() - moment.min()).over(position)
    is_simultaneous = (range_of_starts < pl.col("seconds").median().over(position)).fill_null(
        value=False
    )
    for length in (pl.coalesce(steps, "seconds"), pl.col("seconds")):
        has_others = (pl.len().over(position) >= _RUNS) & ~is_simultaneous
        of_others = pl.when(has_others).then(length.median().over(position))
        next_longest = length.top_k(2).min().over(run)
        usual_lengths = length.median().over(run), of_others.otherwise(next_longest)
        times.append(length / pl.max_horizontal(usual_lengths))
    lost_seconds = pl.col("seconds") * (1 - 1 / pl.col("times"))
    is_simultaneous &= pl.len().over(position) >= _RUNS
    return (
        spans.with_columns(
            times=pl.min_horizontal(times), known=pl.len().over(run), together=is_simultaneous
        )
        .filter(pl.col("known") >= _SPANS, pl.col("times") > _STALL)
        .filter(lost_seconds > _SHARE * pl.max_horizontal("run_seconds", "at"))
        .sort(*schema.RUN, "at")
        .collect()
    )


def _entry_problems(runs: pl.DataFrame) -> Iterator[ProblemRow]:
    # The unit of an entry is the first that all its runs that reached tell (`common_progress`).
    lacks_unit = [pl.col(unit).is_null() & pl.col("reached") for unit, _ in PROGRESS]
    units = pl.coalesce(
        pl.when(~lacks.any().over("group")).then(pl.lit(unit))
        for (unit, _), lacks in zip(PROGRESS, lacks_unit, strict=True)
    )
    progress, interval = (
        pl.coalesce(
            pl.when(pl.col("unit") == names[0]).then(pl.col(names[index]).cast(pl.Float64))
            for names in PROGRESS
        )
        for index in (0, 1)
    )
    entry_runs = in_group_order(runs, ENTRY).with_columns(group=pl.struct(ENTRY).rle_id())
    entry_runs = entry_runs.with_columns(unit=units).with_columns(
        progress=progress, interval=interval
    )
    trained = entry_runs.filter(pl.col("progress") > 0)
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
    reached_runs = entry_runs.filter("reached", pl.col("unit").is_not_null())
    counts = reached_runs.group_by("group").agg(
        pl.col(*ENTRY, "unit", "progress").first(), n=pl.len(), values=pl.col("progress").n_unique()
    )
    equal = counts.filter(pl.col("n") >= moments.LEAST, pl.col("values") == 1)
    numbered_problems = [
        *_outlier_problems(reached, "epochs_outlier"),
        *_outlier_problems(paced, "epoch_time_outlier"),
        *((row["group"], _problem_row("constant_epochs.problem", "info", row))
          for row in equal.iter_rows(named=True)),
    ]  # fmt: skip
    yield from (problem for _, problem in sorted(numbered_problems, key=itemgetter(0)))


def _outlier_problems(runs: pl.DataFrame, code: str) -> Iterator[tuple[int, ProblemRow]]:
    sized = runs.with_columns(n=pl.len().over("group")).filter(pl.col("n") >= moments.LEAST)
    for equal_groups in sized.partition_by("n"):
        values = equal_groups["value"].to_numpy().reshape(-1, equal_groups["n"][0])
        scored = equal_groups.with_columns(
            far=moments.find_outliers(values).ravel(),
            z=moments.modified_z(values).ravel(),
            median=np.median(values, axis=-1).repeat(values.shape[1]),
        )
        for row in scored.filter(pl.col("far") & pl.col("beyond")).iter_rows(named=True):
            yield row["group"], _problem_row(code, "info", row)
