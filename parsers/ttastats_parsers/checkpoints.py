"""From values that were logged one by one to evaluations of checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ttastats.dialect import Metrics
from ttastats.metric_names import evaluated, higher_is_better
from ttastats.records import Evaluation, Problem


class Measured(NamedTuple):
    """One value of a metric; what is no finite number is None."""

    metric: str
    value: float | None
    step: int | None = None
    seconds: float | None = None
    epoch: float | None = None
    line: int | None = None


def evaluations_of(
    measured: Sequence[Measured], wanted: Metrics
) -> tuple[tuple[Evaluation, ...], tuple[Problem, ...]]:
    """Give the evaluations of a run, and what is to be said of them.

    Values of one step share a checkpoint; a metric that is measured again at a step belongs to
    another one. Checkpoints are numbered in the order of time, or of steps where there is none.
    Training metrics come only if `wanted`, with numbers below 0, since they evaluate nothing.
    """
    names = evaluated({item.metric for item in measured})
    qualities = [item for item in measured if item.metric in names]
    rows = list(_numbered(qualities, 0))
    if wanted == "all":
        training = [item for item in measured if item.metric not in names]
        rows = [*_numbered(training, None), *rows]
    return tuple(rows), tuple(_not_numbers(qualities))


def _numbered(measured: Sequence[Measured], start: int | None) -> Iterable[Evaluation]:
    """Give rows, numbered upwards from `start`, or so that the last one is -1."""
    checkpoints: dict[tuple[int | None, int], list[Measured]] = {}
    times: dict[tuple[str, int | None], int] = {}
    for item in measured:
        again = times[item.metric, item.step] = times.get((item.metric, item.step), -1) + 1
        checkpoints.setdefault((item.step, again), []).append(item)
    ordered = sorted(checkpoints.items(), key=_place)
    first = -len(ordered) if start is None else start
    for number, (_, items) in enumerate(ordered, start=first):
        for item in items:
            yield _row(item, number)


def _place(checkpoint: tuple[tuple[int | None, int], list[Measured]]) -> tuple[float, int, int]:
    (step, again), items = checkpoint
    seconds = min((item.seconds for item in items if item.seconds is not None), default=0.0)
    return seconds, -1 if step is None else step, again


def _row(item: Measured, number: int) -> Evaluation:
    return Evaluation(
        index=number,
        metric=item.metric,
        value=item.value,
        logged_value=item.value,
        seconds=item.seconds,
        higher_is_better=higher_is_better(item.metric),
        epoch=item.epoch,
        step=item.step,
        line=item.line,
    )


def _not_numbers(measured: Sequence[Measured]) -> Iterable[Problem]:
    lost = [item for item in measured if item.value is None]
    if lost:
        first = lost[0]
        text = f"{len(lost):,} value(s) are no finite numbers, first {first.metric}"
        text += "" if first.step is None else f" at step {first.step:,}"
        yield Problem("not_a_number", text, "warning", first.line)
