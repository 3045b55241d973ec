"""Which quality target does the user ask for, can it be asked, and is higher or lower better?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby, product
from shlex import quote

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.base import percentages, units
from ttastats.base.codes import wording
from ttastats.base.errors import TtastatsError, nearest_names, raise_if
from ttastats.base.metrics import LARGEST_FRACTION, against_direction, may_be_share
from ttastats.base.records import TIMES_ALONE
from ttastats.outcomes.left_out import standing
from ttastats.table import schema

#: METRIC, which may hold `/ . - @ ( ) :` and, in quotes, anything; how it is compared; VALUE.
#: The metric takes all up to the last comparison.
_TARGET = re.compile(
    r"""\s*(?:(?:"(?P<quoted>[^"]+)"|(?P<plain>[^\s"=<>]+))\s*(?=[<>=]))?
    (?P<meets>>=|<=|=)?(?P<value>[^"=<>]+)""",
    re.VERBOSE,
)
#: A target further than this from all that was logged is a slip of the unit.
_RANGE_FACTOR = 10.0


class UserTarget(Struct, frozen=True):
    """A target set by the user; `metric` None means the benchmark's only one."""

    value: float
    metric: str | None = None
    higher_is_better: bool | None = None

    def __str__(self) -> str:
        sign = {True: ">=", False: "<=", None: "=" if self.metric else ""}[self.higher_is_better]
        return f"{metric_text(self.metric or '')}{sign}{self.value:g}"


def target_text(metric: str, higher: bool | None, value: float) -> str:
    """Return a target as sentences say it: `val_loss ≤ 3.4`."""
    sign = {True: "≥", False: "≤", None: "="}[higher]
    return f"{metric} {sign} {value:g}"


#: What a question asks of runs, and whether they met it.
_OF_TARGET = ("benchmark", "target", "reached", "evaluations", "evaluations_to_target")


def _aimed(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([standing(runs).select(_OF_TARGET) for runs in tables]).drop_nulls("target")


#: So many targets a sentence names.
_MOST_NAMED = 3


def asked(*tables: pl.DataFrame, head: bool = False, listed: str = "") -> str:
    """Return what the runs of a question had to reach, in words; empty where no target is known.

    That all meet it at the first of several evaluations is part of it: the target may be wrong. As
    the `head` of a table it names the target of each benchmark; a sentence may say where many
    are `listed`.
    """
    where = f" ({listed})" if listed else ""
    aimed = _aimed(tables)
    texts, benchmarks = aimed["target"].unique(), aimed["benchmark"].n_unique()
    goals = aimed.select("benchmark", "target").unique().sort("benchmark", "target").rows()
    if len(texts) == 1:
        text = f"target {texts[0]}" if head else texts[0]
    elif len(goals) == benchmarks and head:
        pairs = units.join_names([f"{name or _NAMELESS} {target}" for name, target in goals], 12)
        text = f"target of each benchmark: {pairs}"
    elif len(goals) == benchmarks <= _MOST_NAMED:
        text = units.join_names([f"{target} ({name or _NAMELESS})" for name, target in goals])
    elif len(goals) == benchmarks:
        text = f"the target of each benchmark{where}"
    else:
        text = "target of each run" if head else f"the target of each run{where}"
    at_once = met_at_once(aimed)
    of = "" if len(at_once) == benchmarks else f" of {units.join_names(at_once, 3)}"
    remark = f" (every run{of} meets it at its first evaluation)" if at_once else ""
    return f"{text}{remark}" if len(texts) else ""


def met_at_once(*tables: pl.DataFrame) -> list[str]:
    """Return the benchmarks of which every run meets its target at the first of its evaluations."""
    at_once = pl.col("reached") & (pl.col("evaluations_to_target") == 1)
    # A run that was evaluated once cannot tell.
    of_several = pl.col("evaluations") > 1
    facts = _aimed(tables).group_by("benchmark").agg(
        once=at_once.fill_null(value=False).all(), more=of_several.any()
    )  # fmt: skip
    return facts.filter("once", "more")["benchmark"].fill_null(_NAMELESS).sort().to_list()


def metric_text(name: str) -> str:
    """Return a metric as a target names it: in quotes where it has a space or a comparison."""
    return f'"{name}"' if re.search(r"[\s=<>]", name) else name


def parse(text: str, option: str = "--target") -> UserTarget:
    """Return the target in `0.75`, `75%`, `map=0.2`, `val/loss@1<=0.9`."""
    match = _TARGET.fullmatch(text)
    value = percentages.parse_number(match["value"]) if match else None
    if match is None or value is None:
        remedy = "Write 0.75, 75%, eval_loss<=0.92 or '\"a metric\"=0.75'."
        raise TtastatsError(f"{text!r} is not a quality target", where=option, remedy=remedy)
    direction = {">=": True, "<=": False}.get(match["meets"] or "")
    return UserTarget(value, match["quoted"] or match["plain"], direction)


def parse_all(texts: Iterable[str], option: str = "--target") -> tuple[UserTarget, ...]:
    """Return the targets of one question, of different metrics, all to be met at one checkpoint."""
    targets = tuple(parse(text, option) for text in texts)
    counts = Counter(target.metric for target in targets)
    if repeated := [metric for metric, number in counts.items() if number > 1]:
        description = f"of {repeated[0]}" if repeated[0] else "without a metric"
        raise TtastatsError(
            f"two targets {description}",
            where=" ".join(f"--target {text}" for text in targets),
            remedy="Several targets must have different metrics, which are met together. "
            "Give one target, or a metric for each.",
        )
    return targets


def with_user_targets(evaluations: pl.LazyFrame, targets: Sequence[UserTarget]) -> pl.LazyFrame:
    """Return the evaluations with the user's targets in place of those of the table."""
    if not all(target.metric for target in targets):
        targeted = evaluations.filter(pl.col("target_value").is_not_null())
        metrics = targeted.select("benchmark", "metric").unique().sort("benchmark", "metric")
        ambiguous = metrics.filter(pl.len().over("benchmark") > 1).collect()
        if not ambiguous.is_empty():
            message = f"{ambiguous['benchmark'][0]} has several target metrics"
            options = " ".join(
                f"--target {quote(f'{metric_text(name)}=...')}" for name in ambiguous["metric"][:2]
            )
            raise TtastatsError(
                message, where="--target", remedy=f"Give a target for each: {options}"
            )
    value: pl.Expr = pl.lit(None, dtype=pl.Float64)
    higher: pl.Expr = pl.col("higher_is_better")
    only_metric = pl.col("metric").n_unique().over(schema.RUN) == 1
    for target in targets:
        is_target = (
            pl.col("target_value").is_not_null() | only_metric
            if target.metric is None
            else pl.col("metric") == target.metric
        )
        value = pl.when(is_target).then(pl.lit(target.value)).otherwise(value)
        if target.higher_is_better is not None:
            higher = pl.when(is_target).then(pl.lit(target.higher_is_better)).otherwise(higher)
    return evaluations.with_columns(
        target_value=value, higher_is_better=higher, expected=pl.lit(len(targets), pl.Int64)
    )


class _Metric(Struct, frozen=True):
    """What was logged of one metric in one benchmark; no limits where no value is a number.

    `about` is the name of the benchmark, with suite and round if these tell it from others.
    """

    key: tuple[str | None, ...]
    about: str
    name: str
    higher_is_better: bool
    low: float | None
    high: float | None
    has_target: bool

    def admits(self, value: float) -> bool:
        """Return whether a target is in the unit of the metric's logged values.

        A metric that is better high and never left 0 to 1 is a fraction. Any other target may lie
        ten times as far as what was logged: a better run may come, a percentage of BLEU will not.
        """
        if self.low is None or self.high is None:
            return True
        if self.higher_is_better and self.low >= 0.0 and self.high <= 1.0:
            return 0.0 <= value <= 1.0
        percent = self.higher_is_better and self.low >= 0.0 and self.high > LARGEST_FRACTION
        if percent and 0.0 < value < 1.0 and may_be_share(self.name):
            return False
        if self.low > 0.0:
            return self.low / _RANGE_FACTOR <= value <= self.high * _RANGE_FACTOR
        return abs(value) <= _RANGE_FACTOR * max(abs(self.low), abs(self.high), 1.0)

    def limits(self, name: str) -> str:
        """Return the limits of the metric, by a name, in words."""
        return f"{name} lies between {self.low:.3g} and {self.high:.3g}"


class _Unsuited(Struct, frozen=True):
    """A benchmark of which a target cannot be asked: by one of its metrics, and why."""

    metric: _Metric
    target: UserTarget
    why: str
    outside: bool = False


def rows_with_targets(
    rows: pl.LazyFrame, targets: Sequence[UserTarget]
) -> tuple[pl.LazyFrame, tuple[str, ...]]:
    """Return the rows of benchmarks that can have the targets, and the benchmarks left out.

    A benchmark that does not log the metric has not failed to reach it; one whose runs were never
    evaluated has. Targets that can be asked of no benchmark are refused, and so is one that names
    no metric and is far outside in a benchmark: a number meant for accuracies says nothing of BLEU.
    """
    if not targets:
        return rows, ()
    suites = rows.select("suite").unique().collect()["suite"].to_list()
    if TIMES_ALONE in suites:
        return _evaluated_rows(rows, targets, times_alone=len(suites) == 1)
    logged = _logged_metrics(rows)
    by_benchmark = [[*metrics] for _, metrics in groupby(logged, key=lambda metric: metric.key)]
    for target, metric in product(targets, logged):
        _expect_direction(target, metric)
    unsuited = [why for metrics in by_benchmark if (why := _unsuited_reason(metrics, targets))]
    if not unsuited:
        return rows, ()
    ambiguous = any(reason.outside and reason.target.metric is None for reason in unsuited)
    if ambiguous or len(unsuited) == len(by_benchmark):
        raise _no_benchmark_error(unsuited, logged)
    keys = pl.DataFrame(
        [reason.metric.key for reason in unsuited],
        schema=dict.fromkeys(schema.BENCHMARK, pl.String()),
        orient="row",
    )
    suitable = rows.join(keys.lazy(), on=schema.BENCHMARK, how="anti", nulls_equal=True)
    benchmarks = ", ".join(f"{reason.metric.about} ({reason.why})" for reason in unsuited)
    option = " ".join(f"--target {target}" for target in targets)
    return suitable, (wording("not_asked", option=option, benchmarks=benchmarks),)


def _expect_direction(target: UserTarget, metric: _Metric) -> None:
    """Raise an error for a target that is met by getting worse."""
    is_target = metric.has_target if target.metric is None else metric.name == target.metric
    if not is_target or target.higher_is_better is None:
        return
    contradiction = against_direction(metric.name, target.higher_is_better, metric.higher_is_better)
    correction = replace(target, higher_is_better=not target.higher_is_better)
    raise_if(
        bool(contradiction),
        contradiction,
        f"--target {target}",
        f"Write --target {quote(str(correction))}.",
    )


def _evaluated_rows(
    rows: pl.LazyFrame, targets: Sequence[UserTarget], *, times_alone: bool
) -> tuple[pl.LazyFrame, tuple[str, ...]]:
    """Return what `rows_with_targets` does without times alone, which no target can judge."""
    option = " ".join(f"--target {target}" for target in targets)
    message = "these runs are times alone, of which no quality is known"
    raise_if(times_alone, message, option, "Remove --target.")
    is_evaluated = pl.col("suite").ne_missing(pl.lit(TIMES_ALONE))
    suitable, left_out = rows_with_targets(rows.filter(is_evaluated), targets)
    text = wording("not_asked", option=option, benchmarks=f"{TIMES_ALONE} (no quality)")
    return suitable, (*left_out, text)


#: What runs are called whose benchmark nobody knows.
_NAMELESS = "runs without a known benchmark"


def _logged_metrics(rows: pl.LazyFrame, rows_filter: pl.Expr | None = None) -> list[_Metric]:
    """Return the metrics logged, sorted by benchmark, by default in evaluations."""
    value = pl.col("value").filter(pl.col("value").is_finite())
    table = (
        rows.filter(schema.is_evaluation() if rows_filter is None else rows_filter)
        .group_by(*schema.BENCHMARK, "metric")
        .agg(
            higher=is_higher_better(),
            low=value.min(),
            high=value.max(),
            has_target=pl.col("target_value").is_not_null().any(),
        )
        .sort(*schema.BENCHMARK, "metric", nulls_last=True)
        .collect()
    )
    counts = Counter(key[-1] for key in table.select(schema.BENCHMARK).unique().iter_rows())
    metrics = []
    for *key, name, higher, low, high, has_target in table.iter_rows():
        title = key[-1] if key[-1] and counts[key[-1]] == 1 else " ".join(filter(None, key))
        title = title or _NAMELESS
        metrics.append(_Metric(tuple(key), title, name, higher, low, high, has_target))
    return metrics


def _unsuited_reason(metrics: Sequence[_Metric], targets: Sequence[UserTarget]) -> _Unsuited | None:
    """Return why a benchmark with these metrics cannot have the targets, or None."""
    for target in targets:
        candidates = [metric for metric in metrics if metric.name == target.metric]
        if target.metric is None:
            candidates = [metric for metric in metrics if metric.has_target]
            candidates = candidates or (list(metrics) if len(metrics) == 1 else [])
        if not candidates:
            why = f"logs {', '.join(metric.name for metric in metrics)}"
            return _Unsuited(metrics[0], target, why)
        for metric in candidates:
            if not metric.admits(target.value):
                return _Unsuited(metric, target, metric.limits(metric.name), outside=True)
    return None


def _no_benchmark_error(unsuited: Sequence[_Unsuited], logged: Sequence[_Metric]) -> TtastatsError:
    if misfits := [reason for reason in unsuited if reason.outside]:
        return _out_of_range_error(misfits[0].target, [reason.metric for reason in misfits])
    target, benchmark = unsuited[0].target, unsuited[0].metric.key[-1]
    if target.metric is not None:
        return _unknown_metric_error(target.metric, logged, f"--target {target}")
    have = f"{benchmark} has" if benchmark else "these runs have"
    return TtastatsError(
        f"{have} several metrics, none of which has a target",
        where=f"--target {target}",
        remedy=f"Select one: {_metrics_text(logged)}.",
    )


def expect_metric(
    rows: pl.LazyFrame, metric: str, option: str, *, of_training: bool = False
) -> None:
    """Raise an error for a metric that no benchmark evaluates, or, `of_training`, none logs."""
    logged = _logged_metrics(rows, pl.col("metric").is_not_null() if of_training else None)
    if any(metric == candidate.name for candidate in logged):
        return
    hint = ""
    if of_training and rows.filter(pl.col("eval_index") < 0).head(1).collect().is_empty():
        hint = "\n  To keep training metrics, use `ttastats ingest --metrics all`."
    raise _unknown_metric_error(metric, logged, option, hint)


def _unknown_metric_error(
    metric: str, logged: Sequence[_Metric], where: str, hint: str = ""
) -> TtastatsError:
    close = nearest_names(metric, dict.fromkeys(candidate.name for candidate in logged))
    nearest = f"Nearest: {', '.join(close)}. " if close else ""
    listing = f"Metrics: {_metrics_text(logged)}." if logged else "No run was evaluated."
    message = f"no benchmark logs the metric {metric!r}"
    return TtastatsError(message, where=where, remedy=f"{nearest}{listing}{hint}")


def _metrics_text(logged: Sequence[_Metric]) -> str:
    by_metric: dict[str, list[str]] = {}
    for metric in logged:
        by_metric.setdefault(metric.name, []).append(metric.about)
    return "; ".join(
        name if benchmarks == [_NAMELESS] else f"{name} ({', '.join(benchmarks)})"
        for name, benchmarks in by_metric.items()
    )


def _out_of_range_error(target: UserTarget, metrics: Sequence[_Metric]) -> TtastatsError:
    """Return the error for a target far outside what metrics logged, a percentage maybe."""
    limits = [
        metric.limits(f"{metric.name} of {metric.key[-1]}" if metric.key[-1] else metric.name)
        for metric in metrics
    ]
    value = target.value / 100
    # A number beyond was not meant as so many percent.
    as_percent = all(metric.admits(value) for metric in metrics) and 0 < value <= 1
    remedy = f"Write {value:g} or {target.value:g}%." if as_percent else "Write it in that unit."
    if target.metric is None:
        option = quote(f"{metric_text(metrics[0].name)}=...")
        remedy += f" To select one of several metrics: --target {option}"
    return TtastatsError(
        f"{target.value:g} is far outside the logged range: {units.join_names(limits, 4, '; ')}",
        where=f"--target {target}",
        remedy=remedy,
    )


def is_higher_better() -> pl.Expr:
    """Return an expression for whether higher is better, for a group of evaluations or runs."""
    return pl.col("higher_is_better").all()


def is_upwards(*tables: pl.DataFrame) -> bool:
    """Return whether higher is better for the runs of all tables together."""
    return all(table.select(is_higher_better()).item() for table in tables)
