"""Which columns of a file does its block mean, and which are guessed where it does not say?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from ttastats.base import metric_names as names
from ttastats.base.metric_names import higher_is_better
from ttastats.base.nearest import suggestion
from ttastats.base.records import Problem
from ttastats.formats.own_logs.block import Block, CountColumn, Metric, TimeColumn

_Column = TypeVar("_Column", TimeColumn, CountColumn)


class UnfitError(Exception):
    """A file that its block cannot be used on, with the problem to tell."""

    def __init__(self, code: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.problem = Problem(code, message, "error", line)


class ChosenColumns(msgspec.Struct):
    """The columns of one file, and what was guessed; `counts` are those that it has."""

    metrics: tuple[Metric, ...]
    clock: TimeColumn | None
    other_clocks: tuple[TimeColumn, ...]
    counts: dict[str, CountColumn]
    problems: list[Problem]

    @property
    def numbers(self) -> dict[str, str]:
        """Return the columns that must be numbers: counts by name, and metrics as `m0`, `m1` ..."""
        named = {name: count.column for name, count in self.counts.items()}
        return named | {f"m{number}": metric.name for number, metric in enumerate(self.metrics)}


def choose(block: Block, columns: Sequence[str]) -> ChosenColumns:
    """Return which columns of a file a block refers to, guessing what it leaves open.

    A column that it names and the file lacks, or no metric at all, is an UnfitError.
    """
    problems: list[Problem] = []
    metrics = _metrics(block, columns, problems)
    clock = _clock(block, columns, problems)
    guessed: list[str] = []
    counts: dict[str, CountColumn] = {}
    for key, known in names.COUNTS.items():
        listed: Sequence[CountColumn] | None = getattr(block, key)
        if listed is not None:
            if (count := _first_listed(listed, columns, key, block)) is not None:
                counts[key] = count
        elif (column := names.first_known(known, columns)) is not None:
            counts[key] = CountColumn(column)
            guessed += [f"{key}: {column}"] if column != key else []
    if guessed:
        problems.append(Problem("guessed_column", f"read as {'; '.join(guessed)}", "info"))
    for column in block.run:
        _expect_column(column, columns, "run")
    others = (time for time in block.seconds or () if time.column in columns and time != clock)
    return ChosenColumns(metrics, clock, tuple(others), counts, problems)


def _first_listed(
    listed: Sequence[_Column], columns: Sequence[str], key: str, block: Block
) -> _Column | None:
    """Return the first listed column that the file has; an error if it must have one."""
    for choice in listed:
        if choice.column in columns:
            return choice
    if listed and key not in block.may_lack:
        _expect_column(listed[0].column, columns, key)
    return None


def _expect_column(column: str, columns: Sequence[str], key: str) -> None:
    if column not in columns:
        nearest = suggestion(column, columns, "Columns", most=12)
        raise UnfitError("no_column", f"{key}: no column {column!r}. {nearest}")


def _metrics(block: Block, columns: Sequence[str], problems: list[Problem]) -> tuple[Metric, ...]:
    """Return the metrics that the block names, else those that columns are named like."""
    if block.metrics:
        metrics = tuple(metric for metric in block.metrics if metric.name in columns)
        missing = f"no column {block.metrics[0].name!r}."
        if not metrics and (
            metrics := tuple(metric for metric in block.otherwise if metric.name in columns)
        ):
            text = f"no evaluation was logged: the training metric {metrics[0].name} is read in its"
            problems.append(Problem("training_metric", f"{text} place", "warning"))
    else:
        guessed = names.guess_metrics(columns)
        metrics = tuple(Metric(name, higher_is_better(name), guessed=True) for name in guessed)
        missing = "no column looks like a metric; set one."
        problems.append(Problem("guessed_metric", f"read as metrics: {', '.join(guessed)}", "info"))
    if not metrics:
        name = block.metrics[0].name if block.metrics else ""
        nearest = suggestion(name, columns, "Columns", most=12)
        raise UnfitError("no_metric", f"{missing} {nearest}")
    problems += directions(metrics)
    return metrics


def directions(metrics: Sequence[Metric]) -> list[Problem]:
    """Return a problem for each metric whose direction is guessed or unknown."""
    problems = []
    for better, word in ((True, "higher"), (False, "lower")):
        guessed = [m.name for m in metrics if m.guessed and m.higher_is_better is better]
        if guessed:
            text = f"{word} is better, by name: {', '.join(guessed)}"
            problems.append(Problem("guessed_direction", text, "info"))
    unknown = [metric.name for metric in metrics if metric.higher_is_better is None]
    if unknown:
        text = f"is higher or lower better? Write '{unknown[0]} higher' or '{unknown[0]} lower'"
        problems.append(Problem("unknown_direction", text, "warning"))
    return problems


def _clock(block: Block, columns: Sequence[str], problems: list[Problem]) -> TimeColumn | None:
    """Return the column of the clock that the block names, else one that is named like it."""
    if block.seconds is not None:
        return _first_listed(block.seconds, columns, "seconds", block)
    clocks = names.guess_clocks(columns)
    if len(clocks) > 1:
        listed = " and ".join(name for name, _ in clocks)
        text = f"{listed} may each be the clock: select one, such as seconds = '{clocks[0][0]} s'"
        problems.append(Problem("two_clocks", text, "warning"))
    if len(clocks) != 1:
        return None
    name, seconds = clocks[0]
    text = f"read as seconds: '{name} {names.UNITS[seconds]}'"
    problems.append(Problem("guessed_clock", text, "info"))
    return TimeColumn(name, seconds)
