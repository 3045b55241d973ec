"""From the frame of numbers to runs: evaluations, targets, and what the runs are called."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl
from msgspec.structs import replace

from ttastats.base import streams
from ttastats.base.metrics import higher_is_better
from ttastats.base.records import Evaluation, Problem, Run
from ttastats.formats import patterns
from ttastats.formats.block import (
    BACK,
    FIELDS,
    PRICE,
    Block,
    Metric,
    price_in,
    price_of,
    run_fields,
)
from ttastats.formats.dialect import Log
from ttastats_parsers.checkpoints import in_one_unit, score_of
from ttastats_parsers.own_choice import (
    ChosenColumns,
    UnfitError,
    all_finite,
    choose,
    is_dated,
    numbers,
    texts,
    whole,
)
from ttastats_parsers.own_rows import Rows, evaluated_rows, known_count, numbered, with_parts
from ttastats_parsers.payloads import date_of

#: The name of a group of an expression.
_GROUP = re.compile(r"\(\?P?<(\w+)>")


def runs_of(rows_of: Callable[[Log], Rows], log: Log) -> Iterator[Run | Problem]:
    """Yield the runs in the rows of a log by its block, with problems and guesses."""
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
        rows = with_parts(rows, block, chosen)
        frame = numbered(rows, block, chosen)
    except UnfitError as error:
        problem = error.problem
        if block.recognised:  # an undescribed file that looks like that of a preset
            severity = "warning" if problem.code == "no_metric" else problem.severity
            text = f"recognised as {block.preset}, but: {problem.message}"
            problem = replace(problem, message=text, severity=severity)
        yield problem
        return
    if block.refined_by:
        settings = ", ".join(block.refined_by)
        text = f"recognised as {block.preset} and read as that, except for the given settings"
        yield Problem("recognised", f"{text} ({settings})", "info")
    yield from chosen.problems
    streams.expect_evaluations(frame.height * max(1, len(chosen.metrics)))
    text_of = cache(lambda column: texts(rows.frame[column]).to_list())
    for part in frame.partition_by("run", maintain_order=True):
        if not _is_preamble(part, rows, block):
            yield from _run(part, rows, text_of, log, block, chosen)
        elif n_ignored := evaluated_rows(part).height:
            text = f"{n_ignored:,} evaluations before the first run: ignored"
            yield Problem("before_the_runs", text, "info", part["line"][0])


def _is_preamble(part: pl.DataFrame, rows: Rows, block: Block) -> bool:
    """Return whether rows stand before the first line of a run."""
    if not rows.carried or part["run"][0] != 0:
        return False
    if rows.begins is not None and block.new_run not in {None, "row", *BACK}:
        return bool(rows.begins.any()) and not bool(rows.begins.gather(part["row"]).any())
    return any(rows.frame[name].gather(part["row"]).is_null().all() for name in block.run)


def _run(
    part: pl.DataFrame,
    rows: Rows,
    text_of: Callable[[str], list[str | None]],
    log: Log,
    block: Block,
    chosen: ChosenColumns,
) -> Iterator[Run | Problem]:
    """Yield the run of a part of the frame; `text_of` returns the texts of a column."""
    columns = rows.frame.columns
    # From its path, its identifying columns, or its block.
    last_texts = _last_texts(part, text_of, names_in(block, columns))
    names = {**log.named, **{name: last_texts[name] for name in block.run if name in last_texts}}
    # A column without a value is unknown, and not a constant that is called as it is.
    unknown = dict.fromkeys((*columns, *rows.columns, *_GROUP.findall(" ".join(block.line))))
    names |= patterns.fill_names(block.fields, {**unknown, **names, **last_texts})
    benchmark = names.get("benchmark")
    metrics, problems = dict[str, Metric](), list[Problem]()
    if (price := price_in(columns)) and PRICE not in names:
        prices = [text for row in part["row"] if (text := text_of(price)[row])]
        if len({*map(price_of, prices)}) == 1:
            names[PRICE] = prices[0]
        elif prices:
            text = f"{price} is {prices[0]} and later {prices[-1]}: the run has no single price"
            problems.append(Problem("price_changes", text, "warning", part["line"][0]))
    for number, metric in enumerate(chosen.metrics):
        if metric.benchmark in {None, benchmark}:
            name = f"m{number}"
            values = part[name].drop_nulls() if part[name].has_nulls() else part[name]
            values = values if all_finite(values) else values.filter(values.is_finite())
            metrics[name], problem = in_one_unit(metric, values.to_list())
            problems += [problem] if problem is not None else []
    if not metrics:
        names_of_benchmarks = ", ".join(str(metric.benchmark) for metric in chosen.metrics)
        text = f"no metric is set for benchmark {benchmark!r} ({names_of_benchmarks})"
        yield Problem("no_metric", text, "error")
        return
    extra: dict[str, Any] = {name: value for name, value in names.items() if name not in FIELDS}
    if part.height == 1 and not rows.carried:
        logged = {metric.name for metric in chosen.metrics}
        unnamed = (name for name in columns if name not in logged and name not in names)
        extra |= _last_texts(part, text_of, unnamed)
    stamped = chosen.clock is not None and chosen.clock.format is not None
    seconds = part["seconds"].max()
    start = part["first_stamp"][0] if is_dated(chosen.clock) else None
    training = _training_values(part, rows, chosen, block) if log.metrics == "all" else ()
    yield Run(
        **run_fields(names),
        clock=block.clock or ("wall" if stamped else None),
        clock_zero="first stamp" if stamped else None,
        run_status="aborted" if bool(part["failed"].any()) else "unknown",
        run_seconds=seconds if isinstance(seconds, float) else None,
        zero_progress=_progress_at_zero(part) if stamped else None,
        # Stamps without a zone are taken for UTC.
        started_at=date_of(start) if start is not None and 0 < start < 4e9 else None,
        evaluations=(*training, *_evaluations(part, metrics, block)),
        problems=tuple(problems),
        extra=extra | ({"preset": block.preset} if block.preset else {}),
    )


def _progress_at_zero(part: pl.DataFrame) -> float | None:
    """Return the progress at second 0 of a run, in the unit of its evaluations."""
    if (count := known_count(evaluated_rows(part))) is None:
        return None
    progress = part.filter(pl.col("seconds") == 0.0)[count].drop_nulls().first()
    return progress if isinstance(progress, float) else None


def _last_texts(
    part: pl.DataFrame, text_of: Callable[[str], list[str | None]], columns: Iterable[str]
) -> dict[str, str]:
    """Return the last text of each column in the rows of a run, of those that have any."""
    rows = part["row"].to_list()[::-1]
    cells = {name: text_of(name) for name in columns}
    last_values = {
        name: next((texts[row] for row in rows if texts[row]), None)
        for name, texts in cells.items()
    }
    return {name: text for name, text in last_values.items() if text is not None}


_POSITION = ("line", "seconds", "epoch", "step", "samples")


def _evaluation(index: int, position: Sequence[Any], score: Mapping[str, Any]) -> Evaluation:
    line, seconds, epoch, step, samples = position
    return Evaluation(
        index=index,
        seconds=seconds,
        epoch=epoch,
        step=whole(step),
        samples=whole(samples),
        line=line,
        **score,
    )


def _evaluations(
    part: pl.DataFrame, metrics: Mapping[str, Metric], block: Block
) -> Iterator[Evaluation]:
    """Yield the evaluations of a run; rows of equal progress share their checkpoint."""
    index, previous, logged = -1, None, set[str]()
    for row in evaluated_rows(part, list(metrics))[[*_POSITION, *metrics]].iter_rows():
        position, values = row[: len(_POSITION)], row[len(_POSITION) :]
        scores = {name: v for name, v in zip(metrics, values, strict=True) if v is not None}
        progress = position[2:]
        if progress != previous or set(progress) == {None} or logged & scores.keys():
            index, previous, logged = index + 1, progress, set()
        logged |= scores.keys()
        for name, score in scores.items():
            value = score if abs(score) < float("inf") else None  # NaN is not
            yield _evaluation(index, position, score_of(metrics[name], value, block.target_source))


def _training_values(
    part: pl.DataFrame, rows: Rows, chosen: ChosenColumns, block: Block
) -> Iterator[Evaluation]:
    """Yield the other numbers of a run's rows as training metrics, numbered up to -1."""
    other_columns = {*chosen.numbers.values(), *block.run, *block.fields.values()}
    if chosen.clock is not None:
        other_columns |= {chosen.clock.column, chosen.clock.per or chosen.clock.column}
    names = [
        name
        for name in rows.frame.columns
        if name not in other_columns and numbers(rows.frame[name]).is_finite().any()
    ]
    metrics = [Metric(name, higher_is_better(name)) for name in names]
    cells = rows.frame[part["row"]]
    logged = part.select(
        *_POSITION, *(numbers(cells[name]).alias(f"logged {name}") for name in names)
    ).filter(pl.any_horizontal(pl.col("^logged .*$").is_finite()))
    for index, row in enumerate(logged.iter_rows(), start=-logged.height):
        for metric, value in zip(metrics, row[len(_POSITION) :], strict=True):
            if value is not None and abs(value) < float("inf"):
                yield _evaluation(index, row[: len(_POSITION)], score_of(metric, value, ""))


def names_in(block: Block, columns: Iterable[str]) -> list[str]:
    """Return the columns of a run's name and fields."""
    columns = [*columns]
    block_names = {*block.run, *block.fields.values(), price_in(columns)}
    block_names.update(
        name for text in block.fields.values() for name in patterns.PLACE.findall(text)
    )
    return [name for name in columns if name in block_names]
