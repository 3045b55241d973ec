"""Which rows of a summary stand on a screen, in which tables, and what is hidden?

Few rows are one table. Of more, each size (benchmark and number of accelerators) has a row, and the
largest size of a single benchmark a table of its fastest entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ttastats.answers import league, rank, summary
from ttastats.answers.league import League
from ttastats.answers.rank import StandingRow
from ttastats.answers.summary import SummaryRow
from ttastats.base import percentages, units
from ttastats.base.note import note
from ttastats.outcomes.axis import AXES
from ttastats.report import fields, grouping, ordering
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Table, Text
from ttastats.report.fields import Field

#: Rows of each table unless somebody says otherwise.
TOP = 15
#: Rows of one table that holds all, and sizes of which each has a row.
_FEW = 30

#: Sizes that have a table each, and no row in one of all.
_SEVERAL = 3

#: A league and its rows.
_Size = tuple[League, Sequence[StandingRow]]


def shown(report: Report, *, sort: str = "", top: int | None = None, confidence: float) -> Report:
    """Return a summary with all rows for programs, of which people see a selection.

    `sort` is a key of the rows, `top` the rows of each table, 0 for all; see `ordering.sort_rows`.
    People see the first, and which of these are shown to be faster.
    """
    whole = ordering.sort_rows(report, sort=sort)
    rows = whole if top is None else ordering.sort_rows(whole, top=top)
    return replace(rows, people=lambda: _displayed(report, whole, rows, sort, top, confidence))


def _displayed(
    report: Report, whole: Report, rows: Report, sort: str, top: int | None, confidence: float
) -> Report:
    """Return what people see: the first rows, or sizes and the fastest of one."""
    first = TOP if top is None else top
    part = ordering.sort_rows(whole, top=first)
    of_times = report.groups and all(isinstance(row, SummaryRow) for row in report.records)
    if sort or not first or not of_times:
        return replace(part, records=rows.records)
    hidden = len(part.records) < len(whole.records)
    if not hidden and len(whole.records) <= _FEW:
        return replace(whole, sentence=_leaders_sentence(league.leagues(report, confidence)))
    sizes = [(one, rank.standing(one)) for one in
             league.leagues(report, confidence, most=max(league.MOST, first))]  # fmt: skip
    notes = list(rows.notes)
    tables, listed = [], sizes
    if len(sizes) > _SEVERAL:
        tables.append(_size_table(sizes, grouping.common_title(report.records, report.by)))
        one_benchmark = len({one.name for one, _ in sizes}) == 1
        listed = [max(sizes, key=_entries_shown)] if one_benchmark else []
        key = "other_sizes.entries" if listed else "other_sizes.benchmarks"
        notes.append(note(key, n=len(report.records) - sum(map(_entries_shown, listed))))
    elif top is None:
        first = min(first, _FEW // len(sizes))
    tables += [_entry_table(*size, report, first, confidence) for size in listed]
    notes += rank.tie_notes(one for one, _ in listed)
    sentence = _leaders_sentence([one for one, _ in sizes])
    return replace(
        report, records=rows.records, tables=tuple(tables), notes=tuple(notes), sentence=sentence
    )


def _entries_shown(size: _Size) -> int:
    return size[1][0].entries


def _size_table(sizes: Sequence[_Size], title: str) -> Table:
    """Return a row for each size: how many entries it has, and the fastest of them."""
    most = sorted(sizes, key=_entries_shown, reverse=True)[:_FEW]
    rows = [size for size in sizes if size in most]
    axis, level = AXES[rows[0][1][0].axis], percentages.percent_text(rows[0][0].confidence)
    models = rank.short(standing[0] for _, standing in rows)
    benchmarks = [one.name for one, _ in rows]
    first = {id(one): one.name for (one, _), name in zip(rows, [None, *benchmarks], strict=False)
             if one.name != name}  # fmt: skip
    columns: list[Field[_Size]] = [
        fields.text_field("entries", lambda size: f"{_entries_shown(size):,}"),
        Field(Column("shortest mean", names=True), lambda size: Text(size[0].entries[0].label)),
    ]
    if any(one.size is not None for one, _ in rows):
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
    fastest: Field[_Size] = Field(
        Column("fastest", rank=2), lambda size: Text(_leader_text(size[0]))
    )
    columns += [fields.field_of_part(mean, lambda size: size[1][0]), fastest]
    hidden = len(sizes) - len(rows)
    below = [()] * (len(rows) - 1) + [
        (f"{hidden:,} sizes of fewer entries not shown: --top 0 shows all rows",) if hidden else ()
    ]
    about = benchmarks[0] if len(set(benchmarks)) == 1 else ""
    title = f"{' '.join(filter(None, (title, about)))}   {len(sizes)} sizes, the first of each"
    return fields.make_table(rows, columns, title.strip(), below)


def _leader_text(one: League) -> str:
    """Return whether the first of a size is shown to be the fastest, in words."""
    if len(one.entries) == 1:
        return "alone"
    if not one.testable:
        return "too few runs"
    return "shown" if one.has_leader else f"{len(one.rivals(0)) + 1} tied"


def _entry_table(
    one: League, rows: Sequence[StandingRow], report: Report, top: int, confidence: float
) -> Table:
    """Return the fastest entries of a size, with what is behind their means."""
    axis = AXES[rows[0].axis]
    more = [
        *([] if all(row.reached == row.n for row in rows) else
          [summary.mean_field(axis, confidence, rank=3)]),
        *summary.more_fields(axis, confidence, rank=3),
    ]  # fmt: skip
    of = {row.rank: entry.row for row, entry in zip(rows, one.entries, strict=True)}
    columns = [fields.field_of_part(field, lambda row: of[row.rank]) for field in more]
    return rank.table(one, rows, top, rank.details_of(report), columns)


def _leaders_sentence(leagues: Sequence[League]) -> str:
    """Return who leads, without entries that have no name."""
    if all(entry.row.keys["entry"] is None for one in leagues for entry in one.entries):
        return ""
    text = f"{league.headline(leagues)}."
    if len(leagues) > 1 and len({one.name for one in leagues}) == 1:
        most = max(leagues, key=lambda one: len(one.entries) + one.left_out)
        if len(most.entries) > 1 and most.size is not None:
            size = units.plural(most.size, "accelerator")
            text += f" On {size}, {league.claim(replace(most, benchmark=None))}."
    return text
