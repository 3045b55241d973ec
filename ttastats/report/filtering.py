"""Which rows of a report meet the conditions on its numbers?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ttastats.base.note import note
from ttastats.outcomes import columns, select
from ttastats.outcomes.conditions import Condition
from ttastats.report.answer import Report


def filtered(report: Report, conditions: Sequence[Condition]) -> Report:
    """Return a report with the rows that meet all conditions, and a note on the others.

    What was computed from all rows stays so: adjusted p-values, means over rows, notes, sentence.

    Raises
    ------
    TtastatsError
        A condition names no column, or no row meets them.
    """
    if not conditions:
        return report
    frame = report.frame
    known = [*frame.columns, *columns.of_runs()]
    for condition in conditions:
        if columns.full_name(condition.column, frame.columns) is None:
            raise columns.unknown(condition.column, known, condition.option)
    place = "row of the report"
    numbered = frame.lazy().with_row_index(place)
    kept = set(select.where(numbered, conditions).collect().get_column(place))
    if not kept:
        raise select.unmet(frame, conditions, "row")
    notes = report.notes
    if hidden := frame.height - len(kept):
        key = "rows_left_out.compare" if report.command == "compare" else "rows_left_out"
        places = " ".join(condition.place for condition in conditions)
        notes = (*notes, note(key, conditions=places, shown=len(kept), hidden=hidden))
    numbers = iter(range(frame.height))
    return replace(
        report,
        records=tuple(row for number, row in enumerate(report.records) if number in kept),
        # The rows of a table but those of all are the report's, in their order.
        tables=tuple(
            replace(
                table,
                rows=tuple(row for row in table.rows if row.of_all or next(numbers) in kept),
            )
            for table in report.tables
        ),
        groups=tuple(group for number, group in enumerate(report.groups) if number in kept),
        notes=notes,
    )
