"""From values that were logged one by one to evaluations of checkpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from ttastats.base import limits
from ttastats.base.metric_names import evaluation_metrics, higher_is_better
from ttastats.base.nearest import suggestion
from ttastats.base.records import Evaluation, Problem
from ttastats.formats.dialect import Log
from ttastats.formats.own_logs.block import Metric


class Measured(NamedTuple):
    """One value of a metric; what is no finite number is None."""

    metric: str
    value: float | None
    step: int | None = None
    seconds: float | None = None
    epoch: float | None = None
    line: int | None = None


def wanted_of(logged: Set[str], log: Log) -> Set[str]:
    """Return the logged metrics whose values `evaluations_of` needs."""
    return logged if log.metrics == "all" else _evaluation_metrics(logged, log)[1]


def _evaluation_metrics(logged: Set[str], log: Log) -> tuple[dict[str, Metric], Set[str]]:
    """Return the metrics of the log's block, and those measured in evaluations."""
    benchmark = log.named.get("benchmark")
    metrics = log.block.metrics if log.block else ()
    named = {metric.name: metric for metric in metrics if metric.benchmark in {None, benchmark}}
    return named, logged & named.keys() if named else evaluation_metrics(logged)


def evaluations_of(
    measured: Sequence[Measured], log: Log, others: Set[str] = frozenset()
) -> tuple[tuple[Evaluation, ...], tuple[Problem, ...]]:
    """Return the evaluations of a run from its logged values, and their problems.

    `others` are metrics that were logged too, of which no value is wanted.

    Those of the metrics that the log's block names; without one, of those whose names say so.
    Values of one step share a checkpoint; a metric that is measured again at a step belongs to
    another one. Checkpoints are numbered in the order of time, or of steps where there is none.
    Training metrics come only if wanted, with numbers below 0, since they evaluate nothing.
    """
    logged = {item.metric for item in measured} | others
    wanted, names = _evaluation_metrics(logged, log)
    qualities = [item for item in measured if item.metric in names]
    limits.expect_evaluations(len(measured if log.metrics == "all" else qualities))
    fitting, problems = _with_consistent_units(qualities, wanted)
    rows = list(_evaluation_rows(qualities, 0, fitting))
    if log.metrics == "all":
        training = [item for item in measured if item.metric not in names]
        rows = [*_evaluation_rows(training, None, {}), *rows]
    if wanted and not names:
        name = next(iter(wanted))
        known = suggestion(name, sorted(logged), "Metrics", most=12)
        problems.append(Problem("no_metric", f"unknown metric {name!r}. {known}", "warning"))
    lost = [item for item in qualities if item.value is None]
    if lost:
        text = f"{len(lost):,} value(s) are not finite numbers, first {lost[0].metric}"
        text += "" if lost[0].step is None else f" at step {lost[0].step:,}"
        problems.append(Problem("not_a_number", text, "warning", lost[0].line))
    return tuple(rows), tuple(problems)


def _with_consistent_units(
    measured: Iterable[Measured], wanted: Mapping[str, Metric]
) -> tuple[dict[str, Metric], list[Problem]]:
    """Return the wanted metrics, without targets in another unit than the values."""
    if not any(metric.target is not None for metric in wanted.values()):
        return dict(wanted), []
    from ttastats_parsers.own_numbers import in_one_unit  # only a target needs it

    values: dict[str, list[float]] = {name: [] for name in wanted}
    for item in measured:
        if item.value is not None:
            values[item.metric].append(item.value)
    fitting, problems = {}, []
    for name, metric in wanted.items():
        fitting[name], problem = in_one_unit(metric, values[name])
        problems += [problem] if problem is not None else []
    return fitting, problems


def _evaluation_rows(
    measured: Sequence[Measured], start: int | None, wanted: Mapping[str, Metric]
) -> Iterable[Evaluation]:
    """Yield evaluations numbered upwards from `start`, or so that the last one is -1."""
    metrics = {
        name: wanted.get(name) or Metric(name, higher_is_better(name))
        for name in {item.metric for item in measured}
    }
    checkpoints: dict[tuple[int | None, int], list[Measured]] = {}
    times = Counter[tuple[str, int | None]]()
    for item in measured:
        times[item.metric, item.step] += 1
        again = times[item.metric, item.step]
        checkpoints.setdefault((item.step, again), []).append(item)

    def place(key: tuple[int | None, int]) -> tuple[float, int, int]:
        seconds = (item.seconds for item in checkpoints[key] if item.seconds is not None)
        step, again = key
        return min(seconds, default=0.0), -1 if step is None else step, again

    ordered = sorted(checkpoints, key=place)
    for number, key in enumerate(ordered, start=-len(ordered) if start is None else start):
        for item in checkpoints[key]:
            yield Evaluation(
                index=number,
                seconds=item.seconds,
                epoch=item.epoch,
                step=item.step,
                line=item.line,
                **score_of(metrics[item.metric], item.value, "user"),
            )


def score_of(metric: Metric, logged: float | None, target_source: str) -> dict[str, Any]:
    """Return a value in base units and its target, as fields of an evaluation."""
    return {
        "metric": metric.name,
        "value": logged / 100 if metric.percent and logged is not None else logged,
        "logged_value": logged,
        "logged_unit": "%" if metric.percent else None,
        "higher_is_better": metric.higher_is_better,
        "target_value": metric.target,
        "target_source": None if metric.target is None else target_source,
    }
