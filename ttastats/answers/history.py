"""On which night did training change, in which part, and by how much?

A history has a point a night and a series for each part of the time; changes are found in those.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import polars as pl
from msgspec import Struct, field
from msgspec.structs import replace

from ttastats.answers.compare.gate import Requirement
from ttastats.base import units
from ttastats.base.codes import Note, note, wording
from ttastats.base.errors import raise_if
from ttastats.base.percentages import percent_text
from ttastats.base.units import Amount
from ttastats.outcomes import axis as axes
from ttastats.outcomes import left_out
from ttastats.outcomes.time_to_target import common_progress
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report, with_gate
from ttastats.report.cells import Column, Finding, Gate, Outcome, Quantity, Table, Text
from ttastats.report.fields import Field
from ttastats.report.row import Key, Number, Row
from ttastats.sides import blocking
from ttastats.stats import changes
from ttastats.stats.changes import Change, Standing
from ttastats.stats.results import Floats
from ttastats.table.schema import parse_extra

#: What the runs of one setup have in common, whenever they were made.
SETUP = ("suite", "benchmark", "entry")
#: The order that needs no column.
BY_DATE = "date"
_OPTION = "--order"
FAILURES = "failures"
#: Names of the trained code in logs.
_COMMIT = re.compile(r"(^|[_.-])(commit|revision|git_sha|sha)([_.-]|$)", re.IGNORECASE)
#: A difference of logs that is rounding.
_DECIMALS = 9
_WORST_FIRST: tuple[Standing, ...] = ("new", "fades", "shows")


class HistoryRow(Row, frozen=True, kw_only=True):
    """One segment of one part of a history: the nights between two changes."""

    part: Annotated[
        str, Key("what changed or not: time per epoch, epochs, failures, or the time to the target")
    ]
    segment: Annotated[int, Key("number of the segment among those of its part, from 1")]
    first_night: Annotated[str, Key("its first night")]
    last_night: Annotated[str, Key("its last night")]
    nights: Annotated[int, Key("nights of the segment", "nights")]
    n: key.RunCount
    reached: key.ReachedCount
    mean: Annotated[Number, Key("geometric mean of its nights; of failures the mean share", "unit")]
    unit: Annotated[str, Key("unit of the mean")]
    change: Annotated[
        str | None, Key("how it began: `step` or `drift`; null for the first of a part")
    ] = None
    size: Annotated[
        Number,
        Key(
            "relative change: 0.02 is 2 % more than before; of a drift, over all its nights; of "
            "failures, the difference of their shares",
            "fraction",
        ),
    ] = None
    size_low: key.Low = None
    size_high: key.High = None
    after_night: Annotated[
        str | None, Key("last night before the change, at the confidence of the interval")
    ] = None
    by_night: Annotated[
        str | None, Key("first night after the change, at the confidence of the interval")
    ] = None
    commits: Annotated[
        list[str], Key("commits of the nights in which it may have come, as recorded")
    ] = field(default_factory=list)
    run_next: Annotated[
        str | None, Key("night or commit whose runs would halve these: before or after the change")
    ] = None
    alarm_night: Annotated[str | None, Key("night after which the alarm was raised")] = None
    p_alarm: Annotated[Number, Key("p of that look; an alarm is below a fixed limit")] = None
    autocorrelation: Annotated[
        Number, Key("correlation of successive nights around the change")
    ] = None
    independent: Annotated[
        bool | None, Key("whether the rate of false alarms holds, so that a gate judges by it")
    ] = None
    announced: Annotated[
        str | None, Key("first night after the change, as the alarm placed it that night")
    ] = None
    standing: Annotated[
        Standing | None,
        Key(
            f"`new`: under {changes.LASTS} nights; `shows`: the nights known today raise the alarm "
            "too, so that a gate judges by it; `fades`: they do not"
        ),
    ] = None
    noise: Annotated[Number, Key("standard deviation from night to night, of its log", "fraction")]
    unseen: Annotated[
        Number,
        Key("of the last segment: a change under this stays unseen for 20 nights", "fraction"),
    ]
    axis: key.AxisName
    left_out: key.LeftOutKeys = key.LeftOutKeys()


def report(
    runs: pl.DataFrame,
    by: Sequence[str],
    *,
    order: str = BY_DATE,
    gates: Sequence[Requirement] = (),
    confidence: float,
) -> Report:
    """Return the report of each setup, with the verdict of the gate on its last segment."""
    left_out_rows, unordered, notes = left_out.rows(runs), 0, [*grouping.group_notes(runs, by)]
    rows, details, findings = list[HistoryRow](), list[tuple[str, ...]](), list[Finding]()
    autocorrelation_notes: list[Note] = []
    texts: list[tuple[int, str]] = []
    short_setups: list[Mapping[str, Any]] = []
    for name, keys, group in grouping.named_groups(runs, by):
        history = history_of(group, order, confidence)
        left_out_of_setup = left_out.group(runs, keys, left_out_rows)
        unordered += history.unordered
        setup_keys: dict[str, Any] = {
            "keys": {of: keys.get(of) for of in grouping.row_keys(tuple(keys), SETUP)},
            "axis": axes.axis_of(group).name,
            "left_out": key.LeftOutKeys(*left_out_of_setup.counts),
        }
        rows_and_borders = [
            (_history_row(history, part, number, border, setup_keys), border)
            for part in history.parts
            for number, border in enumerate((None, *part.borders))
        ]
        setup = [row for row, _ in rows_and_borders]
        rows += setup
        details += [()] * (len(setup) - 1) + [grouping.append_line((), left_out_of_setup)]
        autocorrelation_notes += [
            note("nights_alike", part=part.name, r=part.alike).prefixed(name)
            for part in history.parts
            if part.alike is not None
        ]
        nights = len(history.nights)
        findings += [
            Finding(str(gate), name or "these runs", None, None, *finding)
            for gate in gates
            for finding in _gate_findings(setup, nights, gate)
        ]
        changed = [
            (row, border) for row, border in rows_and_borders if border and border.alarm is not None
        ]
        changed.sort(key=lambda change: change[1].split)
        text = _setup_sentence(changed, setup, nights)
        texts.append((nights, f"{name}: {text}" if name else text))
        short_setups += [setup_keys["keys"]] if nights < changes.WAIT else []
    notes.append(note("promise", wait=changes.WAIT))
    if unordered:
        notes.append(note("unordered", n=unordered, what=order))
    short_setups = short_setups if len(short_setups) > 1 else []
    sentences = [text for nights, text in texts if nights >= changes.WAIT or not short_setups]
    if short_setups:
        longest = max(nights for nights, _ in texts if nights < changes.WAIT)
        sentences.append(
            wording("few_setups", setups=len(short_setups), n=longest, least=changes.WAIT)
        )
    report = Report(
        "history", tuple(rows), (_table(rows, by, details, short_setups, confidence),),
        (*notes, *autocorrelation_notes),
        " ".join(sentences), by=grouping.row_keys(by, SETUP),
    )  # fmt: skip
    return with_gate(report, Gate(tuple(map(str, gates)), tuple(findings))) if gates else report


def _history_row(
    history: History, part: Part, number: int, border: Change | None, setup_keys: Mapping[str, Any]
) -> HistoryRow:
    """Return the row of a segment, and of the border it began with if it is not the first."""
    start, end = part.segments(len(history.nights))[number]
    of, change = history.nights[start:end], dict[str, Any]()
    if border is not None:
        size, low, high = part.sizes(border)
        between = history.nights[border.first : border.last + 1]
        commits = list(dict.fromkeys(commit for night in between for commit in night.commits))
        run_next = None
        if border.median is not None:
            middle = history.nights[border.median]
            run_next = middle.commits[-1] if middle.commits else middle.name
        elif border.alarm is not None and len(commits) > 1:
            run_next = commits[(len(commits) - 1) // 2]
        change = {
            "size": size,
            "size_low": low,
            "size_high": high,
            "change": "drift" if border.drift else "step",
            "after_night": history.nights[border.first - 1].name,
            "by_night": history.nights[border.last].name,
            "commits": commits,
            "run_next": run_next,
            "alarm_night": history.nights[border.alarm - 1].name if border.alarm else None,
            "p_alarm": border.p_value,
            "announced": history.nights[border.announced].name if border.announced else None,
            "standing": border.standing,
            "autocorrelation": border.autocorrelation,
            "independent": border.independent,
        }
    return HistoryRow(
        part=part.name,
        segment=number + 1,
        first_night=of[0].name,
        last_night=of[-1].name,
        nights=len(of),
        n=sum(night.n for night in of),
        reached=sum(night.reached for night in of),
        mean=part.mean(start, end),
        unit=part.unit,
        **change,
        noise=part.noise,
        unseen=part.unseen if number == len(part.borders) else None,
        **setup_keys,
    )


def _table(
    rows: Sequence[HistoryRow],
    by: Sequence[str],
    details: Sequence[tuple[str, ...]],
    short_setups: Sequence[Mapping[str, Any]],
    confidence: float,
) -> Table:
    """Return the table of all parts; those of `short_setups`, with few nights, are only counted."""
    short = {tuple(keys.values()) for keys in short_setups}
    reason = f"fewer than {changes.WAIT} nights"

    def aside(row: HistoryRow) -> str:
        return reason if tuple(row.keys.values()) in short else ""

    def change(row: HistoryRow) -> str:
        return f"{_size_of_row(row)}{' drift' if row.change == 'drift' else ''}"

    table_fields: list[Field[HistoryRow]] = [
        *fields.key_fields(grouping.shown_keys(rows, by)),
        Field(Column("part", names=True), lambda row: Text(row.part)),
        Field(Column("since"), lambda row: Text(row.first_night)),
        *fields.number_fields(HistoryRow, "nights"),
        fields.reached_field(rank=2),
        Field(Column("mean", "right"), lambda row: Quantity(row.mean, row.unit)),  # type: ignore[arg-type]
        fields.text_field(f"change [{percent_text(confidence)}]", change),
        Field(Column("after – by", rank=1), lambda row: Text(
            f"{row.after_night} – {row.by_night}" if row.after_night else "")),
        Field(Column("run next", rank=2), lambda row: Text(row.run_next or "")),
        fields.text_field("unseen below", lambda row: "" if row.unseen is None
                     else units.percent(row.unseen), rank=1),
    ]  # fmt: skip
    return fields.make_table(rows, table_fields, grouping.common_title(rows, by), details, aside)


def _size_text(*sizes: float) -> str:
    """Return a size with its limits: `+2.1% [+1.8%, +2.4%]`."""
    value, *ends = (f"{'+' if size > 0 else ''}{units.percent(size)}" for size in sizes)
    return f"{value} [{', '.join(ends)}]"


def _size_of_row(row: HistoryRow) -> str:
    """Return the size of the change at the start of a segment, with its limits."""
    sizes = (row.size, row.size_low, row.size_high)
    return _size_text(*(size for size in sizes if size is not None)) if row.change else ""


def size_of(part: Part, border: Change) -> str:
    """Return the size of a change with its limits, in shares of time or of runs."""
    text = _size_text(*part.sizes(border))
    return f"{text} of the runs" if part.name == FAILURES else text


def _setup_sentence(
    changed: Sequence[tuple[HistoryRow, Change]], rows: Sequence[HistoryRow], nights: int
) -> str:
    """Return the changes of a setup in the order of nights, and its smallest visible change."""
    if nights < changes.WAIT:
        return wording("few_nights", n=nights, least=changes.WAIT)
    code = "history_changes" if changed else "history_none"
    texts = [wording(code, n=len(changed), nights=nights)]
    for row, border in changed:
        size = f"{_size_of_row(row)}{' of the runs' if row.part == FAILURES else ''}"
        part_name, details = row.part[:1].upper() + row.part[1:], ""  # of `CPU time` too
        if border.drift:
            texts.append(wording("history_drift", part=part_name, size=size, nights=border.nights))
            continue
        if row.commits and row.commits != [row.by_night]:
            commit_names = units.join_names(row.commits, 4)
            details = f" ({'commit' if len(row.commits) == 1 else 'commits'} {commit_names})"
        if row.run_next is not None:
            details += wording("history_run_next", run=row.run_next)
        if row.announced not in {None, row.first_night}:
            details += wording("history_announced", since=row.announced)
        text = wording(
            "history_step", part=part_name, size=size, after=row.after_night, by=row.by_night
        )
        texts.append(f"{text}{details}{_no_gate(row)}.")
    unseen = [f"{units.percent(row.unseen)} in {row.part}" for row in rows if row.unseen]
    if unseen:
        names = units.join_names(unseen)
        texts.append(wording("history_unseen", unseen=names, nights=changes.UNSEEN_NIGHTS))
    return " ".join(texts)


def _no_gate(row: HistoryRow) -> str:
    """Return the reason for no gate on the change at the start of a segment, if there is none."""
    if not row.independent:
        return wording("history_alike")
    if row.standing == "shows":
        return ""
    code = "history_new" if row.standing == "new" else "history_fades"
    return wording(code, nights=changes.LASTS)


def _gate_findings(
    rows: Sequence[HistoryRow], nights: int, gate: Requirement
) -> Iterator[tuple[Outcome, str, str]]:
    """Yield the outcomes of a condition on the last changes of a setup's time and failures."""
    if nights < changes.WAIT:
        text = wording("few_nights", n=nights, least=changes.WAIT)
        yield "undecided", "not_judged", text
    last = {row.part: row for row in rows}
    for row, code, text, limit in (
        (rows[-1], "slower", "history_slower", gate.limit),
        (last[FAILURES], "fails_more", "history_fails_more", 0.0),
    ):
        if row.size_low is None or row.size_high is None:
            continue
        size, since = _size_of_row(row), row.first_night
        text = wording(text, size=size, since=since, limit=gate.limit_text, part=row.part)
        if row.size_low > limit:
            doubt = _no_gate(row)
            outcome: Outcome = "undecided" if doubt else "failed"
            yield outcome, outcome if doubt else code, text + doubt
        elif row.size_high > limit and code == "slower":
            yield "undecided", "undecided", text


class Night(Struct, frozen=True):
    """One point of a history: its name, the commits of its runs, and how many reached."""

    name: str
    commits: tuple[str, ...]
    n: int
    reached: int


class Part(Struct, frozen=True, eq=False):
    """One series of a history: the `values` (logs) of the nights that have one, and its borders.

    A border is a change by the numbers of nights from 0: the night `split` is the first after it,
    which is surely one of `first` to `last`, and runs of `median` halve these: the change is before
    or after it.

    Of failures the values are shares. `unit` is that of the mean. `alike` is the autocorrelation of
    nights where there is one, `unseen` the change that stays unseen for some nights.
    """

    name: str
    unit: Amount | str
    places: tuple[int, ...]
    values: Floats
    borders: tuple[Change, ...]
    noise: float | None = None
    alike: float | None = None
    unseen: float | None = None

    def segments(self, nights: int) -> list[tuple[int, int]]:
        """Return the first night of each segment, and that after its last."""
        return list(pairwise([0, *(border.split for border in self.borders), nights]))

    def mean(self, start: int, end: int) -> float | None:
        """Return the mean of the nights of a segment; the geometric mean of times."""
        of = self.values[bisect_left(self.places, start) : bisect_left(self.places, end)]
        if not of.size:
            return None
        return float(of.mean()) if self.name == FAILURES else math.exp(float(of.mean()))

    def sizes(self, border: Change) -> tuple[float, float, float]:
        """Return the size of a change and its limits, as shares of what was before."""
        size, low, high = border.size, border.low, border.high
        if self.name == FAILURES:
            return size, low, high
        return math.expm1(size), math.expm1(low), math.expm1(high)


class History(Struct, frozen=True, eq=False):
    """The nights of one setup, and the parts of their times, the time to the target last."""

    nights: tuple[Night, ...]
    parts: tuple[Part, ...]
    unordered: int

    @property
    def whole(self) -> Part:
        """Return the time to the target."""
        return self.parts[-1]

    @property
    def latest(self) -> Night:
        """Return the first night certainly after all changes."""
        borders = [border.last for part in self.parts for border in part.borders]
        return self.nights[max(borders, default=0)]

    @property
    def failures(self) -> Part:
        """Return the share of failed runs."""
        return self.parts[-2]


def history_of(runs: pl.DataFrame, order: str, confidence: float) -> History:
    """Return the history of runs of one setup, by date or by a recorded column."""
    axis, (unit, _) = axes.axis_of(runs), common_progress(runs)
    undated = order == BY_DATE and runs["started_at"].null_count() == runs.height
    remedy = f"Order the runs by a column or a recorded name: {_OPTION} commit."
    raise_if(undated, "no run records its date", f"{_OPTION} {BY_DATE}", remedy)
    label = blocking.block_labels(runs, ["day" if order == BY_DATE else order], _OPTION)
    whole_name, time = axis.to_target, pl.col("tta_seconds")
    measures: dict[str, tuple[str, pl.Expr]] = {whole_name: (axis.unit, time)}
    if unit is not None and not axis.progress:
        amount = pl.col(unit).cast(pl.Float64)
        of_parts = {
            f"{axis.noun} per {unit[:-1]}": (axis.unit, time / amount),
            unit: (unit, amount),
        }
        measures = of_parts | measures
    commits = label
    if order == BY_DATE:  # else what each run trained is the column of the order
        extras = [parse_extra(extra) for extra in runs["extra"]]
        recorded = [extra.get(next(filter(_COMMIT.search, extra), "")) for extra in extras]
        commits = pl.Series(
            [str(commit) if commit else None for commit in recorded], dtype=pl.String
        )
    points = (
        runs.with_columns(night=label.cast(pl.String), commit=commits)
        .filter(pl.col("night").is_not_null())
        .group_by("night", maintain_order=True)
        .agg(
            pl.col("started_at").min(),
            pl.col("commit").drop_nulls().unique(maintain_order=True),
            pl.len().alias("n"),
            pl.col("reached").sum(),
            **{name: of.log().filter("reached").mean() for name, (_, of) in measures.items()},
        )
    )
    numbers = [[int(digits) for digits in re.findall(r"\d+", name)] for name in points["night"]]
    points = points.with_columns(number=pl.Series(numbers, dtype=pl.List(pl.Int64)))
    points = points.sort("number" if points["started_at"].null_count() else "started_at", "night")
    nights = tuple(
        Night(name, tuple(commits), n, reached)
        for name, commits, n, reached in points["night", "commit", "n", "reached"].iter_rows()
    )
    *parts, total = (
        _make_part(
            points[name], name, of, confidence, search=name != whole_name or len(measures) == 1
        )
        for name, (of, _) in measures.items()
    )
    failed, n = [night.n - night.reached for night in nights], [night.n for night in nights]
    night_numbers = tuple(range(len(nights)))
    fails_more = _borders(night_numbers, changes.find_changes_of_failures(failed, n, confidence))
    failures = Part(FAILURES, "fraction", night_numbers, np.divide(failed, n), fails_more)
    if parts:
        total = _sum_of_parts(total, [border for part in parts for border in part.borders])
    unordered = runs.height - sum(night.n for night in nights)
    return History(nights, (*parts, failures, total), unordered)


def _make_part(logs: pl.Series, name: str, unit: str, confidence: float, *, search: bool) -> Part:
    night_numbers = tuple(np.flatnonzero(logs.is_not_null()).tolist())
    values: Floats = logs.drop_nulls().to_numpy().round(_DECIMALS)
    if not search or values.size < changes.WAIT:
        return Part(name, unit, night_numbers, values, ())
    borders = _borders(night_numbers, changes.find_changes(values, confidence))
    splits = [bisect_left(night_numbers, border.split) for border in borders]
    noise = changes.night_noise(values, splits)
    nights = values.size - (splits[-1] if splits else 0)
    unseen = None if noise is None else math.expm1(changes.detectable_change(noise, max(nights, 2)))
    autocorrelation = changes.shown_autocorrelation(values, splits)
    return Part(name, unit, night_numbers, values, borders, noise, autocorrelation, unseen)


def _borders(night_numbers: Sequence[int], series_changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the changes of a series in terms of nights."""
    return tuple(
        replace(
            change,
            split=night_numbers[change.split],
            first=(first := night_numbers[change.first - 1] + 1),
            last=night_numbers[change.last],
            median=night_numbers[(change.median or 0) - 1]
            if first < night_numbers[change.last]
            else None,
            alarm=night_numbers[(change.alarm or 0) - 1] + 1,
            announced=night_numbers[change.announced or 0],
        )
        for change in series_changes
    )


def _sum_of_parts(total: Part, of_parts: Sequence[Change]) -> Part:
    """Return the time to the target with the changes of its parts, coinciding ones together."""
    merged: list[list[Change]] = []
    for border in sorted(of_parts, key=lambda border: border.split):
        if merged and border.first <= max(other.last for other in merged[-1]):
            merged[-1].append(border)
        else:
            merged.append([border])
    borders = [
        Change(
            split=min(group, key=lambda border: border.last - border.first).split,
            first=min(border.first for border in group),
            last=max(border.last for border in group),
            median=None,
            size=sum(border.size for border in group),
            low=sum(border.low for border in group),
            high=sum(border.high for border in group),
            drift=any(border.drift for border in group),
            autocorrelation=None,
            independent=all(border.independent for border in group),
            nights=max(border.nights for border in group),
            standing=next(
                worst for worst in _WORST_FIRST if any(border.standing == worst for border in group)
            ),
        )
        for group in merged
    ]
    return replace(total, borders=tuple(borders))
