"""Tables with a run in each row that other programs export: their cells, and their dates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from ttastats.base.records import Problem
from ttastats.formats.dialect import Log
from ttastats_parsers import own_cells
from ttastats_parsers.own_choice import UnfitError, texts

#: No header is longer.
_LONGEST = 1 << 16


def header_of(head: bytes) -> frozenset[str]:
    """Return the names in the first line of a table, without quotes."""
    line = head.removeprefix(b"\xef\xbb\xbf")[:_LONGEST].partition(b"\n")[0]
    names = line.decode("utf-8", "replace").strip().split(",")
    return frozenset(name.strip().strip('"') for name in names)


def rows_of(log: Log) -> Iterator[tuple[int | None, Mapping[str, str]] | Problem]:
    """Yield the line and the cells of each row, without those that are empty, and problems."""
    try:
        rows = own_cells.rows_of(log.read())
    except UnfitError as error:
        yield error.problem
        return
    yield from rows.problems
    cells = {name: texts(rows.frame[name]).to_list() for name in rows.frame.columns}
    for at, line in enumerate(rows.lines):
        yield line, {name: text for name, column in cells.items() if (text := column[at])}


def below(cells: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the cells whose names begin with a prefix, by the rest of their names."""
    return {key.removeprefix(prefix): text for key, text in cells.items() if key.startswith(prefix)}


def date_in(text: str | None) -> datetime | None:
    """Return the date in a cell; one without a zone is taken as UTC."""
    try:
        date = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
