"""What must hold in every training log? A reading that breaks it is mended, marked or refused.

A reading is a hypothesis: these columns or phrases are the metric, the clock, the progress. Each
check here takes a run as it was read and returns it with what the log itself refutes put right or
taken away, and a problem that says so. Nothing is known here of formats, nor of formats here.

The clock of a run. Evaluations lie at progress p_1 < p_2 < ... and times t_1, t_2, ... The pace r
is the median of the time per unit of progress between neighbours. A clock whose second 0 lies at
progress p_0 > 0 lacks the time p_0 r of the work before it. If p_0 is at most one evaluation
interval or so, the start is put there (`ESTIMATED_START`); else the log begins in the middle of a
training, and its clock tells the pace alone (`UNKNOWN_START`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from itertools import pairwise
from math import isclose
from statistics import median
from typing import NamedTuple

import polars as pl
from msgspec import structs

from ttastats.base import units
from ttastats.base.records import (
    ESTIMATED_START,
    LONGEST_SECONDS,
    UNKNOWN_START,
    Evaluation,
    Problem,
    Run,
)
from ttastats.table import schema

#: A shorter start, in evaluation intervals, is not worth a mark.
_NEGLIGIBLE = 0.05
#: A log that begins later, in evaluation intervals, is a part of a run.
_LATE_INTERVALS = 1.5
#: A first evaluation that took less than this share of the time of its progress came too early.
_EARLY = 0.5
#: One that took less than this share of it began just before the evaluation.
_SOON_SHARE = 0.2
#: Metrics that are shares of a whole, none of which is larger, in percent, than this.
_SHARE = re.compile(r"(?i)acc(?:uracy)?(?![a-z])|top[-_ ]?\d|precision|recall|f1|auc|iou|dice")
_LARGEST_SHARE = 101.0
#: Units of progress, in the order in which they are looked for.
_UNITS = ("epoch", "step", "samples")


def prove(run: Run) -> Run:
    """Return a run whose times and values can be those of a training.

    Of a run whose log tells its start, as those of official suites do, only the values are checked.
    """
    checks: tuple[Callable[[Run], Run], ...] = (_values, _times, _start)
    if run.suite is not None or run.clock_zero == "run_start":
        checks = (_values,)
    for check in checks:
        run = check(run)
    return run


def _with_problem(run: Run, code: str, text: str, line: int | None = None) -> Run:
    problem = Problem(code, text, "warning", line)
    return structs.replace(run, problems=(*run.problems, problem))


def _values(run: Run) -> Run:
    """Drop values that no share can have: accuracies of 1e308."""
    impossible = [evaluation for evaluation in run.evaluations if _is_no_share(evaluation)]
    if not impossible:
        return run
    evaluations = (
        structs.replace(evaluation, value=None) if _is_no_share(evaluation) else evaluation
        for evaluation in run.evaluations
    )
    example = impossible[0]
    text = f"{example.metric} is {example.value:g}, which no share of a whole can be: ignored"
    if len(impossible) > 1:
        text += f", with {units.plural(len(impossible) - 1, 'more value')}"
    run = structs.replace(run, evaluations=tuple(evaluations))
    return _with_problem(run, "impossible_value", text, example.line)


def _is_no_share(evaluation: Evaluation) -> bool:
    value = evaluation.value
    is_large = value is not None and abs(value) > _LARGEST_SHARE
    return is_large and _SHARE.search(evaluation.metric) is not None


def _times(run: Run) -> Run:
    """Drop times that no clock of a run can show; the evaluations stay, with their progress."""
    impossible = [evaluation for evaluation in run.evaluations if _is_no_time(evaluation.seconds)]
    if not impossible and not _is_no_time(run.run_seconds):
        return run
    evaluations = tuple(
        structs.replace(evaluation, seconds=None) if _is_no_time(evaluation.seconds) else evaluation
        for evaluation in run.evaluations
    )
    times = [evaluation.seconds for evaluation in evaluations if evaluation.seconds is not None]
    run = structs.replace(run, evaluations=evaluations, run_seconds=max(times, default=None))
    if not impossible:
        return run
    example = impossible[0]
    reason = "negative" if (example.seconds or 0.0) < 0 else "longer than 30 years"
    text = (
        f"{example.seconds:g} s is no time since the start, as it is {reason}: "
        f"{units.plural(len(impossible), 'evaluation')} without a time. Name the clock and its "
        "unit, such as seconds = 'COLUMN ms' or 'COLUMN unix' (--seconds)"
    )
    return _with_problem(run, "unusable_time", text, example.line)


def _is_no_time(seconds: float | None) -> bool:
    return seconds is not None and not 0.0 <= seconds <= LONGEST_SECONDS


class _Course(NamedTuple):
    """The unit of progress, and the points of a run: progress and seconds, both rising."""

    unit: str
    points: Sequence[tuple[float, float]]

    @property
    def interval(self) -> float:
        """Return the median progress between neighbours."""
        return median(end - start for (start, _), (end, _) in pairwise(self.points))

    @property
    def paces(self) -> list[float]:
        """Return the seconds per unit of progress between neighbours, in ascending order."""
        return sorted((b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(self.points))


def _course(run: Run) -> _Course | None:
    """Return the course of a run by the first unit known for all timed evaluations.

    Without any, evaluations are counted: a log that writes no progress writes after some work.
    """
    timed = [
        evaluation
        for evaluation in run.evaluations
        if evaluation.seconds is not None and evaluation.index >= 0
    ]
    for unit in _UNITS:
        amounts = [getattr(evaluation, unit) for evaluation in timed]
        if timed and None not in amounts:
            break
    else:
        unit = "evaluation"
        amounts = [float(evaluation.index + 1) for evaluation in timed]
    points: list[tuple[float, float]] = []
    pairs = (
        (float(amount), evaluation.seconds or 0.0)
        for amount, evaluation in zip(amounts, timed, strict=True)
    )
    for amount, seconds in sorted(pairs):
        if not points or (amount > points[-1][0] and seconds >= points[-1][1]):
            points.append((amount, seconds))
    return _Course(unit, points) if len(points) > 1 else None


def _start(run: Run) -> Run:
    """Put the start of the clock where the work began, by the pace of the run."""
    course = _course(run)
    if course is None or (pace := median(course.paces)) <= 0.0:
        return run
    amount, seconds = course.points[0]
    # First epochs may be faster than others, as those of small pictures are.
    is_soon = seconds == 0.0 or seconds < _SOON_SHARE * amount * course.paces[0]
    amount_before = run.zero_progress or (amount - seconds / pace if is_soon else 0.0)
    is_late = amount > _LATE_INTERVALS * course.interval and seconds < _EARLY * amount * pace
    if is_late or amount_before > _LATE_INTERVALS * course.interval:
        at = f"{course.unit} {units.count(run.zero_progress or amount)}"
        text = (
            f"the log begins at {at}, {units.seconds(seconds)} after its start: a resumed run or a "
            "warm start. Its clock tells a pace, but no time since the start of the training"
        )
        return _with_problem(structs.replace(run, clock_zero=UNKNOWN_START), "begins_late", text)
    if amount_before <= _NEGLIGIBLE * course.interval:
        return run
    seconds_before = amount_before * pace
    position = f"{course.unit} {units.count(amount_before)}"
    text = (
        f"the clock starts at {position}, after the first work: its start is estimated by the "
        f"pace, {units.seconds(seconds_before)} earlier"
    )
    return _with_problem(_begun_earlier(run, seconds_before), "clock_start_estimated", text)


def _begun_earlier(run: Run, lead: float) -> Run:
    """Return a run whose seconds count from an earlier start."""
    evaluations = tuple(
        evaluation
        if evaluation.seconds is None
        else structs.replace(evaluation, seconds=evaluation.seconds + lead)
        for evaluation in run.evaluations
    )
    started_at = run.started_at and run.started_at - timedelta(seconds=lead)
    length = None if run.run_seconds is None else run.run_seconds + lead
    return structs.replace(
        run,
        evaluations=evaluations,
        run_seconds=length,
        started_at=started_at,
        clock_zero=ESTIMATED_START,
    )


#: The columns of `tables.run_heads` by which most tables need no look at their curves.
COLUMNS = ("clock_zero", "dialect")
#: The code of a run that goes on where another one ended.
CONTINUED = "continued_run"
#: What parts of one run share.
_SAME_RUN = ("benchmark", "entry", "seed")


def continued_runs(runs: pl.DataFrame, rows: pl.LazyFrame) -> list[Problem]:
    """Return a problem for each log continuing one of the same setup and seed.

    A preempted run goes on so under a new id. `runs` are those of `rows` (`tables.run_heads`).
    """
    is_late = pl.col("clock_zero") == UNKNOWN_START
    if runs.filter(is_late).is_empty():
        return []
    amount = pl.coalesce("epoch", "step", "samples")
    courses = (
        rows.filter(schema.is_evaluation() & schema.is_run())
        .group_by(schema.RUN)
        .agg(
            pl.first(*_SAME_RUN, "clock_zero"),
            begin=amount.min(),
            end=amount.max(),
            interval=amount.unique().sort().diff().median(),
        )
        .collect()
    )
    pairs = (
        courses.filter(is_late)
        .join(courses, on=_SAME_RUN, how="inner", nulls_equal=True, suffix=" before")
        .filter(
            (pl.col("begin") - pl.col("end before")).is_between(
                0, _LATE_INTERVALS * pl.col("interval")
            )
        )
        .sort("source", "end before")
        .unique("source", keep="last", maintain_order=True)
    )
    text = (
        "goes on at {} where {} of the same setup and seed ended: parts of one run? Then resume it "
        "under its id, or join the logs and read them with --resume 'time back'"
    )
    return [
        Problem(CONTINUED, text.format(units.count(begin), predecessor), "warning", source=source)
        for source, begin, predecessor in pairs.select(
            "source", "begin", "source before"
        ).iter_rows()
    ]


#: So many values must agree, within this share, as a log rounds them, to be those of one run.
_LEAST_ALIKE, _ROUNDED = 3, 1e-3


def with_twins(runs: pl.DataFrame, rows: pl.LazyFrame) -> pl.DataFrame:
    """Return runs (`tables.run_heads`), where one that two files of a folder tell counts once.

    A table of metrics and what the program printed are such files: of unlike formats, with the same
    values. The one without times is marked as a duplicate of the other.
    """
    is_own = pl.col("suite").is_null()
    if runs.filter(is_own)["dialect"].n_unique() < 2:
        return runs
    curves = (
        rows.filter(is_own & schema.is_evaluation() & schema.is_run(), pl.col("value").is_finite())
        .group_by(*schema.RUN, "metric", maintain_order=True)
        .agg(
            pl.first("dialect"),
            curve="value",
            values=pl.len(),
            ends=pl.col("value").last().round_sig_figs(2),
            timed=pl.col("seconds").is_not_null().any(),
        )
        .filter(pl.col("curve").list.n_unique() >= _LEAST_ALIKE)
        .with_columns(folder=pl.col("source").str.replace("[^/]*$", ""))
        .collect()
    )
    pairs = curves.join(curves, on=["folder", "metric", "values", "ends"], suffix=" of")
    pairs = pairs.filter(
        pl.col("dialect") != pl.col("dialect of"),
        (pl.col("timed of") & ~pl.col("timed"))
        | ((pl.col("timed of") == pl.col("timed")) & (pl.col("source of") < pl.col("source"))),
    )
    matches = [
        all(map(partial(isclose, rel_tol=_ROUNDED), *two_curves))
        for two_curves in pairs.select("curve", "curve of").iter_rows()
    ]
    twins = pairs.filter(pl.Series(matches, dtype=pl.Boolean)).unique(schema.RUN, keep="first")
    twins_by_run = twins.select(*schema.RUN, twin="source of")
    return (
        runs.join(twins_by_run, on=schema.RUN, how="left", maintain_order="left")
        .with_columns(duplicate_of=pl.coalesce("duplicate_of", "twin"))
        .drop("twin")
    )
