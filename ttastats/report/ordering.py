"""Which rows of a report are shown, and in which order?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ttastats.base import units
from ttastats.base.codes import note
from ttastats.outcomes import select
from ttastats.outcomes.select import Condition
from ttastats.report.answer import Report
from ttastats.report.cells import Table
from ttastats.report.grouping import BENCHMARK
from ttastats.report.row import lazy_subset

#: Rows of a table that people see who did not say how many.
_MOST = 200


def filter_rows(report: Report, conditions: Sequence[Condition]) -> Report:
    """Return a report with the rows that meet all conditions, and a note on the others.

    What was computed from all rows stays so: adjusted p-values, means over rows, notes, sentence.
    """
    if not conditions:
        return report
    frame = report.frame
    columns = [*frame.columns, *select.of_runs()]
    for condition in conditions:
        if select.full_name(condition.column, frame.columns) is None:
            raise select.unknown(condition.column, columns, condition.option)
    number_column = "row of the report"
    numbered = frame.lazy().with_row_index(number_column)
    matches = set(select.where(numbered, conditions).collect().get_column(number_column))
    if not matches:
        raise select.unmet(frame, conditions, "row")
    notes = report.notes
    if hidden := frame.height - len(matches):
        key = "rows_left_out.compare" if report.command == "compare" else "rows_left_out"
        texts = " ".join(condition.place for condition in conditions)
        notes = (*notes, note(key, conditions=texts, shown=len(matches), hidden=hidden))
    numbers = iter(range(frame.height))
    return dataclasses.replace(
        report,
        records=tuple(row for number, row in enumerate(report.records) if number in matches),
        # The rows of a table but those of all are the report's, in their order.
        tables=tuple(
            replace(
                table,
                rows=tuple(row for row in table.rows if row.of_all or next(numbers) in matches),
            )
            for table in report.tables
        ),
        groups=lazy_subset(report.groups, sorted(matches)) if report.groups else (),
        notes=notes,
        people=None,
    )


def sort_rows(report: Report, *, sort: str = "", top: int = 0) -> Report:
    """Return a report with the rows of each benchmark sorted, and only the first `top`.

    `sort` is a key of the rows, or what is left of it without `_mean` and the unit; `-` before it
    sorts from high to low. Unknown comes last either way.
    """
    if not sort and not top:
        return report
    (table,) = report.tables
    order = _sort_order(report.rows, sort) if sort else list(range(len(report.rows)))
    notes = report.notes
    if top:
        benchmarks: dict[Any, list[int]] = {}
        for number in order:
            benchmarks.setdefault(_benchmark_key(report.rows[number]), []).append(number)
        surplus = {key: len(rows) - top for key, rows in benchmarks.items() if len(rows) > top}
        leading = {number for rows in benchmarks.values() for number in rows[:top]}
        order = [number for number in order if number in leading]
        names = [key[-1][1] or "unknown benchmark" for key in surplus]
        if len(set(names)) < len(names):  # suite and round tell them apart
            names = [" ".join(text for unknown, text in key if not unknown) for key in surplus]
        counts = ", ".join(map("{} {}".format, names, surplus.values()))
        if surplus:
            notes = (*notes, note("top", top=top, hidden=sum(surplus.values()), each=counts))
    return dataclasses.replace(
        report,
        records=lazy_subset(report.records, order),
        tables=(replace(table, rows=lazy_subset(table.rows, order)),),
        notes=notes,
        people=None,
    )


def default_rows(report: Report) -> Report:
    """Return a report as shown by default: with the first rows of long tables."""

    def cut_table(table: Table) -> Table:
        if (hidden := len(table.rows) - _MOST) <= 0:
            return table
        *first, last = table.rows[:_MOST]
        line = f"{units.plural(hidden, 'more row')} not shown: --top 0 shows all"
        return replace(table, rows=(*first, replace(last, details=(*last.details, line))))

    tables = tuple(map(cut_table, report.tables))
    return dataclasses.replace(report, people=lambda: dataclasses.replace(report, tables=tables))


def _sort_order(rows: Sequence[Mapping[str, Any]], sort: str) -> list[int]:
    """Return the order of rows sorted within each benchmark."""
    name = sort.removeprefix("-")
    ordered = {
        key: value
        for key, value in (rows[0] if rows else {}).items()
        if not any(isinstance(row[key], dict | list) for row in rows)
    }
    key = select.full_name(name, tuple(ordered))
    if key is None:
        raise select.unknown(name, select.short_names(ordered), "--sort")
    valued = [number for number, row in enumerate(rows) if row[key] is not None]
    unknown = [number for number, row in enumerate(rows) if row[key] is None]
    valued.sort(key=lambda number: rows[number][key], reverse=sort.startswith("-"))
    return sorted([*valued, *unknown], key=lambda number: _benchmark_key(rows[number]))


def _benchmark_key(row: Mapping[str, Any]) -> tuple[tuple[bool, str], ...]:
    return tuple((row.get(name) is None, str(row.get(name) or "")) for name in BENCHMARK)
