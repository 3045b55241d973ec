"""From the rows of a table, or of lines, to runs: which row is of which run, when, and how far?

The columns of a file become a frame of numbers: `row`, `line`, `run`, `step`, `epoch`, `samples`,
`seconds`, and `m0`, `m1` ... of the metrics. What follows works on that frame alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import polars as pl
from msgspec import Struct, field
from msgspec.structs import replace

from ttastats.base.metrics import EVALUATING, TRAINING, plain
from ttastats.base.records import Problem
from ttastats.base.units import join_names
from ttastats.formats.block import BACK, Block, TimeColumn
from ttastats_parsers.own_choice import (
    FEW,
    ChosenColumns,
    UnfitError,
    not_numbers,
    numbers,
    tells_day,
    texts,
    times,
)

#: A clock and time stamps that differ by more than this share, and a second, tell other times.
_TOLERANCE = 0.05
#: Stamps of several processes may be written a little out of order.
_STAMPS_APART = 1.0
COUNTS = ("step", "epoch", "samples")
#: The columns of all metrics.
_METRIC = re.compile(r"m\d+")


class Rows(Struct, frozen=True, eq=False):
    """The columns of a file, as logged.

    `lines` are the lines of the file from 1, null where it has none. `begins` tells of each row
    whether a new run begins there. With `carried`, a cell that is empty holds what stood there
    before. Where the frame holds only what counts of a long table, `columns` are all that it has.
    """

    frame: pl.DataFrame
    lines: pl.Series
    begins: pl.Series | None = None
    carried: bool = False
    problems: list[Problem] = field(default_factory=list)
    columns: tuple[str, ...] = ()


#: What columns are called that say on which part of the data a row was measured: of a long table,
#: the others are not held.
_PART_COLUMNS = {
    "split", "phase", "mode", "set", "subset", "stage", "part", "partition", "dataset", "data",
}  # fmt: skip
#: Short words for parts of the data, and what says of one whether a row is of it.
_ABBREVIATIONS = {"tr": "train", "te": "test", "tst": "test", "va": "val", "ev": "eval"}
_YES, _NO = ("true", "yes", "t", "y", "1", "1.0"), ("false", "no", "f", "n", "0", "0.0")


#: What columns of names of metrics and of their values are called in a table of one value a row.
_OF_NAMES = ("metric", "metric_name", "tag", "key", "measure", "variable")
_OF_VALUES = ("value", "metric_value", "scalar")
#: More names are none of metrics.
_MOST_NAMES = 1000


def value_columns(names: Iterable[str], block: Block) -> tuple[str, str] | None:
    """Return the columns of the name and the value of a metric if each row has one of these."""
    by_name = {name.lower(): name for name in reversed([*names])}
    of_names = [by_name[word] for word in _OF_NAMES if word in by_name]
    of_values = [by_name[word] for word in _OF_VALUES if word in by_name]
    block_columns = {*block.run, *(metric.name for metric in block.metrics)}
    if not of_names or not of_values or block_columns & {of_names[0], of_values[0]}:
        return None
    return of_names[0], of_values[0]


def with_metrics_apart(rows: Rows, block: Block) -> Rows:
    """Return rows with a column for each metric where a table names them in a column of its own."""
    pair = value_columns(rows.frame.columns, block)
    if pair is None or not numbers(rows.frame[pair[1]]).is_finite().any():
        return rows
    of_names, values = texts(rows.frame[pair[0]]), rows.frame[pair[1]]
    metrics = of_names.drop_nulls().unique(maintain_order=True).to_list()
    if len(metrics) > _MOST_NAMES:
        return rows
    columns = {name: values.set(of_names.ne_missing(name), None) for name in metrics}
    return replace(rows, frame=rows.frame.drop(pair).with_columns(**columns))


def with_parts(rows: Rows, block: Block, chosen: ChosenColumns) -> Rows:
    """Return rows whose metrics are those of the part of the data that evaluates.

    What rows of another part tell gets a name of its own, such as `train_accuracy`; so does each of
    several test nets, of which none is the one that is meant.
    """
    columns = (name for name in rows.frame.columns if name not in block.run)
    pairs = ((name, part) for name in columns if (part := _parts(rows.frame[name])) is not None)
    column, part = next(pairs, ("", None))
    if part is None:
        return rows
    order = [*TRAINING, *reversed(EVALUATING)]
    words = part.drop_nulls().unique(maintain_order=True).to_list()
    words = sorted(words, key=order.index) if {*words} <= {*order} else [*words, ""]
    *training, evaluating = words
    part = part.forward_fill() if rows.carried else part
    of_part: dict[str, pl.Series] = {}
    for metric in chosen.metrics:
        cells = rows.frame[metric.name]
        of_part[metric.name] = cells.set(part.ne_missing(evaluating), None)
        for part_word in training:
            of_part[f"{part_word}_{metric.name}"] = cells.set(part.ne_missing(part_word), None)
    metrics = tuple(
        replace(metric, name=f"{word}_{metric.name}", target=None)
        for metric in chosen.metrics
        for word in training
        if word not in TRAINING
    )
    chosen.metrics = (*chosen.metrics, *metrics) if evaluating else metrics
    text = f"{column} says which data a row was measured on: "
    text += f"rows of {evaluating!r} evaluate, " if evaluating else ""
    text += f"those of {join_names(list(map(repr, training)))} are metrics of their own names"
    chosen.problems.append(Problem("part_column", text, "info"))
    return replace(rows, frame=rows.frame.with_columns(**of_part))


def names_parts(column: str) -> bool:
    """Return whether a column is called as one that says which data a row was measured on."""
    return column.lower() in _PART_COLUMNS or _part_in(column) is not None


def _part_in(column: str) -> str | None:
    """Return the part of the data in the name of a truth column: `is_train`, `val_set`."""
    words = {*plain(column).split("_")} - {"is", "set", "split", "mode", "phase", "flag"}
    parts = words & {*TRAINING, *EVALUATING}
    return next(iter(parts)) if len(words) == 1 and parts else None


def _parts(cells: pl.Series) -> pl.Series | None:
    """Return the part of the data in each row of a column, if it names nothing else."""
    truth = _part_in(cells.name)
    if cells.dtype.is_numeric() and truth is None:
        return None
    part_of_word = {word: word for word in (*TRAINING, *EVALUATING)} | _ABBREVIATIONS
    first_words = {text.lower() for text in texts(cells.head(FEW)).to_list() if text is not None}
    if truth is None and cells.name != "test_net" and not first_words <= part_of_word.keys():
        return None  # of most columns, without a query
    words = texts(cells).str.to_lowercase()
    distinct = words.drop_nulls().unique().head(8).to_list()
    if truth is not None and not {*distinct} <= part_of_word.keys():
        opposite = EVALUATING[0] if truth in TRAINING else TRAINING[0]
        n_words = 4 if plain(cells.name) == truth else None  # 0 and 1 may be values of `val`
        part_of_word = dict.fromkeys(_YES[:n_words], truth) | dict.fromkeys(_NO[:n_words], opposite)
    elif cells.name == "test_net":
        part_of_word = {word: f"net{word}" for word in distinct if word.isdecimal()}
    if len(distinct) < 2 or not {*distinct} <= part_of_word.keys():
        return None
    return words.replace_strict(part_of_word, default=None, return_dtype=pl.String)


def evaluated_rows(frame: pl.DataFrame, metrics: Sequence[str] = ()) -> pl.DataFrame:
    """Return the rows with a value of some metrics, or of any at all."""
    metrics = metrics or [name for name in frame.columns if _METRIC.fullmatch(name)]
    if not all(frame[name].has_nulls() for name in metrics):
        return frame
    return frame.filter(pl.any_horizontal(pl.col(metrics).is_not_null()))


def numbered(rows: Rows, block: Block, chosen: ChosenColumns) -> pl.DataFrame:
    """Return the frame of numbers, in the order of the file; problems go to those of `chosen`."""
    frame = _numeric_columns(rows, chosen)
    frame = frame.hstack([_run_numbers(rows, frame, block).alias("run")])
    counts = {name: pl.lit(None, pl.Float64()) for name in COUNTS}
    for name, count in chosen.counts.items():
        column = pl.col(name).cum_sum().over("run") if count.summed else pl.col(name)
        column = column.forward_fill().over("run") if rows.carried else column
        counts[name] = column + count.plus
    seconds, first_stamp = _seconds_of_run(chosen.clock, carried=rows.carried)
    frame = frame.with_columns(
        seconds=seconds, first_stamp=first_stamp, **counts, failed=pl.lit(value=False)
    )
    if (condition := block.failed) is not None and condition.column in rows.frame.columns:
        has_failed = texts(rows.frame[condition.column]).is_in(condition.values)
        frame = frame.with_columns(failed=has_failed.fill_null(value=False))
        frame = frame.with_columns(pl.when(~pl.col("failed")).then(pl.col(f"^{_METRIC.pattern}$")))
    _check_clocks(frame, chosen)
    if block.resume:
        frame = _join_sessions(frame, block.resume, chosen.problems)
    if not _rises(frame):
        _expect_forward(frame, block, chosen)
        if not (rows.carried and block.preset):
            _expect_one_run(frame, chosen, of_lines=rows.carried)
    if block.new_epoch and {"step", "epoch"} <= chosen.counts.keys():
        anew = _goes_back("step").any()  # then it says nothing of the whole run
        return frame.with_columns(step=pl.when(~anew).then("step"))
    return frame


def _numeric_columns(rows: Rows, chosen: ChosenColumns) -> pl.DataFrame:
    """Return the numeric columns; `of_one` is the column with the time of one iteration."""
    cells = rows.frame
    columns = {"line": rows.lines}
    for name, column in chosen.numbers.items():
        columns[name] = numbers(cells[column])
        chosen.problems += not_numbers(cells[column], columns[name], rows.lines)
    if (clock := chosen.clock) is not None:
        columns["seconds"] = times(cells[clock.column], clock)
        for clock_ in chosen.other_clocks if _is_plain(clock) else ():
            seconds = times(cells[clock_.column], clock_)
            if clock_.format is not None:
                columns["stamped"] = seconds
            elif rows.carried and _is_plain(clock_):  # in ms here, and in minutes there
                columns["seconds"] = columns["seconds"].fill_null(seconds)
        unread = columns["seconds"].null_count() == cells.height
        if unread and len(stamps := texts(cells[clock.column]).drop_nulls()):
            kind = f"time stamps with the format {clock.format!r}" if clock.format else "numbers"
            text = f"{clock.column} contains no {kind}, but {stamps[0]!r}: seconds are unknown"
            chosen.problems.append(Problem("no_clock", text, "error"))
        if clock.per is not None:
            if clock.per not in cells.columns:
                raise UnfitError("no_column", f"seconds: no column {clock.per!r}")
            columns["of_one"] = numbers(cells[clock.per])
    return pl.DataFrame(columns).with_row_index("row")


def _is_plain(clock: TimeColumn) -> bool:
    return clock.format is None and clock.per is None and not clock.summed


def _run_numbers(rows: Rows, frame: pl.DataFrame, block: Block) -> pl.Series:
    """Return the run number of each row, from 0 in the order in which runs begin."""
    if block.new_run == "row":
        return frame["row"].cast(pl.Int64())
    run_numbers = pl.Series([0], dtype=pl.Int64()).new_from_index(0, frame.height)
    if block.run:
        keys = rows.frame.select(texts(rows.frame[name]).alias(name) for name in block.run)
        run_numbers = _number_keys(keys.select(pl.all().forward_fill()) if rows.carried else keys)
    if block.new_run is None:
        return run_numbers
    begins: pl.Expr | pl.Series = pl.lit(False)
    if block.new_run in BACK:
        begins = _goes_back(_restart_column(block.new_run, frame))
    elif rows.begins is not None:
        begins = rows.begins
    n_restarts = pl.col("begins").cast(pl.Int64()).cum_sum().over("run")
    table = frame.with_columns(run=run_numbers).with_columns(begins=begins)
    return _number_keys(table.select("run", begun=n_restarts))


def _restart_column(back: str, frame: pl.DataFrame) -> str:
    """Return the column of restarts: time, or the first count of progress."""
    names = ("seconds",) if back == "time back" else COUNTS
    name = next((name for name in names if name in frame.columns), None)
    if name is None:
        kind = "seconds" if back == "time back" else "step, epoch or samples"
        raise UnfitError("no_column", f"{back!r}: no column of {kind} is known")
    return name


def _goes_back(name: str) -> pl.Expr:
    """Return whether a number is less than the last before, for each row of a run."""
    previous = pl.col(name).forward_fill().shift(1).over("run")
    return (pl.col(name) < previous).fill_null(value=False)


def _number_keys(keys: pl.DataFrame) -> pl.Series:
    """Return numbers for the distinct rows of some keys, in order of appearance."""
    index = keys.unique(maintain_order=True).with_row_index("number")
    joined = keys.join(index, on=keys.columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["number"].cast(pl.Int64())


def _seconds_of_run(clock: TimeColumn | None, *, carried: bool) -> tuple[pl.Expr, pl.Expr]:
    """Return the seconds since the start of each run, and its date if known."""
    null = pl.lit(None, pl.Float64())
    if clock is None:
        return null, null
    seconds, first_stamp = pl.col("seconds"), null
    if clock.per is not None or clock.summed:
        seconds = _summed_seconds(clock, carried=carried)
    elif clock.format is not None:
        first_stamp = seconds.drop_nulls().first().over("run")
        if not tells_day(clock.format):
            midnights = _goes_back("seconds").cast(pl.Int64()).cum_sum().over("run")
            seconds = seconds + midnights * 86_400.0
        seconds = seconds - first_stamp
    if carried or clock.per is not None:
        seconds = seconds.forward_fill().over("run")
    return seconds, first_stamp


def _summed_seconds(clock: TimeColumn, *, carried: bool) -> pl.Expr:
    """Return the seconds of a run where each row has those of its own part."""
    seconds, number = pl.col("seconds"), pl.col("of_one")
    if clock.alone:
        # Those of iterations that are told, and the usual time of each between them. A row that
        # tells the time of iteration n is written after it, one without a time before it. Usual is
        # the median, which neither compilation nor an evaluation in a few of them moves.
        number = number.forward_fill()
        iterations_done = number + seconds.is_not_null()
        done_before = iterations_done.shift(1).fill_null(number)
        n_between = (iterations_done - done_before - seconds.is_not_null()).clip(lower_bound=0)
        median = seconds.quantile(0.5, "lower")
        return (seconds.fill_null(0.0) + n_between.fill_null(0) * median).cum_sum().over("run")
    if clock.per is not None:
        # The time of one iteration times how many there were since the row before.
        has_both = seconds.is_not_null() & number.is_not_null()
        count = pl.when(has_both).then(number)
        count_before = count.forward_fill().shift(1).over("run").fill_null(0.0)
        passed = pl.when(count > count_before).then(count - count_before).otherwise(count)
        return pl.when(has_both).then((seconds * passed).cum_sum().over("run"))
    # A bar that is drawn again as it ends tells all of the same; parts of a run may be as long.
    line = pl.col("line")
    is_copy = pl.all_horizontal(
        pl.exclude("row", "line").eq_missing(pl.exclude("row", "line").shift(1))
    )
    is_redraw = is_copy & (line - line.shift(1) <= 1) if carried else pl.lit(value=False)
    return pl.when(~is_redraw.fill_null(value=False)).then(seconds).cum_sum().over("run")


def _check_clocks(frame: pl.DataFrame, chosen: ChosenColumns) -> None:
    """Name time stamps by which a run lasts longer or shorter than by the clock of its log."""
    if "stamped" not in frame.columns or chosen.clock is None:
        return
    with_both = frame.filter(pl.col("stamped").is_not_null() & pl.col("seconds").is_not_null())
    spans = with_both.group_by("run", maintain_order=True).agg(
        (pl.col(name).max() - pl.col(name).min()).alias(name) for name in ("seconds", "stamped")
    )
    difference = (pl.col("seconds") - pl.col("stamped")).abs()
    longer = pl.max_horizontal("seconds", "stamped")
    name = chosen.clock.column
    for _, seconds, stamped in spans.filter(difference > _TOLERANCE * longer + 1.0).iter_rows():
        text = f"{seconds:,.6g} s by {name}, {stamped:,.6g} s by the time stamps: {name} is used"
        chosen.problems.append(Problem("clocks_differ", text, "warning"))


def _join_sessions(frame: pl.DataFrame, resume: str, problems: list[Problem]) -> pl.DataFrame:
    """Return the rows with the time of resumed sessions added up, without repeated training.

    Where a run is resumed from a checkpoint, what had been trained and evaluated since is not part
    of the model any more: the later rows count, with the time of all.
    """
    unknown = [name for name in ("seconds", *COUNTS) if frame[name].is_null().all()]
    if resume == "time back" and "seconds" in unknown:  # a preset for logs with and without a time
        return frame
    column = _restart_column(resume, frame.drop(unknown))
    sessions = frame.with_columns(resumes=_goes_back(column), time_back=_goes_back("seconds"))
    previous = pl.col("seconds").forward_fill().shift(1).over("run")
    lost_seconds = pl.when(pl.col("resumes") & pl.col("time_back")).then(previous).otherwise(0.0)
    sessions = sessions.with_columns(
        session=pl.col("resumes").cast(pl.Int64()).cum_sum().over("run"),
        seconds=pl.col("seconds") + lost_seconds.cum_sum().over("run"),
    )
    number = int(sessions["resumes"].sum())
    if not number:
        return frame
    kept_rows = sessions
    if (name := known_count(frame)) is not None:  # what a later session trained again goes
        starts = (
            sessions.group_by("run", "session")
            .agg(start=pl.col(name).min())
            .sort("run", "session", descending=[False, True])
            .with_columns(next_start=pl.col("start").cum_min().shift(1).over("run"))
        )
        kept_rows = sessions.join(starts, on=["run", "session"], how="left", maintain_order="left")
        kept_rows = kept_rows.filter((pl.col(name) < pl.col("next_start")).fill_null(value=True))
    n_dropped = sessions.height - kept_rows.height
    text = f"resumed {number} time{'s' * (number > 1)}: the seconds are added up"
    text += f"; {n_dropped:,} repeated rows are ignored" if n_dropped else ""
    problems.append(Problem("resumed", text, "info"))
    return kept_rows.select(frame.columns)


def known_count(frame: pl.DataFrame) -> str | None:
    """Return the first known count of progress, or None."""
    return next((name for name in COUNTS if frame[name].null_count() < frame.height), None)


def _rises(frame: pl.DataFrame) -> bool:
    """Return whether progress rises and time does not fall between evaluations, without queries."""
    evaluated, name = evaluated_rows(frame), known_count(frame)
    progress, seconds, run = evaluated[name or "step"], evaluated["seconds"], evaluated["run"]
    if not run.is_sorted() or (name and progress.has_nulls()):
        return False
    is_new_run = run[1:] != run[:-1]
    rises = name is None or (is_new_run | (progress[1:] > progress[:-1])).all()
    if seconds.null_count() == len(seconds):
        return rises
    is_ordered = is_new_run | (seconds[1:] >= seconds[:-1])
    return rises and not seconds.has_nulls() and is_ordered.all()


def _expect_forward(frame: pl.DataFrame, block: Block, chosen: ChosenColumns) -> None:
    """Raise an error if step or time goes back between evaluations."""
    evaluated = evaluated_rows(frame)
    name = known_count(evaluated)
    if name is not None:
        steps_back = evaluated.select("line", name, back=_goes_back(name), run="run").filter("back")
        if steps_back.is_empty() and [*chosen.counts] == [name]:
            steps_back = _restarts(frame, name)
        if steps_back.height and block.new_epoch:
            text = f"{name} restarts {steps_back.height} times in a run: it is counted per epoch"
            chosen.problems.append(Problem("new_epoch", text, "info"))
        elif steps_back.height:
            column = chosen.counts[name].column
            raise _went_back_error("step", column, steps_back.row(0)[0], steps_back.height)
    slack = _STAMPS_APART if chosen.clock and chosen.clock.format else 0.0
    previous = pl.col("seconds").forward_fill().shift(1).over("run")
    late_rows = evaluated.filter(pl.col("seconds") < previous - slack)
    if late_rows.height and chosen.clock:
        raise _went_back_error("time", chosen.clock.column, late_rows["line"][0], late_rows.height)


def _restarts(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the evaluations at the progress of the one before, from which it had begun anew."""
    sections = frame.with_columns(begun=_goes_back(name).cum_sum().over("run"))
    is_restart = (pl.col(name).diff() == 0) & (pl.col("begun").diff() > 0)
    return evaluated_rows(sections).filter(is_restart.over("run")).select("line", name)


def _expect_one_run(frame: pl.DataFrame, chosen: ChosenColumns, *, of_lines: bool) -> None:
    """Raise an error if most steps occur several times, as when seeds or parts of data are mixed.

    A line that is printed again with its value repeats nothing else.
    """
    name = known_count(frame)
    if name is None:
        return
    for number, metric in enumerate(chosen.metrics):
        evaluated = evaluated_rows(frame, [f"m{number}"])
        rise = pl.col("seconds").diff().over("run")
        is_repeat = (pl.col(name).diff().over("run") == 0) & (rise.is_null() | (rise <= 0))
        if of_lines:
            copies = is_repeat & (pl.col(f"m{number}").diff().over("run") == 0)
            evaluated = evaluated.filter(~copies.fill_null(False))
        repeats = evaluated.filter(is_repeat)
        if repeats.height > 1 and 2 * repeats.height >= evaluated.height:
            column = chosen.counts[name].column
            text = (
                f"{metric.name} is told anew of the same {column} in {repeats.height:,} of "
                f"{evaluated.height:,} rows, first here: "
            )
            text += (
                "if lines of training are among them, match those that evaluate alone with --line; "
                f"if each line evaluates, count lines with --{name} ''"
                if of_lines
                else "if these are several runs, name the column that tells them apart with "
                'run = "COLUMN" (--run COLUMN), or give each a file of its own'
            )
            raise UnfitError("repeated_steps", text, repeats["line"][0])


def _went_back_error(axis: str, column: str, line: int | None, number: int) -> UnfitError:
    """Return the error for a decreasing step or time, with its possible meanings."""
    frequency = f"{number:,} times, first here" if number > 1 else "here"
    of_an_epoch = {
        "step": 'a new epoch of one run: new_epoch = "step back" (--new-epoch "step back")',
        "time": "a clock that restarts in each epoch: seconds = 'COLUMN UNIT' with another "
        "column (--seconds), or seconds = '' for none",
    }
    text = (
        f'{column} decreases ({frequency}). It may be a new run: new_run = "{axis} back" '
        f'(--new-run "{axis} back"), or run = "COLUMN" if a column identifies runs; '
        f'{of_an_epoch[axis]}; a resumed run: resume = "{axis} back" (--resume "{axis} back")'
    )
    return UnfitError(f"{axis}_back", text, line)
