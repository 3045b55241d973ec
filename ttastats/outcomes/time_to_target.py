"""When did each run first reach its target? One row per run, runs that failed included.

Definitions. *Time to accuracy* is the length of the run where the suite's rules say so (MLPerf:
`run_stop - run_start`, for a run that says success and meets its target); with a target of the
user's, and in suites without such a rule, it is the time of the first evaluation that meets the
target. A run that did not reach it is right-censored at `run_seconds`. A log without any time is
judged in the order of its evaluations: such a run reaches its target at no known second, and so
does one whose clock begins in the middle of its training.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ttastats.base import benchmarks
from ttastats.base.metrics import TOLERANCE
from ttastats.base.records import LONGEST_SECONDS, TIMES_ALONE, UNKNOWN_START
from ttastats.outcomes import left_out, scales
from ttastats.outcomes.target import UserTarget, target_text, with_user_targets
from ttastats.stats.moments import count_by_group
from ttastats.table import schema

#: What training is counted in, best first, with the column of its evaluation interval.
PROGRESS = (
    ("epochs", "evaluation_interval_epochs"),
    ("samples", "evaluation_interval_samples"),
    ("steps", "evaluation_interval_steps"),
)
#: By what rows of one run are told together while they are judged.
_NUMBER, _ROW, _KIND = "number_of_run", "number_of_row", "number_of_kind"
#: No epochs are larger, and none but 0 is smaller.
_LARGEST, _SMALLEST = 1e12, 1e-9
#: The columns that a judgement reads, and the rows of a large table that are judged together.
_COLUMNS = [name for name in schema.NAMES if name not in {"logged_value", "logged_unit", "line"}]
_LARGE, _AT_ONCE, _BATCH = 200_000, 50_000, 10_000
_LOGGED = {"epochs": "epoch", "samples": "samples_then", "steps": "step"}
#: The columns of a judged run.
JUDGED = (
    *schema.RUN_NAMES,
    *("reached", "tta_seconds", "observed_seconds", "epochs", "samples", "steps"),
    *("epoch_seconds", *(interval for _, interval in PROGRESS)),
    *("value_final", "target_metric", "target_value", "target"),
    *("evaluations", "evaluations_to_target", "cost", "set_aside"),
)
#: What of a run its judgement reads, and what of an evaluation.
_OF_A_RUN = (
    *schema.RUN, *left_out.RESULT, "run_seconds", "run_status", "clock_zero", "cost_per_hour",
    "problems",
)  # fmt: skip
_OF_AN_EVALUATION = (
    "eval_index", "metric", "run_seconds", "seconds", "weights_seconds", "epoch", "samples", "step",
    "value", "higher_is_better",
)  # fmt: skip


def runs(frame: pl.LazyFrame | pl.DataFrame, targets: Sequence[UserTarget] = ()) -> pl.DataFrame:
    """Return one row per run with `reached`, `tta_seconds` and its progress until then.

    `frame` is a table as `ingest` writes it, whose targets `targets` replace; all must be met at
    one checkpoint. The columns are those of runs in the schema and: `reached`; `tta_seconds`, null
    unless reached, and where no evaluation has a time; `observed_seconds`, which is `tta_seconds`,
    or `run_seconds` of a run that did not reach; `epochs`, `samples` and `steps` trained by then,
    null where unknown or not above zero; `epoch_seconds` = observed seconds per epoch;
    `evaluation_interval_epochs` (and so on), the larger of the gaps before and after the evaluation
    there, null if it is the only one; `evaluations_to_target`, how many checkpoints were evaluated
    up to the one that met the target, or all of a run that did not reach; `value_final` and
    `target_value` of the first target metric; `target`, all targets in words; `cost` in US dollars;
    `set_aside`, null where the run counts.
    """
    if targets:
        rows = _with_run_numbers(frame)
        evaluations = with_user_targets(rows.filter(schema.is_evaluation()), targets)
        return _judge_runs(rows, evaluations, official=False)
    pieces = list(map(_judge_by_rules, _split_by_run(frame.lazy())))
    results = pl.concat(pieces)
    # A run whose rows lie far apart, in a table that others sorted, is in several pieces.
    if len(pieces) > 1 and results.select(schema.RUN).is_duplicated().any():
        results = _judge_by_rules(frame)
    # A log beside the results of a submission may be in another piece than these.
    return results.with_columns(set_aside=left_out.set_aside())


def _judge_by_rules(frame: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    rows = _with_run_numbers(frame.lazy().collect()).collect().lazy()
    evaluations = _with_expected_metrics(rows.filter(schema.is_evaluation()))
    return _judge_runs(rows, evaluations, official=True)


def _split_by_run(frame: pl.LazyFrame) -> Iterator[pl.LazyFrame | pl.DataFrame]:
    """Yield a large table in pieces of whole runs, if the rows of each run are adjacent."""
    if frame.select(pl.len()).collect().item() <= _LARGE:
        yield frame
        return
    batches: list[pl.DataFrame] = []
    for batch in frame.select(_COLUMNS).collect_batches(maintain_order=True, chunk_size=_BATCH):
        batches.append(batch)
        if sum(map(len, batches)) < _AT_ONCE:
            continue
        piece = pl.concat(batches)
        is_last_run = piece.select(
            pl.all_horizontal(pl.col(name).eq_missing(pl.last(name)) for name in schema.RUN)
        ).to_series()
        start = len(piece) - int(is_last_run.reverse().arg_min() or len(piece))
        batches = [piece[start:]]
        if start:
            yield piece[:start]
    yield pl.concat(batches)


def runs_at(
    frame: pl.LazyFrame | pl.DataFrame,
    goals: Iterable[pl.DataFrame],
    by: Sequence[str],
    names: Collection[str] = JUDGED,
) -> Iterator[pl.DataFrame]:
    """Yield one row per run as `runs` does, at one set of targets after another.

    Each of `goals` has the columns `by`, `metric` and `target_value`, which may differ by group;
    all goals of a group must be met at one checkpoint. `names` are the columns of `runs` to return.
    """
    facts = [name for name in schema.RUN_NAMES if name in _OF_A_RUN or name in names]
    read = list(dict.fromkeys((*schema.RUN, *by, *facts, *_OF_AN_EVALUATION)))
    rows = _with_run_numbers(frame.lazy().select(read).collect()).collect()
    heads = _first_rows(rows.lazy(), *facts).with_columns(set_aside=left_out.set_aside()).collect()
    # The rows are joined with numbers of goals once: by text it is most of the work.
    evaluations = rows.lazy().filter(schema.is_evaluation())
    on = [*by, "metric"]
    kinds = evaluations.select(on).unique(maintain_order=True).collect()
    numbered = (
        evaluations.join(
            kinds.lazy().with_row_index(_KIND), on=on, how="left", nulls_equal=True,
            maintain_order="left",
        )
        .select(_NUMBER, _KIND, *_OF_AN_EVALUATION)
        .collect()
    )  # fmt: skip
    del rows
    pieces = list(_pieces(heads, numbered))
    for wanted in goals:
        asked = kinds.join(
            _expected_goals(wanted, by), on=on, how="left", nulls_equal=True, maintain_order="left"
        ).select("target_value", "expected")
        runs_of_pieces = []
        for piece_heads, piece_rows in pieces:
            with_goals = piece_rows.with_columns(asked[piece_rows[_KIND]]).lazy()
            judgements = _with_judgement(with_goals).select(_NUMBER, *_OF_A_CHECKPOINT).collect()
            runs_of_pieces.append(_judge_heads(piece_heads, judgements, names, official=False))
        yield pl.concat(runs_of_pieces)


def _pieces(
    heads: pl.DataFrame, evaluations: pl.DataFrame
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield some runs after others with their evaluations, if the rows of each are adjacent."""
    if not evaluations[_NUMBER].is_sorted():
        yield heads, evaluations
        return
    starts = evaluations[_NUMBER].search_sorted(heads[_NUMBER])
    for start in range(0, max(heads.height, 1), _BATCH):
        of_runs = heads[start : start + _BATCH]
        first = int(starts[start]) if start else 0
        end = start + _BATCH
        last = int(starts[end]) if end < heads.height else evaluations.height
        yield of_runs, evaluations[first:last]


def qualities(
    frame: pl.LazyFrame | pl.DataFrame, goals: pl.DataFrame, by: Sequence[str]
) -> pl.DataFrame:
    """Return the values of one metric per run at checkpoints that meet its other targets.

    `goals` is that of `runs_at`; the metric that is asked about has no `target_value`.
    """
    keys = list(dict.fromkeys((*by, *schema.RUN)))  # runs may be grouped by what identifies them
    read = list(dict.fromkeys((*keys, *_OF_AN_EVALUATION)))
    rows = _with_run_numbers(frame.lazy().select(read).collect()).collect().lazy()
    varied = pl.col("asked") & pl.col("target_value").is_null()
    is_condition = pl.col("asked") & pl.col("target_value").is_not_null()
    suits = pl.col("meets").filter(is_condition).fill_null(value=False).all() & (
        pl.col("metric").filter(is_condition).n_unique() >= pl.col("expected").max() - 1
    )
    value = pl.col("value").filter(varied).first()
    values = (
        _with_judgement(_with_goals(rows, goals, by))
        .group_by(_NUMBER, "eval_index")
        .agg(value=value, at=pl.col("at").filter("asked").max(), suits=suits, **_AMOUNTS)
        .with_columns(timed=(pl.col("at") > 0).any().over(_NUMBER))
        .filter("suits", pl.col("value").is_finite(), _is_trained())
        .sort(_NUMBER, "at", "eval_index", nulls_last=True)
        .group_by(_NUMBER, maintain_order=True)
        .agg(values="value")
    )
    heads = _first_rows(rows, *keys)
    return (
        heads.join(values, on=_NUMBER, how="inner")
        .sort(keys, nulls_last=True)
        .select(*keys, "values")
        .collect()
    )


def least_progress(frame: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    """Return the least epochs, samples and steps at which each run that met all its targets did."""
    rows = _with_run_numbers(frame)
    evaluations = _with_expected_metrics(rows.filter(schema.is_evaluation()))
    minima = {name: pl.col(_LOGGED[name]).min() for name, _ in PROGRESS}
    judgements = _with_judgement(evaluations).select(_NUMBER, *_OF_A_CHECKPOINT).collect()
    met = _checkpoint_rows(judgements).lazy().filter("met").group_by(_NUMBER).agg(**minima)
    return _first_rows(rows, *schema.RUN).join(met, on=_NUMBER).drop(_NUMBER).collect()


def _with_run_numbers(frame: pl.LazyFrame | pl.DataFrame) -> pl.LazyFrame:
    """Return the rows with a number for each run, which is faster to group by than text."""
    of_row = frame.lazy().with_row_index(_ROW)
    number = pl.col(_ROW).first().over(schema.RUN)
    if isinstance(frame, pl.DataFrame):
        starts = pl.any_horizontal(
            pl.int_range(pl.len()) == 0,
            *(pl.col(name).ne_missing(pl.col(name).shift()) for name in schema.RUN),
        )
        if not frame.select(schema.RUN).filter(starts).is_duplicated().any():
            number = pl.when(starts).then(_ROW).forward_fill()
    return of_row.with_columns(number.alias(_NUMBER))


def _first_rows(rows: pl.LazyFrame, *names: str) -> pl.LazyFrame:
    return rows.filter(pl.col(_ROW) == pl.col(_NUMBER)).select(_NUMBER, *names)


def _expected_goals(goals: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return goals with how many of their group must be met."""
    expected = pl.len().over(by) if by else pl.len()
    return goals.with_columns(expected=expected.cast(pl.Int64), asked=pl.lit(value=True))


def _with_goals(rows: pl.LazyFrame, goals: pl.DataFrame, by: Sequence[str]) -> pl.LazyFrame:
    """Return the rows, read without the table's targets, with the goals of their group."""
    goals = _expected_goals(goals, by)
    return (
        rows.filter(schema.is_evaluation())
        # Of the metrics of a checkpoint, the first speaks.
        .join(goals.lazy(), on=[*by, "metric"], how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.col("asked").fill_null(value=False))
    )


def _judge_runs(rows: pl.LazyFrame, evaluations: pl.LazyFrame, *, official: bool) -> pl.DataFrame:
    """Return one row per run, judged by the targets in its evaluations."""
    heads, judgements = pl.collect_all(
        [
            _first_rows(rows, *schema.RUN_NAMES),
            _with_judgement(evaluations).select(_NUMBER, *_OF_A_CHECKPOINT),
        ]
    )
    heads = heads.with_columns(set_aside=left_out.set_aside())
    return _judge_heads(heads, judgements, official=official)


def _judge_heads(
    heads: pl.DataFrame,
    judgements: pl.DataFrame,
    names: Collection[str] = JUDGED,
    *,
    official: bool,
) -> pl.DataFrame:
    """Return columns of one row per run, whose facts and evaluations are given by its number."""
    heads, judgements = scales.without_percent(heads, judgements, _NUMBER)
    suites = benchmarks.suites_ending_at_run_stop() if official else ()
    length = pl.coalesce("run_seconds", "met_seconds")
    lasted = (pl.col("time") > 0.0).fill_null(value=True)
    results = _run_results(_checkpoint_rows(judgements)).lazy()
    table = heads.lazy().join(results, on=_NUMBER, how="left", maintain_order="left")
    if "target" in names:
        texts = _target_texts(judgements).lazy()
        table = table.join(texts, on=_NUMBER, how="left", maintain_order="left")
    table = (
        table.with_columns(
            run_seconds=run_length(),
            ends_at_run_stop=pl.col("suite").is_in(suites).fill_null(value=False),
        )
        .with_columns(time=pl.when("ends_at_run_stop").then(length).otherwise("met_seconds"))
        .with_columns(reached=(_has_reached() & lasted).fill_null(value=False))
        .with_columns(
            tta_seconds=pl.when(pl.col("reached") & ~begins_late()).then("time"),
            observed_seconds=pl.when(~begins_late()).then(
                pl.when("reached").then("time").otherwise("run_seconds")
            ),
        )
    )
    # The checkpoint that met the target speaks for a run, else its last one.
    met = pl.col("reached") & pl.col("met_index").is_not_null()
    # The time of an official run ends when the run does, even if it met its target long before.
    at_target = pl.col("reached") & ~pl.col("ends_at_run_stop")
    trained = {
        name: pl.when(_met_or_end(unit, at_target) > 0).then(_met_or_end(name, at_target))
        for unit, interval in PROGRESS
        for name in (unit, interval)
    }
    return (
        table.with_columns(**trained, value_final=_met_or_end("value_final", met))
        .with_columns(
            epoch_seconds=pl.col("observed_seconds") / pl.col("epochs"),
            evaluations_to_target=_met_or_end("evaluations", met),
            cost=pl.col("tta_seconds") / 3600.0 * finite("cost_per_hour"),
        )
        .select(name for name in JUDGED if name in names)
        .collect(engine="in-memory")  # of few rows in half the time
    )


def common_progress(*tables: pl.DataFrame) -> tuple[str, str] | tuple[None, None]:
    """Return the best unit of progress that all runs that reached tell, and its interval column."""
    for unit, interval in PROGRESS:
        if not any(values_of_reached(runs, unit).null_count() for runs in tables):
            return unit, interval
    return None, None


def values_of_reached(runs: pl.DataFrame, name: str) -> pl.Series:
    """Return a column of the runs that reached the target."""
    return runs.get_column(name).filter(runs.get_column("reached"))


def evaluation_interval(runs: pl.DataFrame, column: str) -> float | None:
    """Return the widest evaluation interval of runs at the end of their counted time.

    None unless every one tells its own: an extra evaluation in one run says nothing of the others.
    """
    intervals = values_of_reached(runs, column)
    widest = None if intervals.null_count() else intervals.max()
    return float(widest) if isinstance(widest, int | float) else None


def _with_judgement(evaluations: pl.LazyFrame) -> pl.LazyFrame:
    """Return evaluations with whether each meets its metric's target, and when."""
    finite_target = pl.when(pl.col("target_value").is_finite()).then("target_value")
    evaluations = evaluations.with_columns(target_value=finite_target)
    value, target = pl.col("value"), pl.col("target_value")
    slack = target.abs() * TOLERANCE
    is_close = (
        pl.when(pl.col("higher_is_better").fill_null(value=True))
        .then(value >= target - slack)
        .otherwise(value <= target + slack)
    )
    # To polars NaN is above all numbers.
    return evaluations.with_columns(meets=is_close & value.is_finite(), at=evaluated_at())


def evaluated_at() -> pl.Expr:
    """Return an expression for the second at which an evaluation counts.

    It is that at which the value was known; of what was evaluated after the run, that at which
    its weights existed. Null where no such stamp is a number.
    """
    seconds, ready = (finite(name, LONGEST_SECONDS) for name in ("seconds", "weights_seconds"))
    late = seconds > run_length()
    return pl.when(late).then(pl.coalesce(ready, seconds)).otherwise(seconds)


def run_length() -> pl.Expr:
    """Return an expression for the length of a run; null if its time stamps are invalid."""
    return pl.when(pl.col("run_seconds") >= 0.0).then(finite("run_seconds", LONGEST_SECONDS))


def finite(name: str, largest: float = _LARGEST) -> pl.Expr:
    """Return a column, 0 where no number is meant, null where it is too large to be squared."""
    size = pl.col(name).abs()
    return pl.when(size < _SMALLEST).then(0.0).when(size <= largest).then(name)


def begins_late() -> pl.Expr:
    """Return an expression for whether the clock of a run begins in the middle of its training."""
    return (pl.col("clock_zero") == UNKNOWN_START).fill_null(value=False)


#: What had been trained by a checkpoint.
_AMOUNTS = {
    "epoch": finite("epoch").max(),
    "samples_then": pl.col("samples").max(),
    "step": pl.col("step").max(),
}


def _with_expected_metrics(evaluations: pl.LazyFrame) -> pl.LazyFrame:
    """Return evaluations with the number of metrics that the rules require."""
    kinds = evaluations.select("suite", "benchmark", "round").unique().collect()
    counts = [
        len(benchmarks.targets(suite or "", benchmark or "", round_))
        for suite, benchmark, round_ in kinds.iter_rows()
    ]
    if len(set(counts)) == 1:
        return evaluations.with_columns(expected=pl.lit(counts[0], pl.Int64))
    return evaluations.join(
        kinds.with_columns(expected=pl.Series(counts, dtype=pl.Int64)).lazy(),
        on=["suite", "benchmark", "round"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )


#: The columns of judged evaluations that a checkpoint is made of.
_OF_A_CHECKPOINT = (
    "eval_index", "metric", "run_seconds", "meets", "expected", "at", "epoch", "samples", "step",
    "value", "target_value", "higher_is_better",
)  # fmt: skip


def _checkpoint_rows(judgements: pl.DataFrame) -> pl.DataFrame:
    """Return one row per evaluated checkpoint; it is met if all its metrics are."""
    targeted = pl.col("target_value").is_not_null()
    if _is_in_order(judgements, _NUMBER, "eval_index", unique=True):  # the same of a single metric
        return judgements.select(
            _NUMBER, "eval_index", "at", "step", "value", "target_value",
            run_seconds=run_length(),
            met=targeted & pl.col("meets").fill_null(value=False) & (pl.col("expected") <= 1),
            epoch=finite("epoch"),
            samples_then="samples",
            target_metric=pl.when(targeted).then("metric"),
        )  # fmt: skip
    return judgements.group_by(_NUMBER, "eval_index").agg(
        run_seconds=run_length().first(),
        met=pl.col("meets").filter(targeted).fill_null(value=False).all()
        & (pl.col("metric").filter(targeted).n_unique() >= pl.col("expected").max())
        & targeted.any(),
        # A metric without a target that is logged later, such as a test, is not waited for.
        at=pl.coalesce(pl.col("at").filter(targeted).max(), pl.col("at").max()),
        **_AMOUNTS,
        # The first target metric speaks for the checkpoint; without a target, the first metric.
        value=pl.coalesce(pl.col("value").filter(targeted).first(), pl.col("value").first()),
        target_metric=pl.col("metric").filter(targeted).first(),
        target_value=pl.col("target_value").filter(targeted).first(),
    )


def _target_texts(judgements: pl.DataFrame) -> pl.DataFrame:
    """Return the targets of each run in words."""
    names = ("metric", "higher_is_better", "target_value")
    aimed = judgements.filter(pl.col("target_value").is_not_null()).select(_NUMBER, *names).unique()
    goals = aimed.select(names).unique().sort(names)
    texts = pl.Series([target_text(*goal) for goal in goals.iter_rows()], dtype=pl.String)
    return (
        aimed.join(goals.with_columns(target=texts), on=names, nulls_equal=True)
        .sort(_NUMBER, "target")
        .group_by(_NUMBER)
        .agg(pl.col("target").str.join(" and "))
    )


def _is_in_order(rows: pl.DataFrame, *names: str, unique: bool = False) -> bool:
    """Return whether rows are sorted by some columns, all known, and keys `unique` if asked."""
    is_later = pl.lit(not unique)
    for name in reversed(names):
        current, previous = pl.col(name), pl.col(name).shift(1)
        is_later = (current > previous) | ((current == previous) & is_later)
    is_known = pl.all_horizontal(pl.col(names).is_not_null())
    order = is_known & (is_later.fill_null(value=False) | (pl.int_range(pl.len()) == 0))
    return bool(rows.select(order.all()).item())


def _run_results(checkpoints: pl.DataFrame) -> pl.DataFrame:
    """Return for each run when its checkpoints met the target, and where it ended.

    The target is met at the first checkpoint that meets it, of those with a time if any does;
    weights that took no time met none. The end is the furthest checkpoint whose weights existed
    when the run ended.
    """
    order = (_NUMBER, "at", "eval_index")
    if not _is_in_order(checkpoints, *order):
        checkpoints = checkpoints.sort(order, nulls_last=True)
    numbers = np.arange(checkpoints.height)
    starts = checkpoints[_NUMBER].is_first_distinct().arg_true().to_numpy()
    sizes = np.diff(starts, append=checkpoints.height)
    of_run = np.repeat(np.arange(starts.size), sizes)

    def first(condition: pl.Expr) -> pl.Series:
        """Return the index of each run's first checkpoint with a property, or null."""
        candidates = np.where(rows.select(condition).to_series(), numbers, numbers.size)
        firsts = pl.Series(np.minimum.reduceat(candidates, starts))
        return firsts.set(firsts == numbers.size, None)

    positive = (checkpoints["at"] > 0).fill_null(value=False).to_numpy()
    timed = np.logical_or.reduceat(positive, starts)
    rows = checkpoints.with_columns(timed=timed[of_run]).with_columns(
        met=pl.col("met") & _is_trained(),
        trained=(pl.col("at") <= pl.col("run_seconds")).fill_null(value=True),
    )
    has_time = pl.col("timed") & pl.col("at").is_not_null()
    met = first(pl.col("met") & has_time)
    met = met.zip_with(met.is_not_null(), first(pl.col("met")))
    met_index = rows["eval_index"].gather(met)
    before_target = (rows["eval_index"] <= met_index.gather(of_run)).fill_null(value=False)
    return rows.select(
        pl.col(_NUMBER).gather(starts),
        **_progress_columns(rows, met, starts, of_run),
        met_index=met_index,
        met_seconds=pl.when("timed").then("at").gather(met),
        met_value_final=pl.col("value").gather(met),
        met_evaluations=count_by_group(before_target.to_numpy(), sizes),
        end_value_final=pl.col("value").gather(starts + sizes - 1),
        target_metric=pl.col("target_metric").gather(first(pl.col("target_metric").is_not_null())),
        target_value=pl.col("target_value").gather(first(pl.col("target_value").is_not_null())),
        evaluations=sizes,
        end_evaluations=sizes,
    )


def _progress_columns(
    rows: pl.DataFrame, met: pl.Series, starts: NDArray[np.intp], of_run: NDArray[np.intp]
) -> dict[str, pl.Series | pl.Expr]:
    """Return the progress of each run at its target and at its end, with the intervals there.

    `rows` are checkpoints, those of a run from its place in `starts` on, with its number in
    `of_run`; `met` is the place of the one that met its target.
    """
    trained = rows["trained"].to_numpy()
    columns: dict[str, pl.Series | pl.Expr] = {}
    for unit, interval in PROGRESS:
        logged = rows[_LOGGED[unit]]
        if not logged.count():
            names = product(("met", "end"), (unit, interval))
            columns |= {f"{end}_{name}": pl.lit(None, logged.dtype) for end, name in names}
            continue
        amounts = logged.cast(pl.Float64).to_numpy()  # unknown: NaN
        at_target = logged.gather(met).cast(pl.Float64).to_numpy()
        # A late evaluation without the time of its weights is part of the run if it decided it.
        until_end = np.fmax.reduceat(np.where(trained, amounts, np.nan), starts)
        ends = {"met": at_target, "end": np.fmax(until_end, at_target)}
        for end, reached in ends.items():
            # The larger of the gaps to the evaluations before and after a place. The smallest gap
            # anywhere would promise too much: an extra one at the start makes the epochs to target
            # no better known.
            gaps = amounts - reached[of_run]
            to_previous, to_next = (
                np.where(gaps < 0, -gaps, np.nan),
                np.where(gaps > 0, gaps, np.nan),
            )
            gaps = np.fmax(np.fmin.reduceat(to_previous, starts), np.fmin.reduceat(to_next, starts))
            for name, values in ((unit, reached), (interval, gaps)):
                floats = pl.Series(values, nan_to_null=True)
                # 2**63 - 1 is a larger float, and no integer any more: such a count is no count.
                columns[f"{end}_{name}"] = floats.cast(logged.dtype, strict=False)
    return columns


def _is_trained() -> pl.Expr:
    """Return whether a checkpoint came after any training; unknown counts as trained.

    A clock that no stamp of the run moves is none.
    """
    amount = pl.max_horizontal(*_LOGGED.values())
    untimed = (amount > 0).fill_null(value=True)
    return pl.when("timed").then((pl.col("at") > 0).fill_null(untimed)).otherwise(untimed)


def _has_reached() -> pl.Expr:
    """Return whether a run succeeded and met its target; without a status, the target decides.

    Where no target is known, success decides; a run in which no quality was ever measured has
    reached nothing, unless it is a time alone, whose command succeeded.
    """
    crossed, status = pl.col("met_index").is_not_null(), pl.col("run_status")
    measured = pl.col("evaluations").is_not_null() | (pl.col("suite") == TIMES_ALONE)
    no_target = pl.col("target_value").is_null() & measured
    succeeded = (status == "success") & (crossed | no_target)
    by_run_stop = succeeded | ((status == "unknown") & crossed)
    return pl.when("ends_at_run_stop").then(by_run_stop).otherwise(crossed)


def _met_or_end(name: str, met: pl.Expr) -> pl.Expr:
    return pl.when(met).then(f"met_{name}").otherwise(pl.col(f"end_{name}"))
