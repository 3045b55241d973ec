"""Which columns of a table fit on a screen, how wide is each, and what is said elsewhere?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby, takewhile

from msgspec import Struct
from rich.cells import cell_len

from ttastats.report.cells import Table
from ttastats.report.render import words
from ttastats.report.render.shortening import shorten_names

#: Between two columns.
GAP = "  "
#: Rows that must share their first cells, on average, before these stand above them.
_SHARING = 3
#: Names are not shortened further than this while a column may give way instead.
_NAME = 24
_SHORTEST_NAME = 8
#: In longer tables, columns without room are named once and do not double the lines.
_FEW_ROWS = 12


class Layout(Struct, frozen=True):
    """Where each column of a table stands.

    `heads` stand above the rows that share them, `shown` side by side with their `widths`, and
    `hidden` below each row or, without `below`, nowhere. `short` gives the names that are
    shortened, by column.
    """

    heads: tuple[int, ...]
    shown: tuple[int, ...]
    hidden: tuple[int, ...]
    widths: Mapping[int, int]
    short: Mapping[int, Mapping[str, str]]
    below: bool


def fit_columns(table: Table, width: int | None) -> Layout:
    """Return the layout of a table for a width; without a width every column is complete."""
    if width is None:
        everything = tuple(range(len(table.columns)))
        return Layout((), everything, (), _natural_widths(table, everything), {}, below=True)
    heads = _head_columns(table)
    body = tuple(p for p in range(len(table.columns)) if p not in heads)
    below = len(table.rows) <= _FEW_ROWS
    # All columns of the highest rank give way at once.
    ranks = sorted({table.columns[p].rank for p in body} - {0}, reverse=True)
    for rank in (math.inf, *ranks):
        shown = tuple(p for p in body if table.columns[p].rank < rank)
        if fitted := _widths_and_names(table, shown, width, _NAME):
            break
    else:  # a very narrow screen shows names alone, and all else below them
        shown, below = tuple(p for p in body if table.columns[p].names) or body[:1], True
        fitted = _widths_and_names(table, shown, width, _SHORTEST_NAME)
    widths, short = fitted or (_natural_widths(table, shown), {})  # the screen breaks the names
    hidden = tuple(p for p in body if p not in shown and not table.columns[p].drawn)
    return Layout(heads, shown, hidden, widths, short, below)


def _head_columns(table: Table) -> tuple[int, ...]:
    """Return the columns shown as titles above rows, since enough rows share their values."""
    leading = len(list(takewhile(lambda column: column.heads, table.columns[:-1])))
    for depth in range(leading, 0, -1):
        sections = sum(1 for _ in groupby(table.rows, key=lambda row: row.cells[:depth]))
        if sections and len(table.rows) >= _SHARING * sections:
            return tuple(range(depth))
    return ()


def _widths_and_names(
    table: Table, shown: Sequence[int], width: int, shortest: int
) -> tuple[dict[int, int], dict[int, dict[str, str]]] | None:
    """Return the widths of columns, and their names shortened to these, the longest first.

    None if they do not fit, or names become ambiguous.
    """
    widths = _natural_widths(table, shown)
    names = [p for p in shown if table.columns[p].names]
    excess = 1 + sum(widths.values()) + len(GAP) * (len(shown) - 1) - width
    for _ in range(excess):
        longest = max(names, key=widths.__getitem__, default=None)
        if longest is None or widths[longest] <= shortest:
            return None
        widths[longest] -= 1
    short: dict[int, dict[str, str]] = {}
    for p in names:
        names_of_column = shorten_names(_column_texts(table, p), widths[p])
        if names_of_column is None:
            return None
        short[p] = names_of_column
    return widths, short


def _natural_widths(table: Table, positions: Sequence[int]) -> dict[int, int]:
    return {
        p: max(map(cell_len, (table.columns[p].title, *_column_texts(table, p)))) for p in positions
    }


def _column_texts(table: Table, position: int) -> list[str]:
    return [words.cell_text(row.cells[position]) for row in table.rows]
