"""Which of some columns are the metric, the clock, the progress, and what tells runs apart?"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from statistics import mode
from typing import TypeAlias

import polars as pl
from msgspec import Struct

from ttastats.answers.guessing.answer import NoLogError, Proposal, Reason
from ttastats.answers.guessing.stamps import form_of
from ttastats.base import metrics as names
from ttastats.base import streams
from ttastats.base.metrics import (
    evaluation_metrics,
    higher_is_better,
    plain,
    unit_of,
    unit_of_each,
)
from ttastats.base.units import join_names
from ttastats.formats.block import Metric, TimeColumn
from ttastats.formats.setups import SEED
from ttastats.ingestion.given import is_named
from ttastats_parsers.own_choice import directions, numbers, tells_day, texts, times

Value: TypeAlias = str | tuple[str, ...]

_NAMES = (
    "run_id", "run_name", "run", "name", "experiment", "experiment_name", "exp", "trial", "rep",
    "repeat", "repetition", "replicate", "config", "variant", "method", "algorithm", "algo",
    "optimizer", "model", "setup", "entry", "system",
)  # fmt: skip
#: A clock goes back where a run begins or is resumed; the time of one step every second time.
_MOST_BACK = 0.2
#: Times of epochs lie within this factor, those of a clock do not for long.
_MOST_ALIKE = 2.0
#: So many times of epochs do not rise by chance.
_FEW = 5
#: Of a clock, less passes before the first evaluation: its last is more than this times its first.
_START_UP = 1.1
#: Words of clocks that run from the start.
_SINCE_START = {"elapsed", "total", "wall", "walltime", "wallclock", "runtime", "cumulative"}
#: More metrics are not proposed.
_MOST_METRICS = 8


class _Table(Struct, frozen=True, eq=False):
    """A table, its columns with numbers, those that count training, and the reasons so far.

    `clocks` and time `stamps` may be the clock, each with its unit or form; `seconds` are the
    numbers of those that have any. `tags` are words beside a metric that say it is evaluated.
    """

    frame: pl.DataFrame
    numeric: Mapping[str, pl.Series]
    counts: dict[str, str | None]
    clocks: Sequence[tuple[str, str]]
    stamps: Sequence[tuple[str, str]]
    seconds: Mapping[str, pl.Series]
    tags: Mapping[str, str]
    reasons: list[Reason]


def proposal(
    frame: pl.DataFrame,
    tags: Mapping[str, str] | None = None,
    *,
    trained: bool = False,
    begin: float | None = None,
) -> Proposal:
    """Return the proposed keys of a block for a table, with `tags` that say what is evaluated.

    `trained` says that lines of training stand before the first evaluation, `begin` is the first
    epoch of the log if it stands in a line that is none of the table.
    """
    table = _read_table(frame, tags or {})
    counts, reasons = table.counts, table.reasons
    metrics = _metric_columns(table)
    keys: dict[str, Value] = {"metric": metrics}
    if runs := _run_columns(table):
        keys["run"] = runs
    else:
        _drop_falling(table)
    constants = (name for name in table.numeric if table.numeric[name].drop_nulls().n_unique() == 1)
    if seed := next(filter(SEED.search, constants), None):
        keys["seed"] = seed
    seconds, reason = _choose_clock(table, runs)
    reasons.append(reason)
    if seconds is not None:
        keys["seconds"] = seconds
    for key, column in counts.items():
        if column is None:
            if names.first_known(names.COUNTS[key], frame.columns):  # which is no counter
                keys[key] = ""
            continue
        keys[key] = column
        if column != key:
            reasons.append(Reason(key, f"read from {column}"))
    if not runs and _restarts_in_epochs(table):
        keys["new_epoch"] = "step back"
        reasons.append(Reason("step", f"{counts['step']} begins anew in each {counts['epoch']}"))
    of_all = counts["step"] if "new_epoch" not in keys else None
    if (column := counts["epoch"]) and not (of_all or counts["samples"]):
        first = table.numeric[column].drop_nulls()[0]
        begin = first if begin is None else min(first, begin)
        offset, epoch_reasons = _first_epoch(table, column, metrics, keys, trained, begin)
        keys["epoch"] = f"{column}{offset}"
        reasons += epoch_reasons
    return Proposal(keys, tuple(reasons))


def _restarts_in_epochs(table: _Table) -> bool:
    """Return whether steps fall just where epochs rise, each time, and epochs never fall."""
    step, epoch = table.counts["step"], table.counts["epoch"]
    if step is None or epoch is None:
        return False
    told = table.frame.select(
        step=table.numeric[step].forward_fill(), epoch=table.numeric[epoch].forward_fill()
    )
    rises = told.drop_nulls().select(pl.all().diff()).drop_nulls()
    begins = rises["epoch"] > 0
    is_forward = (rises["epoch"] >= 0).all() and begins.any()
    return bool(is_forward and ((rises["step"] < 0) == begins).all())


def _first_epoch(
    table: _Table,
    column: str,
    metrics: Sequence[str],
    keys: Mapping[str, Value],
    trained: bool,
    begin: float | None,
) -> tuple[str, list[Reason]]:
    """Return an offset for epochs that count from 0 in rows written after their epochs.

    Evaluations at 4, 9, 14 count from 0 too, unless `begin`, the first epoch told, is another.
    """
    # Whatever else is told of an epoch, its evaluations count it.
    measured_at = table.numeric[metrics[0].strip('"')].is_not_null()
    epochs = table.numeric[column].forward_fill().filter(measured_at).drop_nulls()
    labels: list[float] = epochs.to_list()
    if not labels or not _is_whole(epochs):
        return "", []
    first, rises = labels[0], [b - a for a, b in pairwise(labels)]
    interval = mode([rise for rise in rises if rise > 0] or [1.0])
    # Runs of one table begin anew, and the last evaluation of one may come early.
    is_even = all(rise == interval or not at for rise, at in zip(rises, labels[1:], strict=True))
    is_even = is_even or (all(rise == interval for rise in rises[:-1]) and 0 < rises[-1] < interval)
    done = _epochs_done(table, measured_at, str(keys.get("seconds", "")), interval)
    in_time = None if done is None else round(done)
    if not is_even or (
        begin != 0 and not (begin == first == interval - 1 > 0 and in_time != first)
    ):
        return "", []
    other_columns = (name for name in table.numeric if name not in metrics)
    metric_columns = (name for name in other_columns if higher_is_better(name) is not None)
    by_loss = any(
        table.numeric[name].filter(measured_at).is_not_null().first() for name in metric_columns
    )
    is_sure = trained or by_loss or (done is not None and _MOST_ALIKE * done > 1)
    is_sure = is_sure and (not first or len(rises) > 0) if begin == 0 else in_time == first + 1
    start_text = (
        "starts at 0" if begin == 0 else f"is {first:g} at first, and rises by {interval:g}"
    )
    text = f"{start_text}, and each row is written after its epoch: 1 is added"
    return " + 1", [Reason("epoch", text, is_sure)]


def _epochs_done(
    table: _Table, measured_at: pl.Series, seconds: str, interval: float
) -> float | None:
    """Return the number of epochs before the first evaluation, by its time and that of the others.

    `interval` is the number of epochs between them. A sum of times of epochs begins with the first.
    """
    column, _, unit = seconds.rpartition(" ")
    if column.startswith("sum "):
        return 1.0
    clock = table.seconds.get(column) if unit in names.SECONDS else None
    if clock is None:
        return None
    evaluation_times = clock.filter(measured_at).drop_nulls()
    usual_interval = evaluation_times.diff().median()
    return (
        evaluation_times[0] * interval / usual_interval
        if isinstance(usual_interval, float) and usual_interval > 0
        else None
    )


def _read_table(frame: pl.DataFrame, tags: Mapping[str, str]) -> _Table:
    """Return a table with its possible clocks: by name, form, or words of time."""
    numeric = {name: numbers(frame[name]) for name in frame.columns}
    numeric = {name: column for name, column in numeric.items() if column.is_finite().any()}
    counts: dict[str, str | None] = {}
    for key, likely_names in names.LIKELY_COUNTS.items():
        other_columns = (
            name
            for name in numeric
            if plain(name) in likely_names or (key == "step" and _counts_steps(numeric[name]))
        )
        likeliest = (name for name in names.COUNTS[key] if name in numeric)
        candidates = chain(likeliest, other_columns)
        counts[key] = next((n for n in candidates if key == "epoch" or _is_whole(numeric[n])), None)

    clocks = [
        (name, names.UNITS[names.PLAIN_CLOCKS[plain(name)]])
        for name in numeric
        if plain(name) in names.PLAIN_CLOCKS and not _unix_form(numeric[name])
    ]
    time_columns = [name for name in numeric if plain(name) in names.STAMPS or unit_of(name)]
    stamps = [(name, form) for name in time_columns if (form := _unix_form(numeric[name]))]
    named_times = {name for name in frame.columns if unit_of(name) or unit_of_each(name)}
    stamps = stamps or [
        (name, form)
        for name in frame.columns
        if name not in numeric and (form := form_of(frame[name]))
        # Without a day, what is called `elapsed` is a duration.
        if tells_day(form) or plain(name) in names.STAMPS or name not in named_times
    ]
    unread = named_times.difference(numeric, dict(stamps))
    written_times = {  # such as 1:02:03
        name: seconds
        for name in frame.columns
        if name in unread
        if (seconds := times(frame[name], TimeColumn(name))).is_not_null().any()
    }
    clocks = clocks or [(name, "s") for name in written_times if unit_of(name)]
    if not clocks and not stamps:
        clocks = [(name, unit) for name in numeric if (unit := unit_of(name))]
    of_stamps = {  # those without a day go back at midnight
        name: times(frame[name], TimeColumn(name, format=form))
        for name, form in stamps
        if tells_day(form)
    }
    columns = {**numeric, **written_times, **of_stamps}
    return _Table(frame, numeric, counts, clocks, stamps, columns, tags, [])


def _drop_falling(table: _Table) -> None:
    """Drop counts that often fall, as none does; one that begins anew at times is asked about."""
    for key, column in table.counts.items():
        if column is not None:
            rises = table.numeric[column].drop_nulls().diff().drop_nulls()
            back = rises < 0
            is_none = (back & back.shift(1)).any() and 3 * back.sum() > len(rises)
            table.counts[key] = None if is_none else column


def _is_whole(values: pl.Series) -> bool:
    return bool((values == values.round()).all())


def _counts_steps(values: pl.Series) -> bool:
    """Return whether a column, such as `steps_done`, has a word for steps and rises."""
    is_named = {*plain(values.name).split("_")} & {"step", "steps", "timesteps", "iterations"}
    return bool(is_named and (values.drop_nulls().diff()[1:] > 0).all()) and values.count() > 2


def _unix_form(values: pl.Series) -> str | None:
    """Return the form of times since 1970 in seconds or milliseconds, or None."""
    finite_values = values.filter(values.is_finite())
    for form, unit in (("unix", 1.0), ("unix ms", 1e-3)):
        if ((finite_values * unit > 9e8) & (finite_values * unit < 4e9)).all():
            return form
    return None


_GROUP = re.compile(r"[\w./ -]+: \S.* - \S")
#: Words for a mean, each with one for how far the values lie apart.
_OF_RUNS = [(mean, spread) for mean in ("mean", "avg") for spread in ("std", "sd", "stdev", "sem")]


def list_means(columns: Sequence[str]) -> str:
    """Return the columns of means over several runs in words, or an empty text.

    They are those with a deviation beside them, `val/loss_mean` and `val/loss_std`, and those that
    a panel of W&B calls by a group, `optimizer: adam - val/loss`.
    """
    measured = [name for name in columns if evaluation_metrics([name, "val_loss"])]
    name_by_key = {plain(name): name for name in columns}
    pairs = [
        f"{name} and {name_by_key[other]}"
        for key, name in name_by_key.items()
        for of_mean, of_spread in _OF_RUNS
        if (other := re.sub(rf"(^|_){of_mean}($|_)", rf"\1{of_spread}\2", key)) != key
        if other in name_by_key and name in measured
    ]
    return join_names(list(dict.fromkeys([*pairs, *filter(_GROUP.match, measured)])), 2)


#: Metrics that are shares, in percent at most.
_SHARE = re.compile(r"acc|top|prec|recall|f1|auc|iou|dice|ndcg|mrr|correct")


def measured(
    columns: Iterable[str], numeric: Mapping[str, pl.Series], tags: Collection[str]
) -> list[str]:
    """Return the metrics of the question, and those by their names and tags.

    Those that cannot be are left out, if any can.
    """
    name_by_tag = {f"eval_{name}" if name in tags else name: name for name in columns}
    metrics = [
        name_by_tag[name]
        for name in names.guess_metrics(name_by_tag)
        if name_by_tag[name] in numeric
    ]
    metrics = [name for name in metrics if not oddity(numeric[name])] or metrics
    return [*dict.fromkeys([*filter(is_named, numeric), *metrics])]


def qualities(numeric: Mapping[str, pl.Series], metrics: Sequence[str]) -> list[str]:
    """Return the qualities by name beside metrics; none of training that has a partner there."""
    partners = [plain(name) for name in metrics]
    return [
        name
        for name in numeric
        if evaluation_metrics([name])
        and higher_is_better(name) is True
        and "train" not in plain(name)
        and not (
            oddity(numeric[name]) or any(partner.endswith(plain(name)) for partner in partners)
        )
    ]


def oddity(values: pl.Series) -> str:
    """Return the sign that the values of a metric are no measurements, or an empty text."""
    finite_values = values.filter(values.is_finite())
    if len(finite_values) < 3 or (finite_values != finite_values.round()).any():
        return ""
    largest = finite_values.sort()[-1]
    if _SHARE.search(plain(values.name)) and largest > 100:
        return f"goes up to {largest:g}"
    # A run that diverges has the accuracy of chance all along.
    last = re.sub(r"[\d_]+$", "", plain(values.name)).rpartition("_")[2]
    if finite_values.n_unique() == 1 and largest > 1 and higher_is_better(last) is None:
        return f"is {largest:g} in each line"
    if largest >= 256 and (finite_values.log(2) == finite_values.log(2).round()).all():
        return "is a power of two in each line"
    return ""


def _metric_columns(table: _Table) -> tuple[str, ...]:
    """Return the metrics, the likeliest first, and give the reasons for them."""
    numeric, reasons, doubt = table.numeric, table.reasons, ""
    metrics = measured(table.frame.columns, numeric, table.tags)
    if not metrics:
        metrics, doubt = _training_metrics(table)
    # Beside a name that says so, one that does not is none of an evaluation.
    elif not any(
        is_named(name) or name in table.tags or name in evaluation_metrics([name, "val_loss"])
        for name in metrics
    ):
        doubt = "the name does not say that it is an evaluation metric; is it?"
    if not metrics:
        column_text = join_names(table.frame.columns, 12)
        text = streams.with_encoding(f"no column with numbers looks like a metric: {column_text}")
        unread = _unread_cell(table, names.guess_metrics(table.frame.columns))
        raise NoLogError(f"{text}; {unread}" if unread else text)
    other_qualities = [] if doubt else qualities(numeric, metrics)
    ranked = sorted(metrics, key=lambda name: (not is_named(name), names.metric_rank(name)))
    all_metrics = [*ranked, *other_qualities]
    metrics, left_out = all_metrics[:_MOST_METRICS], all_metrics[_MOST_METRICS:]
    reason = doubt or "the name says it is an evaluation metric"
    reason = "the question names it" if is_named(metrics[0]) else reason
    if metrics[0] in table.tags and not doubt:
        reason = f"its lines are tagged {table.tags[metrics[0]]!r}"
    reasons.append(Reason("metric", f"{metrics[0]}: {reason}", not doubt))
    if len(metrics) > 1:
        text = f"also {join_names(metrics[1:], 8)}; each can be used with --target"
        reasons.append(Reason("metric", text))
    if other_qualities:
        text = f"{join_names(other_qualities)}: a quality by name, but is it an evaluation metric?"
        reasons.append(Reason("metric", text, sure=False, minor=True))
    if left_out:
        text = f"not used: {join_names(left_out)}"
        reasons.append(Reason("metric", text, sure=False, minor=True))
    reasons += _direction_reasons(metrics, numeric)
    # A name that reads like a target is quoted.
    reads_like_a_target = re.compile(r"[<>=]|\s(?:higher|lower)$").search
    return tuple(f'"{name}"' if reads_like_a_target(name) else name for name in metrics)


def _unread_cell(table: _Table, columns: Iterable[str]) -> str:
    """Return the first text of some columns without numbers, or an empty text."""
    for name in columns:
        for text in texts(table.frame[name]).drop_nulls().head(name not in table.seconds):
            question = ": does its comma part thousands, or decimals?" if "," in text else ""
            return f"{name} contains {text[:40]!r}{question}"
    return ""


def _training_metrics(table: _Table) -> tuple[list[str], str]:
    """Return a metric of training, if there is one, and the doubt about it."""
    other = {*table.counts.values(), *dict(table.clocks), *dict(table.stamps)}
    other_columns = [name for name in table.numeric if name not in other]
    training_metrics = [name for name in other_columns if higher_is_better(name) is not None]
    if training_metrics:
        text = "a training metric; there is no evaluation metric. Set another one if it exists"
        return training_metrics[:1], text
    candidates = [
        name
        for name in evaluation_metrics(other_columns)
        if plain(name) not in {*_NAMES, "seed", "id"} and not plain(name).startswith("column_")
        if re.search("[A-Za-z]", name)
    ]
    if len(candidates) == 1 and table.frame.height > 1:
        return candidates, "the only number that is neither a time nor a count"
    return [], ""


def _direction_reasons(
    columns: Sequence[str], numeric: Mapping[str, pl.Series]
) -> Iterator[Reason]:
    metrics = [Metric(name, higher_is_better(name), guessed=True) for name in columns]
    for problem in directions(metrics):
        yield Reason("metric", problem.message, problem.severity == "info", minor=True)
    first = numeric[columns[0]].drop_nans().drop_nulls()
    largest = first.max()
    is_share = re.search("acc|top|precision|recall|f1|map", columns[0].lower())
    if is_share and isinstance(largest, float) and 1.5 < largest <= 100.0:
        text = f"values up to {largest:g}, so in percent? Then write targets as '>= 90 %'"
        yield Reason("metric", text, sure=False, minor=True)


def _choose_clock(table: _Table, runs: Sequence[str]) -> tuple[Value | None, Reason]:
    """Return the one clock that runs forward, an empty text if several may be it, and why."""
    if any(name == names.OF_A_BAR for name, _ in table.clocks):
        text = f"{names.OF_A_BAR}: bars of tqdm, added up; the time between them is not known"
        return f"sum {names.OF_A_BAR} s", Reason("seconds", text, sure=False)
    clocks = [(name, unit) for name, unit in table.clocks if _runs_forward(table, name, runs)]
    candidates = clocks or [
        (name, form) for name, form in table.stamps if _runs_forward(table, name, runs)
    ]
    durations = [(f"sum {name}", unit) for name, unit in clocks if _may_be_of_each(table, name)]
    if len(candidates) == 1 and not durations:
        name, unit = candidates[0]
        meaning, is_sure = _meaning(table, name, unit)
        stamp_texts = [f"{stamp} {form}" for stamp, form in table.stamps[:1] if clocks]
        value = (f"{name} {unit}", *stamp_texts) if stamp_texts else f"{name} {unit}"
        return value, Reason("seconds", f"{name}: {meaning}", is_sure, minor=True)
    if candidates:
        key_texts = " or ".join(
            f"seconds = '{name} {unit}'" for name, unit in [*candidates, *durations]
        )
        meaning = "several columns may be the clock"
        meaning = "times so alike may be those of each row" if durations else meaning
        text = f"{meaning}: {key_texts}"
        return "", Reason("seconds", text, sure=False)
    of_parts = [] if runs else [*_times_of_parts(table)]
    if len(of_parts) == 1:
        ((part, name, unit),) = of_parts
        if _is_of_each(table, name, part):
            return f"sum {name} {unit}", Reason("seconds", f"{name}: of each {part}, added up")
        count = table.counts[part]
        text = (
            f"{name}: the mean of each {part} since the row before, or of the last one: "
            f"seconds = '{name} {unit} of {count}'?"
        )
        return f"{name} {unit} per {count}", Reason("seconds", text, sure=False)
    if unread := _unread_cell(table, filter(unit_of, table.frame.columns)):
        return "", Reason("seconds", unread, sure=False)
    if table.stamps and not table.clocks:
        text = f"{table.stamps[0][0]} goes back: was the clock set, or are these several runs?"
        return "", Reason("seconds", text, sure=False)
    if not table.clocks:
        text = "no column looks like a clock: no time is known. Log the seconds since the start"
        return None, Reason("seconds", f"{text}, such as elapsed=12.3s, with each evaluation")
    name, unit = table.clocks[0]
    if not runs and _is_of_each(table, name, "epoch"):
        text = f"{name} does not increase: read as the time of each epoch, and added up"
        return f"sum {name} {unit}", Reason("seconds", text, sure=False)
    text = (
        f"{name} does not increase: is it the time of each row, seconds = 'sum {name} {unit}', "
        f"or of each of what a column counts, seconds = '{name} {unit} per COLUMN'?"
    )
    return "", Reason("seconds", text, sure=False)


def _meaning(table: _Table, name: str, unit: str) -> tuple[str, bool]:
    """Return the meaning of the numbers of a clock, and whether its cells or its name say so."""
    if unit.startswith("unix"):
        return f"time stamps, {'milli' * ('ms' in unit)}seconds since 1970", True
    if "%" in unit:
        return f"time stamps with the format {unit}", True
    if name not in table.numeric:
        return f"as written, such as {texts(table.frame[name]).drop_nulls()[0]!r}", True
    says_unit = unit != "s" or bool(re.search(r"sec|_s$|_ms$|min|hour", name.lower()))
    return f"in {unit}, guessed from the name", says_unit


def _runs_forward(table: _Table, name: str, runs: Sequence[str]) -> bool:
    """Return whether a column runs as a clock: it rises, and goes back only between runs."""
    if name not in table.seconds:
        return True
    seconds = table.seconds[name]
    steps = _differences(table, seconds, runs)
    trained = _differences(table, seconds, runs, _progress(table))
    back = ((steps < 0) & (trained > 0)).any()  # no run began anew there
    if back and (_MOST_ALIKE * seconds > seconds.max()).all():
        return False  # the times of epochs, which are much alike
    limit = _MOST_BACK * steps.count()
    return bool((steps < 0).sum() <= limit <= (steps > 0).sum())


def _may_be_of_each(table: _Table, name: str) -> bool:
    """Return whether times that rise may be those of epochs, by a bare name.

    They are few and alike, or so alike that nearly all time had passed before the first.
    """
    times = table.seconds[name].drop_nulls() if name in table.seconds else pl.Series([])
    count = _progress(table)
    if len(times) < 2 or {*plain(name).split("_")} & _SINCE_START or count is None:
        return False
    done = table.numeric[count].drop_nulls()
    factor = _MOST_ALIKE if len(times) < _FEW else _START_UP
    return bool(done[-1] >= 2 * done[0] and (factor * times > times.max()).all())


def _times_of_parts(table: _Table) -> Iterator[tuple[str, str, str]]:
    """Yield the columns of times per epoch or step, by their names, with units."""
    for name in table.seconds:
        for part in ("epoch", "step"):
            unit = unit_of_each(name, part)
            count = unit and table.counts[part]
            # Without that of the first step, the times of the others are not all.
            is_whole = part == "epoch" or table.seconds[name].is_not_null().first()
            if unit and count and is_whole and (part == "step" or _is_of_each(table, name, part)):
                yield part, name, unit


def _is_of_each(table: _Table, clock: str, part: str) -> bool:
    """Return whether there is one time for each epoch, or step, or as many of each."""
    if (count := table.counts[part]) is None:
        return False
    has_time = table.seconds[clock].is_not_null()
    counts = table.numeric[count].forward_fill().filter(has_time)
    lengths = counts.rle().struct.field("len")  # twice, where training and evaluation tell theirs
    rises = counts.diff().drop_nulls().is_in([0.0, 1.0]).all()
    return len(lengths) > 1 and rises and lengths.n_unique() == 1 and lengths[0] <= 2


def _progress(table: _Table) -> str | None:
    """Return the column of training progress, if any."""
    return next(filter(None, map(table.counts.get, ("step", "samples", "epoch"))), None)


def _differences(
    table: _Table, values: pl.Series, runs: Sequence[str], of: str | None = None
) -> pl.Series:
    """Return the rise to each value of a run, or that of another column there; null at starts."""
    keys = [texts(table.frame[name]).fill_null("").alias(f"r{at}") for at, name in enumerate(runs)]
    other = values if of is None else table.numeric[of].forward_fill()
    columns = [values.alias("v"), other.alias("of"), *keys]
    finite_rows = pl.DataFrame(columns).filter(pl.col("v").is_finite())
    rise = pl.col("of").diff()
    return finite_rows.select(rise.over([key.name for key in keys]) if keys else rise)["of"]


def _run_columns(table: _Table) -> tuple[str, ...]:
    """Return the columns that identify runs: names, and a seed if they do not suffice."""
    frame = table.frame
    varying = [
        name
        for name in frame.columns
        if plain(name) in _NAMES or SEED.search(name)
        if texts(frame[name]).drop_nulls().n_unique() > 1
    ]
    progress = _progress(table)
    seeds = [name for name in varying if SEED.search(name)]
    name_columns = (name for name in varying if name not in seeds)
    sorted_names = sorted(name_columns, key=lambda name: _NAMES.index(plain(name)))
    number, best_choice = 1, list[str]()
    # The first choice that tells as many runs apart as any, going forward.
    for choice in filter(
        None, [seeds, *([name, *seeds] for name in sorted_names), [*sorted_names, *seeds]]
    ):
        if progress and (_differences(table, table.numeric[progress], choice) < 0).any():
            continue
        n_distinct = frame.select(texts(frame[name]).alias(name) for name in choice).n_unique()
        if n_distinct > number:
            number, best_choice = n_distinct, choice
    if best_choice:
        text = f"{' and '.join(best_choice)}: {number} of them in the sampled file"
        table.reasons.append(Reason("run", text))
    return tuple(best_choice)
