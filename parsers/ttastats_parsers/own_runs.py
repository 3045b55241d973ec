"""From the frame of numbers to runs: evaluations, targets, and what the runs are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from msgspec import structs
from msgspec.structs import replace

from ttastats.base import limits
from ttastats.base.metric_names import higher_is_better
from ttastats.base.records import Evaluation, Problem, Run
from ttastats.formats.dialect import Log
from ttastats.formats.own_logs import patterns
from ttastats.formats.own_logs.block import BACK, FIELDS, Block, Metric, run_fields
from ttastats_parsers.checkpoints import score_of
from ttastats_parsers.own_choice import ChosenColumns, UnfitError, choose
from ttastats_parsers.own_numbers import in_one_unit, is_dated, numbers, texts, whole
from ttastats_parsers.own_rows import Rows, numbered


def runs_of(rows_of: Callable[[Log], Rows], log: Log) -> Iterator[Run | Problem]:
    """Yield the runs that rows of a log tell by its block, and what is wrong or was guessed."""
    try:
        rows = rows_of(log)
    except UnfitError as error:
        yield error.problem
        return
    block = log.block or Block("")
    if block.carry:
        rows = replace(rows, carried=True)
    yield from rows.problems
    try:
        chosen = choose(block, rows.columns or rows.frame.columns)
        frame = numbered(rows, block, chosen)
    except UnfitError as error:
        problem = error.problem
        if block.recognised:  # an undescribed file that looks like that of a preset
            severity = "warning" if problem.code == "no_metric" else problem.severity
            text = f"recognised as {block.preset}, but: {problem.message}"
            problem = structs.replace(problem, message=text, severity=severity)
        yield problem
        return
    if block.refined_by:
        settings = ", ".join(block.refined_by)
        text = f"recognised as {block.preset} and read as that, except for the given settings"
        yield Problem("recognised", f"{text} ({settings})", "info")
    yield from chosen.problems
    limits.expect_evaluations(frame.height * max(1, len(chosen.metrics)))
    cells_of = _Cells(rows)
    for part in frame.partition_by("run", maintain_order=True):
        if not _is_preamble(part, rows, block):
            yield from _run(part, cells_of, log, block, chosen)
            continue
        names = [f"m{number}" for number in range(len(chosen.metrics))]
        left_out = part.filter(pl.any_horizontal(pl.col(names).is_not_null())).height
        if left_out:
            text = f"{left_out:,} evaluations before the first run: ignored"
            yield Problem("before_the_runs", text, "info", part["line"][0])


def _is_preamble(part: pl.DataFrame, rows: Rows, block: Block) -> bool:
    """Return whether rows stand before the first line of a run."""
    if not rows.carried or part["run"][0] != 0:
        return False
    if rows.begins is not None and block.new_run not in {None, "row", *BACK}:
        return bool(rows.begins.any()) and not bool(rows.begins.gather(part["row"]).any())
    return any(rows.frame[name].gather(part["row"]).is_null().all() for name in block.run)


def _run(
    part: pl.DataFrame, cells_of: _Cells, log: Log, block: Block, chosen: ChosenColumns
) -> Iterator[Run | Problem]:
    # From its path, its identifying columns, or its block.
    cells = {name: cells_of.last(name, part) for name in names_in(block, cells_of.columns)}
    known = {name: value for name, value in cells.items() if value is not None}
    named = {**log.named, **{name: known[name] for name in block.run if name in known}}
    named |= patterns.fill_names(block.fields, {**named, **known})
    benchmark = named.get("benchmark")
    of_benchmark = [
        (number, metric)
        for number, metric in enumerate(chosen.metrics)
        if metric.benchmark in {None, benchmark}
    ]
    if not of_benchmark:
        others = ", ".join(str(metric.benchmark) for metric in chosen.metrics)
        text = f"no metric is set for benchmark {benchmark!r} ({others})"
        yield Problem("no_metric", text, "error")
        return
    metrics = []
    for number, metric in of_benchmark:
        values = part[f"m{number}"].filter(part[f"m{number}"].is_finite())
        fitting, problem = in_one_unit(metric, values.to_list())
        metrics.append((number, fitting))
        if problem is not None:
            yield problem
    stamped = chosen.clock is not None and chosen.clock.format is not None
    seconds = part["seconds"].max()
    first = part["first_stamp"][0] if is_dated(chosen.clock) else None
    # Stamps without a zone are taken for UTC.
    started = _1970 + timedelta(seconds=first) if first is not None and 0 < first < 4e9 else None
    yield Run(
        **run_fields(named),
        clock=block.clock or ("wall" if stamped else None),
        clock_zero="first stamp" if stamped else None,
        run_status="aborted" if bool(part["failed"].any()) else "unknown",
        run_seconds=seconds if isinstance(seconds, float) else None,
        started_at=started,
        evaluations=(
            *(_training_values(part, cells_of.rows, chosen, block) if log.metrics == "all" else ()),
            *_evaluations(part, metrics, block),
        ),
        extra=_extra_fields(named, part, cells_of, block, chosen),
    )


_1970 = datetime(1970, 1, 1, tzinfo=UTC)


def _evaluations(
    part: pl.DataFrame, metrics: Sequence[tuple[int, Metric]], block: Block
) -> Iterator[Evaluation]:
    """Yield the evaluations of a run; rows of equal progress share their checkpoint."""
    names = [f"m{number}" for number, _ in metrics]
    evaluated = part.filter(pl.any_horizontal(pl.col(names).is_not_null()))
    columns = evaluated.select(*_PLACE, *names)
    index, before, seen = -1, None, set[int]()
    for line, seconds, epoch, step, samples, *values in columns.iter_rows():
        progress = (step, epoch, samples)
        present = {number for number, value in enumerate(values) if value is not None}
        if index < 0 or progress != before or progress == _UNKNOWN or seen & present:
            index, before, seen = index + 1, progress, set()
        seen |= present
        for number in sorted(present):
            value = values[number] if abs(values[number]) < float("inf") else None  # NaN is not
            yield Evaluation(
                index=index,
                seconds=seconds,
                epoch=epoch,
                step=whole(step),
                samples=whole(samples),
                line=line,
                **score_of(metrics[number][1], value, block.target_source),
            )


_PLACE = ("line", "seconds", "epoch", "step", "samples")
_UNKNOWN = (None, None, None)


def _training_values(
    part: pl.DataFrame, rows: Rows, chosen: ChosenColumns, block: Block
) -> Iterator[Evaluation]:
    """Yield the other numbers of a run's rows as training metrics.

    They evaluate nothing, so their numbers are below 0, and the last row is -1.
    """
    taken = {*chosen.numbers.values(), *block.run, *block.fields.values()}
    if chosen.clock is not None:
        taken |= {chosen.clock.column, chosen.clock.per or chosen.clock.column}
    names = [
        name
        for name in rows.frame.columns
        if name not in taken and numbers(rows.frame[name]).is_finite().any()
    ]
    if not names:
        return
    logged = pl.DataFrame(
        [
            numbers(column).alias(f"own {number}")
            for number, column in enumerate(rows.frame.select(names)[part["row"]].get_columns())
        ]
    )
    is_known = logged.select(pl.any_horizontal(pl.all().is_finite())).to_series()
    known = part.select(_PLACE).hstack(logged).filter(is_known)
    for index, (line, seconds, epoch, step, samples, *values) in enumerate(
        known.iter_rows(), start=-known.height
    ):
        for name, value in zip(names, values, strict=True):
            if value is not None and abs(value) < float("inf"):
                yield Evaluation(
                    index=index,
                    metric=name,
                    value=value,
                    logged_value=value,
                    seconds=seconds,
                    higher_is_better=higher_is_better(name),
                    epoch=epoch,
                    step=whole(step),
                    samples=whole(samples),
                    line=line,
                )


def names_in(block: Block, columns: Iterable[str]) -> list[str]:
    """Return the columns that a run takes its name and fields from."""
    meant = {*block.run, *block.fields.values()}
    meant.update(name for text in block.fields.values() for name in patterns.PLACE.findall(text))
    return [name for name in columns if name in meant]


class _Cells:
    """The texts of a table's columns, each made once: a table may hold a run in each row."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._texts: dict[str, list[str | None]] = {}
        self.columns = rows.frame.columns

    def last(self, column: str, part: pl.DataFrame) -> str | None:
        if column not in self._texts:
            self._texts[column] = texts(self.rows.frame[column]).to_list()
        cells = self._texts[column]
        return next((cells[row] for row in reversed(part["row"].to_list()) if cells[row]), None)


def _extra_fields(
    named: Mapping[str, str],
    part: pl.DataFrame,
    cells_of: _Cells,
    block: Block,
    chosen: ChosenColumns,
) -> dict[str, Any]:
    """Return the fields without a column, and all cells of a run that is one row."""
    extra: dict[str, Any] = {name: value for name, value in named.items() if name not in FIELDS}
    if part.height == 1 and not cells_of.rows.carried:
        metrics = {metric.name for metric in chosen.metrics}
        for column in cells_of.columns:
            value = cells_of.last(column, part)
            if column not in metrics and column not in named and value is not None:
                extra[column] = value
    if block.preset:
        extra["preset"] = block.preset
    return extra
