"""Which figures does a page hold that was written before, so that they need no new measurement?"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from benchmarks.coverage.contents import REAL, SECTIONS, Columns
from benchmarks.coverage.figures import Figure, Rate, breaks_promise

Key = tuple[str, str, str]
"""Quantity, setup, runs."""

#: Rounded to a tenth of a percent, a cell may look as if it kept a promise that it misses.
_ROUNDED = 0.0004
_PITFALLS: Columns = (("pitfalls", ""),)


def filled(figures: Sequence[Figure], page: str) -> list[Figure]:
    """Give figures with the rates that a page holds of them, of quantities that any page shows.

    KeyError for one that this page has not.
    """
    cells = dict(_cells(page))
    shown = {name for section in SECTIONS for name, _ in (*section.tables, *section.columns)}
    shown |= {name for name, _ in (*REAL, *_PITFALLS)}
    return [_filled(figure, cells) for figure in figures if figure.quantity in shown]


def _filled(figure: Figure, cells: Mapping[Key, str]) -> Figure:
    text = cells[figure.quantity, figure.setup, figure.runs]
    found = replace(figure, rate=_rate(text.strip("*")))
    if text.startswith("**") and found.rate and not breaks_promise(found):
        nudge = -_ROUNDED if figure.kind == "coverage" else _ROUNDED
        found = replace(found, rate=replace(found.rate, value=found.rate.value + nudge))
    return found


def _rate(text: str) -> Rate | None:
    """Read `5.9 ±0.5`, or `96.2` of what was computed exactly."""
    if text == "–":
        return None
    value, _, se = text.partition(" ±")
    return Rate(float(value) / 100, float(se or 0) / 100, 1 if se else 0)


def _cells(page: str) -> Iterator[tuple[Key, str]]:
    columns = {section.heading: section.columns for section in SECTIONS}
    columns |= {"Real runs": REAL, "Ways to fool oneself": _PITFALLS}
    captions = {section.heading: section.tables for section in SECTIONS}
    for part in page.split("\n## ")[1:]:
        heading, *blocks = part.strip().split("\n\n")
        quantities = {_words(caption): name for name, caption in captions.get(heading, ())}
        last = ""
        for block in blocks:
            if not block.startswith("|"):
                last = quantities.get(_words(block), last)
            elif columns.get(heading):
                yield from _of_columns(_table(block), columns[heading])
            elif last:
                yield from _of_grid(_table(block), last)


def _words(text: str) -> str:
    return " ".join(textwrap.dedent(text).split())


def _table(block: str) -> list[list[str]]:
    """Give the cells of a table, its head first, without the line of dashes."""
    lines = [re.split(r" ?\| ?", line[2:-2]) for line in block.splitlines()]
    return [lines[0], *lines[2:]]


def _of_grid(lines: Sequence[Sequence[str]], quantity: str) -> Iterator[tuple[Key, str]]:
    (_, *runs), *rows = lines
    for setup, *cells in rows:
        for name, cell in zip(runs, cells, strict=True):
            if cell:
                yield (quantity, setup, name), cell


def _of_columns(lines: Sequence[Sequence[str]], columns: Columns) -> Iterator[tuple[Key, str]]:
    for setup, runs, *cells in lines[1:]:
        for (quantity, _), cell in zip(columns, cells, strict=True):
            if cell:
                yield (quantity, setup, runs), cell
