"""Which columns of a file does its block mean, and which are guessed where it does not say?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from ttastats.base.metric_names import higher_is_better
from ttastats.base.nearest import among
from ttastats.base.records import Problem
from ttastats.formats.own_logs import names
from ttastats.formats.own_logs.block import Block, CountColumn, Metric, TimeColumn

_T = TypeVar("_T")


class UnfitError(Exception):
    """A file that its block cannot be used on, with the problem to tell."""

    def __init__(self, code: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.problem = Problem(code, message, "error", line)


class ChosenColumns(msgspec.Struct):
    """The columns of one file, and what was guessed."""

    metrics: tuple[Metric, ...]
    clock: TimeColumn | None
    step: CountColumn | None
    epoch: CountColumn | None
    samples: CountColumn | None
    problems: list[Problem]


def choose(block: Block, columns: Sequence[str]) -> ChosenColumns:
    """Return the columns that a block means in a file that has some.

    Raises
    ------
    UnfitError
        A column that it names is not there, or there is no metric.
    """
    problems: list[Problem] = []
    metrics = _metrics(block, columns, problems)
    clock = _clock(block, columns, problems)
    guessed: list[str] = []
    counts = {
        name: _progress(name, block, known, columns, guessed)
        for name, known in names.COUNTS.items()
    }
    if guessed:
        problems.append(Problem("guessed_column", f"read as {'; '.join(guessed)}", "info"))
    for column in block.run:
        _expect(column, columns, "run")
    return ChosenColumns(metrics, clock, **counts, problems=problems)


def _expect(column: str, columns: Sequence[str], key: str) -> None:
    if column not in columns:
        raise UnfitError("no_column", f"{key}: no column {column!r}. {_there_are(column, columns)}")


def _there_are(name: str, columns: Sequence[str]) -> str:
    return among(name, columns, "Columns", most=12)


def _metrics(block: Block, columns: Sequence[str], problems: list[Problem]) -> tuple[Metric, ...]:
    if block.metrics:
        found = tuple(metric for metric in block.metrics if metric.name in columns)
        if not found:
            name = block.metrics[0].name
            raise UnfitError("no_metric", f"no column {name!r}. {_there_are(name, columns)}")
    else:
        found = tuple(
            Metric(name, higher_is_better(name), guessed=True) for name in names.metrics(columns)
        )
        if not found:
            raise UnfitError(
                "no_metric", f"no column looks like a metric; set one. {_there_are('', columns)}"
            )
    if not block.metrics:
        listed = ", ".join(metric.name for metric in found)
        problems.append(Problem("guessed_metric", f"read as metrics: {listed}", "info"))
    problems += directions(found)
    return found


def directions(metrics: Sequence[Metric]) -> list[Problem]:
    """Return which directions are guessed, and where one is not known."""
    found = []
    for better, word in ((True, "higher"), (False, "lower")):
        those = [m.name for m in metrics if m.guessed and m.higher_is_better is better]
        if those:
            text = f"{word} is better, by name: {', '.join(those)}"
            found.append(Problem("guessed_direction", text, "info"))
    unknown = [metric.name for metric in metrics if metric.higher_is_better is None]
    if unknown:
        text = f"is higher or lower better? Write '{unknown[0]} higher' or '{unknown[0]} lower'"
        found.append(Problem("unknown_direction", text, "warning"))
    return found


def _clock(block: Block, columns: Sequence[str], problems: list[Problem]) -> TimeColumn | None:
    if block.seconds is not None:
        return _first(block.seconds, columns, "seconds", block, lambda clock: clock.column)
    found = names.clocks(columns)
    if len(found) > 1:
        listed = " and ".join(name for name, _ in found)
        text = f"{listed} may each be the clock: select one, such as seconds = '{found[0][0]} s'"
        problems.append(Problem("two_clocks", text, "warning"))
        return None
    if not found:
        return None
    name, seconds = found[0]
    text = f"read as seconds: '{name} {names.UNITS[seconds]}'"
    problems.append(Problem("guessed_clock", text, "info"))
    return TimeColumn(name, seconds)


def _progress(
    key: str, block: Block, known: Sequence[str], columns: Sequence[str], guessed: list[str]
) -> CountColumn | None:
    said: Sequence[CountColumn] | None = getattr(block, key)
    if said is not None:
        return _first(said, columns, key, block, lambda progress: progress.column)
    column = names.first_of(known, columns)
    if column is None:
        return None
    if column != key:
        guessed.append(f"{key}: {column}")
    return CountColumn(column)


def _first(
    said: Sequence[_T],
    columns: Sequence[str],
    key: str,
    block: Block,
    column_of: Callable[[_T], str],
) -> _T | None:
    """Return the first that the file has; it must have one unless the block says otherwise."""
    for one in said:
        if column_of(one) in columns:
            return one
    if said and key not in block.may_lack:
        _expect(column_of(said[0]), columns, key)
    return None
