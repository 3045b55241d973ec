"""Who is the fastest of one benchmark and size, who cannot be told apart, and where is mine?

The same tables show a summary on a screen. Few rows are one table. Of more, each size (benchmark
and number of accelerators) has a row, and the largest size of a single benchmark a table of its
fastest entries.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

from msgspec.structs import replace

from ttastats.answers import league, summary
from ttastats.answers.league import League
from ttastats.answers.summary import SummaryRow
from ttastats.base import percentages, units
from ttastats.base.codes import Note, note
from ttastats.base.errors import raise_if
from ttastats.outcomes.axis import AXES
from ttastats.report import fields, grouping, ordering
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Table, Text
from ttastats.report.fields import Field
from ttastats.report.fitting import hardware_models
from ttastats.report.row import Key, Number, Row
from ttastats.sides.findings import condition_text, marks

#: Notes of a summary that speak of its CV, which no rank needs.
_OF_CV = ("few_runs", "repeated_times", "unusual_run", "like_those_seen", "ddof")


class StandingRow(Row, frozen=True):
    """One entry among those of its benchmark and size."""

    accelerators: Annotated[
        int | None,
        Key("the size: accelerators of each run, null where they differ", "accelerators"),
    ]
    division: Annotated[str | None, Key("`closed` or `open`, null where it is not known")]
    nodes: Annotated[int | None, Key("nodes of each run, null where they differ", "nodes")]
    rank: Annotated[
        int | None, Key("rank by the mean, 1 is the fastest; null where no run reached the target")
    ]
    rank_low: Annotated[
        int | None,
        Key("best rank it may have: all these intervals hold at once, at the confidence level"),
    ]
    rank_high: Annotated[int | None, Key("worst rank it may have")]
    entries: Annotated[int, Key("entries of this benchmark, division and size")]
    not_separable: Annotated[list[int], Key("ranks that cannot be told from its own")]
    separable_if: Annotated[list[int], Key("those of them that can if `conditions` are true")]
    conditions: Annotated[list[str], Key("codes of what these claims hold under")]
    n: key.RunCount
    reached: key.ReachedCount
    mean_seconds: Annotated[
        Number,
        Key("mean time to the target; where a run failed, the expected time to a success", "axis"),
    ]
    mean_seconds_low: key.Low
    mean_seconds_high: key.High
    accelerator_hours: Annotated[
        Number, Key("accelerators times the mean, where it is a time", "accelerator hours")
    ]
    hardware: Annotated[str, Key("accelerators and their kind")]
    mine: Annotated[bool, Key("whether `--mine` names it")]
    axis: key.AxisName
    left_out: key.LeftOutKeys = key.LeftOutKeys()


def report(summary: Report, *, mine: str, top: int, confidence: float) -> Report:
    """Return the report of the ranks of entries: a table for each benchmark and size.

    `mine` is a part of the names of one's own entries, in either case. Of each table the first
    `top` are shown, and one's own; 0 shows all. Rows for programs have all entries.
    """
    every = [
        (group, standing(group, mine)) for group in league.leagues(summary, confidence, most=None)
    ]
    named = [(group, rows) for group, rows in every if any(row.mine for row in rows)]
    unknown = f"no entry contains {mine!r} in its name"
    raise_if(mine and not named, unknown, "--mine", "`ttastats summary` lists the entries.")
    details = details_of(summary)
    shown = named or [(group, rows) for group, rows in every if len(rows) > 1] or every
    hidden = len(every) - len(shown)
    below = [remark for remark in summary.notes if remark.code not in _OF_CV]
    if hidden:
        below.append(note("other_sizes.mine" if named else "other_sizes.alone", n=hidden))
    below += tie_notes([group for group, _ in shown])
    hours = [fields.number_field("accelerator h", "accelerator_hours", "number", rank=5)]
    tables = tuple(
        table(group, rows, top, details, hours if rows[0].accelerator_hours else ())
        for group, rows in shown
    )
    records = tuple(row for _, rows in every for row in rows)
    text = _rank_sentence(shown, mine)
    return Report("rank", records, tables, tuple(below), text, by=summary.by)


def details_of(summary: Report) -> dict[int, tuple[str, ...]]:
    """Return the detail lines of each row of a summary, by the `id` of the row."""
    (lines,) = (table.rows for table in summary.tables)
    return {id(row): line.details for row, line in zip(summary.records, lines, strict=True)}


def standing(group: League, mine: str = "") -> list[StandingRow]:
    """Return the rows of a league; entries whose names contain `mine` are the user's own."""
    return [
        StandingRow(
            keys=entry.row.keys,
            accelerators=group.kind.accelerators,
            division=group.kind.division,
            nodes=group.kind.nodes,
            rank=rank.rank if rank else None,
            rank_low=rank.first if rank else None,
            rank_high=rank.last if rank else None,
            entries=len(group.entries) + group.left_out,
            not_separable=list(group.rivals(place)) if rank else [],
            separable_if=list(group.conditional_rivals(place)) if rank else [],
            conditions=list(group.conditions(place)) if rank else [],
            n=entry.side.n,
            reached=entry.side.n_reached,
            mean_seconds=entry.mean,
            mean_seconds_low=entry.low,
            mean_seconds_high=entry.high,
            accelerator_hours=(spent := entry.accelerator_seconds) and spent / 3600,
            hardware=league.hardware(entry),
            mine=bool(mine) and mine.casefold() in entry.label.casefold(),
            axis=entry.row.axis,
            left_out=entry.row.left_out,
        )
        for place, (entry, rank) in enumerate(zip(group.entries, group.ranks, strict=True))
    ]


def table(
    group: League,
    rows: Sequence[StandingRow],
    top: int,
    details: Mapping[int, tuple[str, ...]],
    more: Sequence[Field[StandingRow]] = (),
) -> Table:
    """Return the first `top` rows of a league and the user's own, with extra columns."""
    axis, level = AXES[rows[0].axis], percentages.percent_text(group.confidence)
    shown = [row for place, row in enumerate(rows) if not top or place < top or row.mine]
    models, of = short(shown), {id(row): place for place, row in enumerate(rows)}
    reached = all(row.reached == row.n for row in rows)
    alike = len({row.n for row in rows}) == 1 and reached
    columns: list[Field[StandingRow]] = [
        fields.text_field("rank", lambda row: f"{'> ' if row.mine else ''}{row.rank or '–'}")
    ]
    columns += [*_tie_fields(group, of)]
    columns.append(
        Field(Column("entry", names=True), lambda row: Text(group.entries[of[id(row)]].label))
    )
    if any(models.values()):
        columns.append(Field(Column("hardware", rank=1), lambda row: Text(models[row.hardware])))
    if not alike:
        of_entry = fields.field_of_part(
            fields.reached_field(axis=axis), lambda row: group.entries[of[id(row)]].row
        )
        columns.append(of_entry)
    mean = axis.mean if reached else axis.ert
    columns += [
        fields.number_field(
            f"{mean} [{level}]", "mean_seconds", axis.unit, interval=True, drawn=True
        ),
        *more,
    ]
    below = [details.get(id(group.entries[of[id(row)]].row), ()) for row in shown]
    if hidden := rows[0].entries - len(shown):
        below[-1] = (*below[-1], f"{hidden:,} more not shown: --top 0 shows all")
    each = f", {units.plural(rows[0].n, 'run')}{' each' if len(rows) > 1 else ''}" if alike else ""
    title = f"{group.title}: {units.plural(rows[0].entries, 'entry', 'entries')}{each}"
    return fields.make_table(shown, columns, title, below)


#: How a part of a bracket is drawn.
_BARS = {"from": "┌", "on": "│", "to": "└", "": " "}


def _tie_fields(group: League, of: Mapping[int, int]) -> Iterator[Field[StandingRow]]:
    """Yield a column of the bars of ties, and one of those that remain if conditions are true.

    `of` is the place of each row by its `id`.
    """

    def bars(title: str, ties: Sequence[league.Stretch]) -> Field[StandingRow]:
        texts = ["".join(_BARS[lane] for lane in place).rstrip() for place in group.lanes(ties)]
        return Field(Column(title), lambda row: Text(texts[of[id(row)]]))

    if group.ties:
        yield bars("ties", group.ties)
    if group.ties and (codes := group.conditions()):
        yield bars(f"ties {marks(codes)}", group.open_ties)


def short(rows: Iterable[StandingRow]) -> dict[str, str]:
    """Return the shortest texts that tell the hardware of rows apart, by its whole name."""
    whole = {row.hardware: row.hardware.partition("× ")[2] for row in rows}
    short = hardware_models(whole.values())
    return {hardware: short[name] for hardware, name in whole.items()}


def tie_notes(leagues: Iterable[League]) -> Iterator[Note]:
    """Yield notes on the statistics that separate ranks, if any two can be tested."""
    testable = [group for group in leagues if group.testable and group.n_reached]
    if testable:
        pairs = sum(math.comb(len(group.entries), 2) for group in testable)
        yield note("ties", pairs=pairs, level=percentages.percent_text(testable[0].confidence))
    for codes in dict.fromkeys(group.conditions() for group in testable):
        if codes:
            yield note("ties.if", marks=marks(codes), condition=condition_text(codes))


def _rank_sentence(shown: Sequence[tuple[League, Sequence[StandingRow]]], mine: str) -> str:
    if not mine:
        return f"{league.headline([group for group, _ in shown])}."
    if len(shown) > 3:
        firsts = sum(any(row.mine and row.rank_low == 1 for row in rows) for _, rows in shown)
        first = f"{mine} is first, or not shown to be behind any"
        return f"{first}, in {firsts} of {len(shown)} tables."
    texts = []
    for group, rows in shown:
        place = next(place for place, row in enumerate(rows) if row.mine)
        how = "of too few runs to tell from chance"
        how = league.not_separable(group, place) if group.testable else how
        text = f"{units.ordinal(place + 1)} of {len(group.entries)}, {how}"
        text = "the only entry" if len(group.entries) == 1 else text
        texts.append(f"{group.title}: {group.entries[place].label} is {text}.")
    return " ".join(texts)


#: Rows of each table unless somebody says otherwise.
TOP = 15
#: Rows of one table that holds all, and sizes of which each has a row.
_FEW = 30

#: Sizes that have a table each, and no row in one of all.
_FEW_SIZES = 3

#: A league and its rows.
_Size = tuple[League, Sequence[StandingRow]]


def _count_entries(size: _Size) -> int:
    return size[1][0].entries


def shown(report: Report, *, sort: str = "", top: int | None = None, confidence: float) -> Report:
    """Return a summary with all rows for programs, of which people see a selection.

    `sort` is a key of the rows, `top` the rows of each table, 0 for all; see `ordering.sort_rows`.
    People see the first, and which of these are shown to be faster.
    """
    whole = ordering.sort_rows(report, sort=sort)
    rows = whole if top is None else ordering.sort_rows(whole, top=top)
    return dataclasses.replace(
        rows, people=lambda: _displayed(report, whole, rows, sort, top, confidence)
    )


def _displayed(
    report: Report, whole: Report, rows: Report, sort: str, top: int | None, confidence: float
) -> Report:
    """Return what people see: the first rows, or sizes and the fastest of one."""
    first = TOP if top is None else top
    part = ordering.sort_rows(whole, top=first)
    of_times = report.groups and all(isinstance(row, SummaryRow) for row in report.records)
    if sort or not first or not of_times:
        return dataclasses.replace(part, records=rows.records)
    hidden = len(part.records) < len(whole.records)
    if not hidden and len(whole.records) <= _FEW:
        return dataclasses.replace(
            whole, sentence=_leaders_sentence(league.leagues(report, confidence))
        )
    sizes = [(group, standing(group)) for group in
             league.leagues(report, confidence, most=max(league.MOST, first))]  # fmt: skip
    notes = list(rows.notes)
    tables, listed = [], sizes
    if len(sizes) > _FEW_SIZES:
        tables.append(_size_table(sizes, grouping.common_title(report.records, report.by)))
        one_benchmark = len({group.name for group, _ in sizes}) == 1
        listed = [max(sizes, key=_count_entries)] if one_benchmark else []
        key = "other_sizes.entries" if listed else "other_sizes.benchmarks"
        notes.append(note(key, n=len(report.records) - sum(map(_count_entries, listed))))
    elif top is None:
        first = min(first, _FEW // len(sizes))
    tables += [_entry_table(*size, report, first, confidence) for size in listed]
    notes += tie_notes(group for group, _ in listed)
    sentence = _leaders_sentence([group for group, _ in sizes])
    return dataclasses.replace(
        report, records=rows.records, tables=tuple(tables), notes=tuple(notes), sentence=sentence
    )


def _size_table(sizes: Sequence[_Size], title: str) -> Table:
    """Return a row for each size: how many entries it has, and the fastest of them."""
    most = sorted(sizes, key=_count_entries, reverse=True)[:_FEW]
    rows = [size for size in sizes if size in most]
    (group, (leader, *_)), *_ = rows
    axis, level = AXES[leader.axis], percentages.percent_text(group.confidence)
    models = short(listed[0] for _, listed in rows)
    groups = [group for group, _ in rows]
    benchmarks = [group.name for group in groups]
    above = [None, *benchmarks]
    first = {id(group): group.name for group, name in zip(groups, above, strict=False)
             if group.name != name}  # fmt: skip
    columns: list[Field[_Size]] = [
        fields.text_field("entries", lambda size: f"{_count_entries(size):,}"),
        Field(Column("first", names=True), lambda size: Text(size[0].entries[0].label)),
    ]
    if any(group.size is not None for group, _ in rows):
        number: Field[_Size] = fields.text_field(
            "accelerators", lambda size: f"{size[0].size or '–'}"
        )
        columns.insert(0, number)
    if len(set(benchmarks)) > 1:
        columns.insert(0, Field(Column("benchmark"), lambda size: Text(first.get(id(size[0]), ""))))
    if any(models.values()):
        hardware = Column("hardware", rank=1)
        columns.append(Field(hardware, lambda size: Text(models[size[1][0].hardware])))
    mean = fields.number_field(f"{axis.mean} [{level}]", "mean_seconds", axis.unit, interval=True)

    def leads(size: _Size) -> Text:
        """Return whether the first of a size is shown to be the best."""
        group, _ = size
        if len(group.entries) == 1:
            return Text("alone")
        shown = "shown" if group.has_leader else f"{len(group.rivals(0)) + 1} tied"
        shown = f"shown {marks(codes)}" if (codes := group.leads_if) else shown
        return Text(shown if group.testable else "too few runs")

    columns += [
        fields.field_of_part(mean, lambda size: size[1][0]),
        Field(Column(axis.best, rank=2), leads),
    ]
    hidden = len(sizes) - len(rows)
    below = [()] * (len(rows) - 1) + [
        (f"{units.plural(hidden, 'size')} of fewer entries not shown: --top 0 shows all rows",)
        if hidden
        else ()
    ]
    about = benchmarks[0] if len(set(benchmarks)) == 1 else ""
    title = f"{' '.join(filter(None, (title, about)))}   {len(sizes)} sizes, the first of each"
    return fields.make_table(rows, columns, title.strip(), below)


def _entry_table(
    group: League, rows: Sequence[StandingRow], report: Report, top: int, confidence: float
) -> Table:
    axis = AXES[rows[0].axis]
    more = summary.more_fields(axis, confidence, rank=3)
    if any(row.reached != row.n for row in rows):
        more.insert(0, summary.mean_field(axis, confidence, rank=3))
    of = {id(row): entry.row for row, entry in zip(rows, group.entries, strict=True)}
    columns = [fields.field_of_part(field, lambda row: of[id(row)]) for field in more]
    return table(group, rows, top, details_of(report), columns)


def _leaders_sentence(leagues: Sequence[League]) -> str:
    """Return who leads, without entries that have no name."""
    if all(entry.row.keys["entry"] is None for group in leagues for entry in group.entries):
        return ""
    text = f"{league.headline(leagues)}."
    if len(leagues) > 1 and len({group.name for group in leagues}) == 1:
        most = max(leagues, key=lambda group: len(group.entries) + group.left_out)
        if len(most.entries) > 1 and most.size_text:
            text += f" On {most.size_text}, {league.claim(replace(most, benchmark=None))}."
    return text
