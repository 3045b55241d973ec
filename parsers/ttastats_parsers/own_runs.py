"""From the frame of numbers to runs: evaluations, targets, and what the runs are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from ttastats.base import limits
from ttastats.base.records import Evaluation, Problem, Run
from ttastats.formats.dialect import Log
from ttastats.formats.own_logs import patterns
from ttastats.formats.own_logs.block import FIELDS, Block, Metric, fields_of
from ttastats_parsers.own_choice import ChosenColumns, UnfitError, choose
from ttastats_parsers.own_numbers import in_one_unit, is_dated, texts, whole
from ttastats_parsers.own_rows import Rows, told
from ttastats_parsers.own_training import training_of


def runs_of(rows: Rows, log: Log) -> Iterator[Run | Problem]:
    """Yield the runs that some rows tell by the log's block, and what is wrong or was guessed."""
    block = log.block or Block("")
    if block.carry:
        rows = replace(rows, carried=True)
    try:
        chosen = choose(block, rows.frame.columns)
        frame = told(rows, block, chosen)
    except UnfitError as error:
        yield from rows.problems
        yield _of_a_preset(error.problem, block) if block.recognised else error.problem
        return
    yield from rows.problems
    if block.refined_by:
        said = ", ".join(block.refined_by)
        text = (
            f"recognised as {block.preset} and read as that, except for the given settings ({said})"
        )
        yield Problem("recognised", text, "info")
    yield from chosen.problems
    limits.expect_evaluations(frame.height * max(1, len(chosen.metrics)))
    cells_of = _Cells(rows)
    for part in frame.partition_by("run", maintain_order=True):
        if _is_preamble(part, rows, block):
            yield from _left_out(part, chosen)
            continue
        yield from _run(part, cells_of, log, block, chosen)


def _of_a_preset(problem: Problem, block: Block) -> Problem:
    """Return the problem with the preset that an undescribed file looks like."""
    severity = "warning" if problem.code == "no_metric" else problem.severity
    text = f"recognised as {block.preset}, but: {problem.message}"
    return Problem(problem.code, text, severity, problem.line)


def _is_preamble(part: pl.DataFrame, rows: Rows, block: Block) -> bool:
    """Return whether these rows stand before the first line that begins a run, or names one."""
    if not rows.carried or part["run"][0] != 0:
        return False
    if rows.begins is not None and block.new_run not in {None, "row", "step back", "time back"}:
        return bool(rows.begins.any()) and not bool(rows.begins.gather(part["row"]).any())
    return any(rows.frame[name].gather(part["row"]).is_null().all() for name in block.run)


def _left_out(part: pl.DataFrame, chosen: ChosenColumns) -> Iterator[Problem]:
    names = [f"m{number}" for number in range(len(chosen.metrics))]
    number = part.filter(pl.any_horizontal(pl.col(names).is_not_null())).height
    if number:
        text = f"{number:,} evaluations before the first run: ignored"
        yield Problem("before_the_runs", text, "info", part["line"][0])


def _run(
    part: pl.DataFrame, cells_of: _Cells, log: Log, block: Block, chosen: ChosenColumns
) -> Iterator[Run | Problem]:
    named = _names(part, cells_of, log, block)
    benchmark = named.get("benchmark")
    numbered = [
        (number, metric)
        for number, metric in enumerate(chosen.metrics)
        if metric.benchmark in {None, benchmark}
    ]
    if not numbered:
        known = ", ".join(str(metric.benchmark) for metric in chosen.metrics)
        yield Problem(
            "no_metric", f"no metric is set for benchmark {benchmark!r} ({known})", "error"
        )
        return
    metrics = []
    for number, metric in numbered:
        values = part[f"m{number}"].filter(part[f"m{number}"].is_finite())
        fitting, problem = in_one_unit(metric, values.to_list())
        metrics.append((number, fitting))
        if problem is not None:
            yield problem
    stamped = chosen.clock is not None and chosen.clock.format is not None
    seconds = part["seconds"].max()
    started = part["first_stamp"][0] if is_dated(chosen.clock) else None
    yield Run(
        **fields_of(named),
        clock=block.clock or ("wall" if stamped else None),
        clock_zero="first stamp" if stamped else None,
        run_status="aborted" if bool(part["failed"].any()) else "unknown",
        run_seconds=seconds if isinstance(seconds, float) else None,
        started_at=_moment(started),
        evaluations=(
            *(training_of(part, cells_of.rows, chosen, block) if log.metrics == "all" else ()),
            *_evaluations(part, metrics, block),
        ),
        extra=_extra(named, part, cells_of, block, chosen),
    )


def _moment(seconds: float | None) -> datetime | None:
    """Return a date; stamps without a zone are taken for UTC."""
    if seconds is None or not 0 < seconds < 4e9:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


# ------------------------------------------------------------------------------------ evaluations


def _evaluations(
    part: pl.DataFrame, metrics: Sequence[tuple[int, Metric]], block: Block
) -> Iterator[Evaluation]:
    """Yield the evaluations of a run; rows of equal progress share their checkpoint."""
    names = [f"m{number}" for number, _ in metrics]
    evaluated = part.filter(pl.any_horizontal(pl.col(names).is_not_null()))
    told_of = evaluated.select("line", "seconds", "epoch", "step", "samples", *names)
    index, before, seen = -1, None, set[int]()
    for line, seconds, epoch, step, samples, *values in told_of.iter_rows():
        progress = (step, epoch, samples)
        present = {number for number, value in enumerate(values) if value is not None}
        if index < 0 or progress != before or progress == _UNKNOWN or seen & present:
            index, before, seen = index + 1, progress, set()
        seen |= present
        for number in sorted(present):
            yield Evaluation(
                index=index,
                seconds=seconds,
                epoch=epoch,
                step=whole(step),
                samples=whole(samples),
                line=line,
                **_value(metrics[number][1], values[number], block),
            )


_UNKNOWN = (None, None, None)


def _value(metric: Metric, logged: float, block: Block) -> dict[str, Any]:
    """Return a value in base units, unknown where it is not finite, and what it must reach."""
    is_finite = abs(logged) < float("inf")  # NaN is not
    value = logged if is_finite else None
    return {
        "metric": metric.name,
        "value": value / 100 if metric.percent and value is not None else value,
        "logged_value": value,
        "logged_unit": "%" if metric.percent else None,
        "higher_is_better": metric.higher_is_better,
        "target_value": metric.target,
        "target_source": None if metric.target is None else block.target_source,
    }


# ------------------------------------------------------------------------------------------ names


def _names(part: pl.DataFrame, cells_of: _Cells, log: Log, block: Block) -> dict[str, str]:
    """Return the name of a run: from its path, its identifying columns, or its block."""
    meant = {*block.run, *block.fields.values()}
    meant.update(name for said in block.fields.values() for name in patterns.PLACE.findall(said))
    cells = {name: cells_of.last(name, part) for name in cells_of.columns if name in meant}
    named = dict(log.named)
    named |= {name: value for name in block.run if (value := cells.get(name)) is not None}
    known = {**named, **{name: value for name, value in cells.items() if value is not None}}
    return {**named, **patterns.filled(block.fields, known)}


class _Cells:
    """The texts of a table's columns, each made once: a table may hold a run in each row."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._texts: dict[str, list[str | None]] = {}
        self.columns = rows.frame.columns

    def last(self, column: str, part: pl.DataFrame) -> str | None:
        """Return the last text of a column in a run."""
        if column not in self._texts:
            self._texts[column] = texts(self.rows.frame[column]).to_list()
        own = self._texts[column]
        return next((own[row] for row in reversed(part["row"].to_list()) if own[row]), None)


def _extra(
    named: Mapping[str, str],
    part: pl.DataFrame,
    cells_of: _Cells,
    block: Block,
    chosen: ChosenColumns,
) -> dict[str, Any]:
    """Return what has no column: names from the path, and all cells of a run that is one row."""
    found: dict[str, Any] = {name: value for name, value in named.items() if name not in FIELDS}
    if part.height == 1 and not cells_of.rows.carried:
        own = {metric.name for metric in chosen.metrics}
        for column in cells_of.columns:
            value = cells_of.last(column, part)
            if column not in own and column not in named and value is not None:
                found[column] = value
    if block.preset:
        found["preset"] = block.preset
    return found
