"""From values that were logged one by one to evaluations of checkpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from ttastats.base import streams
from ttastats.base.errors import suggestion
from ttastats.base.metrics import evaluation_metrics, higher_is_better
from ttastats.base.records import Evaluation, Problem
from ttastats.formats.block import Metric
from ttastats.formats.dialect import Log


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
    by_name = {metric.name: metric for metric in metrics if metric.benchmark in {None, benchmark}}
    return (
        by_name,
        logged & by_name.keys() if by_name else evaluation_metrics(logged),
    )


def evaluations_of(
    measured: Sequence[Measured], log: Log, others: Set[str] = frozenset()
) -> tuple[tuple[Evaluation, ...], tuple[Problem, ...]]:
    """Return the evaluations of a run from its logged values, and their problems.

    They are of the metrics that the log's block names, else of those whose names say so; `others`
    are metrics of which no value is wanted. Values of one step share a checkpoint, unless a metric
    comes again. Checkpoints are numbered in the order of time, or of steps where there is none;
    training metrics, if wanted, below 0.
    """
    logged = {item.metric for item in measured} | others
    metrics_by_name, names = _evaluation_metrics(logged, log)
    qualities = [item for item in measured if item.metric in names]
    streams.expect_evaluations(len(measured if log.metrics == "all" else qualities))
    problems: list[Problem] = []
    for name, metric in metrics_by_name.items():
        values = [item.value for item in qualities if item.metric == name if item.value is not None]
        metrics_by_name[name], problem = in_one_unit(metric, values)
        problems += [] if problem is None else [problem]
    rows = list(_evaluation_rows(qualities, 0, metrics_by_name))
    if log.metrics == "all":
        training = [item for item in measured if item.metric not in names]
        rows = [*_evaluation_rows(training, None, {}), *rows]
    if metrics_by_name and not names:
        name = next(iter(metrics_by_name))
        nearest = suggestion(name, sorted(logged), "Metrics", most=12)
        problems.append(Problem("no_metric", f"unknown metric {name!r}. {nearest}", "warning"))
    unread = [item for item in qualities if item.value is None]
    if unread:
        text = f"{len(unread):,} value(s) are not finite numbers, first {unread[0].metric}"
        text += "" if unread[0].step is None else f" at step {unread[0].step:,}"
        problems.append(Problem("not_a_number", text, "warning", unread[0].line))
    return tuple(rows), tuple(problems)


def in_one_unit(metric: Metric, values: Sequence[float]) -> tuple[Metric, Problem | None]:
    """Return a metric, without a target that is a fraction where percentages are logged.

    Values above 1 would all meet a target such as 0.97, and values below 1 never one of 97.
    """
    name, target = metric.name, metric.target
    if target is None or not metric.higher_is_better or not values:
        return metric, None
    low, high = min(values), max(values)
    if metric.percent and high <= 1.0 < target * 100 and len(values) > 1:
        text = f"{name} is at most {high:g}: are these fractions? Then write '{name} >= {target:g}'"
    elif not metric.percent and 0 < target < 1.0 < high and low >= 0.0:
        text = (
            f"{name} is as high as {high:g} and its target {target:g}: are these percentages? "
            f"Then write '{name} >= {target * 100:g} %'"
        )
    elif not metric.percent and 1.0 < target <= 100.0 and 0.0 <= low <= high <= 1.0 < len(values):
        text = (
            f"{name} lies between {low:g} and {high:g} and its target is {target:g}: are these "
            f"fractions? Then write '{name} >= {target / 100:g}'"
        )
    else:
        return metric, None
    return Metric(name, metric.higher_is_better), Problem("percent_or_fraction", text, "error")


def _evaluation_rows(
    measured: Sequence[Measured], start: int | None, metrics_by_name: Mapping[str, Metric]
) -> Iterable[Evaluation]:
    """Yield evaluations numbered upwards from `start`, or so that the last one is -1."""
    metrics = {
        name: metrics_by_name.get(name) or Metric(name, higher_is_better(name))
        for name in {item.metric for item in measured}
    }
    checkpoints: dict[tuple[int | None, int], list[Measured]] = {}
    times = Counter[tuple[str, int | None]]()
    for item in measured:
        times[item.metric, item.step] += 1
        checkpoints.setdefault((item.step, times[item.metric, item.step]), []).append(item)

    def begins(key: tuple[int | None, int]) -> tuple[float, int, int]:
        seconds = (item.seconds for item in checkpoints[key] if item.seconds is not None)
        step, repeat = key
        return min(seconds, default=0.0), -1 if step is None else step, repeat

    ordered = sorted(checkpoints, key=begins)
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
