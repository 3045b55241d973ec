"""From values that were logged one by one to evaluations of checkpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ttastats.base import limits
from ttastats.base.metric_names import evaluated, higher_is_better
from ttastats.base.nearest import among
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


def evaluations_of(
    measured: Sequence[Measured], log: Log
) -> tuple[tuple[Evaluation, ...], tuple[Problem, ...]]:
    """Return the evaluations of a run, and what is to be said of them.

    Those of the metrics that the log's block names; without one, of those whose names say so.
    Values of one step share a checkpoint; a metric that is measured again at a step belongs to
    another one. Checkpoints are numbered in the order of time, or of steps where there is none.
    Training metrics come only if wanted, with numbers below 0, since they evaluate nothing.
    """
    logged = {item.metric for item in measured}
    said = _said(log)
    names = logged & said.keys() if said else evaluated(logged)
    qualities = [item for item in measured if item.metric in names]
    limits.expect_evaluations(len(measured if log.metrics == "all" else qualities))
    fitting, problems = _in_one_unit(qualities, said)
    rows = list(_numbered(qualities, 0, fitting))
    if log.metrics == "all":
        training = [item for item in measured if item.metric not in names]
        rows = [*_numbered(training, None, {}), *rows]
    if said and not names:
        problems.append(_without(next(iter(said)), logged))
    return tuple(rows), (*problems, *_not_numbers(qualities))


def _said(log: Log) -> dict[str, Metric]:
    """Return the metrics by name that the block of the log asks for."""
    metrics = log.block.metrics if log.block else ()
    benchmark = log.named.get("benchmark")
    return {one.name: one for one in metrics if one.benchmark in {None, benchmark}}


def _without(name: str, logged: Collection[str]) -> Problem:
    known = among(name, sorted(logged), "Metrics", most=12)
    return Problem("no_metric", f"unknown metric {name!r}. {known}", "warning")


def _in_one_unit(
    measured: Iterable[Measured], said: Mapping[str, Metric]
) -> tuple[dict[str, Metric], list[Problem]]:
    """Return the metrics that were asked for, without targets in another unit than the values."""
    if not any(metric.target is not None for metric in said.values()):
        return dict(said), []
    from ttastats_parsers.own_numbers import in_one_unit  # only a target needs it

    values: dict[str, list[float]] = {name: [] for name in said}
    for item in measured:
        if item.value is not None:
            values[item.metric].append(item.value)
    found = {name: in_one_unit(metric, values[name]) for name, metric in said.items()}
    problems = [problem for _, problem in found.values() if problem is not None]
    return {name: metric for name, (metric, _) in found.items()}, problems


def _numbered(
    measured: Sequence[Measured], start: int | None, said: Mapping[str, Metric]
) -> Iterable[Evaluation]:
    """Yield rows, numbered upwards from `start`, or so that the last one is -1."""
    checkpoints: dict[tuple[int | None, int], list[Measured]] = {}
    times = Counter[tuple[str, int | None]]()
    for item in measured:
        times[item.metric, item.step] += 1
        again = times[item.metric, item.step]
        checkpoints.setdefault((item.step, again), []).append(item)
    ordered = sorted(checkpoints.items(), key=_place)
    first = -len(ordered) if start is None else start
    for number, (_, items) in enumerate(ordered, start=first):
        for item in items:
            yield _row(item, number, said.get(item.metric))


def _place(checkpoint: tuple[tuple[int | None, int], list[Measured]]) -> tuple[float, int, int]:
    (step, again), items = checkpoint
    seconds = min((item.seconds for item in items if item.seconds is not None), default=0.0)
    return seconds, -1 if step is None else step, again


def _row(item: Measured, number: int, said: Metric | None) -> Evaluation:
    better = higher_is_better(item.metric) if said is None else said.higher_is_better
    target = None if said is None else said.target
    percent = said is not None and said.percent
    return Evaluation(
        index=number,
        metric=item.metric,
        value=item.value / 100 if percent and item.value is not None else item.value,
        logged_value=item.value,
        logged_unit="%" if percent else None,
        seconds=item.seconds,
        higher_is_better=better,
        epoch=item.epoch,
        step=item.step,
        line=item.line,
        target_value=target,
        target_source=None if target is None else "user",
    )


def _not_numbers(measured: Sequence[Measured]) -> Iterable[Problem]:
    lost = [item for item in measured if item.value is None]
    if lost:
        first = lost[0]
        text = f"{len(lost):,} value(s) are not finite numbers, first {first.metric}"
        text += "" if first.step is None else f" at step {first.step:,}"
        yield Problem("not_a_number", text, "warning", first.line)
