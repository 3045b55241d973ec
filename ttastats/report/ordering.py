"""In which order do the rows of a report stand, and how many of each benchmark?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ttastats.base.note import Note, note
from ttastats.outcomes import columns
from ttastats.report.answer import Report
from ttastats.report.cells import Line
from ttastats.report.grouping import BENCHMARK
from ttastats.report.row import Row

#: The numbers of a row, the row itself, and its line of the table.
_Pair = tuple[Mapping[str, Any], Row, Line]


def arranged(report: Report, *, sort: str = "", top: int = 0) -> Report:
    """Return a report with the rows of each benchmark sorted, and only the first of them.

    Parameters
    ----------
    report
        One table whose rows stand in the order of `report.rows`.
    sort
        A key of the rows, or what is left of it without `_mean` and the unit; `-` before it
        sorts from high to low. Unknown comes last either way. Empty: the report's own order.
    top
        Rows to keep of each benchmark, 0 for all; a note counts what is left out.

    Raises
    ------
    TtastatsError
        `sort` names no column.
    """
    (table,) = report.tables
    pairs = list(zip(report.rows, report.records, table.rows, strict=True))
    if sort:
        pairs = _sorted(pairs, sort)
    kept = _first(pairs, top) if top else pairs
    return replace(
        report,
        records=tuple(record for _, record, _ in kept),
        tables=(replace(table, rows=tuple(cells for *_, cells in kept)),),
        notes=(*report.notes, *_left_out(pairs, kept, top)),
    )


def _sorted(pairs: Sequence[_Pair], sort: str) -> list[_Pair]:
    """Sort inside each benchmark: times of different benchmarks have nothing in common."""
    name, row = sort.removeprefix("-"), pairs[0][0] if pairs else {}
    ordered = {
        each: value
        for each, value in row.items()
        if not any(isinstance(other[each], dict | list) for other, *_ in pairs)
    }
    key = columns.full_name(name, tuple(ordered))
    if key is None:
        raise columns.unknown(name, columns.spoken(ordered), "--sort")
    known = [pair for pair in pairs if pair[0][key] is not None]
    unknown = [pair for pair in pairs if pair[0][key] is None]
    known.sort(key=lambda pair: pair[0][key], reverse=sort.startswith("-"))
    return sorted([*known, *unknown], key=lambda pair: _place(pair[0]))


def _place(row: Mapping[str, Any]) -> tuple[tuple[bool, str], ...]:
    return tuple((row.get(name) is None, str(row.get(name) or "")) for name in BENCHMARK)


def _first(pairs: Sequence[_Pair], top: int) -> list[_Pair]:
    seen: Counter[Any] = Counter()
    kept = []
    for pair in pairs:
        place = _place(pair[0])
        seen[place] += 1
        if seen[place] <= top:
            kept.append(pair)
    return kept


def _left_out(pairs: Sequence[_Pair], kept: Sequence[_Pair], top: int) -> list[Note]:
    more = Counter(_place(row) for row, *_ in pairs)
    more.subtract(_place(row) for row, *_ in kept)
    counts = {place: number for place, number in more.items() if number}
    if not counts:
        return []
    names = _names(list(counts))
    each = ", ".join(
        f"{name} {number}" for name, number in zip(names, counts.values(), strict=True)
    )
    return [note("top", top=top, hidden=sum(counts.values()), each=each)]


def _names(places: Sequence[Sequence[tuple[bool, str]]]) -> list[str]:
    """Name benchmarks; suite and round are said only where the benchmark alone is not enough."""
    short = [place[-1][1] or "unknown benchmark" for place in places]
    if len(set(short)) == len(short):
        return short
    return [" ".join(text for unknown, text in place if not unknown) for place in places]
