"""On which night did training change, in which part, and by how much?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Annotated, Any

import polars as pl
from msgspec import field

from ttastats.answers import nights
from ttastats.answers.compare.gate import Requirement
from ttastats.answers.nights import FAILURES, History, Night, Part
from ttastats.base import units
from ttastats.base.codes import note, wording
from ttastats.outcomes import axis as axes
from ttastats.outcomes import left_out
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Finding, Gate, Outcome, Quantity, Table, Text
from ttastats.report.fields import Field
from ttastats.report.row import Key, Number, Row
from ttastats.stats import changes
from ttastats.stats.changes import Change

#: What the runs of one setup have in common, whenever they were made.
SETUP = ("suite", "benchmark", "entry")
#: The history of each setup with its name, which is empty where there is only one.
Histories = Sequence[tuple[str, History]]


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
    after_night: Annotated[str | None, Key("last night before the change for sure (95 %)")] = None
    by_night: Annotated[str | None, Key("first night after the change for sure (95 %)")] = None
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
    noise: Annotated[Number, Key("standard deviation from night to night, of its log", "fraction")]
    unseen: Annotated[
        Number,
        Key("of the last segment: a change under this stays unseen for 20 nights", "fraction"),
    ]
    axis: key.AxisName
    left_out: key.LeftOutKeys = key.LeftOutKeys()


def report(
    runs: pl.DataFrame, by: Sequence[str], *, order: str = nights.BY_DATE
) -> tuple[Report, Histories]:
    """Return the report of each setup, and the histories behind it."""
    absent, histories = left_out.rows(runs), list[tuple[str, History]]()
    notes = [*grouping.group_notes(runs, by), note("promise", wait=changes.WAIT)]
    rows, details = list[HistoryRow](), list[tuple[str, ...]]()
    for name, keys, group in grouping.named_groups(runs, by):
        history, gone = nights.history(group, order), left_out.group(runs, keys, absent)
        histories.append((name, history))
        about = {
            "keys": {of: keys.get(of) for of in grouping.row_keys(tuple(keys), SETUP)},
            "axis": axes.axis_of(group).name,
            "left_out": key.LeftOutKeys(*gone.counts),
        }
        rows += [
            _history_row(history, part, number, about)
            for part in history.parts
            for number in range(len(part.borders) + 1)
        ]
        details += [()] * (len(rows) - len(details) - 1) + [grouping.append_line((), gone)]
    if unordered := sum(history.unordered for _, history in histories):
        what = "date" if order == nights.BY_DATE else order
        notes.append(note("unordered", n=unordered, what=what))
    notes += [
        note("nights_alike", part=part.name, r=part.alike).prefixed(name)
        for name, history in histories
        for part in history.parts
        if part.alike is not None
    ]
    few = [n for _, history in histories if (n := len(history.nights)) < changes.WAIT]
    several = len(few) > 1
    texts = [
        _setup_sentence(name, history)
        for name, history in histories
        if not several or len(history.nights) >= changes.WAIT
    ]
    if several:
        texts.append(wording("few_setups", setups=len(few), n=max(few), least=changes.WAIT))
    tables, setup = (_table(rows, by, details),), grouping.row_keys(by, SETUP)
    text = " ".join(texts)
    return Report("history", tuple(rows), tables, tuple(notes), text, by=setup), histories


def _history_row(history: History, part: Part, number: int, about: Mapping[str, Any]) -> HistoryRow:
    start, end = part.segments(len(history.nights))[number]
    of, change = history.nights[start:end], dict[str, Any]()
    if number:
        border = part.borders[number - 1]
        size, low, high = _relative_sizes(part, border)
        change = {
            "size": size,
            "size_low": low,
            "size_high": high,
            "change": "drift" if border.drift else "step",
            "after_night": history.nights[border.first - 1].name,
            "by_night": history.nights[border.last].name,
            "commits": _commits_between(history, border),
            "run_next": _next_to_run(history, border),
            "alarm_night": history.nights[border.alarm - 1].name if border.alarm else None,
            "p_alarm": border.p_value,
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
        **about,
    )


def _relative_sizes(part: Part, border: Change) -> tuple[float, float, float]:
    """Return the size of a change and its limits, as shares of what was before."""
    size, low, high = border.size, border.low, border.high
    if part.name == FAILURES:
        return size, low, high
    return math.expm1(size), math.expm1(low), math.expm1(high)


def _commits_between(history: History, border: Change) -> list[str]:
    between = history.nights[border.first : border.last + 1]
    return list(dict.fromkeys(commit for night in between for commit in night.commits))


def _next_to_run(history: History, border: Change) -> str | None:
    """Return the night or commit to run next in order to narrow a change down."""
    if border.median is not None:
        night: Night = history.nights[border.median]
        return night.commits[-1] if night.commits else night.name
    of = _commits_between(history, border)
    return of[(len(of) - 1) // 2] if border.alarm is not None and len(of) > 1 else None


def _table(
    rows: Sequence[HistoryRow], by: Sequence[str], details: Sequence[tuple[str, ...]]
) -> Table:
    def change(row: HistoryRow) -> str:
        if row.size is None or row.size_low is None or row.size_high is None:
            return ""
        drift = " drift" if row.change == "drift" else ""
        return f"{_size_text(row.size, row.size_low, row.size_high)}{drift}"

    shown: list[Field[HistoryRow]] = [
        *fields.key_fields(grouping.shown_keys(rows, by)),
        Field(Column("part", names=True), lambda row: Text(row.part)),
        Field(Column("since"), lambda row: Text(row.first_night)),
        *fields.number_fields(HistoryRow, "nights"),
        fields.reached_field(rank=2),
        Field(Column("mean", "right"), lambda row: Quantity(row.mean, row.unit)),  # type: ignore[arg-type]
        fields.text_field("change [95%]", change),
        Field(Column("after – by", rank=1), lambda row: Text(
            f"{row.after_night} – {row.by_night}" if row.after_night else "")),
        Field(Column("run next", rank=2), lambda row: Text(row.run_next or "")),
        fields.text_field("unseen below", lambda row: "" if row.unseen is None
                     else units.percent(row.unseen), rank=1),
    ]  # fmt: skip
    return fields.make_table(rows, shown, grouping.common_title(rows, by), details)


def _size_text(*sizes: float) -> str:
    """Return a size with its limits: `+2.1% [+1.8%, +2.4%]`."""
    value, *ends = (f"{'+' if size > 0 else ''}{units.percent(size)}" for size in sizes)
    return f"{value} [{', '.join(ends)}]"


def size_of(part: Part, border: Change) -> str:
    """Return the size of a change with its limits, and what it is a share of."""
    text = _size_text(*_relative_sizes(part, border))
    return f"{text} of the runs" if part.name == FAILURES else text


def _setup_sentence(name: str, history: History) -> str:
    of = f"{name}: " if name else ""
    if len(history.nights) < changes.WAIT:
        return of + wording("few_nights", n=len(history.nights), least=changes.WAIT)
    every = [(border.split, part, border) for part in history.parts for border in part.borders
             if border.alarm is not None]  # fmt: skip
    code = "history_changes" if every else "history_none"
    texts = [wording(code, n=len(every), nights=len(history.nights))]
    for _, part, border in sorted(every, key=itemgetter(0)):
        size, more = size_of(part, border), ""
        about = part.name[:1].upper() + part.name[1:]  # of `CPU time` too
        if border.drift:
            texts.append(wording("history_drift", part=about, size=size, nights=border.nights))
            continue
        after, by = history.nights[border.first - 1].name, history.nights[border.last].name
        commits = _commits_between(history, border)
        if commits and commits != [by]:
            listed = units.join_names(commits, 4)
            more = f" ({'commit' if len(commits) == 1 else 'commits'} {listed})"
        if (run := _next_to_run(history, border)) is not None:
            more += wording("history_run_next", run=run)
        more += "" if border.independent else wording("history_alike")
        text = wording("history_step", part=about, size=size, after=after, by=by)
        texts.append(f"{text}{more}.")
    unseen = [f"{units.percent(x.unseen)} in {x.name}" for x in history.parts if x.unseen]
    if unseen:
        names = units.join_names(unseen)
        texts.append(wording("history_unseen", unseen=names, nights=changes.UNSEEN_NIGHTS))
    return of + " ".join(texts)


def judged(made: Report, histories: Histories, gates: Sequence[Requirement]) -> Report:
    """Return a report with the verdict of the gate on the last segment of each setup."""
    findings = [
        Finding(str(gate), name or "these runs", None, None, *finding)
        for name, history in histories
        for gate in gates
        for finding in _gate_findings(history, gate)
    ]
    return replace(made, gate=Gate(tuple(map(str, gates)), tuple(findings))) if gates else made


def _gate_findings(history: History, gate: Requirement) -> Iterator[tuple[Outcome, str, str]]:
    if len(history.nights) < changes.WAIT:
        text = wording("few_nights", n=len(history.nights), least=changes.WAIT)
        yield "undecided", "not_judged", text
    for part, code, text, limit in (
        (history.whole, "slower", "history_slower", gate.limit),
        (history.failures, "fails_more", "history_fails_more", 0.0),
    ):
        if not part.borders:
            continue
        border = part.borders[-1]
        _, low, high = sizes = _relative_sizes(part, border)
        since, size = history.nights[border.split].name, _size_text(*sizes)
        text = wording(text, size=size, since=since, limit=gate.written, part=part.name)
        if low > limit and border.independent:
            yield "failed", code, text
        elif low > limit:
            yield "undecided", "undecided", text + wording("history_alike")
        elif high > limit and code == "slower":
            yield "undecided", "undecided", text
