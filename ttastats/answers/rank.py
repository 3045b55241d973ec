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
    all_leagues = [
        (group, standing(group, mine)) for group in league.leagues(summary, confidence, most=None)
    ]
    own_leagues = [(group, rows) for group, rows in all_leagues if any(row.mine for row in rows)]
    unknown = f"no entry contains {mine!r} in its name"
    raise_if(mine and not own_leagues, unknown, "--mine", "`ttastats summary` lists the entries.")
    details = details_of(summary)
    displayed = (
        own_leagues
        or [(group, rows) for group, rows in all_leagues if len(rows) > 1]
        or all_leagues
    )
    n_hidden = len(all_leagues) - len(displayed)
    footnotes = [remark for remark in summary.notes if remark.code not in _OF_CV]
    if n_hidden:
        footnotes.append(
            note("other_sizes.mine" if own_leagues else "other_sizes.alone", n=n_hidden)
        )
    footnotes += tie_notes([group for group, _ in displayed])
    hours = [fields.number_field("accelerator h", "accelerator_hours", "number", rank=5)]
    tables = tuple(
        table(group, rows, top, details, hours if rows[0].accelerator_hours else ())
        for group, rows in displayed
    )
    records = tuple(row for _, rows in all_leagues for row in rows)
    text = _rank_sentence(displayed, mine)
    return Report("rank", records, tables, tuple(footnotes), text, by=summary.by)


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
            not_separable=list(group.rivals(index)) if rank else [],
            separable_if=list(group.conditional_rivals(index)) if rank else [],
            conditions=list(group.conditions(index)) if rank else [],
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
        for index, (entry, rank) in enumerate(zip(group.entries, group.ranks, strict=True))
    ]


def table(
    group: League,
    rows: Sequence[StandingRow],
    top: int,
    details: Mapping[int, tuple[str, ...]],
    extra_fields: Sequence[Field[StandingRow]] = (),
) -> Table:
    """Return the first `top` rows of a league and the user's own, with extra columns."""
    axis, level = AXES[rows[0].axis], percentages.percent_text(group.confidence)
    displayed = [row for index, row in enumerate(rows) if not top or index < top or row.mine]
    models, index_of_row = short(displayed), {id(row): index for index, row in enumerate(rows)}
    reached = all(row.reached == row.n for row in rows)
    same_runs = len({row.n for row in rows}) == 1 and reached
    columns: list[Field[StandingRow]] = [
        fields.text_field("rank", lambda row: f"{'> ' if row.mine else ''}{row.rank or '–'}")
    ]
    columns += [*_tie_fields(group, index_of_row)]
    columns.append(
        Field(
            Column("entry", names=True),
            lambda row: Text(group.entries[index_of_row[id(row)]].label),
        )
    )
    if any(models.values()):
        columns.append(Field(Column("hardware", rank=1), lambda row: Text(models[row.hardware])))
    if not same_runs:
        of_entry = fields.field_of_part(
            fields.reached_field(axis=axis), lambda row: group.entries[index_of_row[id(row)]].row
        )
        columns.append(of_entry)
    mean = axis.mean if reached else axis.ert
    columns += [
        fields.number_field(
            f"{mean} [{level}]", "mean_seconds", axis.unit, interval=True, drawn=True
        ),
        *extra_fields,
    ]
    details_of_rows = [
        details.get(id(group.entries[index_of_row[id(row)]].row), ()) for row in displayed
    ]
    if n_hidden := rows[0].entries - len(displayed):
        details_of_rows[-1] = (
            *details_of_rows[-1],
            f"{n_hidden:,} more not shown: --top 0 shows all",
        )
    runs_text = (
        f", {units.plural(rows[0].n, 'run')}{' each' if len(rows) > 1 else ''}" if same_runs else ""
    )
    title = f"{group.title}: {units.plural(rows[0].entries, 'entry', 'entries')}{runs_text}"
    return fields.make_table(displayed, columns, title, details_of_rows)


#: How a part of a bracket is drawn.
_BARS = {"from": "┌", "on": "│", "to": "└", "": " "}


def _tie_fields(group: League, index_of_row: Mapping[int, int]) -> Iterator[Field[StandingRow]]:
    """Yield a column of the bars of ties, and one of the ties under conditions.

    `index_of_row` has the index of each row by its `id`.
    """

    def bars(title: str, ties: Sequence[league.Stretch]) -> Field[StandingRow]:
        texts = [
            "".join(_BARS[lane] for lane in entry_lanes).rstrip()
            for entry_lanes in group.lanes(ties)
        ]
        return Field(Column(title), lambda row: Text(texts[index_of_row[id(row)]]))

    if group.ties:
        yield bars("ties", group.ties)
    if group.ties and (codes := group.conditions()):
        yield bars(f"ties {marks(codes)}", group.open_ties)


def short(rows: Iterable[StandingRow]) -> dict[str, str]:
    """Return the shortest distinct texts for the hardware of rows, by its whole name."""
    names = {row.hardware: row.hardware.partition("× ")[2] for row in rows}
    short = hardware_models(names.values())
    return {hardware: short[name] for hardware, name in names.items()}


def tie_notes(leagues: Iterable[League]) -> Iterator[Note]:
    """Yield notes on the statistics of ranks, if any two can be tested."""
    testable = [group for group in leagues if group.testable and group.n_reached]
    if testable:
        pairs = sum(math.comb(len(group.entries), 2) for group in testable)
        yield note("ties", pairs=pairs, level=percentages.percent_text(testable[0].confidence))
    for codes in dict.fromkeys(group.conditions() for group in testable):
        if codes:
            yield note("ties.if", marks=marks(codes), condition=condition_text(codes))


def _rank_sentence(displayed: Sequence[tuple[League, Sequence[StandingRow]]], mine: str) -> str:
    if not mine:
        return f"{league.headline([group for group, _ in displayed])}."
    if len(displayed) > 3:
        firsts = sum(any(row.mine and row.rank_low == 1 for row in rows) for _, rows in displayed)
        first = f"{mine} is first, or not shown to be behind any"
        return f"{first}, in {firsts} of {len(displayed)} tables."
    texts = []
    for group, rows in displayed:
        index = next(index for index, row in enumerate(rows) if row.mine)
        text_of_ties = "of too few runs to tell from chance"
        text_of_ties = league.not_separable(group, index) if group.testable else text_of_ties
        text = f"{units.ordinal(index + 1)} of {len(group.entries)}, {text_of_ties}"
        text = "the only entry" if len(group.entries) == 1 else text
        texts.append(f"{group.title}: {group.entries[index].label} is {text}.")
    return " ".join(texts)


#: Rows of each table by default.
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
    """Return a summary with all rows for programs and a selection for people.

    `sort` is a key of the rows, `top` the rows of each table, 0 for all; see `ordering.sort_rows`.
    People see the first, and which of these are shown to be faster.
    """
    sorted_report = ordering.sort_rows(report, sort=sort)
    rows = sorted_report if top is None else ordering.sort_rows(sorted_report, top=top)
    return dataclasses.replace(
        rows, people=lambda: _report_for_people(report, sorted_report, rows, sort, top, confidence)
    )


def _report_for_people(
    report: Report,
    sorted_report: Report,
    rows: Report,
    sort: str,
    top: int | None,
    confidence: float,
) -> Report:
    """Return the report for people: the first rows, or sizes and the fastest of one."""
    first = TOP if top is None else top
    part = ordering.sort_rows(sorted_report, top=first)
    of_times = report.groups and all(isinstance(row, SummaryRow) for row in report.records)
    if sort or not first or not of_times:
        return dataclasses.replace(part, records=rows.records)
    has_more = len(part.records) < len(sorted_report.records)
    if not has_more and len(sorted_report.records) <= _FEW:
        return dataclasses.replace(
            sorted_report, sentence=_leaders_sentence(league.leagues(report, confidence))
        )
    sizes = [(group, standing(group)) for group in
             league.leagues(report, confidence, most=max(league.MOST, first))]  # fmt: skip
    notes = list(rows.notes)
    tables, listed_sizes = [], sizes
    if len(sizes) > _FEW_SIZES:
        tables.append(_size_table(sizes, grouping.common_title(report.records, report.by)))
        one_benchmark = len({group.name for group, _ in sizes}) == 1
        listed_sizes = [max(sizes, key=_count_entries)] if one_benchmark else []
        key = "other_sizes.entries" if listed_sizes else "other_sizes.benchmarks"
        notes.append(note(key, n=len(report.records) - sum(map(_count_entries, listed_sizes))))
    elif top is None:
        first = min(first, _FEW // len(sizes))
    tables += [_entry_table(*size, report, first, confidence) for size in listed_sizes]
    notes += tie_notes(group for group, _ in listed_sizes)
    sentence = _leaders_sentence([group for group, _ in sizes])
    return dataclasses.replace(
        report, records=rows.records, tables=tuple(tables), notes=tuple(notes), sentence=sentence
    )


def _size_table(sizes: Sequence[_Size], title: str) -> Table:
    """Return a row for each size: its number of entries, and the fastest of them."""
    largest = sorted(sizes, key=_count_entries, reverse=True)[:_FEW]
    rows = [size for size in sizes if size in largest]
    (group, (leader, *_)), *_ = rows
    axis, level = AXES[leader.axis], percentages.percent_text(group.confidence)
    models = short(size_rows[0] for _, size_rows in rows)
    groups = [group for group, _ in rows]
    benchmarks = [group.name for group in groups]
    names_above = [None, *benchmarks]
    first = {id(group): group.name for group, name in zip(groups, names_above, strict=False)
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
        text = "shown" if group.has_leader else f"{len(group.rivals(0)) + 1} tied"
        text = f"shown {marks(codes)}" if (codes := group.leads_if) else text
        return Text(text if group.testable else "too few runs")

    columns += [
        fields.field_of_part(mean, lambda size: size[1][0]),
        Field(Column(axis.best, rank=2), leads),
    ]
    n_hidden = len(sizes) - len(rows)
    details = [()] * (len(rows) - 1) + [
        (f"{units.plural(n_hidden, 'size')} of fewer entries not shown: --top 0 shows all rows",)
        if n_hidden
        else ()
    ]
    benchmark = benchmarks[0] if len(set(benchmarks)) == 1 else ""
    title = f"{' '.join(filter(None, (title, benchmark)))}   {len(sizes)} sizes, the first of each"
    return fields.make_table(rows, columns, title.strip(), details)


def _entry_table(
    group: League, rows: Sequence[StandingRow], report: Report, top: int, confidence: float
) -> Table:
    axis = AXES[rows[0].axis]
    extra_fields = summary.more_fields(axis, confidence, rank=3)
    if any(row.reached != row.n for row in rows):
        extra_fields.insert(0, summary.mean_field(axis, confidence, rank=3))
    of = {id(row): entry.row for row, entry in zip(rows, group.entries, strict=True)}
    columns = [fields.field_of_part(field, lambda row: of[id(row)]) for field in extra_fields]
    return table(group, rows, top, details_of(report), columns)


def _leaders_sentence(leagues: Sequence[League]) -> str:
    """Return the leaders in a sentence; nothing for entries without names."""
    if all(entry.row.keys["entry"] is None for group in leagues for entry in group.entries):
        return ""
    text = f"{league.headline(leagues)}."
    if len(leagues) > 1 and len({group.name for group in leagues}) == 1:
        largest = max(leagues, key=lambda group: len(group.entries) + group.left_out)
        if len(largest.entries) > 1 and largest.size_text:
            text += f" On {largest.size_text}, {league.claim(replace(largest, benchmark=None))}."
    return text
